//! What the page knows before a session is opened: runs, suites, scores, tables, figures.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::category::{CATEGORIES, describe, letter};
use crate::figure::{Figure, Theme, figures};
use crate::measures::Measures;
use crate::parts_table::PartLine;
use crate::report::{Report, RunPair};
use crate::run_record::{CUT, RecordError, RunRecord, State};
use crate::sheet::{Origin, Sheet};
use pibench_core::aggregate::Tally;
use pibench_core::cost::MicroUsd;
use pibench_core::player::Players;
use pibench_core::vocabulary::{Category, Protocol, Scaffold};
use pibench_record::outline::Outline;
use pibench_record::results::{FaultLine, SessionLine};

/// The page's data: what it knows before a session is opened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Index<'a> {
    /// 1.
    version: u32,
    /// The version of the program that wrote it.
    host: &'a str,
    /// What is to be said above all scores.
    banner: Option<&'a str>,
    /// What stands above the rows of each origin in a table.
    headings: BTreeMap<String, Option<&'a str>>,
    runs: Vec<RunEntry<'a>>,
    /// What the suites of the runs hold, each once.
    outlines: Vec<&'a Outline>,
    /// Of all runs, run by run.
    #[schemars(with = "Vec<SessionEntry>")]
    sessions: Sessions<'a>,
    categories: Vec<CategoryEntry>,
    sheets: &'a [Sheet],
    figures: Vec<Image>,
    comparisons: &'a [RunPair],
}

/// One run folder.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own in the file"
)]
#[derive(Debug, Serialize, JsonSchema)]
struct RunEntry<'a> {
    /// The agent, with what sets this run apart.
    label: String,
    /// The folder's name.
    folder: String,
    agent: &'a str,
    user: &'a str,
    judge: &'a str,
    suite: &'a str,
    suite_digest: &'a str,
    protocol: Protocol,
    scaffold: Scaffold,
    /// The wording of the agent's system prompt where it is not the neutral one.
    prompt: Option<&'a str>,
    host: &'a str,
    started: &'a str,
    seed: u64,
    runs: u32,
    players: Players,
    /// Why its scores are to be read with caution, in words.
    marks: Vec<String>,
    /// Its scores stand apart from those of agents that models judged.
    apart: bool,
    protocol_version: u32,
    /// Every session is played, and the run has ended.
    complete: bool,
    /// It is not played to its end, and nobody plays it.
    interrupted: bool,
    /// Sessions without an end; absent where there is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    unplayed: usize,
    ablated: bool,
    scored: Tally,
    /// The sessions that Comp stands on, where they are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    comp_scored: Option<Tally>,
    measures: &'a Measures,
    faults: &'a [FaultLine],
    /// Millionths of a US dollar; null when the price of a call is not known.
    cost: Option<MicroUsd>,
    /// The place of its suite among `outlines`.
    outline: Option<usize>,
    /// Of a run that is played apart and not merged yet; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<&'a [PartLine]>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An entry for each session, made while it is written.
#[derive(Debug)]
struct Sessions<'a>(&'a [RunRecord]);

impl Serialize for Sessions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut written = Ok(());
        for (place, run) in self.0.iter().enumerate() {
            let given = each_entry(place, run, |entry| {
                if written.is_ok() {
                    written = list.serialize_element(&entry);
                }
            });
            given.map_err(S::Error::custom)?;
        }
        written?;
        list.end()
    }
}

/// One session in one run: its line of the results, and more.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionEntry<'a> {
    #[serde(flatten)]
    line: &'a SessionLine,
    /// The place of its run among `runs`.
    r#in: usize,
    category: Option<Category>,
    /// Its id where the outline does not tell.
    title: &'a str,
    /// Real time of its turns; null where none was recorded.
    ms: Option<u64>,
    /// How far it is, in a run that is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<State>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CategoryEntry {
    letter: String,
    title: &'static str,
    description: &'static str,
}

/// A figure as images: what an SVG holds runs nothing there.
#[derive(Debug, Serialize, JsonSchema)]
struct Image {
    id: String,
    title: String,
    description: String,
    /// An address of the kind `data:image/svg+xml;base64,`.
    light: String,
    dark: String,
}

/// The index of a report.
pub fn index(report: &Report) -> Index<'_> {
    let mut outlines: Vec<&Outline> = Vec::new();
    let mut runs = Vec::new();
    for (run, measures) in report.runs.iter().zip(&report.measures) {
        let outline = run.outline.as_ref().map(|outline| {
            let known = outlines.iter().position(|other| *other == outline);
            known.unwrap_or_else(|| {
                outlines.push(outline);
                outlines.len() - 1
            })
        });
        runs.push(run_entry(run, measures, outline));
    }
    let headings = Origin::ALL.map(|origin| (json!(origin), origin.heading()));
    let headings = headings
        .iter()
        .filter_map(|(origin, heading)| Some((origin.as_str()?.to_owned(), *heading)));
    Index {
        version: 1,
        host: env!("CARGO_PKG_VERSION"),
        banner: report.banner.as_deref(),
        headings: headings.collect(),
        runs,
        outlines,
        sessions: Sessions(&report.runs),
        categories: categories(),
        sheets: &report.sheets,
        figures: images(report),
        comparisons: &report.comparisons,
    }
}

