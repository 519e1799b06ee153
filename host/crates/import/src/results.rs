//! Reads the output folders of the reference implementation: what it recorded of each session, in our words and matched
//! with the suite that was imported from the same data. It plays, scores and writes nothing.
//!
//! ```text
//! <model>[__run<NN>]/<user>/<task>/history/<time>-messages.jsonl      what user and agent said
//!                                 /history/<time>-log.jsonl           what the user agent found, and how it ended
//!                                 /eval/results/<time>_result.json    the checklist, turn by turn
//!                                 /eval/trace_logs/<time>/turn_<n>.json   the chat with its tool calls
//! ```
//!
//! Of several attempts at a session the latest counts, as in the reference.

mod session;
mod source;

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::Value;

use self::session::Unread;
use self::source::Folder;
use crate::tasks::to_id;
use pibench_core::record::Outcome;
use pibench_core::session::{IntentChange, SessionError, Tracker};
use pibench_core::vocabulary::Protocol;
use pibench_suite::problem::{Problem, Problems};
use pibench_suite::suite::{Persona, Suite};

/// What a run of several writes behind the model's name.
const RUN_SUFFIX: &str = "__run";

/// The runs of one model.
#[derive(Debug, Clone)]
pub struct Outputs {
    /// As its folder is named.
    pub model: String,
    pub runs: u32,
    /// Run by run, in the suite's order.
    pub episodes: Vec<Episode>,
    /// BLAKE3 of every file that was read.
    pub digest: String,
    /// What is not there, one line each.
    pub left_out: Vec<String>,
    /// Sessions whose files cannot be read or contradict each other; each has its line there.
    pub unread: usize,
}

/// One persona in one run.
#[derive(Debug, Clone)]
pub struct Episode {
    /// 1, 2, 3, ...
    pub run: u32,
    /// The persona's id in the suite.
    pub persona: String,
    /// As its folder is named; None of a persona that other runs have.
    pub user: Option<String>,
    /// In the order of the suite, without those that are not there.
    pub sessions: Vec<Played>,
    /// The reference's own scores of the persona, fractions; None where its files tell none.
    pub proc: Option<f64>,
    pub comp: Option<f64>,
}

/// One session.
#[derive(Debug, Clone)]
pub struct Played {
    /// The session's id in the suite.
    pub session: String,
    /// At least one.
    pub turns: Vec<PlayedTurn>,
    pub outcome: Outcome,
    /// What broke, when something did.
    pub fault: Option<String>,
    /// The agent's system prompt; empty where no chat is recorded.
    pub system: String,
}

/// One turn.
#[derive(Debug, Clone, Default)]
pub struct PlayedTurn {
    /// What the agent was told.
    pub message: String,
    /// When: milliseconds since 1970.
    pub asked_at: i64,
    /// What it took, in milliseconds; None for a turn without an answer.
    pub took: Option<u64>,
    /// Empty for a turn without an answer.
    pub response: String,
    pub steps: Vec<PlayedStep>,
    /// Judgements over intents (indices), in the order in which they were asked.
    pub satisfied: Vec<(usize, bool)>,
    pub asked: Vec<(usize, bool)>,
    pub changes: Vec<IntentChange>,
    /// By item's id.
    pub verdicts: Vec<(String, bool)>,
    /// What the judge of rubric items answered, attempt by attempt.
    pub replies: Vec<String>,
}

/// One thing that the agent did.
#[derive(Debug, Clone)]
pub enum PlayedStep {
    Reply {
        text: String,
        reasoning: Option<String>,
        /// Id, tool and arguments as JSON text.
        calls: Vec<(String, String, String)>,
    },
    Call {
        id: String,
        tool: String,
        arguments: Value,
        /// Their text, where they hold integers that a value does not keep.
        exact: Option<Box<str>>,
        result: String,
    },
}

/// Why nothing of outputs can be taken.
#[derive(Debug)]
pub struct Nothing {
    pub problems: Problems,
    /// What is not there, as in [`Outputs`].
    pub left_out: Vec<String>,
}

