//! The final table: Proc and Comp per persona, and what broke.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};

use super::cost;
use super::escape::line;
use super::grid::{fits, fitting, keep_words, paragraph};
use super::run_record::{marked, name};
use super::tables::{
    at_end, on_others, other_prompts, tally, unanswered, uncounted, unplayed, written_calls,
};
use pibench_core::count::{count, list_first};
use pibench_core::player::Mark;
use pibench_record::event::FaultKind;
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
    let mut causes = Causes::default();
    rows.each(&mut |one: &FaultLine| {
        causes.add(one);
        Ok(())
    })?;
    match told("", &causes) {
        Some(faults) => write!(to, "\n\n{faults}"),
        None => Ok(()),
    }
}

/// What the mark of a session means, and of scores that it is a part of.
const UNSEEN: &str = "* no offline matcher: the scripted judges cannot see intents or rubrics of this session. Sums with this mark hold \
                      such scores, which say nothing.";

/// Personas with such sessions.
fn unseen(sessions: &[SessionLine]) -> BTreeSet<String> {
    let unseen = sessions.iter().filter(|one| one.no_offline_matcher);
    unseen.map(|one| one.persona.to_string()).collect()
}

/// Behind the name of what holds such scores.
fn mark_of(is_unseen: bool) -> &'static str {
    if is_unseen { " *" } else { "" }
}

/// What stands below the sessions and above the faults.
fn below(
    results: &RunResults,
    rows: &impl Rows<SessionLine>,
    extent: &Extent,
) -> io::Result<Vec<String>> {
    let mut parts = vec![personas(results, &extent.unseen)];
    parts.extend(cost::table(results, rows)?);
    if !extent.unseen.is_empty() {
        parts.push(paragraph(UNSEEN));
    }
    if let Some(wording) = &results.scaffold_prompt {
        let wording = format!("System prompt of the agent: {}.", line(wording));
        parts.push(paragraph(&wording));
    }
    let marks = results.players.marks();
    parts.extend(marks.iter().map(|mark| paragraph(mark.sentence())));
    let notes = [
        unplayed,
        other_prompts,
        on_others,
        uncounted,
        unanswered,
        written_calls,
        at_end,
    ];
    let notes = notes.into_iter().filter_map(|note| note(results));
    parts.extend(notes.map(|note| paragraph(&note)));
    Ok(parts)
}

/// The faults, a line for each cause, and what is to be done about them; None without any.
pub(super) fn faults(faults: &[FaultLine]) -> Option<String> {
    told("", &Causes::of(faults))
}

/// The same of a run with a name.
fn told(name: &str, causes: &Causes) -> Option<String> {
    let lines = causes.all.iter().map(|cause| cause.line(name));
    let mut lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return None;
    }
    lines.extend(causes.remedies().map(paragraph));
    Some(format!("Faults:\n{}", lines.join("\n")))
}

/// Several agents on one suite, or several runs of one, each with its label: Proc and Comp over all and by persona.
pub fn agents(runs: &[(&str, &RunResults)]) -> String {
    let mut table = table(&["agent", "persona", "Proc", "Comp", "scored"]);
    let mut is_any_unseen = false;
    for (label, run) in runs {
        let prompt = run.scaffold_prompt.as_ref();
        let prompt = prompt.map_or_else(String::new, |it| format!(" ({} prompt)", line(it)));
        let mut name = line(&marked(label, run.players)) + &prompt;
        let unseen = unseen(&run.sessions);
        is_any_unseen |= !unseen.is_empty();
        for persona in &run.personas {
            let mark = mark_of(unseen.contains(&persona.id));
            table.add_row([
                std::mem::take(&mut name),
                line(&persona.id) + mark,
                score(persona.proc),
                score(persona.comp),
                tally(persona.scored, persona.comp_scored),
            ]);
        }
        table.add_row([
            name,
            format!("overall{}", mark_of(!unseen.is_empty())),
            overall(run.proc, run.proc_std),
            overall(run.comp, run.comp_std),
            tally(run.scored, run.comp_scored),
        ]);
    }
    let mut parts = vec![table.to_string()];
    let mut notes = runs.iter().filter_map(|(_, run)| on_others(run));
    parts.extend(notes.next().map(|note| paragraph(&note)));
    if is_any_unseen {
        parts.push(paragraph(UNSEEN));
    }
    let marks = Mark::ALL.into_iter().filter(|mark| {
        let mut runs = runs.iter();
        runs.any(|(_, run)| run.players.marks().contains(mark))
    });
    parts.extend(marks.map(|mark| paragraph(mark.sentence())));
    for (label, run) in runs {
        let notes = [unplayed(run), unanswered(run), written_calls(run)];
        let notes = notes.into_iter().flatten();
        parts.extend(notes.map(|note| paragraph(&format!("{}: {note}", line(label)))));
    }
    let faults = runs.iter().filter_map(|(label, run)| {
        let name = format!("{} ", line(label));
        told(&name, &Causes::of(&run.faults))
    });
    parts.extend(faults);
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
    let mark = mark_of(session.no_offline_matcher);
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
    /// Personas with sessions of which the scripted judges cannot see all.
    unseen: BTreeSet<String>,
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
            unseen: BTreeSet::new(),
        };
        rows.each(&mut |session| {
            let Self { count, widths, .. } = &mut extent;
            *count += 1;
            widths[0] = widths[0].max(wide(&line(&session.persona)));
            for (width, cell) in widths.iter_mut().zip(cells(session)) {
                *width = (*width).max(wide(&cell));
            }
            if session.no_offline_matcher {
                extent.unseen.insert(session.persona.to_string());
            }
            Ok(())
        })?;
        Ok(extent)
    }
}

