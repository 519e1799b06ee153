//! The final table: Proc and Comp per persona, and what broke.

use comfy_table::{CellAlignment, Table};

use super::cost;
use super::escape::line;
use super::grid::{fitting, keep_words};
use super::run_record::marked;
use pibench_core::aggregate::Tally;
use pibench_core::player::Mark;
use pibench_record::results::{FaultLine, RunResults, SessionLine};

/// The results as plain text.
pub fn results(results: &RunResults) -> String {
    let mut parts = vec![sessions(&results.sessions), personas(results)];
    parts.extend(cost::table(results));
    if results
        .sessions
        .iter()
        .any(|session| session.no_offline_matcher)
    {
        parts.push("* no offline matcher: the scripted judges cannot see intents or rubrics of this session.".into());
    }
    if let Some(wording) = &results.scaffold_prompt {
        parts.push(format!("System prompt of the agent: {}.", line(wording)));
    }
    let marks = results.players.marks();
    parts.extend(marks.iter().map(|mark| mark.sentence().to_owned()));
    parts.extend(super::tables::at_end(results));
    parts.extend(faults(&results.faults));
    parts.join("\n\n")
}

/// The faults, a line each; None without any.
pub(super) fn faults(faults: &[FaultLine]) -> Option<String> {
    let lines: Vec<String> = faults.iter().map(fault).collect();
    (!lines.is_empty()).then(|| format!("Faults:\n{}", lines.join("\n")))
}

/// Several agents on one suite: Proc and Comp over all and by persona.
pub fn agents(runs: &[&RunResults]) -> String {
    let mut table = table(&["agent", "persona", "Proc", "Comp", "scored"]);
    for run in runs {
        let prompt = run.scaffold_prompt.as_ref();
        let prompt = prompt.map_or_else(String::new, |it| format!(" ({} prompt)", line(it)));
        let mut name = line(&marked(&run.agent, run.players)) + &prompt;
        for persona in &run.personas {
            table.add_row([
                std::mem::take(&mut name),
                line(&persona.id),
                score(persona.proc),
                score(persona.comp),
                tally(persona.scored),
            ]);
        }
        table.add_row([
            name,
            "overall".into(),
            overall(run.proc, run.proc_std),
            overall(run.comp, run.comp_std),
            tally(run.scored),
        ]);
    }
    let mut parts = vec![table.to_string()];
    let marks = Mark::ALL.into_iter().filter(|mark| {
        let mut runs = runs.iter();
        runs.any(|run| run.players.marks().contains(mark))
    });
    parts.extend(marks.map(|mark| mark.sentence().to_owned()));
    let faults = runs.iter().flat_map(|run| {
        let name = line(&run.agent);
        run.faults
            .iter()
            .map(move |one| format!("{name} {}", fault(one)))
    });
    let faults: Vec<String> = faults.collect();
    if !faults.is_empty() {
        parts.push(format!("Faults:\n{}", faults.join("\n")));
    }
    parts.join("\n\n")
}

fn table(header: &[&str]) -> Table {
    let mut table = fitting();
    table.set_header(header.to_vec());
    for (column, title) in table.column_iter_mut().zip(header) {
        if !matches!(*title, "agent" | "persona" | "session" | "outcome") {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn sessions(sessions: &[SessionLine]) -> String {
    let mut table = table(&[
        "session", "run", "Proc", "pooled", "Comp", "turns", "outcome",
    ]);
    let mut last = None;
    for session in sessions {
        let mark = if session.no_offline_matcher { " *" } else { "" };
        // A persona has a line of its own, where its sessions begin.
        let begins = Some((&session.persona, session.run));
        if last != begins {
            table.add_row([line(&session.persona)]);
            last = begins;
        }
        table.add_row([
            format!("  {}{mark}", line(&session.id)),
            session.run.to_string(),
            score(session.proc),
            score(session.proc_scored),
            score(session.comp),
            session.turns.to_string(),
            name(&session.outcome),
        ]);
    }
    keep_words(&mut table, 0..7);
    table.to_string()
}

fn personas(results: &RunResults) -> String {
    let mut table = table(&["persona", "Proc", "Comp", "scored"]);
    for persona in &results.personas {
        table.add_row([
            line(&persona.id),
            score(persona.proc),
            score(persona.comp),
            tally(persona.scored),
        ]);
    }
    table.add_row([
        "overall".into(),
        overall(results.proc, results.proc_std),
        overall(results.comp, results.comp_std),
        tally(results.scored),
    ]);
    table.to_string()
}

fn overall(mean: Option<f64>, std: Option<f64>) -> String {
    match std {
        Some(std) => format!("{} ± {std:.1}", score(mean)),
        None => score(mean),
    }
}

pub(super) fn score(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".into(), |percent| format!("{percent:.1}"))
}

fn tally(tally: Tally) -> String {
    format!("{} of {}", tally.scored, tally.of)
}

/// A word as the record writes it.
pub(super) fn name(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn fault(of: &FaultLine) -> String {
    let FaultLine {
        persona,
        session,
        run,
        turn,
        fault,
    } = of;
    let turn = turn.map_or_else(String::new, |turn| format!(", turn {turn}"));
    format!(
        "- {}/{}, run {run}{turn}: {} fault: {}",
        line(persona),
        line(session),
        name(&fault.kind),
        line(&fault.message)
    )
}
