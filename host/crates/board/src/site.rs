//! The site of a board: files that any web server shows, made of submissions that were checked. Runs that cannot be compared
//! stand in rankings of their own; what was refused is named with its fault.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::rules::Judged;
use crate::submission::Submitter;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pibench_core::path::is_hidden;
use pibench_core::statistics::Estimate;
use pibench_record::identity::{beside_agent, incomparable};
use pibench_report::bundle;
use pibench_report::draft::Draft;
use pibench_report::escape;
use pibench_report::measures::Measures;
use pibench_report::report::Report;
use pibench_report::run_record::{self, RecordError, RunRecord};
use serde::Serialize;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../page/board.css");
const SCRIPT: &str = include_str!("../page/board.js");

/// Why a site cannot be written. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    #[error("write {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Report(#[from] bundle::WriteError),
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Who signed a submission.
#[derive(Debug, Clone, Serialize)]
pub struct Signed {
    pub by: String,
    /// `SHA256:...`
    pub fingerprint: String,
}

/// What is known of a score beside what its submitter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Its sums follow from its files, which are those that were sealed.
    SelfReported,
    /// Rules and graders were run again over the record, in the sandbox; verdicts of models stand as they were given.
    Replayed,
    /// A sample of its verdicts was asked of another judge, too.
    JudgedAgain,
    /// A host of the board's own played it.
    PlayedByBoard,
}

impl Level {
    fn words(self) -> &'static str {
        match self {
            Self::SelfReported => "self-reported",
            Self::Replayed => "replayed",
            Self::JudgedAgain => "judged again",
            Self::PlayedByBoard => "played by the board",
        }
    }
}

/// What servers were asked for as an agent, user agent or judge, where its name is one of a suite's own and does not say so.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Asked {
    pub agent: Option<String>,
    pub user: Option<String>,
    pub judge: Option<String>,
    /// Whether the cost is at other prices than those of the built-in list.
    pub own_price: bool,
}

/// A run that may stand on the board.
#[derive(Debug)]
pub struct Standing {
    /// The submission's file, and the run in it.
    pub name: String,
    /// BLAKE3 of the submission's file, hex.
    pub archive: String,
    /// BLAKE3 of the run's seal, hex.
    pub seal: String,
    pub record: RunRecord,
    pub asked: Asked,
    pub signed: Option<Signed>,
    /// For whom a host of the board's own played it.
    pub submitter: Option<Submitter>,
    pub level: Level,
    pub judged: Option<Judged>,
    /// The simulator's moves that a person should look at.
    pub doubtful: usize,
}

/// A submission that may not, with every reason.
#[derive(Debug, Serialize)]
pub struct Refused {
    pub name: String,
    pub signed: Option<Signed>,
    pub reasons: Vec<String>,
}

/// A line of a ranking.
#[derive(Debug, Serialize)]
struct Row<'a> {
    /// One more than the runs that are surely better: those whose interval lies above its own. Without an interval none does.
    rank: usize,
    agent: &'a str,
    /// What a server was asked for, where the agent's name does not say so.
    model: Option<&'a str>,
    name: &'a str,
    /// The digest of the submission's file.
    archive: &'a str,
    proc: Option<Estimate>,
    comp: Option<Estimate>,
    runs: u32,
    cost_usd: Option<f64>,
    /// Whether that is at other prices than those of the built-in list.
    own_price: bool,
    signed: Option<&'a Signed>,
    submitter: Option<&'a Submitter>,
    verified: Level,
    judged: Option<&'a Judged>,
    doubtful: usize,
    scaffold_prompt: &'a str,
    /// The version of the program that played it.
    host: &'a str,
    /// Of one that was graded again: when the first of its turns ended, if that is known.
    started: Option<String>,
    /// When its verdicts were made again, if they were.
    graded: Option<&'a str>,
    /// The folder of its report.
    report: String,
}

