//! `pibench-host pack FOLDER --recipient KEY`: packs that only their recipients read, one for all or one for each; and whose copy
//! a leaked text is of.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use anyhow::{Context, anyhow};
use camino::{Utf8Path, Utf8PathBuf};

use super::write::write;
use crate::cli::pack::TraceArgs;
use crate::commands::make_temporary_folder;
use crate::exit::{Exit, Failure, OrExit};
use pibench_pack::trace::{self, LEDGER, LEDGER_LIMIT, Ledger, WORDINGS, WORDINGS_LIMIT};
use pibench_pack::{Contents, PackError, private};
use pibench_report::escape::line;
use pibench_signature::SigningKey;
use pibench_suite::pack::Pack;
use pibench_vault::Recipient;
use pibench_vault::files::Files;

/// Bytes of all leaked files together.
const LEAKED_LIMIT: u64 = 256 << 20;

/// A private pack that is to be made.
pub(super) struct Private<'a> {
    pub(super) folder: &'a Utf8Path,
    pub(super) contents: &'a Contents,
    pub(super) key: Option<&'a SigningKey>,
    pub(super) recipients: &'a [Recipient],
}

impl Private<'_> {
    /// One archive for all recipients.
    pub(super) fn pack(&self, out: &Utf8Path) -> Result<Exit, Failure> {
        let (open, private) = private::split(self.folder, self.contents)?;
        println!("{}", self.archive((&open, &private), self.recipients, out)?);
        let readers = match self.recipients.len() {
            1 => "1 recipient reads".to_owned(),
            more => format!("{more} recipients read"),
        };
        println!("It is private: {readers} it, by `--identity KEY`.");
        Ok(Exit::Complete)
    }

    /// An archive for each recipient, which tells whose it was, and the ledger of them.
    pub(super) fn copies(&self, out: &Utf8Path) -> Result<Exit, Failure> {
        let (open, private) = private::split(self.folder, self.contents)?;
        let refused = |reason: String| PackError::refused(self.folder, reason);
        let wordings = match self.wordings()? {
            Some(text) => trace::wordings(&text, &private)
                .map_err(|said| refused(format!("{WORDINGS}: {}", said.join("; "))))?,
            None => Vec::new(),
        };
        let names = (self.contents.name.as_str(), self.contents.release.as_str());
        let ledger = trace::draw(names, wordings, self.recipients)?;
        // All of it or nothing: a copy that no ledger knows is nobody's.
        let above = out.parent().filter(|dir| !dir.as_str().is_empty());
        let draft = tempfile::tempdir_in(above.unwrap_or(Utf8Path::new("."))).or_exit(Exit::Io)?;
        let dir = Utf8PathBuf::try_from(draft.path().to_owned()).or_exit(Exit::Io)?;
        for (copy, recipient) in ledger.copies.iter().zip(self.recipients) {
            let marked = trace::mark(&private, &ledger, copy).map_err(refused)?;
            let to = std::slice::from_ref(recipient);
            self.archive((&open, &marked), to, &dir.join(&copy.archive))?;
        }
        let written = || {
            let mut file = File::options();
            let file = file.write(true).create_new(true).mode(0o600);
            let mut file = file.open(dir.join(LEDGER))?;
            serde_json::to_writer_pretty(&mut file, &ledger)?;
            file.write_all(b"\n")?;
            fs::rename(&dir, out)
        };
        written()
            .with_context(|| format!("write {out}"))
            .or_exit(Exit::Io)?;
        let _ = draft.keep();
        for copy in &ledger.copies {
            println!("{}: for {}", out.join(&copy.archive), line(&copy.shown()));
        }
        println!(
            "{}: whose copy is whose, by canaries and {} wordings; keep it to yourself. `pibench-host pack trace {0} FILE...` \
             tells whose a leaked text is.",
            out.join(LEDGER),
            ledger.wordings.len()
        );
        Ok(Exit::Complete)
    }

    /// The author's file of wordings, where there is one.
    fn wordings(&self) -> Result<Option<String>, Failure> {
        if !self.contents.files.iter().any(|file| file.path == WORDINGS) {
            return Ok(None);
        }
        let refused = |reason: String| PackError::refused(self.folder, reason);
        let mut pack = Pack::open_as_it_lies(self.folder).or_exit(Exit::Io)?;
        let bytes = pack.read(WORDINGS, WORDINGS_LIMIT);
        let bytes = bytes.map_err(|error| refused(format!("failed to {error}")))?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| refused(format!("{WORDINGS} is no UTF-8")))?;
        Ok(Some(text))
    }

    /// Nothing that is private lies anywhere in clear meanwhile.
    fn archive(
        &self,
        files: (&Files, &Files),
        to: &[Recipient],
        out: &Utf8Path,
    ) -> Result<String, Failure> {
        let locked = make_temporary_folder()?;
        let folder = Utf8PathBuf::try_from(locked.path().to_owned()).or_exit(Exit::Io)?;
        private::lock(files, to, &folder)?;
        let (contents, _) = Contents::of(&folder)?;
        write(&folder, &contents, self.key, out)
    }
}

/// Tells whose copy leaked files are of.
pub(super) fn trace(args: &TraceArgs) -> Result<Exit, Failure> {
    let TraceArgs { ledger, leaked } = args;
    let text = read(ledger, LEDGER_LIMIT)?;
    let ledger: Ledger = serde_json::from_slice(&text)
        .with_context(|| format!("read {ledger}: it is no ledger that `pack --each` wrote"))
        .or_exit(Exit::InvalidInput)?;
    let (mut text, mut room) = (String::new(), LEAKED_LIMIT);
    for path in leaked {
        let bytes = read(path, room)?;
        room -= bytes.len() as u64;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    let found = trace::trace(&ledger, &text);
    let (unmarked, pooled) = (
        trace::unmarked(&ledger, &text),
        trace::pooled(&ledger, &text),
    );
    if pooled > 0 {
        let of = ledger.wordings.len();
        println!("Both wordings of {pooled} of {of} stand in it: marks of several copies.");
    }
    if unmarked > 0 {
        println!("Your own, unmarked pack has all of it too: {unmarked} of {unmarked} wordings.");
    }
    for one in &found {
        let canary = if one.has_canary { "its canary, " } else { "" };
        println!(
            "{}: for {}: {canary}{} of {} wordings",
            line(&one.copy.archive),
            line(&one.copy.shown()),
            one.agree,
            one.of
        );
    }
    if found.is_empty() && pooled == 0 && unmarked == 0 {
        println!(
            "Nothing in it is a mark of {} {}.",
            ledger.name, ledger.release
        );
    }
    Ok(Exit::Complete)
}

fn read(path: &Utf8Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    opened
        .with_context(|| format!("read {path}"))
        .or_exit(Exit::InvalidInput)?;
    if bytes.len() as u64 > limit {
        return Err(anyhow!("read {path}: more than {limit} bytes")).or_exit(Exit::InvalidInput);
    }
    Ok(bytes)
}
