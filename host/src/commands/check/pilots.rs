//! What blind plays of a suite came to, and what they say of its intents.

use camino::Utf8Path;

use pibench_report::check::{Piloted, piloted};
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
    let mut lines = Vec::new();
    for (persona, session, plays) in by_session(&pilots, suite) {
        let id = &session.id;
        lines.extend(plays.iter().map(|play| Piloted {
            session: format!("{persona}/{id}"),
            turns: play.turns,
            first: (play.first.len(), play.all().count()),
            proc: play.proc,
            comp: play.comp,
        }));
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
    (format!("\n{}", piloted(&lines)), problems)
}