fn run_entry<'a>(
    run: &'a RunRecord,
    measures: &'a Measures,
    outline: Option<usize>,
) -> RunEntry<'a> {
    let manifest = &run.manifest;
    let results = &run.results;
    let marks = results.players.marks().into_iter();
    let cut = run.cut().map(|cut| format!("{CUT}: {cut}"));
    RunEntry {
        label: run.marked(),
        folder: run.folder_name(),
        agent: &manifest.agent,
        user: &manifest.user,
        judge: &manifest.judge,
        suite: &manifest.suite,
        suite_digest: &manifest.suite_digest,
        protocol: manifest.protocol,
        scaffold: manifest.scaffold,
        prompt: results.scaffold_prompt.as_deref(),
        host: &manifest.host,
        started: &manifest.started,
        seed: manifest.seed,
        runs: results.runs,
        players: results.players,
        marks: marks
            .map(|mark| mark.words().to_owned())
            .chain(cut)
            .collect(),
        apart: run.is_apart(),
        protocol_version: results.protocol_version,
        complete: run.complete,
        interrupted: !run.complete && !run.is_worked_on(),
        unplayed: run.sessions - run.played,
        ablated: results.ablate.is_some(),
        scored: results.scored,
        comp_scored: results.comp_scored,
        measures,
        faults: &results.faults,
        cost: results.cost,
        outline,
        parts: (!run.parts.is_empty()).then_some(run.parts.as_slice()),
    }
}

fn each_entry(
    place: usize,
    run: &RunRecord,
    mut take: impl FnMut(SessionEntry<'_>),
) -> Result<(), RecordError> {
    let (titles, times) = (titles(run), times(run));
    run.each_session(|line| {
        let (persona, id) = (line.persona.as_str(), line.id.as_str());
        let of_session = times.get(persona).and_then(|ids| ids.get(id));
        let at = (line.run as usize).saturating_sub(1);
        take(SessionEntry {
            line,
            r#in: place,
            category: run.category(persona, id),
            title: titles.get(&(persona, id)).copied().unwrap_or(id),
            ms: of_session.and_then(|runs| *runs.get(at)?),
            state: (!run.complete).then(|| run.state(line)),
        });
    })
}

/// How long a session took in each run, in milliseconds.
type TimesByRun = Vec<Option<u64>>;

/// By persona and session.
fn times(run: &RunRecord) -> BTreeMap<String, BTreeMap<String, TimesByRun>> {
    let mut times: BTreeMap<String, BTreeMap<String, TimesByRun>> = BTreeMap::new();
    for timing in run.timings() {
        let Some(at) = timing.run.checked_sub(1) else {
            continue;
        };
        if timing.run > run.results.runs {
            continue;
        }
        let sessions = times.entry(timing.persona).or_default();
        let runs = sessions.entry(timing.session).or_default();
        let at = at as usize;
        if runs.len() <= at {
            runs.resize(at + 1, None);
        }
        *runs[at].get_or_insert_default() += timing.ms;
    }
    times
}

/// The sessions' titles by persona and id, as far as the outline tells.
fn titles(run: &RunRecord) -> BTreeMap<(&str, &str), &str> {
    let personas = run.outline.iter().flat_map(|outline| &outline.personas);
    let sessions = personas.flat_map(|persona| {
        let sessions = persona.sessions.iter();
        sessions.map(|one| ((persona.id.as_str(), one.id.as_str()), one.title.as_str()))
    });
    sessions.collect()
}

fn categories() -> Vec<CategoryEntry> {
    let all = CATEGORIES.map(|category| {
        let (title, description) = describe(category);
        CategoryEntry {
            letter: letter(category),
            title,
            description,
        }
    });
    all.into()
}

fn images(report: &Report) -> Vec<Image> {
    let measured = report.measured();
    let banner = report.banner.as_deref();
    let uri = |svg: &str| format!("data:image/svg+xml;base64,{}", BASE64.encode(svg));
    let light = figures(&measured, Theme::Light, banner);
    let dark = figures(&measured, Theme::Dark, banner);
    let image = |(light, dark): (&Figure, &Figure)| Image {
        id: light.id.to_string(),
        title: light.title.to_string(),
        description: light.description.clone(),
        light: uri(&light.svg),
        dark: uri(&dark.svg),
    };
    light.iter().zip(&dark).map(image).collect()
}