/// Runs that say something of each other.
#[derive(Debug, Serialize)]
struct Ranking<'a> {
    suite: &'a str,
    suite_digest: &'a str,
    protocol: String,
    protocol_version: u32,
    scaffold: String,
    /// Of user agent and judge: `built in, version 3`, or `own 1f2e3d4c5b6a`.
    prompts: String,
    user: &'a str,
    judge: &'a str,
    /// What servers were asked for as user agent and judge, where these names do not say so.
    user_model: Option<&'a str>,
    judge_model: Option<&'a str>,
    /// In what its runs differ from those of the first ranking, beside their agents; empty for the first.
    apart: Vec<String>,
    rows: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Board<'a> {
    /// 1.
    version: u32,
    title: &'a str,
    rankings: Vec<Ranking<'a>>,
    refused: &'a [Refused],
}

/// Writes a new folder: `index.html`, `board.json`, and `runs/<seal>/` with the report of each run. It appears whole.
pub fn write(
    title: &str,
    standing: &[Standing],
    refused: &[Refused],
    seed: u64,
    out: &Path,
) -> Result<(), SiteError> {
    let failed = |source| SiteError::Io {
        path: out.to_owned(),
        source,
    };
    let draft = Draft::of(out).map_err(failed)?;
    fs::create_dir(draft.path().join("runs")).map_err(failed)?;
    // One for each run, as its report has them.
    let mut measures = Vec::new();
    let folders = folders(standing);
    for (one, folder) in standing.iter().zip(&folders) {
        let report = Report::new(vec![one.record.clone()], &[], seed)?;
        bundle::write(&report, &draft.path().join(folder))?;
        measures.extend(report.measures);
    }
    let board = Board {
        version: 1,
        title,
        rankings: rankings(standing, &measures, &folders),
        refused,
    };
    let data = serde_json::to_string_pretty(&board).map_err(|error| failed(error.into()))?;
    fs::write(draft.path().join("board.json"), escape::json(&data)).map_err(failed)?;
    fs::write(draft.path().join("index.html"), html(&board)).map_err(failed)?;
    draft.publish().map_err(failed)
}

/// Where the report of each run lies: by its seal, so that no other submission moves it.
fn folders(standing: &[Standing]) -> Vec<String> {
    let seals: Vec<&str> = standing.iter().map(|one| &*one.seal).collect();
    names_of(&seals)
        .iter()
        .map(|name| format!("runs/{name}"))
        .collect()
}

/// A name for each seal: its beginning, or all of it where others begin alike.
fn names_of(seals: &[&str]) -> Vec<String> {
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    for seal in seals {
        *alike.entry(short(seal)).or_default() += 1;
    }
    let mut taken = BTreeSet::new();
    let named = seals.iter().enumerate().map(|(place, seal)| {
        let short = short(seal);
        let name = match alike.get(&short) {
            Some(1) => short,
            _ => (*seal).to_owned(),
        };
        if taken.insert(name.clone()) {
            name
        } else {
            format!("{name}-{place}")
        }
    });
    named.collect()
}

fn rankings<'a>(
    standing: &'a [Standing],
    measures: &[Measures],
    folders: &[String],
) -> Vec<Ranking<'a>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in 0..standing.len() {
        let is_like = |group: &Vec<usize>| apart(&standing[group[0]], &standing[place]).is_empty();
        match groups.iter_mut().find(|group| is_like(group)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let of_first = groups.first().map(|group| group[0]);
    let rankings = groups.iter().map(|group| Ranking {
        apart: of_first.map_or_else(Vec::new, |first| {
            apart(&standing[first], &standing[group[0]])
        }),
        ..ranking(standing, measures, folders, group)
    });
    rankings.collect()
}

