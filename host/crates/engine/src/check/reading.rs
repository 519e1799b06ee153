//! The suite as its agent reads it: the documents that personas and sessions stage are their text, so that leaks in them are
//! found, and so are the places in them that an intent names.

use std::sync::Arc;

use crate::plan::Guests;
use pibench_sandbox::document::{DOCUMENT, Format};
use pibench_sandbox::{Documents, Limits, Plugins};
use pibench_suite::problem::Problem;
use pibench_suite::suite::{Staged, Suite};

/// Pages, slides or sheets of a document that are looked at.
const PAGES: u32 = 1000;

/// A copy of the suite with texts for documents; one that cannot be read stays as it is, with a problem.
pub async fn as_read(suite: &Suite, plugins: &Arc<Plugins>, problems: &mut Vec<Problem>) -> Suite {
    let documents = Documents::new(Arc::clone(plugins), Limits::DOCUMENT);
    let mut suite = suite.clone();
    // That there is no reader is told once, and not for each document.
    let papers = plugins.papers(DOCUMENT);
    if papers.is_ok_and(|papers| Guests::find_misnamed(DOCUMENT, &papers).is_some()) {
        return suite;
    }
    let files = suite.personas.iter_mut().flat_map(|persona| {
        let sessions = persona.sessions.iter_mut();
        let staged = sessions.flat_map(|session| &mut session.files);
        let own = persona.files.iter_mut().chain(&mut persona.skills);
        staged.chain(own)
    });
    for file in files {
        if let Err(reason) = read(file, &documents).await {
            let message = format!("the document `{}` cannot be read: {reason}", file.path);
            let help = "an agent cannot read it either: stage one that it can";
            problems.push(Problem::of_file(&suite.path, message).help(help).warning());
        }
    }
    suite
}

async fn read(file: &mut Staged, documents: &Documents) -> Result<(), String> {
    let Some(format) = Format::of(&file.path) else {
        return Ok(());
    };
    let pages = documents.read(&file.content, format, 1, PAGES).await;
    let pages = pages.map_err(|fault| fault.to_string())?;
    let texts: Vec<&str> = pages.found.iter().map(|page| page.text.as_str()).collect();
    file.content = texts.join("\n").into_bytes().into();
    Ok(())
}
