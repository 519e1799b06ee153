//! The runs that folders of the command line hold, and a word on what is left out of them. Reads none.

use std::path::PathBuf;

use camino::Utf8PathBuf;
use pibench_core::count::list_first;
use pibench_record::parts::{left_out, runs_in};
use pibench_report::escape::line;
use pibench_report::grid::paragraph;

/// Links that are named in a message.
const MOST_NAMED: usize = 5;

/// The runs of these folders. What is left out is told on stderr: nothing that is made of the runs says that one is missing.
pub(super) fn runs_of(named: &[Utf8PathBuf]) -> Vec<PathBuf> {
    let links = named.iter().flat_map(|dir| left_out(dir.as_std_path()));
    let links: Vec<String> = links.map(|link| link.display().to_string()).collect();
    if !links.is_empty() {
        let told = format!(
            "left out: {}: a link in a folder of runs may lead to somebody else's; if you mean it, name it beside the folder",
            list_first(&links, MOST_NAMED)
        );
        pibench_report::tell!("{}", paragraph(&line(&told)));
    }
    let runs = named.iter().flat_map(|dir| runs_in(dir.as_std_path()));
    runs.collect()
}
