//! What `pack` would refuse of a suite's folder beside what is wrong with the suite: for `check`, which tells it with all else.

use camino::Utf8Path;

use super::held::wrong;
use super::stranger::{check_host, check_plugins};
use crate::exit::Failure;
use pibench_pack::contents::LIST;
use pibench_pack::named::Named;
use pibench_pack::{Contents, Manifest, PackError, manifest, private, secret, suite_file, trace};
use pibench_suite::pack::Pack;
use pibench_suite::problem::{Problem, Source};
use pibench_vault::keyring::is_private;

/// Every problem of a pack that its author has not made yet; none of a suite that is no pack. One that is installed was looked at
/// then, and must be as it was.
pub(in crate::commands) fn problems(suite: &Utf8Path) -> Vec<Problem> {
    let folder = suite.parent().unwrap_or(Utf8Path::new(""));
    let at = folder.join(manifest::FILE);
    if suite.file_name() != Some(suite_file::FILE) || !at.is_file() {
        return Vec::new();
    }
    let list = folder.join(LIST);
    if list.exists() {
        let wrong = wrong(folder).unwrap_or_else(|error| Some(said(error)));
        let problem = |reason: String| Problem::of_file(&list, reason);
        return wrong.map(problem).into_iter().collect();
    }
    if is_private(folder.as_std_path()) {
        return Vec::new();
    }
    let mut problems = of_manifest(folder, &at);
    let is_sound = problems.is_empty();
    let place = folder.join(trace::WORDINGS);
    let wordings = private::wrong_wordings(folder).into_iter();
    problems.extend(wordings.map(|reason| Problem::of_file(&place, reason)));
    if is_sound {
        let refused = refusals(folder).into_iter();
        problems.extend(refused.map(|reason| Problem::of_file(&at, reason)));
    }
    problems
}

fn of_manifest(folder: &Utf8Path, at: &Utf8Path) -> Vec<Problem> {
    let read = || {
        let mut pack = Pack::open_as_it_lies(folder).map_err(|error| error.to_string())?;
        let bytes = pack.read(manifest::FILE, manifest::LIMIT);
        let bytes = bytes.map_err(|error| format!("cannot {error}"))?;
        String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())
    };
    let text = match read() {
        Ok(text) => text,
        Err(reason) => return vec![Problem::of_file(at, reason)],
    };
    let source = Source {
        path: at.to_owned(),
        text: text.into(),
    };
    let found = Manifest::problems(&source.text).into_iter();
    found
        .map(|(place, reason)| match place {
            Some(place) => Problem::at(&source, place, reason),
            None => Problem::of_file(at, reason),
        })
        .collect()
}

fn said(error: PackError) -> String {
    match error {
        PackError::Refused { reason, .. } => reason,
        error @ PackError::Io { .. } => error.to_string(),
    }
}

/// Why a folder with a sound `pack.toml` would not be packed.
fn refusals(folder: &Utf8Path) -> Vec<String> {
    let (contents, manifest, left_out) = match Contents::of_draft(folder) {
        Ok(found) => found,
        Err(error) => return vec![said(error)],
    };
    let checked = [
        check_host(folder, &manifest),
        Named::of(folder).check(folder, &left_out),
        secret::check(folder, &contents),
        suite_file::check(folder, &contents),
    ];
    let refused = checked.into_iter().filter_map(Result::err).map(said);
    let plugins = check_plugins(folder, &contents).err();
    let plugins = plugins.map(|failure: Failure| failure.reason());
    refused.chain(plugins).collect()
}