/// Why two runs are not ranked against each other, in words. The agent's own prompt is a part of the agent.
fn apart(a: &Standing, b: &Standing) -> Vec<String> {
    let (a, b) = (&a.record.manifest, &b.record.manifest);
    let all = incomparable(a, b).into_iter().chain(beside_agent(a, b));
    let words: BTreeSet<String> = all.map(|one| one.to_string()).collect();
    let words = words.into_iter();
    words.filter(|one| one != "the agent's prompts").collect()
}

fn ranking<'a>(
    standing: &'a [Standing],
    measures: &[Measures],
    folders: &[String],
    group: &[usize],
) -> Ranking<'a> {
    let first = &standing[group[0]].record.manifest;
    let asked = &standing[group[0]].asked;
    let estimates = group.iter().map(|&place| measures[place].proc_estimate);
    let estimates: Vec<Option<Estimate>> = estimates.collect();
    let mut rows: Vec<Row<'a>> = group
        .iter()
        .map(|&place| {
            let Standing {
                name,
                archive,
                seal: _,
                record,
                asked,
                signed,
                submitter,
                level,
                judged,
                doubtful,
            } = &standing[place];
            let is_graded = record.manifest.graded.is_some();
            let started = &record.manifest.started;
            Row {
                rank: rank(measures[place].proc_estimate, &estimates),
                agent: &record.results.agent,
                model: asked.agent.as_deref(),
                name,
                archive,
                proc: measures[place].proc_estimate,
                comp: measures[place].comp_estimate,
                runs: record.manifest.runs,
                cost_usd: record.results.cost.map(pibench_core::cost::MicroUsd::usd),
                own_price: asked.own_price,
                signed: signed.as_ref(),
                submitter: submitter.as_ref(),
                verified: *level,
                judged: judged.as_ref(),
                doubtful: *doubtful,
                scaffold_prompt: record.manifest.scaffold_prompt.as_deref().unwrap_or("-"),
                host: &record.manifest.host,
                started: if is_graded {
                    first_end(record)
                } else {
                    Some(started.clone())
                },
                graded: is_graded.then_some(started.as_str()),
                report: folders[place].clone(),
            }
        })
        .collect();
    let score = |row: &Row<'_>| row.proc.as_ref().map_or(-1.0, |proc| proc.score);
    rows.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let prompts = match first.prompts_version {
        Some(version) => format!("built in, version {version}"),
        None => format!("own {}", short(&first.prompts_digest)),
    };
    Ranking {
        suite: &first.suite,
        suite_digest: &first.suite_digest,
        protocol: run_record::name(&first.protocol),
        protocol_version: first.protocol_version,
        scaffold: run_record::name(&first.scaffold),
        prompts,
        user: &first.user,
        judge: &first.judge,
        user_model: asked.user.as_deref(),
        judge_model: asked.judge.as_deref(),
        apart: Vec::new(),
        rows,
    }
}

/// When the first turn of a run ended, as its times say; a stranger wrote them.
fn first_end(record: &RunRecord) -> Option<String> {
    let ends = record.timings().map(|timing| timing.ended);
    ends.min()
        .map(|end| end.chars().take(LONGEST_NAME).collect())
}

/// A score without an interval lies neither above nor below another; a run without a score is the last.
fn rank(of: Option<Estimate>, all: &[Option<Estimate>]) -> usize {
    let Some(Estimate { interval, .. }) = of else {
        return all.len();
    };
    let is_above = |other: &&Option<Estimate>| {
        let other = other.and_then(|other| other.interval);
        matches!((interval, other), (Some(own), Some(other)) if other.low > own.high)
    };
    all.iter().filter(is_above).count() + 1
}

/// As much of a digest as people compare.
fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// As much of a name as a table has room for.
const LONGEST_NAME: usize = 80;

/// A name as a table has it, with its whole behind it where it is long.
fn shown(name: &str) -> String {
    let told = unmixed(name);
    let cut: String = told.chars().take(LONGEST_NAME).collect();
    if cut.len() == told.len() {
        return escape::html(&told);
    }
    let [cut, whole] = [cut, told].map(|text| escape::html(&text));
    format!("<span title=\"{whole}\">{cut}…</span>")
}