/// Reads the runs of one model: of `model`, or of the only one that is there.
pub fn read(dir: &Utf8Path, suite: &Suite, model: Option<&str>) -> Result<Outputs, Nothing> {
    let one = |problem: Box<Problem>| Nothing {
        problems: Problems(vec![*problem]),
        left_out: Vec::new(),
    };
    let root = Folder::open(dir).map_err(one)?;
    let (model, folders) = runs(&root, model).map_err(one)?;
    let mut reader = Reader {
        suite,
        left_out: Vec::new(),
        problems: Vec::new(),
    };
    for (run, (number, name)) in (1..).zip(&folders) {
        if *number != run {
            reader.leave_out(
                &root,
                name,
                &format!("there is no run {run}; this is run {run} here"),
            );
        }
    }
    let mut digest = blake3::Hasher::new();
    let mut episodes = Vec::new();
    for (run, (_, name)) in (1..).zip(&folders) {
        let mut folder = Folder::open(&dir.join(name)).map_err(one)?;
        episodes.extend(reader.run(run, &mut folder).map_err(one)?);
        digest.update(folder.digest().as_bytes());
    }
    // Who is in no run was not to be played; of the others every run has an episode.
    let there = episodes.iter().filter(|episode| episode.user.is_some());
    let played: Vec<String> = there.map(|episode| episode.persona.clone()).collect();
    episodes.retain(|episode| played.contains(&episode.persona));
    if episodes.is_empty() && reader.problems.is_empty() {
        let problem = root.problem("", "no folder of a persona of the suite");
        reader.problems.push(problem.help(
            "give the folder that holds <model>/<user>/<task>/, and the suite imported from the same data",
        ));
    }
    // Where none can be read, it is rather the suite or the folder that is another one.
    let is_any = episodes.iter().any(|one| !one.sessions.is_empty());
    if !is_any {
        if reader.problems.is_empty() {
            reader
                .problems
                .push(*root.problem("", "no session of the suite that can be read"));
        }
        return Err(Nothing {
            problems: Problems(reader.problems),
            left_out: reader.left_out,
        });
    }
    let unread = reader.problems.iter().map(Problem::to_line);
    let unread: Vec<String> = unread
        .map(|line| format!("{line}; the session is unscored"))
        .collect();
    reader.left_out.extend(unread);
    Ok(Outputs {
        model,
        runs: u32::try_from(folders.len()).unwrap_or(u32::MAX),
        episodes,
        digest: digest.finalize().to_hex().to_string(),
        left_out: reader.left_out,
        unread: reader.problems.len(),
    })
}

/// A model and its folders, each behind its number, in the order of the runs.
type Runs = (String, Vec<(u64, String)>);

/// The runs of the wanted model, or of the only one.
fn runs(root: &Folder, wanted: Option<&str>) -> Result<Runs, Box<Problem>> {
    let mut models: BTreeMap<String, BTreeMap<u64, String>> = BTreeMap::new();
    let mut twice: Vec<(String, Box<Problem>)> = Vec::new();
    let names = root.names("")?;
    if ["journal", "manifest.json"]
        .map(str::to_owned)
        .iter()
        .all(|name| names.contains(name))
    {
        let problem = root.problem(
            "",
            "a run of this program, and no outputs of the released code",
        );
        return Err(Box::new(
            problem.help("report, grade and verify take it as it is"),
        ));
    }
    for name in names {
        if name.starts_with('.') || !root.is_folder(&name) {
            continue;
        }
        let (model, number) = parts(&name);
        let before = models
            .entry(model.to_owned())
            .or_default()
            .insert(number, name.clone());
        if let Some(before) = before {
            let message = format!("run {number} a second time, beside `{before}`");
            let problem = root.problem(&name, message).help("move one of them away");
            twice.push((model.to_owned(), Box::new(problem)));
        }
    }
    // Names as the reference writes them into paths.
    let wanted = wanted.map(|model| model.replace('/', "_"));
    let known: Vec<String> = models.keys().cloned().collect();
    let known = known.join(", ");
    let (model, folders) = match wanted {
        Some(model) => match models.remove_entry(&model) {
            Some(found) => found,
            None => {
                return Err(root.problem("", format!("no model `{model}`; there are: {known}")));
            }
        },
        None if models.len() > 1 => {
            let problem = root.problem("", format!("outputs of several models: {known}"));
            return Err(Box::new(problem.help("choose one by --model")));
        }
        None => {
            let only = models.pop_first();
            only.ok_or_else(|| root.problem("", "no model's folder"))?
        }
    };
    match twice.into_iter().find(|(of, _)| *of == model) {
        Some((_, problem)) => Err(problem),
        None => Ok((model, folders.into_iter().collect())),
    }
}

/// The model's name and the number of the run, which is the first where none is told.
fn parts(folder: &str) -> (&str, u64) {
    let number = |number: &str| {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| digits)
    };
    folder
        .rsplit_once(RUN_SUFFIX)
        .and_then(|(model, run)| Some((model, number(run)?)))
        .unwrap_or((folder, 1))
}

