//! The paper's printed scores, for comparison. They are facts from a document, not measurements: every table and figure
//! that shows them says so.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use pibench_core::vocabulary::Category;

/// What every place that shows these figures says.
pub const MARK: &str = "published, not measured here";

/// The data file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Paper and tables.
    pub source: String,
    pub model: Vec<PublishedModel>,
}

/// One model of the paper. Percent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedModel {
    pub name: String,
    /// As Table 8 abbreviates it.
    pub short: String,
    pub proc: f64,
    pub proc_std: f64,
    pub comp: f64,
    pub comp_std: f64,
    /// Shares of hidden intents.
    pub completed: f64,
    pub inferred: f64,
    pub provided: f64,
    /// Proc and Comp by persona.
    pub personas: BTreeMap<String, [f64; 2]>,
    /// Proc and Comp by category.
    pub categories: BTreeMap<Category, [f64; 2]>,
}

/// The nine models, in the paper's order.
pub fn published() -> &'static Published {
    static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
        // Part of the program, and read by a test.
        toml::from_str(include_str!("published.toml")).unwrap_or(Published {
            source: String::new(),
            model: Vec::new(),
        })
    });
    &PUBLISHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_figures_agree_with_each_other() {
        let published = published();
        assert_eq!(published.model.len(), 9);
        for model in &published.model {
            let name = &model.name;
            for (at, overall) in [model.proc, model.comp].into_iter().enumerate() {
                let sum: f64 = model.personas.values().map(|scores| scores[at]).sum();
                assert!((sum / 5.0 - overall).abs() < 0.06, "{name}: {sum}");
            }
            let shares = model.completed + model.inferred + model.provided;
            assert!((shares - 100.0).abs() < 0.02, "{name}: {shares}");
            assert_eq!((model.personas.len(), model.categories.len()), (5, 18));
        }
    }

    #[test]
    fn the_published_extremes_are_those_that_the_paper_names() {
        let best = |of: fn(&PublishedModel) -> f64| {
            let models = published().model.iter();
            models
                .max_by(|one, other| of(one).total_cmp(&of(other)))
                .map(|model| model.name.as_str())
        };
        assert_eq!(best(|model| model.proc), Some("GPT-5.4"));
        assert_eq!(best(|model| model.comp), Some("Claude Opus 4.6"));
        assert_eq!(best(|model| -model.proc), Some("Kimi K2.5"));
        assert_eq!(best(|model| model.completed), Some("Qwen3.6 Plus"));
    }
}
