//! Reads what blind plays of a suite came to: `pilots.toml` beside the suite file, written by hand from what `check --against
//! RUN --pilot ID` prints. No score and no digest depends on it.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::{Loader, folder_and_name};
use crate::manifest::{PilotSession, PilotsFile};
use crate::problem::{Problem, Problems};
use crate::suite::{Session, Suite};

/// Beside the suite file.
pub const PILOTS: &str = "pilots.toml";

/// The pilots of a suite; None where there is no such file. On failure, every problem that was found.
pub fn pilots(suite: &Utf8Path) -> Result<Option<PilotsFile>, Problems> {
    let (folder, _) = folder_and_name(suite);
    let mut loader = Loader::open(folder)?;
    let names = loader.pack.names("");
    if !names.is_ok_and(|names| names.iter().any(|name| name == PILOTS)) {
        return Ok(None);
    }
    let source = loader
        .source(PILOTS)
        .map_err(|message| Problems(vec![Problem::of_file(&folder.join(PILOTS), message)]))?;
    let file = loader.file(&source, |_, document, report| document.read(report));
    match file {
        Some(file) if !loader.problems.iter().any(Problem::is_error) => Ok(Some(file)),
        _ => Err(Problems(loader.problems)),
    }
}

/// The plays of each session that the suite has, in the suite's order.
pub fn by_session<'a>(
    file: &'a PilotsFile,
    suite: &'a Suite,
) -> Vec<(&'a str, &'a Session, Vec<&'a PilotSession>)> {
    let mut plays: BTreeMap<(&str, &str), Vec<&PilotSession>> = BTreeMap::new();
    for play in file.pilots.iter().flat_map(|pilot| &pilot.sessions) {
        let of = plays.entry((&play.persona, &play.session)).or_default();
        of.push(play);
    }
    let personas = suite.personas.iter();
    let sessions = personas.flat_map(|persona| {
        let sessions = persona.sessions.iter();
        sessions.map(|session| (persona.id.as_str(), session))
    });
    sessions
        .filter_map(|(persona, session)| {
            let plays = plays.remove(&(persona, session.id.as_str()))?;
            Some((persona, session, plays))
        })
        .collect()
}

/// Intents that say nothing of who is better: met by every pilot without being told (true), or by none.
pub fn undecided<'a>(session: &'a Session, plays: &[&PilotSession]) -> Vec<(&'a str, bool)> {
    let known = |play: &&&PilotSession, id: &str| play.all().any(|one| one == id);
    let intents = session.intents.iter().map(|intent| intent.id.as_str());
    intents
        .filter_map(|id| {
            // An intent that was written later was in no play.
            let plays = plays.iter().filter(|play| known(play, id));
            let met: Vec<bool> = plays.map(|play| play.met(id)).collect();
            agreed(&met).map(|all| (id, all))
        })
        .collect()
}

/// What all plays of an intent came to, where it is hardly by chance. A strong reader meets seven of ten: what three plays
/// missed is one in forty by chance, but what three met one in three, and five one in six.
fn agreed(met: &[bool]) -> Option<bool> {
    match met {
        [true, rest @ ..] if rest.len() >= 4 && rest.iter().all(|met| *met) => Some(true),
        [false, rest @ ..] if rest.len() >= 2 && !rest.contains(&true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<PilotsFile>, Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        std::fs::write(dir.join(PILOTS), text).unwrap();
        let found = pilots(&dir.join("suite.toml"));
        found.map_err(|Problems(problems)| {
            let messages = problems.iter().map(|problem| problem.message().to_owned());
            messages.collect()
        })
    }

    const ONE: &str = "version = 1\n[[pilots]]\nid = \"a\"\nagent = \"x\"\njudge = \"y\"\nsuite = \"d\"\n\
        [[pilots.sessions]]\npersona = \"p\"\nsession = \"s\"\nturns = 2\nfirst = [\"one\"]\n\
        completed = [\"one\"]\ninferred = []\nprovided = [\"two\"]\nopen = []\nproc = 50.0\n";

    #[test]
    fn a_pilot_is_read_and_an_unknown_key_is_refused() {
        let file = read(ONE).unwrap().unwrap();
        let play = &file.pilots[0].sessions[0];
        assert!(play.met("one") && !play.met("two") && play.comp.is_none());
        let errors = read(&ONE.replace("turns = 2", "turns = 2\ntruns = 3")).unwrap_err();
        assert!(errors[0].contains("truns"), "{errors:?}");
    }

    #[test]
    fn what_all_plays_met_or_missed_is_told_where_it_is_hardly_by_chance() {
        for (met, missed, told) in [
            (4, 0, None),
            (5, 0, Some(true)),
            (5, 1, None),
            (0, 2, None),
            (0, 3, Some(false)),
            (1, 3, None),
            (0, 0, None),
        ] {
            assert_eq!(
                agreed(&[vec![true; met], vec![false; missed]].concat()),
                told
            );
        }
    }

    #[test]
    fn a_suite_without_the_file_has_no_pilots() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        assert_eq!(pilots(&dir.join("suite.toml")).unwrap(), None);
    }
}
