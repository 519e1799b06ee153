//! What the page knows before a session is opened: runs, suites, scores, tables, figures.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::bundle::Report;
use crate::category::{CATEGORIES, describe, letter};
use crate::figure::{Theme, figures};
use crate::measures::Measures;
use crate::run_record::RunRecord;
use crate::sheet::Origin;
use pibench_core::player::Mark;
use pibench_record::folder::read_timings;
use pibench_record::folder_lock::is_worked_on;
use pibench_record::outline::Outline;

/// The index of a report as JSON.
pub fn index(report: &Report) -> Value {
    let mut outlines: Vec<&Outline> = Vec::new();
    let mut runs = Vec::new();
    let mut sessions = Vec::new();
    for (place, (run, measures)) in report.runs.iter().zip(&report.measures).enumerate() {
        let outline = run.outline.as_ref().map(|outline| {
            let known = outlines.iter().position(|other| *other == outline);
            known.unwrap_or_else(|| {
                outlines.push(outline);
                outlines.len() - 1
            })
        });
        runs.push(run_entry(run, measures, outline));
        sessions.extend(session_entries(place, run));
    }
    let headings = Origin::ALL.map(|origin| (json!(origin), origin.heading()));
    let headings = headings
        .iter()
        .filter_map(|(origin, heading)| Some((origin.as_str()?, *heading)));
    let headings: BTreeMap<&str, Option<&str>> = headings.collect();
    json!({
        "version": 1,
        "host": env!("CARGO_PKG_VERSION"),
        "banner": report.banner,
        "headings": headings,
        "runs": runs,
        "outlines": outlines,
        "sessions": sessions,
        "categories": categories(),
        "sheets": report.sheets,
        "figures": images(report),
        "comparisons": report.comparisons,
    })
}

fn run_entry(run: &RunRecord, measures: &Measures, outline: Option<usize>) -> Value {
    let manifest = &run.manifest;
    let results = &run.results;
    let marks = results.players.marks().into_iter();
    let marks: Vec<&str> = marks.map(Mark::words).collect();
    json!({
        "label": run.marked(),
        "folder": run.folder_name(),
        "agent": manifest.agent,
        "user": manifest.user,
        "judge": manifest.judge,
        "suite": manifest.suite,
        "suite_digest": manifest.suite_digest,
        "protocol": manifest.protocol,
        "scaffold": manifest.scaffold,
        "prompt": results.scaffold_prompt,
        "host": manifest.host,
        "started": manifest.started,
        "seed": manifest.seed,
        "runs": results.runs,
        "players": results.players,
        "marks": marks,
        "apart": run.is_apart(),
        "protocol_version": results.protocol_version,
        "complete": run.complete,
        "interrupted": !run.complete && !is_worked_on(&run.dir),
        "ablated": run.results.ablate.is_some(),
        "scored": results.scored,
        "measures": measures,
        "faults": results.faults,
        "cost": results.cost,
        "outline": outline,
    })
}

fn session_entries(place: usize, run: &RunRecord) -> Vec<Value> {
    let mut times: BTreeMap<(String, u32, String), u64> = BTreeMap::new();
    for timing in read_timings(&run.dir) {
        *times
            .entry((timing.persona, timing.run, timing.session))
            .or_default() += timing.ms;
    }
    let mut entries = Vec::new();
    for line in &run.results.sessions {
        let key = (line.persona.clone(), line.run, line.id.clone());
        let mut entry = json!(line);
        entry["in"] = place.into();
        entry["category"] = json!(run.category(&line.persona, &line.id));
        entry["title"] = json!(title(run, &line.persona, &line.id));
        entry["ms"] = json!(times.get(&key));
        if !run.complete {
            entry["state"] = json!(run.state(line));
        }
        entries.push(entry);
    }
    entries
}

/// The session's title; its id where the outline does not tell.
fn title(run: &RunRecord, persona: &str, session: &str) -> String {
    let outline = run.outline.iter().flat_map(|outline| &outline.personas);
    let mut sessions = outline
        .filter(|one| one.id == persona)
        .flat_map(|persona| &persona.sessions);
    sessions
        .find(|one| one.id == session)
        .map_or_else(|| session.to_owned(), |found| found.title.clone())
}

fn categories() -> Value {
    let all = CATEGORIES.map(|category| {
        let (title, description) = describe(category);
        json!({ "letter": letter(category), "title": title, "description": description })
    });
    json!(all)
}

/// Figures as images: what an SVG holds runs nothing there.
fn images(report: &Report) -> Value {
    let measured = report.measured();
    let banner = report.banner.as_deref();
    let uri = |svg: &str| format!("data:image/svg+xml;base64,{}", BASE64.encode(svg));
    let light = figures(&measured, Theme::Light, banner);
    let dark = figures(&measured, Theme::Dark, banner);
    let image = |(light, dark): (&crate::figure::Figure, &crate::figure::Figure)| json!({ "id": light.id, "title": light.title, "description": light.description, "light": uri(&light.svg), "dark": uri(&dark.svg) });
    light.iter().zip(&dark).map(image).collect()
}