fn personas(results: &RunResults, unseen: &BTreeSet<String>) -> String {
    let mut table = table(&["persona", "Proc", "Comp", "scored"]);
    for persona in &results.personas {
        let mark = mark_of(unseen.contains(&persona.id));
        table.add_row([
            line(&persona.id) + mark,
            score(persona.proc),
            score(persona.comp),
            tally(persona.scored, persona.comp_scored),
        ]);
    }
    table.add_row([
        format!("overall{}", mark_of(!unseen.is_empty())),
        overall(results.proc, results.proc_std),
        overall(results.comp, results.comp_std),
        tally(results.scored, results.comp_scored),
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

/// What stands in a message before the name of a blob, which is another one each time.
const BLOB: &str = "; its replies are in blob ";

/// Who could not answer where a judge's fault ended a session for good.
const USER: &str = "user agent";

/// Sessions that are named of a cause.
const MOST_NAMED: usize = 8;

/// Faults by what made them, in the order in which they came.
#[derive(Default)]
struct Causes {
    all: Vec<Cause>,
    places: BTreeMap<[String; 3], usize>,
}

/// Faults that read the same.
struct Cause {
    first: FaultLine,
    times: usize,
    /// Each with its run: a session that failed in two is without two scores.
    sessions: BTreeSet<(String, u32)>,
}

impl Causes {
    fn of(faults: &[FaultLine]) -> Self {
        let mut causes = Self::default();
        for one in faults {
            causes.add(one);
        }
        causes
    }

    fn add(&mut self, one: &FaultLine) {
        let fault = &one.fault;
        let key = [
            name(&fault.kind),
            fault.source.clone(),
            without_blob(&fault.message).to_owned(),
        ];
        let place = *self.places.entry(key).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push(Cause {
                first: one.clone(),
                times: 0,
                sessions: BTreeSet::new(),
            });
        }
        let cause = &mut self.all[place];
        cause.times += 1;
        let session = format!("{}/{}", line(&one.persona), line(&one.session));
        cause.sessions.insert((session, one.run));
    }

    /// What is to be done about sessions without a score.
    fn remedies(&self) -> impl Iterator<Item = &'static str> {
        let of_judges = |is_user: bool| {
            let mut faults = self.all.iter().map(|cause| &cause.first.fault);
            faults.any(|fault| fault.kind == FaultKind::Judge && (fault.source == USER) == is_user)
        };
        let again = "What the judge left without a verdict is judged again by `pibench-host grade RUN --out DIR`.";
        let anew = "A session that the user agent's silence ended stays without a score: only a new run plays it, best by \
                    another --user.";
        let remedies = [(of_judges(false), again), (of_judges(true), anew)];
        let remedies = remedies.into_iter().filter(|(is, _)| *is);
        remedies.map(|(_, remedy)| remedy)
    }
}

impl Cause {
    /// `of`: what stands before it.
    fn line(&self, of: &str) -> String {
        let FaultLine {
            persona,
            session,
            run,
            turn,
            fault,
        } = &self.first;
        let kind = name(&fault.kind);
        if self.times == 1 {
            let turn = turn.map_or_else(String::new, |turn| format!(", turn {turn}"));
            return format!(
                "{of}- {}/{}, run {run}{turn}: {kind} fault: {}",
                line(persona),
                line(session),
                line(&fault.message)
            );
        }
        let is_one_run = self.sessions.iter().all(|(_, other)| other == run);
        let names = self.sessions.iter().map(|(session, run)| {
            if is_one_run {
                session.clone()
            } else {
                format!("{session} in run {run}")
            }
        });
        format!(
            "{of}- {} {kind} faults in {}: {} ({})",
            self.times,
            count(self.sessions.len(), "session"),
            line(without_blob(&fault.message)),
            list_first(names, MOST_NAMED)
        )
    }
}

fn without_blob(message: &str) -> &str {
    message
        .split_once(BLOB)
        .map_or(message, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    use pibench_core::aggregate::Tally;
    use pibench_core::player::Players;
    use pibench_core::record::Outcome;
    use pibench_core::score::IntentCounts;
    use pibench_record::Used;
    use pibench_record::event::Fault;

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

    fn fault(session: &str, source: &str, message: &str) -> FaultLine {
        FaultLine {
            persona: "p".into(),
            session: session.into(),
            run: 1,
            turn: Some(2),
            fault: Fault {
                kind: FaultKind::Judge,
                source: source.into(),
                cause: "no answer".into(),
                message: message.into(),
            },
        }
    }

    #[test]
    fn faults_of_one_cause_are_one_line_with_what_to_do() {
        let replies = |blob: u32| format!("no verdict; its replies are in blob {blob}");
        let mut all = vec![fault("one", "judge", "another")];
        assert_eq!(
            faults(&all).unwrap(),
            "Faults:\n- p/one, run 1, turn 2: judge fault: another\nWhat the judge left without a verdict is judged again by\n\
             `pibench-host grade RUN --out DIR`."
        );
        all.extend((0..20).map(|at| fault(&format!("s{:02}", at / 2), "user agent", &replies(at))));
        let text = faults(&all).unwrap();
        let names = "p/s00, p/s01, p/s02, p/s03, p/s04, p/s05, p/s06, p/s07, 2 more";
        let many = format!("\n- 20 judge faults in 10 sessions: no verdict ({names})\n");
        assert!(text.contains(&many), "{text}");
        assert!(text.contains("judge fault: another"), "{text}");
        assert!(
            text.contains("silence ended stays without a score"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 7, "{text}");
        // A session of two runs has two scores to lack.
        let again = FaultLine {
            run: 2,
            ..fault("s00", "user agent", &replies(0))
        };
        let text = faults(&[all[1].clone(), all[2].clone(), again]).unwrap();
        let runs = "- 3 judge faults in 2 sessions: no verdict (p/s00 in run 1, p/s00 in run 2)\n";
        assert!(text.contains(runs), "{text}");
        assert_eq!(faults(&[]), None);
        // What only one has is told with the name of its replies.
        let text = faults(&[fault("one", "user agent", &replies(7))]).unwrap();
        assert!(text.contains("in blob 7"), "{text}");
        assert!(!text.contains("grade"), "{text}");
    }

    #[test]
    fn proc_and_comp_are_counted_by_themselves_where_they_stand_on_different_sessions() {
        let of = |scored, of| Tally { scored, of };
        assert_eq!(tally(of(4, 6), None), "4 of 6");
        assert_eq!(tally(of(4, 6), Some(of(5, 6))), "4 / 5 of 6");
        assert_eq!(tally(of(6, 6), Some(of(5, 5))), "6 of 6 / 5 of 5");
        assert_eq!(tally(of(2, 2), Some(of(0, 0))), "2 of 2 / -");
        assert_eq!(tally(of(0, 0), None), "-");
        let mut run: RunResults = serde_json::from_value(serde_json::json!({
            "version": 1, "suite": "s", "agent": "m", "user": "m", "judge": "m", "players": Players::named("m", "m", "m"),
            "scripted": false, "runs": 1, "proc": 50, "comp": 50, "proc_std": null, "comp_std": null,
            "scored": { "scored": 4, "of": 6 },
            "personas": [{ "id": "p", "proc": 50, "comp": 50, "scored": { "scored": 4, "of": 6 } }],
            "sessions": [], "faults": [],
        }))
        .unwrap();
        let told = |run: &RunResults| [results(run), agents(&[("m", run)])];
        for text in told(&run) {
            assert_eq!(text.matches(" 4 of 6 ").count(), 2, "{text}");
            assert!(!text.contains("scored: "), "{text}");
        }
        run.comp_scored = Some(of(5, 6));
        run.personas[0].comp_scored = run.comp_scored;
        for text in told(&run) {
            assert_eq!(text.matches(" 4 / 5 of 6 ").count(), 2, "{text}");
            let note = "\nscored: sessions with a Proc / with a Comp.";
            assert!(text.contains(note), "{text}");
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
