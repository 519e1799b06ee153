//! The paper's tables from finished runs, and what it leaves open: how sure the scores are, and what they cost. It
//! arranges figures and computes none but counts.

use std::collections::{BTreeMap, BTreeSet};

use super::escape::line;
use super::measures::{Measures, Scores, Spread};
use super::published::{MARK, published};
use super::run_record::{RunRecord, differing};
use super::sheet::{Best, Cell, Column, Figure, Origin, Row, Sheet};
use pibench_core::aggregate::Tally;
use pibench_core::count::count;
use pibench_core::player::{Mark, Player};
use pibench_core::score::IntentCounts;
use pibench_core::statistics::{Estimate, Interval};
use pibench_core::vocabulary::PROTOCOL_VERSION;
use pibench_record::results::{RunResults, Unanswered};

mod audit;
mod failure;
mod suite;
mod usage;

pub use audit::Audit;

/// A run and what it measured.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    pub run: &'a RunRecord,
    pub measures: &'a Measures,
}

/// All tables, in the paper's order and then our own. Runs that stand apart come after the others.
pub fn tables(runs: &[Measured<'_>], audits: &[Audit]) -> Vec<Sheet> {
    let mut runs = runs.to_vec();
    runs.sort_by_key(|one| one.run.is_apart());
    let runs = runs.as_slice();
    let mut sheets = vec![
        overall(runs),
        suite::counts(runs),
        suite::tools(runs),
        suite::skills(runs),
        suite::categories(runs),
        audit::audits(audits),
        statuses(runs),
        by_category(runs),
        failure::failures(runs),
        certainty(runs),
        repeats(runs),
        usage::usage(runs),
    ];
    let all: Vec<&RunRecord> = runs.iter().map(|one| one.run).collect();
    if !differing(&all).is_empty() {
        sheets.iter_mut().for_each(Sheet::unrank_measured);
    }
    sheets
}

/// What a reader must know before the scores: which of them say nothing of an agent or of each other, which were not made here, and
/// which are those of a part. None if no run of the report is one of these.
pub fn banner(runs: &[&RunRecord]) -> Option<String> {
    let marks = Mark::ALL.into_iter();
    let sentences: Vec<String> = marks
        .filter_map(|mark| sentence(mark, runs))
        .chain(of_suites(runs))
        .chain(of_rules(runs))
        .chain(of_parts(runs))
        .chain(of_cut(runs))
        .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// A sentence about some of the runs, with their names unless it is about all.
fn sentence(mark: Mark, runs: &[&RunRecord]) -> Option<String> {
    let text = mark.sentence();
    let labels: Vec<&str> = runs
        .iter()
        .filter(|run| run.results.players.marks().contains(&mark))
        .map(|run| run.label.as_str())
        .collect();
    match labels.len() {
        0 => None,
        all if all == runs.len() => Some(text.into()),
        _ => Some(format!("{text} This is so for: {}.", labels.join(", "))),
    }
}

/// Said of runs of several suites, each with its runs.
fn of_suites(runs: &[&RunRecord]) -> Option<String> {
    let mut suites: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for run in runs {
        let suite = (
            run.results.suite.as_str(),
            run.manifest.suite_digest.as_str(),
        );
        suites.entry(suite).or_default().push(&run.label);
    }
    let told = suites.iter().map(|((suite, digest), labels)| {
        let digest: String = digest.chars().take(8).collect();
        format!("`{suite}` as of {digest} by {}", labels.join(", "))
    });
    let told: Vec<String> = told.collect();
    (told.len() > 1).then(|| {
        format!(
            "The scores of different suites, or of one that was changed, say nothing of each other, and these are of {}: {}.",
            told.len(),
            told.join("; ")
        )
    })
}

/// Said of runs that were not played alike. Their labels have how each was.
fn of_rules(runs: &[&RunRecord]) -> Option<String> {
    let differing = differing(runs);
    (!differing.is_empty()).then(|| {
        format!(
            "These runs were not played alike: they differ in {}. A difference of their scores is not that of their agents alone, \
             so none is marked as best.",
            differing.join(", ")
        )
    })
}

/// Said of runs that are parts of others.
fn of_parts(runs: &[&RunRecord]) -> Option<String> {
    let parts = runs.iter().filter_map(|run| {
        let shard = run.manifest.shard?;
        Some(format!("{} (part {shard})", run.label))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| {
        format!(
            "A part's scores are not those of its run, which `pibench-host merge` makes of all parts. This is so for: {}.",
            parts.join(", ")
        )
    })
}

/// Said of runs that ended early.
fn of_cut(runs: &[&RunRecord]) -> Option<String> {
    let cut = runs
        .iter()
        .filter_map(|run| Some(format!("{} ({})", run.label, run.cut()?)));
    let cut: Vec<String> = cut.collect();
    (!cut.is_empty()).then(|| {
        format!(
            "The scores of a run that was not played to its end are those of the sessions that it came to, and no rivals of others. \
             This is so for: {}.",
            cut.join(", ")
        )
    })
}

/// Finds which runs are ranked among those of their block.
pub fn find_rivals(runs: &mut [RunRecord]) {
    let found: Vec<bool> = runs.iter().map(|run| is_rival(run, runs)).collect();
    for (run, is_rival) in runs.iter_mut().zip(found) {
        run.is_rival = is_rival;
    }
}

/// One that was played to its end: of all sessions, or of chosen ones where the others are of the same.
fn is_rival(run: &RunRecord, all: &[RunRecord]) -> bool {
    let own = chosen(run);
    let is_whole = own.iter().all(BTreeSet::is_empty);
    let mut others = all
        .iter()
        .filter(|other| is_played(other) && origin(other) == origin(run));
    is_played(run) && (is_whole || others.all(|other| chosen(other) == own))
}

fn is_played(run: &RunRecord) -> bool {
    run.complete && run.manifest.shard.is_none()
}

/// Personas and sessions; none of either: all.
fn chosen(run: &RunRecord) -> [BTreeSet<&String>; 2] {
    let manifest = &run.manifest;
    [&manifest.personas, &manifest.sessions].map(|ids| ids.iter().collect())
}

/// A model's name in tables, with what sets its run apart.
pub(super) fn name(run: &RunRecord) -> String {
    let mut name = run.marked();
    if run.results.protocol_version != PROTOCOL_VERSION {
        let mark = format!(" (protocol version {})", run.results.protocol_version);
        // It is in the label where runs differ in it.
        if !name.contains(&mark) {
            name.push_str(&mark);
        }
    }
    if let Some(wording) = &run.results.scaffold_prompt {
        name.extend([" (", wording.as_str(), " prompt)"]);
    }
    if run.results.ablate.is_some() {
        name.push_str(" (w/o dependencies)");
    }
    // No rival of who played all of them.
    if let Some(shard) = run.manifest.shard {
        name = format!("{name} (part {shard})");
    }
    if !run.manifest.sessions.is_empty() || !run.manifest.personas.is_empty() {
        name.push_str(" (chosen sessions)");
    }
    if !run.ended {
        name.push_str(" (so far)");
    }
    name
}

/// Whose run it is, and in which block of a table it stands.
pub(super) fn origin(run: &RunRecord) -> Origin {
    // Also of a scripted agent: what it plays without its groups is no rival of what it plays with them.
    if run.results.ablate.is_some() {
        Origin::Ablated
    } else if run.is_apart() {
        Origin::Apart
    } else {
        Origin::Measured
    }
}

/// A column about a run.
fn column(run: &RunRecord) -> Column {
    Column {
        origin: Some(origin(run)),
        is_rival: run.is_rival,
        ..Column::scores(&name(run))
    }
}

/// A line about a run.
fn row(run: &RunRecord, cells: Vec<Cell>) -> Row {
    Row {
        origin: origin(run),
        is_rival: run.is_rival,
        cells,
    }
}

fn figure(spread: Option<Spread>) -> Option<Figure> {
    spread.map(|spread| Figure::new(spread.mean, spread.std, 1))
}

fn pair(scores: Option<&Scores>) -> Cell {
    let mean = |spread: Option<Spread>| spread.map(|spread| Figure::new(spread.mean, None, 1));
    Cell::Figures(vec![
        scores.and_then(|scores| mean(scores.proc)),
        scores.and_then(|scores| mean(scores.comp)),
    ])
}

/// Each name once, in their order.
fn once<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    let names = names.into_iter();
    names.filter(|name| seen.insert(*name)).collect()
}

fn overall(runs: &[Measured<'_>]) -> Sheet {
    let own = runs.iter().flat_map(|one| &one.run.results.personas);
    let own = own.map(|persona| persona.id.as_str());
    let models = published().model.iter();
    let personas = once(
        own.clone()
            .chain(models.flat_map(|model| model.personas.keys().map(String::as_str))),
    );
    let mut columns = vec![
        Column::words("Model"),
        Column::figure("Proc", Best::Highest),
        Column::figure("Comp", Best::Highest),
    ];
    columns.extend(personas.iter().map(|persona| Column::scores(persona)));
    let mut sheet = Sheet::new(
        "table-1",
        "Table 1: Overall results, Proc / Comp (%)",
        columns,
    );
    for Measured { run, measures } in runs {
        let mut cells = vec![
            Cell::words(name(run)),
            Cell::one(figure(measures.overall.proc)),
            Cell::one(figure(measures.overall.comp)),
        ];
        cells.extend(
            personas
                .iter()
                .map(|persona| pair(measures.personas.get(*persona))),
        );
        sheet.rows.push(row(run, cells));
    }
    for model in &published().model {
        let one = |value, std| Cell::one(Some(Figure::new(value, Some(std), 1)));
        let mut cells = vec![
            Cell::words(&model.name),
            one(model.proc, model.proc_std),
            one(model.comp, model.comp_std),
        ];
        cells.extend(personas.iter().map(|persona| {
            let scores = model.personas.get(*persona);
            let part = |at: usize| scores.map(|scores| Figure::new(scores[at], None, 1));
            Cell::Figures(vec![part(0), part(1)])
        }));
        sheet.rows.push(Row::published(cells));
    }
    sheet.rank_columns();
    sheet.notes = vec![
        "Macro-averaged: sessions weighted by dependency group, then runs, then personas. ±: sample standard deviation \
         over the runs; none where a run lacks the score of a persona that another has."
            .into(),
        published_note(),
    ];
    let unscored: Vec<String> = runs.iter().filter_map(unscored).collect();
    sheet.notes.extend(unscored);
    let unseen = runs.iter().filter_map(|one| {
        let unseen = one.run.unseen()?;
        Some(format!("{}: {unseen}", name(one.run)))
    });
    sheet.notes.extend(unseen);
    sheet.notes.extend(notes_of_scores(runs));
    if own.count() == 0 {
        sheet
            .notes
            .push("No session of these runs was scored.".into());
    }
    sheet
}

/// What is to be said of how scores came about, each sentence once with the runs that it is of.
fn notes_of_scores(runs: &[Measured<'_>]) -> impl Iterator<Item = String> {
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in runs {
        let results = &one.run.results;
        let notes = [other_prompts, uncounted, at_end, unanswered, written_calls];
        for sentence in notes.into_iter().filter_map(|note| note(results)) {
            said.entry(sentence).or_default().push(name(one.run));
        }
    }
    said.into_iter()
        .map(|(sentence, names)| format!("{}: {sentence}", names.join(", ")))
}

fn published_note() -> String {
    format!(
        "Rows marked \"{MARK}\" are the figures of {}: the paper's own tasks, user agent and judge. Best and second \
         best are marked in each block by itself.",
        published().source
    )
}

fn unscored(one: &Measured<'_>) -> Option<String> {
    let results = &one.run.results;
    let least = one.measures.least?;
    let [proc, comp] = least.map(|score| score.map_or("-".into(), |score| format!("{score:.1}")));
    let of_both = results.comp_scored.map_or("", |_| " (Proc / Comp)");
    Some(format!(
        "{}: {} sessions are scored{of_both}. Proc / Comp are at least {proc} / {comp}, were the unscored counted as 0.",
        name(one.run),
        tally(results.scored, results.comp_scored)
    ))
}

/// How many sessions have a score; a dash where none was to have one. `comp`: those with a Comp, where they are others.
pub(super) fn tally(proc: Tally, comp: Option<Tally>) -> String {
    let one = |Tally { scored, of }: Tally| match of {
        0 => "-".into(),
        of => format!("{scored} of {of}"),
    };
    match comp {
        None => one(proc),
        Some(comp) if comp.of == proc.of => format!("{} / {}", proc.scored, one(comp)),
        Some(comp) => format!("{} / {}", one(proc), one(comp)),
    }
}

/// What a run says of which Proc and Comp stand on different sessions.
pub(super) fn on_others(results: &RunResults) -> Option<String> {
    let personas = results.personas.iter().map(|persona| persona.comp_scored);
    let mut told = personas.chain([results.comp_scored]).flatten();
    told.next().map(|_| {
        "scored: sessions with a Proc / with a Comp. One without a checklist has no Comp; the last of a group of which one has no score \
         has no Proc."
            .into()
    })
}

/// What a run says of which no session counts.
pub(super) fn uncounted(results: &RunResults) -> Option<String> {
    (results.scored.of == 0).then(|| {
        "No session here counts by itself: of a group only the last session does. Choose that one by --session, and those before it are \
         played with it."
            .into()
    })
}

/// What a run says that ended before its last session.
pub(super) fn unplayed(results: &RunResults) -> Option<String> {
    let left = count(results.unplayed, "session");
    (results.unplayed > 0).then(|| format!("Not played to its end: {left} left."))
}

/// What a run says in which an agent answered nothing.
pub(super) fn unanswered(results: &RunResults) -> Option<String> {
    let Unanswered { turns, cut, of } = results.unanswered;
    let cut = match cut {
        0 => String::new(),
        cut => format!(" ({cut} cut at the limit of output tokens: --max-output-tokens)"),
    };
    (turns > 0).then(|| {
        format!(
            "{turns} of {} ended without an answer{cut}.",
            count(of, "turn")
        )
    })
}

/// What a run says in which a server left its model's calls in the text.
pub(super) fn written_calls(results: &RunResults) -> Option<String> {
    // Behind an agent of somebody else's there is no server of the operator's.
    if results.players.agent != Player::Model {
        return None;
    }
    let held = match results.written_calls {
        0 => return None,
        1 => "1 answer holds a call of a tool as text".into(),
        many => format!("{many} answers hold calls of tools as text"),
    };
    Some(format!(
        "{held}, and nothing was called: the server has no parser for this model's calls (vLLM: --enable-auto-tool-choice and \
         --tool-call-parser; llama.cpp: --jinja)."
    ))
}

/// What a run says that was graded by other prompts than it was judged by.
pub(super) fn other_prompts(results: &RunResults) -> Option<String> {
    let before = line(results.prompts_before.as_ref()?);
    Some(format!(
        "It was graded by other prompts than it was judged by before ({before}); scores by different prompts do not compare."
    ))
}

/// What a run says that has items of which the last turn alone counts.
pub(super) fn at_end(results: &RunResults) -> Option<String> {
    let items = match results.at_end {
        0 => return None,
        1 => "1 checklist item counts".into(),
        many => format!("{many} checklist items count"),
    };
    Some(format!(
        "{items} as of the last turn alone (`when = \"end\"`), a deviation from the paper's equation 4."
    ))
}

fn statuses(runs: &[Measured<'_>]) -> Sheet {
    let columns = vec![
        Column::words("Model"),
        Column::figure("Completed", Best::Highest),
        Column::figure("Inferred", Best::None),
        Column::figure("Provided", Best::Lowest),
        Column::figure("Open", Best::None),
        Column::figure("Intents", Best::None),
    ];
    let mut sheet = Sheet::new(
        "table-7",
        "Table 7: Where hidden intents ended (% of intents)",
        columns,
    );
    for Measured { run, measures } in runs {
        let IntentCounts {
            completed,
            inferred,
            provided,
            open,
        } = measures.intents;
        let total = measures.intents.total();
        let share = |count: u32| {
            let value = 100.0 * f64::from(count) / f64::from(total);
            Cell::one((total > 0).then(|| Figure::new(value, None, 2)))
        };
        let cells = vec![
            Cell::words(name(run)),
            share(completed),
            share(inferred),
            share(provided),
            share(open),
            Cell::Count(u64::from(total)),
        ];
        sheet.rows.push(row(run, cells));
    }
    for model in &published().model {
        let share = |value| Cell::one(Some(Figure::new(value, None, 2)));
        sheet.rows.push(Row::published(vec![
            Cell::words(&model.name),
            share(model.completed),
            share(model.inferred),
            share(model.provided),
            Cell::one(None),
            Cell::one(None),
        ]));
    }
    sheet.rank_columns();
    sheet.notes = vec![
        "Micro-averaged: every intent of a scored session counts once, over all runs. Open: not ended when the session \
         was cut off."
            .into(),
        published_note(),
    ];
    sheet
}

fn by_category(runs: &[Measured<'_>]) -> Sheet {
    let title = "Table 8: Proc / Comp by category (%)";
    let mut columns = vec![Column::words("Type"), Column::words("Category")];
    columns.extend(runs.iter().map(|one| column(one.run)));
    columns.extend(
        published()
            .model
            .iter()
            .map(|model| Column::scores(&model.short).from(Origin::Published)),
    );
    let mut sheet = Sheet::new("table-8", title, columns);
    for category in super::category::CATEGORIES {
        let (title, _) = super::category::describe(category);
        let mut cells = vec![
            Cell::words(super::category::letter(category)),
            Cell::words(title),
        ];
        cells.extend(
            runs.iter()
                .map(|one| pair(one.measures.categories.get(&category))),
        );
        cells.extend(published().model.iter().map(|model| {
            let scores = model.categories.get(&category);
            let part = |at: usize| scores.map(|scores| Figure::new(scores[at], None, 0));
            Cell::Figures(vec![part(0), part(1)])
        }));
        sheet.rows.push(Row::measured(cells));
    }
    sheet.rank_rows();
    sheet.notes = vec![
        "Macro-averaged over the category's sessions, each by its own intents and checklist."
            .into(),
        format!("Abbreviated columns are {MARK}: {}.", published().source),
    ];
    if runs.iter().all(|one| one.measures.categories.is_empty()) {
        sheet.notes.push(
            "No session of these runs names its category: the measured columns are empty.".into(),
        );
    }
    sheet
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "-".into(),
        |Interval { low, high }| format!("{low:.1} to {high:.1}"),
    )
}

fn certainty(runs: &[Measured<'_>]) -> Sheet {
    let figures = |title: &str, best| Column::figure(title, best);
    let columns = vec![
        Column::words("Model"),
        figures("Runs", Best::None),
        Column::words("Scored"),
        figures("Proc (macro)", Best::Highest),
        Column::words("95% interval"),
        figures("Proc (micro)", Best::Highest),
        figures("Comp (macro)", Best::Highest),
        Column::words("95% interval"),
        figures("Turns", Best::Lowest),
    ];
    let mut sheet = Sheet::new("certainty", "How sure the scores are (%)", columns);
    for Measured { run, measures } in runs {
        let scored = run.results.scored;
        let bounds = |estimate: Option<Estimate>| {
            Cell::words(interval(estimate.and_then(|estimate| estimate.interval)))
        };
        let cells = vec![
            Cell::words(name(run)),
            Cell::Count(u64::from(run.results.runs)),
            Cell::words(tally(scored, run.results.comp_scored)),
            Cell::one(figure(measures.overall.proc)),
            bounds(measures.proc_estimate),
            Cell::one(measures.micro_proc().map(|proc| Figure::new(proc, None, 1))),
            Cell::one(figure(measures.overall.comp)),
            bounds(measures.comp_estimate),
            Cell::one(figure(measures.turns)),
        ];
        sheet.rows.push(row(run, cells));
    }
    sheet.rank_columns();
    sheet.notes = vec![
        "±: the noise floor, the sample standard deviation over a model's runs; a smaller difference between two \
         models is not one. Interval: bootstrap over dependency groups within personas, that is how the score would \
         move with other sessions of the same kind; \"-\" where a persona has fewer than two scored sessions. \
         `pibench-host compare` pairs two runs and tells p-values."
            .into(),
    ];
    let mut others = runs.iter().filter_map(|one| on_others(&one.run.results));
    sheet.notes.extend(others.next());
    sheet
}

fn repeats(runs: &[Measured<'_>]) -> Sheet {
    let (id, title) = (
        "pass-k",
        "pass^k: the chance that k runs of a session all pass (%)",
    );
    let most = runs
        .iter()
        .flat_map(|one| &one.measures.pass_k)
        .map(|pass| pass.k)
        .max();
    let Some(most) = most else {
        return Sheet::missing(id, title, "No session with a checklist was scored.".into());
    };
    let ks: Vec<u32> = (1..=most.min(8)).collect();
    let mut columns = vec![Column::words("Model")];
    columns.extend(
        ks.iter()
            .map(|k| Column::figure(&format!("k = {k}"), Best::Highest)),
    );
    let mut sheet = Sheet::new(id, title, columns);
    for Measured { run, measures } in runs {
        let mut cells = vec![Cell::words(name(run))];
        cells.extend(ks.iter().map(|k| {
            let pass = measures.pass_k.iter().find(|pass| pass.k == *k);
            Cell::one(pass.map(|pass| Figure::new(pass.pass, None, 1)))
        }));
        sheet.rows.push(row(run, cells));
    }
    sheet.rank_columns();
    sheet.notes = vec![
        "A session passes with a whole checklist (Comp = 100). The unbiased estimator, plain mean over the sessions \
         that were scored in at least k runs."
            .into(),
    ];
    if most == 1 {
        sheet
            .notes
            .push("These runs play each session once: `run --runs N` plays it N times.".into());
    }
    sheet
}