/// What is not seen, and letters among Latin ones that are neither Latin nor of East Asia, by their code: many look like these.
fn unmixed(name: &str) -> String {
    let mut shown = String::new();
    for word in name.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let is_latin = word.contains(|c: char| c.is_ascii_alphabetic());
        for c in word.chars() {
            let is_odd = is_latin && c.is_alphabetic() && !is_latin_or_east_asian(c);
            if is_odd || is_hidden(c) {
                shown.extend(c.escape_unicode());
            } else {
                shown.push(c);
            }
        }
    }
    shown
}

fn is_latin_or_east_asian(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{24f}'
            | '\u{1e00}'..='\u{1eff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
    )
}

/// A name, with the model that was asked for where it does not say so.
fn asked_for(name: &str, model: Option<&str>) -> String {
    let model = model.map(|model| format!(" (asked for {})", shown(model)));
    shown(name) + &model.unwrap_or_default()
}

/// A score with its interval, in percent.
fn score(estimate: Option<&Estimate>) -> String {
    let Some(Estimate {
        score, interval, ..
    }) = estimate
    else {
        return "–".into();
    };
    match interval {
        Some(one) => format!(
            "{score:.1} <small>{:.1} to {:.1}</small>",
            one.low, one.high
        ),
        None => format!("{score:.1}"),
    }
}

