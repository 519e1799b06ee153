//! What blind plays of a suite came to, and what they say of its intents.

use std::fmt::Write;

use camino::Utf8Path;

use pibench_report::escape;
use pibench_suite::load::pilots::{PILOTS, by_session, pilots, undecided};
use pibench_suite::problem::{Problem, Problems};
use pibench_suite::suite::Suite;

/// A table of the pilots, empty without any; what is wrong with their file, and which intents tell nobody apart.
pub(super) fn read(file: &Utf8Path, suite: &Suite) -> (String, Vec<Problem>) {
    let pilots = match pilots(file) {
        Ok(Some(pilots)) => pilots,
        Ok(None) => return (String::new(), Vec::new()),
        Err(Problems(problems)) => return (String::new(), problems),
    };
    let at = file.with_file_name(PILOTS);
    let mut problems = Vec::new();
    let mut text = String::from(
        "\n| session in pilots | plays | turns | met in the first turn | Proc | Comp |\n\
         |-------------------|-------|-------|-----------------------|------|------|\n",
    );
    for (persona, session, plays) in by_session(&pilots, suite) {
        let id = &session.id;
        let list = |values: Vec<String>| values.join(", ");
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            escape::line(&format!("{persona}/{id}")),
            plays.len(),
            list(plays.iter().map(|play| play.turns.to_string()).collect()),
            list(
                plays
                    .iter()
                    .map(|play| format!("{} of {}", play.first.len(), play.all().count()))
                    .collect()
            ),
            list(
                plays
                    .iter()
                    .map(|play| format!("{:.1}", play.proc))
                    .collect()
            ),
            list(
                plays
                    .iter()
                    .map(|play| play.comp.map_or("-".into(), |comp| format!("{comp:.1}")))
                    .collect()
            ),
        );
        for (intent, met) in undecided(session, &plays) {
            let who = if met { "every" } else { "no" };
            let message = format!(
                "the intent `{intent}` of `{id}` was met in {who} pilot: it tells no agents apart"
            );
            let help =
                "make it need two sources, an earlier session or a question; or make it possible";
            problems.push(Problem::of_file(&at, message).help(help).warning());
        }
    }
    (text + "\n", problems)
}
