//! Why intents were missed, as the paper's appendix F.4 asks, beside what was made and never looked at. Arranges counts.

use super::{Measured, name};
use crate::failure::Failures;
use crate::sheet::{Best, Cell, Column, Row, Sheet};

/// A line for each run.
pub(super) fn failures(runs: &[Measured<'_>]) -> Sheet {
    let (id, title) = ("failures", "Failure patterns (paper, appendix F.4)");
    if runs.iter().all(|one| one.measures.failures.is_none()) {
        let why = "No run of these is finished and has an outline.json, which names where intents can be found.";
        return Sheet::missing(id, title, why.into());
    }
    let mut columns = vec![Column::words("Model"), Column::words("Missed")];
    for title in [
        "Session",
        "File",
        "App",
        "Memory",
        "Question only",
        "No place",
    ] {
        columns.push(Column::figure(title, Best::None));
    }
    columns.push(Column::words("Had opened"));
    columns.push(Column::figure("Targeted questions", Best::None));
    columns.push(Column::words("Whole, yet missed"));
    columns.push(Column::words("Not looked at"));
    let mut sheet = Sheet::new(id, title, columns);
    for Measured { run, measures } in runs {
        let mut cells = vec![Cell::words(name(run))];
        match &measures.failures {
            Some(failures) => cells.extend(counts(failures)),
            None => cells.resize(sheet.columns.len(), Cell::one(None)),
        }
        sheet.rows.push(Row::measured(cells));
    }
    sheet.notes = NOTES.map(str::to_owned).to_vec();
    sheet
}

const NOTES: [&str; 4] = [
    "Missed: intents of scored sessions that the user had to provide, or that stayed open; over all runs. Session, file, app, memory: \
     missed ones that an earlier session, a file of the workspace, a record of an app or USER.md tells, by the tasks' `found_in`; one may count \
     in several. Question only: nothing but a question brings it out.",
    "Had opened: of the missed ones that can be found somewhere, those with such a place before the agent's eyes by the end of the turn in which \
     they were missed. Decided by the record: the place's quote stands in the system prompt or in the result of a successful call, white space, \
     case, line numbers and JSON's escapes aside; an earlier session also counts when a call reads memory/ or a file that was made there.",
    "Targeted questions: turns in which one was found. Whole, yet missed: sessions with Comp 100 in which an intent was missed.",
    "Not looked at: successful calls that write a file or change an app and that no later call of the session looks at. A file is looked at by \
     read_file, grep or exec that names it or shows its name; an app by any of its tools that show, search, get, list, find, read, view or check.",
];

fn counts(failures: &Failures) -> Vec<Cell> {
    let Failures {
        intents,
        missed,
        in_session,
        in_file,
        in_app,
        in_memory,
        by_question,
        unplaced,
        opened,
        questions,
        whole,
        whole_but_missed,
        unlooked,
    } = failures;
    let count = |count: &u32| Cell::Count(u64::from(*count));
    let found = missed.saturating_sub(by_question + unplaced);
    let mut cells = vec![Cell::words(format!("{missed} of {intents}"))];
    cells.extend(
        [
            in_session,
            in_file,
            in_app,
            in_memory,
            by_question,
            unplaced,
        ]
        .map(count),
    );
    cells.extend([
        Cell::words(format!("{opened} of {found}")),
        count(questions),
        Cell::words(format!("{whole_but_missed} of {whole}")),
        Cell::words(format!("{} of {}", unlooked.unseen, unlooked.acts)),
    ]);
    cells
}