/// The rules of the released code, run again over the changes of a session that was taken over: an error, or another end
/// than `ended`, where they do not give it.
pub fn follow(
    intents: usize,
    turns: u32,
    changes: &[IntentChange],
    ended: Option<Outcome>,
) -> Result<Tracker, SessionError> {
    // What the limit was is told by a session that came to it only.
    let limit = match ended {
        Some(Outcome::MaxTurns) => turns,
        _ => turns.saturating_add(1),
    };
    Tracker::replay(
        Protocol::PiBench,
        intents,
        limit,
        turns,
        changes,
        &[],
        ended,
    )
}

struct Reader<'a> {
    suite: &'a Suite,
    left_out: Vec<String>,
    /// One of each session that cannot be read.
    problems: Vec<Problem>,
}

impl Reader<'_> {
    /// The episodes of one run. An error is of the folder; those of sessions are kept.
    fn run(&mut self, run: u32, folder: &mut Folder) -> Result<Vec<Episode>, Box<Problem>> {
        let users = folders(folder, "")?;
        for user in &users {
            if !self.suite.personas.iter().any(|one| is(&one.id, user)) {
                self.leave_out(folder, user, "no persona of the suite");
            }
        }
        let mut episodes = Vec::new();
        for persona in &self.suite.personas {
            let user = self.only(folder, "", &users, &persona.id);
            if user.is_none() {
                let what = "the persona is not there; its sessions of this run are unscored";
                self.leave_out(folder, &persona.id, what);
            }
            episodes.push(self.episode(run, persona, user, folder)?);
        }
        Ok(episodes)
    }

    /// The folder of an id. Of several that differ in what ids do not keep, that of the same spelling, or the first.
    fn only<'n>(
        &mut self,
        folder: &Folder,
        above: &str,
        names: &'n [String],
        id: &str,
    ) -> Option<&'n str> {
        let mut all: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| is(id, name))
            .collect();
        all.sort_by_key(|name| *name != id);
        let (first, others) = all.split_first()?;
        for other in others {
            let path = Utf8Path::new(above).join(other);
            let what = format!("the same here as `{first}`, which was taken");
            self.leave_out(folder, path.as_str(), &what);
        }
        Some(first)
    }

    fn episode(
        &mut self,
        run: u32,
        persona: &Persona,
        user: Option<&str>,
        folder: &mut Folder,
    ) -> Result<Episode, Box<Problem>> {
        let mut episode = Episode {
            run,
            persona: persona.id.clone(),
            user: user.map(str::to_owned),
            sessions: Vec::new(),
            proc: None,
            comp: None,
        };
        let Some(user) = user else {
            return Ok(episode);
        };
        let tasks = folders(folder, user)?;
        for task in &tasks {
            let known = persona.sessions.iter().any(|session| is(&session.id, task));
            // Logs of the whole run; they say nothing of a session.
            if !known && task != "run" {
                self.leave_out(folder, &format!("{user}/{task}"), "no session of the suite");
            }
        }
        let mut latest = String::new();
        for session in &persona.sessions {
            let Some(task) = self.only(folder, user, &tasks, &session.id) else {
                let path = format!("{user}/{}", session.id);
                self.leave_out(folder, &path, "the session is not there; it is unscored");
                continue;
            };
            match session::read(folder, &format!("{user}/{task}"), session) {
                Ok(session::Read {
                    played,
                    evaluated,
                    proc,
                    comp,
                    notes,
                }) => {
                    episode.sessions.push(played);
                    self.left_out.extend(notes);
                    if evaluated >= latest {
                        (episode.proc, episode.comp) = (proc, comp);
                        latest = evaluated;
                    }
                }
                Err(Unread::Problem(problem)) => self.problems.push(*problem),
                Err(Unread::Left(line)) => self.left_out.push(line),
            }
        }
        Ok(episode)
    }

    fn leave_out(&mut self, folder: &Folder, path: &str, what: &str) {
        let path = folder.shown(path);
        self.left_out.push(format!("{path}: {what}"));
    }
}

/// The folders in a folder.
fn folders(folder: &Folder, path: &str) -> Result<Vec<String>, Box<Problem>> {
    let mut names = folder.names(path)?;
    names.retain(|name| folder.is_folder(Utf8Path::new(path).join(name).as_str()));
    Ok(names)
}

/// Whether a folder is of something that the import gave an id.
fn is(id: &str, folder: &str) -> bool {
    to_id(folder).is_some_and(|name| name == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_run_is_no_part_of_the_model() {
        for (folder, model, number) in [
            ("m-1", "m-1", 1),
            ("m-1__run02", "m-1", 2),
            ("m__run", "m__run", 1),
            ("m__run+2", "m__run+2", 1),
            ("m__runner", "m__runner", 1),
            ("a__run1__run12", "a__run1", 12),
        ] {
            assert_eq!(parts(folder), (model, number));
        }
    }
}
