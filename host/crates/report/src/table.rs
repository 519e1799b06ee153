//! The final table: Proc and Comp per persona, and what broke.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};

use super::cost;
use super::escape::line;
use super::grid::{fits, fitting, keep_words, paragraph};
use super::run_record::marked;
use super::tables::{at_end, tally, unanswered, uncounted};
use pibench_core::player::Mark;
use pibench_record::results::{FaultLine, RunResults, SessionLine};
use pibench_record::rows::Rows;

/// The results as plain text.
pub fn results(results: &RunResults) -> String {
    let mut text = Vec::new();
    // A vector takes every byte.
    let _ = write(results, results, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// The same, written as it is laid out: that of a long run has a row for each session. `rows`: where the lines of `results` lie.
pub fn write<R: Rows<SessionLine> + Rows<FaultLine>>(
    results: &RunResults,
    rows: &R,
    to: &mut dyn Write,
) -> io::Result<()> {
    let extent = sessions(rows, to)?;
    for part in below(results, rows, &extent)? {
        write!(to, "\n\n{part}")?;
    }
    let mut before = "\n\nFaults:\n";
    rows.each(&mut |one: &FaultLine| {
        write!(to, "{before}{}", fault(one))?;
        before = "\n";
        Ok(())
    })
}

/// What stands below the sessions and above the faults.
fn below(
    results: &RunResults,
    rows: &impl Rows<SessionLine>,
    extent: &Extent,
) -> io::Result<Vec<String>> {
    let mut parts = vec![personas(results)];
    parts.extend(cost::table(results, rows)?);
    if extent.lacks_matcher {
        let note = "* no offline matcher: the scripted judges cannot see intents or rubrics of this session.";
        parts.push(paragraph(note));
    }
    if let Some(wording) = &results.scaffold_prompt {
        let wording = format!("System prompt of the agent: {}.", line(wording));
        parts.push(paragraph(&wording));
    }
    let marks = results.players.marks();
    parts.extend(marks.iter().map(|mark| paragraph(mark.sentence())));
    let notes = [uncounted, unanswered, at_end];
    let notes = notes.into_iter().filter_map(|note| note(results));
    parts.extend(notes.map(|note| paragraph(&note)));
    Ok(parts)
}

/// The faults, a line each; None without any.
pub(super) fn faults(faults: &[FaultLine]) -> Option<String> {
    let lines: Vec<String> = faults.iter().map(fault).collect();
    (!lines.is_empty()).then(|| format!("Faults:\n{}", lines.join("\n")))
}

/// Several agents on one suite, or several runs of one, each with its label: Proc and Comp over all and by persona.
pub fn agents(runs: &[(&str, &RunResults)]) -> String {
    let mut table = table(&["agent", "persona", "Proc", "Comp", "scored"]);
    for (label, run) in runs {
        let prompt = run.scaffold_prompt.as_ref();
        let prompt = prompt.map_or_else(String::new, |it| format!(" ({} prompt)", line(it)));
        let mut name = line(&marked(label, run.players)) + &prompt;
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
        runs.any(|(_, run)| run.players.marks().contains(mark))
    });
    parts.extend(marks.map(|mark| paragraph(mark.sentence())));
    let unanswered = runs.iter().filter_map(|(label, run)| {
        let note = unanswered(run)?;
        Some(paragraph(&format!("{}: {note}", line(label))))
    });
    parts.extend(unanswered);
    let faults = runs.iter().flat_map(|(label, run)| {
        let name = line(label);
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

const SESSIONS: [&str; 7] = [
    "session", "run", "Proc", "pooled", "Comp", "turns", "outcome",
];

/// Sessions whose rows are laid out at once.
const TOGETHER: usize = 512;

/// Lines above the rows: the border, the titles, the line below them.
const HEAD: usize = 3;

/// A row for each session. The table of a long run is laid out piece by piece, for a cell takes many times its text.
fn sessions(rows: &impl Rows<SessionLine>, to: &mut dyn Write) -> io::Result<Extent> {
    let extent = Extent::of(rows)?;
    let is_long = extent.count > TOGETHER && fits(&extent.widths);
    let mut pieces = Pieces {
        extent: &extent,
        most: if is_long { TOGETHER } else { extent.count + 1 },
        lines: Vec::new(),
        before: None,
        border: String::new(),
    };
    rows.each(&mut |line| {
        pieces.lines.push(line.clone());
        if pieces.lines.len() == pieces.most {
            pieces.write(to)?;
        }
        Ok(())
    })?;
    if !is_long {
        write!(to, "{}", self::rows(&pieces.lines, None))?;
        return Ok(extent);
    }
    if !pieces.lines.is_empty() {
        pieces.write(to)?;
    }
    write!(to, "{}", pieces.border)?;
    Ok(extent)
}

/// A long table as it is written.
struct Pieces<'a> {
    extent: &'a Extent,
    most: usize,
    /// Those of the piece to come.
    lines: Vec<SessionLine>,
    /// The last one that is written.
    before: Option<SessionLine>,
    /// What closes the table.
    border: String,
}

impl Pieces<'_> {
    fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        let mut table = rows(&self.lines, self.before.as_ref());
        for (at, width) in self.extent.widths.iter().enumerate() {
            if let Some(column) = table.column_mut(at) {
                let width = width.saturating_add(column.padding_width());
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
            }
        }
        // What stands above the rows comes once, and so does the border below.
        let text = table.to_string();
        let above = if self.before.is_some() { HEAD } else { 0 };
        let mut rows: Vec<&str> = text.lines().skip(above).collect();
        rows.pop().unwrap_or_default().clone_into(&mut self.border);
        for row in rows {
            writeln!(to, "{row}")?;
        }
        self.before = self.lines.pop();
        self.lines.clear();
        Ok(())
    }
}

/// `before`: the session that stands above the first.
fn rows(sessions: &[SessionLine], before: Option<&SessionLine>) -> Table {
    let mut table = table(&SESSIONS);
    let mut last = before.map(|line| (&line.persona, line.run));
    for session in sessions {
        // A persona has a line of its own, where its sessions begin.
        let begins = Some((&session.persona, session.run));
        if last != begins {
            table.add_row([line(&session.persona)]);
            last = begins;
        }
        table.add_row(cells(session));
    }
    keep_words(&mut table, 0..7);
    table
}

fn cells(session: &SessionLine) -> [String; 7] {
    let mark = if session.no_offline_matcher { " *" } else { "" };
    [
        format!("  {}{mark}", line(&session.id)),
        session.run.to_string(),
        score(session.proc),
        score(session.proc_scored),
        score(session.comp),
        session.turns.to_string(),
        name(&session.outcome),
    ]
}

/// How much there is to be laid out.
struct Extent {
    count: usize,
    /// What each column takes where nothing is wrapped; a letter of another alphabet may be two wide.
    widths: [u16; 7],
    /// Whether the scripted judges cannot see all of a session.
    lacks_matcher: bool,
}

impl Extent {
    fn of(rows: &impl Rows<SessionLine>) -> io::Result<Self> {
        let wide = |text: &str| {
            let width = u16::try_from(text.len()).ok();
            width.filter(|_| text.is_ascii()).unwrap_or(u16::MAX)
        };
        let mut extent = Self {
            count: 0,
            widths: SESSIONS.map(wide),
            lacks_matcher: false,
        };
        rows.each(&mut |session| {
            let Self { count, widths, .. } = &mut extent;
            *count += 1;
            widths[0] = widths[0].max(wide(&line(&session.persona)));
            for (width, cell) in widths.iter_mut().zip(cells(session)) {
                *width = (*width).max(wide(&cell));
            }
            extent.lacks_matcher |= session.no_offline_matcher;
            Ok(())
        })?;
        Ok(extent)
    }
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

/// A word as the record writes it.
pub fn name(value: &impl serde::Serialize) -> String {
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

#[cfg(test)]
mod tests {
    use pibench_core::record::Outcome;
    use pibench_core::score::IntentCounts;
    use pibench_record::Used;

    use super::*;

    fn line(at: u32, id: &str) -> SessionLine {
        let percent = f64::from(at % 101);
        SessionLine {
            id: id.into(),
            persona: format!("p{}", at / 3 % 20).as_str().into(),
            run: at / 60 + 1,
            proc: Some(percent),
            proc_scored: at.is_multiple_of(2).then_some(percent),
            weight: 1,
            comp: None,
            turns: at % 40,
            outcome: Outcome::Complete,
            intents: IntentCounts::default(),
            no_offline_matcher: at % 700 == 5,
            usage: Used::default(),
            cost: None,
        }
    }

    #[test]
    fn a_table_in_pieces_is_the_table() {
        let long = "a-session-with-a-name-that-leaves-no-room-for-the-other-columns";
        for (count, id) in [
            (512, "s"),
            (513, "s"),
            (2_000, "one"),
            (600, long),
            (600, "ü"),
        ] {
            let mut lines: Vec<_> = (0..count).map(|at| line(at, "short")).collect();
            lines[usize::try_from(count / 2).unwrap()].id = id.into();
            let mut text = Vec::new();
            sessions(&lines, &mut text).unwrap();
            assert!(
                text == rows(&lines, None).to_string().as_bytes(),
                "{count} {id}"
            );
        }
    }
}
