//! A sample put before people, and their verdicts held against the run's: the majority of each question counts (paper,
//! section F.1).

use std::collections::BTreeMap;

use super::super::contents::Contents;
use super::super::turn::{calls, repeats, results};
use super::sample::{Drawn, Key, Sample};
use super::{Audited, compared, judged_again, rated_items};
use crate::role::Content;
use pibench_core::record::{CallStatus, FileChange};
use pibench_core::vocabulary::When;
use pibench_record::audited::Both;
use pibench_record::ballot::{
    Ballot, BallotCall, BallotFile, BallotSession, BallotTurn, Held, Kind, Question, Verdict, Votes,
};
use pibench_record::folder::FolderError;
use pibench_suite::suite::Item;

/// Characters of a name: enough that no two of a sample are the same, and short enough to be read aloud.
const NAME: usize = 12;

/// The sample as people judge it: the record without agent, scores and verdicts, and a question for each of the run's
/// judgements.
pub async fn ballot(sample: &Sample<'_>) -> Result<Ballot, FolderError> {
    let mut sessions = Vec::new();
    for one in &sample.sessions {
        sessions.push(session(one).await?);
    }
    Ok(Ballot {
        id: id(sample),
        sessions,
    })
}

/// Names the sample.
fn id(sample: &Sample<'_>) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("pibench-host ballot of an audit, version 1");
    for one in &sample.sessions {
        hasher.update(&one.key);
    }
    hasher.finalize().to_hex()[..NAME].to_owned()
}

/// Names a question; whoever sees it learns nothing.
fn name(key: &Key, kind: &str, id: &str) -> String {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(kind.as_bytes());
    hasher.update(&[0]);
    hasher.update(id.as_bytes());
    hasher.finalize().to_hex()[..NAME].to_owned()
}

fn item_name(one: &Drawn<'_>, item: &Item) -> String {
    name(&one.key, "item", &item.id)
}

fn intent_name(one: &Drawn<'_>, intent: &str) -> String {
    name(&one.key, "intent", intent)
}

async fn session(one: &Drawn<'_>) -> Result<BallotSession, FolderError> {
    let recorded = &one.session;
    let mut contents = Contents::new(one.plan);
    let items = rated_items(recorded).map(|(item, _)| Question {
        id: item_name(one, item),
        kind: Kind::Item {
            at_end: item.when == When::End,
        },
        text: item.criterion.clone(),
    });
    let intents = recorded.session.intents.iter().map(|intent| Question {
        id: intent_name(one, &intent.id),
        kind: Kind::Intent,
        text: intent.content.clone(),
    });
    let mut questions: Vec<Question> = items.chain(intents).collect();
    questions.sort_by(|a, b| a.id.cmp(&b.id));
    let mut turns = Vec::new();
    for recorded in &recorded.turns {
        let turn = &recorded.turn;
        let changes = turn.changes.iter();
        let results = results(&one.plan.folder, calls(turn));
        let changes = changes.filter(|change| !repeats(change, &results));
        let calls = calls(turn).map(|call| BallotCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            result: call.result.clone(),
            refused: call.status != CallStatus::Ok,
        });
        turns.push(BallotTurn {
            message: turn.message.clone(),
            response: turn.response.clone(),
            calls: calls.collect(),
            files: files(one, changes, &mut contents).await?,
        });
    }
    // What the persona has from the start takes much room and says little.
    let own = |change: &&FileChange| {
        let mut files = recorded.session.files.iter();
        files.any(|file| file.path == change.path)
    };
    let staged = recorded.started.changes.iter().filter(own);
    Ok(BallotSession {
        user: recorded.persona.name.clone(),
        title: recorded.session.title.clone(),
        files: files(one, staged, &mut contents).await?,
        turns,
        questions,
    })
}

async fn files(
    one: &Drawn<'_>,
    changes: impl Iterator<Item = &FileChange>,
    contents: &mut Contents,
) -> Result<Vec<BallotFile>, FolderError> {
    let mut files = Vec::new();
    for change in changes {
        let content = match &change.blob {
            Some(blob) => Some(one.plan.folder.blob(blob)?),
            None => None,
        };
        // A document that breaks its reader is shown as one that could not be read; nobody is scored by it here.
        let read = contents.of(&change.path, content, &mut Vec::new()).await;
        let content = match read {
            Ok(Content::Text(text)) => Held::Text(text.to_string()),
            Ok(Content::Picture(picture)) => Held::Picture((*picture).clone()),
            Ok(Content::Bytes(bytes)) => Held::Unshown(format!("{bytes} bytes that are no text")),
            Ok(Content::Unread(why)) => Held::Unshown(format!("it could not be read: {why}")),
            Ok(Content::Missing) => Held::Deleted,
            Err(fault) => Held::Unshown(format!("it could not be read: {}", fault.message)),
        };
        files.push(BallotFile {
            path: change.path.clone(),
            content,
        });
    }
    Ok(files)
}

/// Compares the majority of the people's votes with the run's judgements.
pub fn audit_by_people(sample: &Sample<'_>, votes: &[Votes], seed: u64) -> Audited {
    let judged = |one: &Drawn<'_>| {
        let checklist = rated_items(&one.session).map(|(item, first)| {
            let second = match majority(votes, &item_name(one, item)) {
                Some(Verdict::Item(met)) => Some(met),
                _ => None,
            };
            Both::new(&item.id, first, second, "")
        });
        let intents = one.session.finished.intents.iter().map(|intent| {
            let second = match majority(votes, &intent_name(one, &intent.intent)) {
                Some(Verdict::Intent(status)) => Some(status),
                _ => None,
            };
            Both::new(&intent.intent, intent.status, second, "")
        });
        judged_again(
            one.plan,
            &one.session,
            checklist.collect(),
            intents.collect(),
        )
    };
    compared(sample, sample.sessions.iter().map(judged).collect(), seed)
}

/// What more than half of the people say.
fn majority(votes: &[Votes], question: &str) -> Option<Verdict> {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for vote in votes.iter().filter_map(|votes| votes.get(question)) {
        *counts.entry(*vote).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.and_then(|(verdict, count)| (2 * count > votes.len()).then_some(verdict))
}
