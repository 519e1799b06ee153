//! `pibench-host review`: the simulator's doubtful moves, for a person to look at.

use super::output::print_json;
use super::{machine, stored};
use crate::cli::ReviewArgs;
use crate::exit::{Exit, Failure, OrExit};
use pibench_core::count::count;
use pibench_engine::Doubtful;
use pibench_engine::plan::{Places, Purpose, reopen_by};
use pibench_report::escape;

/// Lists them. Finding some is no fault: they are for a person to judge.
pub(super) fn review(args: &ReviewArgs) -> Result<Exit, Failure> {
    let places = Places {
        suite: args.suite.as_deref(),
        prompts: args.prompts.as_deref(),
        ..Places::default()
    };
    let look = Purpose::Look;
    let plan = reopen_by(&machine()?, &args.run, look, places)?;
    let (doubtful, sessions) = pibench_engine::review(&plan).or_exit(Exit::InvalidInput)?;
    if args.json {
        print_json(&doubtful)?;
        return Ok(Exit::Complete);
    }
    for one in &doubtful {
        println!("{}", describe(one));
    }
    println!(
        "{}: {}, {}",
        stored::name(args.run.as_str()),
        count(sessions, "session"),
        count(doubtful.len(), "doubtful move")
    );
    Ok(Exit::Complete)
}

/// What it says was written by the agent and the judge.
fn describe(doubtful: &Doubtful) -> String {
    let Doubtful {
        persona,
        session,
        run,
        turn,
        doubt,
        intent,
        why,
        exchange,
    } = doubtful;
    let intent = intent
        .as_ref()
        .map_or_else(String::new, |intent| format!(" (intent `{intent}`)"));
    let exchange = exchange
        .as_ref()
        .map_or_else(String::new, |blob| format!(" [blobs/{blob}]"));
    let words = doubt.words();
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let told =
        format!("{persona}/{session}, run {run}, turn {turn}: {words}{intent}: {why}{exchange}");
    escape::line(&told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_engine::Doubt;

    #[test]
    fn what_an_agent_asked_does_not_act_on_the_terminal() {
        let doubtful = |why: &str| Doubtful {
            persona: "p".into(),
            session: "s".into(),
            run: 1,
            turn: 2,
            doubt: Doubt::EndedEarly,
            intent: None,
            why: why.into(),
            exchange: None,
        };
        let told = describe(&doubtful("Is it\ndone?"));
        assert!(told.ends_with(": Is it done?"), "{told}");
        let told = describe(&doubtful("\u{1b}]0;title\u{7}Done\u{202e}?"));
        let acting = ['\u{1b}', '\u{7}', '\u{202e}'];
        assert!(told.contains("Done") && !told.contains(acting), "{told}");
    }
}
