//! Where the scores of an imported run are others than those that its outputs tell of themselves.

use std::collections::BTreeMap;

use pibench_import::results::Outputs;
use pibench_record::results::RunResults;

/// Where the reference's own scores of a persona, the mean over the runs, are others than those of the run folder.
pub fn deviations(outputs: &Outputs, results: &RunResults) -> Vec<String> {
    let mut told: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    for episode in &outputs.episodes {
        let scores = told.entry(&episode.persona).or_default();
        scores[0].extend(episode.proc);
        scores[1].extend(episode.comp);
    }
    let mut lines = Vec::new();
    for persona in &results.personas {
        let Some(scores) = told.get(persona.id.as_str()) else {
            continue;
        };
        for (name, theirs, ours) in [
            ("Proc", &scores[0], persona.proc),
            ("Comp", &scores[1], persona.comp),
        ] {
            if theirs.is_empty() {
                continue;
            }
            let theirs = 100.0 * theirs.iter().sum::<f64>() / theirs.len() as f64;
            if ours.is_none_or(|ours| (ours - theirs).abs() > 0.05) {
                let ours = ours.map_or_else(|| "none".into(), |ours| format!("{ours:.1}"));
                let id = &persona.id;
                lines.push(format!(
                    "{id}: the outputs say {name} {theirs:.1}, their statuses and verdicts give {ours}; a session whose \
                     judge or connection failed is unscored here"
                ));
            }
        }
    }
    lines
}