fn html(board: &Board<'_>) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let title = escape::html(board.title);
    let rankings = (1..).zip(&board.rankings);
    let rankings: String = rankings.map(|(number, one)| section(number, one)).collect();
    let empty = "<p>No run stands here yet.</p>\n";
    let rankings = if rankings.is_empty() {
        empty
    } else {
        &rankings
    };
    let refused = refused(board.refused);
    let suites = board.rankings.iter().map(|one| one.suite.to_owned());
    let protocols = board.rankings.iter().map(|one| one.protocol.clone());
    let scaffolds = board.rankings.iter().map(|one| one.scaffold.clone());
    let prompts = board.rankings.iter().map(|one| one.prompts.clone());
    let chosen = [
        choice("Suite", "suite", &suites.collect()),
        choice("Protocol", "protocol", &protocols.collect()),
        choice("Scaffold", "scaffold", &scaffolds.collect()),
        choice("Judge's prompts", "prompts", &prompts.collect()),
    ]
    .concat();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <main>\n<h1>{title}</h1>\n\
         <p>Proc: hidden intents that an agent met unasked or by a targeted question. Comp: the checklist at the end. Percent, with \
         95% intervals over sessions. A rank is one more than the runs whose interval for Proc lies above: equal ranks cannot be \
         told apart.</p>\n\
         <p class=\"filters\" hidden><label>Agent <input type=\"search\" id=\"agent\"></label>{chosen}\
         <label>Verified <select id=\"verified\"><option value=\"\">any</option><option>played by the board</option>\
         <option>judged again</option><option>replayed</option><option>self-reported</option></select></label>\
         <label>Prompt <select id=\"prompt\"><option value=\"\">any</option><option>neutral</option><option>coached</option>\
         <option>own</option></select></label>\
         <label><input type=\"checkbox\" id=\"signed\"> signed only</label></p>\n\
         {rankings}{refused}\
         <p><small>The same as data: <a href=\"board.json\">board.json</a>. Replayed: rules and graders were run again over the \
         record, sums and hashes follow; what models judged stands as they said it. Judged again: \
         another judge was asked about a sample of it. A signature says who sent a run, and not that it \
         was played so.</small></p>\n\
         </main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// A field to choose one of the values that occur.
fn choice(name: &str, id: &str, values: &BTreeSet<String>) -> String {
    let options = values
        .iter()
        .map(|value| format!("<option>{}</option>", escape::html(value)));
    let options: String = options.collect();
    format!(
        "<label>{name} <select id=\"{id}\"><option value=\"\">any</option>{options}</select></label>"
    )
}

fn section(number: usize, ranking: &Ranking<'_>) -> String {
    let Ranking {
        suite,
        suite_digest,
        protocol,
        protocol_version,
        scaffold,
        prompts,
        user,
        judge,
        user_model,
        judge_model,
        apart,
        rows,
    } = ranking;
    let is_open = |row: &Row<'_>| row.proc.is_some_and(|proc| proc.interval.is_none());
    let open = if rows.iter().any(is_open) {
        " A score without an interval, as of a single session, takes no part in the ranking: its rank tells it from no other."
    } else {
        ""
    };
    let rows: String = rows.iter().map(row).collect();
    let digest = short(suite_digest);
    let [suite, digest] = [*suite, digest.as_str()].map(escape::html);
    let (user, judge) = (asked_for(user, *user_model), asked_for(judge, *judge_model));
    let apart = if apart.is_empty() {
        String::new()
    } else {
        let words = escape::html(&apart.join(", "));
        format!(" Not comparable with the first ranking, which differs in {words}.")
    };
    format!(
        "<section data-suite=\"{suite}\" data-protocol=\"{protocol}\" data-scaffold=\"{scaffold}\" data-prompts=\"{prompts}\">\n<h2>{suite} <small>{digest}</small></h2>\n\
         <p>Protocol {protocol}, version {protocol_version}; scaffold {scaffold}; user agent {user}, judge {judge}, prompts \
         {prompts}.{apart}{open}</p>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Ranking {number}, of {suite}\"><table>\n<thead><tr><th>Rank</th><th>Agent</th>\
         <th>Proc</th><th>Comp</th><th>Runs</th><th>Cost, USD</th><th>Prompt</th><th>Verified</th><th>Signed by</th>\
         <th>To look at</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n</section>\n"
    )
}

fn row(row: &Row<'_>) -> String {
    let signer = row.signed.map_or_else(
        || "nobody".to_owned(),
        |one| {
            let [by, key] = [&one.by, &one.fingerprint].map(|text| escape::html(text));
            format!("<span title=\"{key}\">{by}</span>")
        },
    );
    let submitter = row.submitter.map_or_else(String::new, |one| {
        let name = escape::html(&one.name);
        format!(
            "<br><small>for {name}, run {} under this name</small>",
            one.attempt
        )
    });
    let cost = row
        .cost_usd
        .map_or_else(|| "unknown".to_owned(), |cost| format!("{cost:.2}"));
    let own_price = if row.own_price {
        "<br><small>own price</small>"
    } else {
        ""
    };
    let graded = row.graded.map_or_else(String::new, |at| {
        let at = escape::html(at);
        format!("<br><small>graded again, {at}</small>")
    });
    let prompt = escape::html(row.scaffold_prompt);
    let verified = row.verified.words();
    let again = row.judged.map_or_else(String::new, again);
    format!(
        "<tr data-agent=\"{agent}\" data-verified=\"{verified}\" data-prompt=\"{prompt}\" data-signed=\"{is_signed}\">\
         <td>{}</td><th scope=\"row\"><a href=\"{}/index.html\">{name}</a><br><small>{} <span title=\"{archive}\">{}</span></small></th>\
         <td>{}</td><td>{}</td><td>{}</td><td>{cost}{own_price}</td><td>{prompt}</td><td>{verified}{graded}{again}</td><td>{signer}{submitter}</td><td>{}</td></tr>\n",
        row.rank,
        row.report,
        escape::html(row.name),
        short(row.archive),
        score(row.proc.as_ref()),
        score(row.comp.as_ref()),
        row.runs,
        row.doubtful,
        agent = escape::html(row.agent),
        name = asked_for(row.agent, row.model),
        archive = row.archive,
        is_signed = row.signed.is_some(),
    )
}

/// What another judge said.
fn again(judged: &Judged) -> String {
    let Judged {
        judge,
        sampled,
        of,
        intents,
        checklist,
        // For whoever repeats it; in the data.
        seed: _,
    } = judged;
    let axes = [("intents", intents), ("rubrics", checklist)];
    let axes = axes
        .iter()
        .filter_map(|(axis, rate)| rate.map(|rate| format!("; differs on {rate:.1}% of {axis}")));
    let axes: String = axes.collect();
    let judge = escape::html(judge);
    format!("<br><small>{judge}, {sampled} of {of} sessions{axes}</small>")
}

fn refused(all: &[Refused]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let line = |one: &Refused| {
        let reasons = one.reasons.iter().map(|reason| escape::html(reason));
        let reasons: Vec<String> = reasons.map(|reason| tag("li", &reason)).collect();
        let name = escape::html(&one.name);
        tag("li", &(name + &tag("ul", &reasons.concat()))) + "\n"
    };
    let lines: String = all.iter().map(line).collect();
    format!("<section>\n<h2>Not ranked</h2>\n<ul>\n{lines}</ul>\n</section>\n")
}

/// An element without attributes around markup.
fn tag(name: &str, within: &str) -> String {
    format!("<{name}>{within}</{name}>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pibench_core::statistics::Interval;

    #[test]
    fn a_report_lies_where_it_lay_whatever_else_stands_there() {
        let [one, two] = ["a".repeat(64), "b".repeat(64)];
        let own = "a".repeat(12);
        assert_eq!(names_of(&[&one]), std::slice::from_ref(&own));
        assert_eq!(names_of(&[&two, &one]), ["b".repeat(12), own.clone()]);
        // Seals that begin alike, and one twice.
        let alike = format!("{}c", "a".repeat(63));
        assert_eq!(names_of(&[&one, &alike]), [one.clone(), alike.clone()]);
        assert_eq!(names_of(&[&one, &one]), [one.clone(), format!("{one}-1")]);
    }

    #[test]
    fn a_long_name_is_cut_and_letters_that_look_latin_are_told() {
        assert_eq!(shown("openai/gpt-5.4"), "openai/gpt-5.4");
        assert_eq!(shown("openai/g\u{440}t-5.4"), "openai/g\\u{440}t-5.4");
        // Not seen, Armenian and full-width.
        for c in ['\u{ad}', '\u{3164}', '\u{e0041}', '\u{57d}', '\u{ff47}'] {
            let told = format!("openai/gpt{}-5.4", c.escape_unicode());
            assert_eq!(shown(&format!("openai/gpt{c}-5.4")), told);
        }
        for whole in ["модель/язык-1", "model/язык", "α/m", "modèle-1", "Qwen千问"]
        {
            assert_eq!(shown(whole), whole);
        }
        let long = shown(&"x".repeat(3000));
        assert!(long.ends_with(&format!("\">{}…</span>", "x".repeat(80))));
        assert!(long.contains(&"x".repeat(3000)));
    }

    #[test]
    fn a_rank_counts_intervals_above_and_one_without_is_told_from_none() {
        let of = |score: f64, interval: Option<(f64, f64)>| {
            Some(Estimate {
                score,
                interval: interval.map(|(low, high)| Interval { low, high }),
                sessions: 1,
            })
        };
        let ranks = |all: &[Option<Estimate>]| -> Vec<usize> {
            all.iter().map(|one| rank(*one, all)).collect()
        };
        let sure = [
            of(90.0, Some((80.0, 95.0))),
            of(50.0, Some((40.0, 60.0))),
            of(55.0, Some((50.0, 60.0))),
        ];
        assert_eq!(ranks(&sure), [1, 2, 2]);
        assert_eq!(ranks(&[of(90.0, None), of(50.0, None)]), [1, 1]);
        let mixed = [of(90.0, None), of(50.0, Some((40.0, 60.0))), None];
        assert_eq!(ranks(&mixed), [1, 1, 3]);
    }
}
