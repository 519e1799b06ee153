//! What the models of a run are called, held against what these names mean here: those of the built-in list, and `PROVIDER/MODEL`. A
//! suite of the submitter's may call any model by any name and say any price; the record tells which model was asked for. What
//! answered at an address of the submitter's, no record tells.

use std::collections::BTreeSet;

use serde_json::Value;

use pibench_board::rules::Rules;
use pibench_board::site::Asked;
use pibench_core::cost::{Price, Tokens};
use pibench_core::message::Usage;
use pibench_core::player::{ModelSettings, Player};
use pibench_record::folder::Manifest;
use pibench_record::results::RunResults;
use pibench_report::run_record::RunRecord;
use pibench_suite::catalog::{self, Catalog};

/// The role whose key in the record is another word.
const USER: &str = "user agent";

/// A role that models play in a run.
struct Role<'a> {
    words: &'static str,
    /// By several judges: their names.
    names: Vec<&'a str>,
    settings: &'a [ModelSettings],
    usage: Usage,
}

/// The roles that models play; of the others there is no server.
fn roles<'a>(manifest: &'a Manifest, results: &RunResults) -> [Option<Role<'a>>; 3] {
    let Manifest {
        agent,
        user,
        judge,
        players,
        models,
        ..
    } = manifest;
    let usage = results.usage;
    let role = |player: Player, words: &'static str, names: Vec<&'a str>, usage: Usage| {
        let key = if words == USER { "user" } else { words };
        let settings = models.get(key).map(Vec::as_slice).unwrap_or_default();
        (player == Player::Model).then_some(Role {
            words,
            names,
            settings,
            usage,
        })
    };
    let panel = catalog::panel(judge).collect();
    [
        role(players.agent, "agent", vec![agent.as_str()], usage.agent),
        role(players.user, USER, vec![user.as_str()], usage.user),
        role(players.judge, "judge", panel, usage.judge),
    ]
}

impl Role<'_> {
    /// The model that a server was asked for by this name. Fields of the body go in the place of the program's own.
    fn asked(&self, name: &str) -> Option<&str> {
        let settings = self.settings.iter().find(|one| one.name == name)?;
        let field = settings.fields.get("model").and_then(Value::as_str);
        Some(field.unwrap_or(&settings.model))
    }

    /// The models whose names do not say what was asked for.
    fn untold(&self, catalog: &Catalog) -> Option<String> {
        let own = self
            .names
            .iter()
            .filter(|name| meant(catalog, name).is_none());
        let asked: Vec<&str> = own.filter_map(|name| self.asked(name)).collect();
        (!asked.is_empty()).then(|| asked.join(", "))
    }

    /// Whether what it cost is at other prices than the built-in ones.
    fn is_own_price(&self, catalog: &Catalog) -> bool {
        let prices = self.names.iter().map(|name| price(catalog, name));
        let Some(prices) = prices.collect::<Option<Vec<Price>>>() else {
            return true;
        };
        let [price] = prices.as_slice() else {
            // The record does not tell the tokens of each judge apart.
            return false;
        };
        let Usage {
            calls,
            input_tokens,
            cached_tokens,
            output_tokens,
            cache_write_tokens,
            cost,
            ..
        } = self.usage;
        let aside = cached_tokens.saturating_add(cache_write_tokens);
        let listed = price.of(Tokens {
            input: input_tokens.saturating_sub(aside),
            cached: cached_tokens,
            cache_write: cache_write_tokens,
            output: output_tokens,
        });
        // The cost of each call is rounded.
        listed.0.abs_diff(cost.0) > calls
    }
}

/// The model that a name stands for, whoever asks by it; None for a name of a suite's own.
fn meant<'a>(catalog: &'a Catalog, name: &'a str) -> Option<&'a str> {
    let listed = catalog.models.get(name).map(|listed| &*listed.model);
    listed.or_else(|| Some(name.split_once('/')?.1))
}

fn price(catalog: &Catalog, name: &str) -> Option<Price> {
    let same = || {
        let (provider, model) = name.split_once('/')?;
        let mut all = catalog.models.values();
        all.find(|one| one.provider == provider && one.model == model)
    };
    catalog.models.get(name).or_else(same)?.price
}

/// What servers were asked for, as far as the names of a run do not say so.
pub(super) fn asked(record: &RunRecord) -> Asked {
    let RunRecord {
        manifest, results, ..
    } = record;
    let catalog = catalog::built_in();
    let roles = roles(manifest, results);
    let mut played = roles.iter().flatten();
    let own_price = results.cost.is_some() && played.any(|role| role.is_own_price(&catalog));
    let [agent, user, judge] = roles.map(|role| role?.untold(&catalog));
    Asked {
        agent,
        user,
        judge,
        own_price,
    }
}

/// Why the models of a run are not those that a board takes them for.
pub(super) fn objections(rules: &Rules, manifest: &Manifest, results: &RunResults) -> Vec<String> {
    let any = BTreeSet::new();
    let catalog = catalog::built_in();
    let listed = [&any, &rules.users, &rules.judges];
    let mut found = Vec::new();
    for (role, listed) in roles(manifest, results).into_iter().zip(listed) {
        let Some(role) = role else { continue };
        for name in &role.names {
            let words = role.words;
            match (meant(&catalog, name), role.asked(name)) {
                (Some(meant), Some(asked)) if meant != asked => found.push(format!(
                    "its {words} is called {name}, which stands for the model `{meant}`, and the server was asked for `{asked}`"
                )),
                (None, _) if !listed.is_empty() => found.push(format!(
                    "its {words} is called {name}, which is a name of its suite's own and says nothing here; play it as \
                     PROVIDER/MODEL, or by a name of the built-in list"
                )),
                (Some(_), None) if !listed.is_empty() => found.push(format!(
                    "its record does not tell which model was asked for as its {words} {name}"
                )),
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::cost::MicroUsd;

    #[test]
    fn a_name_stands_for_its_model_and_one_of_a_suites_own_for_none() {
        let catalog = catalog::built_in();
        for (name, expected) in [
            ("gpt-5.4", Some("gpt-5.4")),
            ("gemini-3.1-pro", Some("gemini-3.1-pro-preview")),
            ("openai/m", Some("m")),
            ("openrouter/deepseek/x", Some("deepseek/x")),
            ("mine", None),
        ] {
            assert_eq!(meant(&catalog, name), expected, "{name}");
        }
        assert!(price(&catalog, "openai/gpt-5.4").is_some());
        assert_eq!(price(&catalog, "openai/m"), None);
    }

    #[test]
    fn a_cost_at_other_prices_than_the_listed_ones_is_told_apart() {
        let catalog = catalog::built_in();
        let of = |name, cost| {
            let usage = Usage {
                calls: 2,
                input_tokens: 3_000_000,
                cached_tokens: 1_000_000,
                output_tokens: 1_000_000,
                cost: MicroUsd(cost),
                ..Usage::default()
            };
            let role = Role {
                words: "agent",
                names: vec![name],
                settings: &[],
                usage,
            };
            role.is_own_price(&catalog)
        };
        let listed = 2 * 2_500_000 + 250_000 + 15_000_000;
        assert!(!of("gpt-5.4", listed) && !of("openai/gpt-5.4", listed + 2));
        assert!(of("gpt-5.4", 0) && of("gpt-5.4", listed + 3) && of("mine", listed));
    }
}
