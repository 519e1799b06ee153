//! How the bytes of a run folder reach its disk. What is synced survives that the power goes: a file has its content before it
//! has its name, and a journal's line is written when what it names is there. Not synced, it survives the end of the process
//! only, which is enough where a run takes seconds.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::draft::UNFINISHED;
use super::mirror;

/// Bytes of a file that are written at once.
const BUFFER: usize = 32 << 10;

/// A folder's way to its disk. Names are synced together, before the next line of a journal: once a turn.
#[derive(Debug, Default)]
pub struct Disk {
    is_synced: bool,
    /// Folders in which a name was made or taken away since they were synced.
    changed: Mutex<BTreeSet<PathBuf>>,
    #[cfg(test)]
    done: Mutex<Vec<tests::Deed>>,
}

impl Disk {
    /// One whose bytes survive a power cut.
    pub(super) fn synced() -> Self {
        Self {
            is_synced: true,
            ..Self::default()
        }
    }

    pub(super) fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// A file that is there whole or not at all.
    pub(super) fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.write(path, |file| file.write_all(bytes))
    }

    /// The same of what is made as it is written.
    pub(super) fn write(
        &self,
        path: &Path,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        // As any other file that a program makes: others may read it if the umask lets them.
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(dir)?;
        let mut writer = BufWriter::with_capacity(BUFFER, file.as_file());
        text(&mut writer)?;
        writer.flush()?;
        drop(writer);
        #[cfg(test)]
        self.did(tests::Deed::Written(
            file.path().into(),
            fs::read(file.path())?,
        ));
        // A name could survive without its content otherwise, and be taken for it.
        self.sync_file(file.as_file(), file.path())?;
        #[cfg(test)]
        self.did(tests::Deed::Named(file.path().into(), path.into()));
        file.persist(path).map_err(|error| error.error)?;
        self.has_changed(dir);
        if let Some((mirror, name)) = mirror::find(path) {
            mirror.put(name, fs::read(path)?);
        }
        Ok(())
    }

    /// Adds a line to a journal, its number 1, 2, 3, ..., after all that it may name.
    pub(super) fn add_line(
        &self,
        mut file: &File,
        path: &Path,
        number: u64,
        line: &[u8],
    ) -> io::Result<()> {
        self.sync_names()?;
        // First there: who is refused has not written it here either.
        if let Some((mirror, path)) = mirror::find(path) {
            mirror.add_line(path, number, line)?;
        }
        file.write_all(line)?;
        #[cfg(test)]
        self.did(tests::Deed::Written(path.into(), line.to_vec()));
        self.sync_file(file, path)
    }

    /// A file was made, or taken away.
    pub(super) fn has_changed(&self, dir: &Path) {
        if self.is_synced {
            self.changed().insert(dir.to_owned());
        }
    }

    /// Returns when all names are on the disk, by whomever they were made.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        if !self.is_synced {
            return Ok(());
        }
        // The wait for whoever syncs them now is one for the disk, too.
        aside(|| {
            // Held until they are: another journal's line may depend on them.
            let mut changed = self.changed();
            while let Some(dir) = changed.first().cloned() {
                File::open(&dir)?.sync_all()?;
                #[cfg(test)]
                self.did(tests::Deed::SyncedNames(dir.clone()));
                changed.remove(&dir);
            }
            Ok(())
        })
    }

    /// Syncs what is below a folder: files that others wrote, and names.
    pub(super) fn sync_tree(&self, dir: &Path) -> io::Result<()> {
        if !self.is_synced {
            return Ok(());
        }
        let Some(entries) = unless_locked(fs::read_dir(dir))? else {
            return Ok(());
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                self.sync_tree(&entry.path())?;
            }
        }
        self.sync_files(dir)
    }

    /// Syncs a folder with the files in it.
    pub(super) fn sync_files(&self, dir: &Path) -> io::Result<()> {
        if !self.is_synced {
            return Ok(());
        }
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Some(file) = unless_locked(File::open(entry.path()))?
            {
                self.sync_file(&file, &entry.path())?;
            }
        }
        self.has_changed(dir);
        self.sync_names()
    }

    #[cfg_attr(not(test), expect(unused_variables, reason = "tests ask which file"))]
    fn sync_file(&self, file: &File, path: &Path) -> io::Result<()> {
        if self.is_synced {
            aside(|| file.sync_data())?;
            #[cfg(test)]
            self.did(tests::Deed::Synced(path.into()));
        }
        Ok(())
    }

    fn changed(&self) -> std::sync::MutexGuard<'_, BTreeSet<PathBuf>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn did(&self, deed: tests::Deed) {
        self.done.lock().unwrap().push(deed);
    }
}

/// Waits for the disk; what else plays on this thread of a runtime goes on upon another one meanwhile.
fn aside<T>(wait: impl FnOnce() -> T) -> T {
    let runtime = Handle::try_current().map(|handle| handle.runtime_flavor());
    match runtime {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
        _ => wait(),
    }
}

/// What was opened; None where a process of an agent's took the right to it. Whoever goes on makes its workspace anew.
fn unless_locked<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        opened => opened.map(Some),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use pibench_core::player::Players;

    use super::*;
    use crate::event::Event;
    use crate::folder::{Manifest, RunFolder};
    use crate::journal::{self, Journal};

    /// What was asked of the system, in order.
    #[derive(Debug, Clone)]
    pub(crate) enum Deed {
        /// Bytes at the end of a file.
        Written(PathBuf, Vec<u8>),
        Synced(PathBuf),
        /// A file got another name.
        Named(PathBuf, PathBuf),
        SyncedNames(PathBuf),
        /// The program goes by it from now on that a journal has so many lines.
        Promised(usize),
    }

    /// What a power cut leaves of what was not synced.
    #[derive(Debug, Clone, Copy)]
    enum Luck {
        Nothing,
        /// Names without their content.
        Names,
        /// Content, as far as its length goes: some is zero.
        Zeros,
        Half,
        All,
    }

    #[derive(Debug, Clone, Default)]
    struct Content {
        written: Vec<u8>,
        synced: usize,
    }

    /// A disk that forgets.
    #[derive(Debug, Default)]
    struct Forgetful {
        /// By inode.
        contents: Vec<Content>,
        names: BTreeMap<PathBuf, usize>,
        synced_names: BTreeMap<PathBuf, usize>,
    }

    impl Forgetful {
        fn does(&mut self, deed: &Deed) {
            match deed {
                Deed::Written(path, bytes) => {
                    let inode = *self.names.entry(path.clone()).or_insert_with(|| {
                        self.contents.push(Content::default());
                        self.contents.len() - 1
                    });
                    self.contents[inode].written.extend(bytes);
                }
                Deed::Synced(path) => {
                    // What was there before the first turn is no part of this.
                    if let Some(inode) = self.names.get(path) {
                        let content = &mut self.contents[*inode];
                        content.synced = content.written.len();
                    }
                }
                Deed::Named(from, to) => {
                    let inode = self.names.remove(from).unwrap();
                    self.names.insert(to.clone(), inode);
                }
                Deed::SyncedNames(dir) => {
                    self.synced_names
                        .retain(|path, _| path.parent() != Some(dir));
                    let now = self.names.iter();
                    let now = now.filter(|(path, _)| path.parent() == Some(dir));
                    self.synced_names
                        .extend(now.map(|(path, inode)| (path.clone(), *inode)));
                }
                Deed::Promised(_) => {}
            }
        }

        /// What is found when the power is back.
        fn cut(&self, luck: Luck) -> BTreeMap<&Path, Vec<u8>> {
            let names = match luck {
                Luck::Nothing => &self.synced_names,
                _ => &self.names,
            };
            let content = |inode: &usize| {
                let Content { written, synced } = &self.contents[*inode];
                let (kept, lost) = written.split_at(*synced);
                let rest = match luck {
                    Luck::Nothing | Luck::Names => Vec::new(),
                    Luck::Zeros => {
                        let mut rest = vec![0; lost.len()];
                        let end = lost.len() / 2;
                        rest[end..].copy_from_slice(&lost[end..]);
                        rest
                    }
                    Luck::Half => lost[..lost.len() / 2].to_vec(),
                    Luck::All => lost.to_vec(),
                };
                [kept, &rest].concat()
            };
            let names = names.iter();
            names
                .map(|(path, inode)| (path.as_path(), content(inode)))
                .collect()
        }
    }

    pub(crate) fn manifest() -> Manifest {
        let text = serde_json::json!({
            "version": 1, "host": "", "started": "", "suite": "s", "suite_path": "", "suite_digest": "", "protocol": "paper",
            "scaffold": "nanobot-0.1.5", "agent": "nop", "user": "lexical", "judge": "lexical",
            "players": pibench_core::player::Players::named("nop", "lexical", "lexical"), "runs": 1, "seed": 1,
            "personas": [], "sessions": [], "plugin_dirs": [], "prompts": null, "prompts_digest": "", "policy": null,
            "policy_digest": null, "plugins": {}, "limits": {},
        });
        serde_json::from_value(text).unwrap()
    }

    /// Turns of an episode: each puts a blob and then writes the line that would name it.
    const TURNS: usize = 6;

    fn blob(turn: usize) -> Vec<u8> {
        format!("what turn {turn} made").repeat(20).into_bytes()
    }

    /// The deeds of a run of some turns, and where its folder is.
    fn played(is_synced: bool) -> (tempfile::TempDir, Vec<Deed>) {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create(&dir.path().join("run"), &manifest()).unwrap();
        std::fs::write(folder.root().join("outline.json"), "{}").unwrap();
        if is_synced {
            folder.survive_power_cuts().unwrap();
        }
        let disk = Arc::clone(folder.disk());
        let path = folder.journal("p", 1);
        let mut journal = Journal::create(&path).unwrap().on(&disk);
        disk.did(Deed::Written(path, Vec::new()));
        for turn in 0..TURNS {
            folder.put_blob(&blob(turn)).unwrap();
            journal.append(&Event::EpisodeFinished).unwrap();
            disk.did(Deed::Promised(turn + 1));
        }
        folder.put_results(&serde_json::json!({})).unwrap();
        let deeds = disk.done.lock().unwrap().clone();
        (dir, deeds)
    }

    /// What is wrong with a folder after the power was cut behind any deed, with any luck.
    fn losses(is_synced: bool) -> Vec<String> {
        let (dir, deeds) = played(is_synced);
        assert!(deeds.len() > 4 * TURNS, "{}", deeds.len());
        let mut losses = Vec::new();
        for cut in 0..=deeds.len() {
            let mut disk = Forgetful::default();
            // The folder itself was there before the first turn.
            let mut promised = 0;
            for deed in &deeds[..cut] {
                disk.does(deed);
                if let Deed::Promised(lines) = deed {
                    promised = *lines;
                }
            }
            for luck in [
                Luck::Nothing,
                Luck::Names,
                Luck::Zeros,
                Luck::Half,
                Luck::All,
            ] {
                let left = disk.cut(luck);
                losses.extend(
                    lost(dir.path(), &left, promised)
                        .map(|what| format!("cut {cut}, {luck:?}: {what}")),
                );
            }
        }
        losses
    }

    /// Of what was promised; None if nothing.
    fn lost(dir: &Path, left: &BTreeMap<&Path, Vec<u8>>, promised: usize) -> Option<String> {
        let root = std::fs::canonicalize(dir.join("run")).unwrap();
        let after = tempfile::tempdir().unwrap();
        let place = |path: &Path| after.path().join(path.strip_prefix(&root).unwrap());
        for (path, bytes) in left {
            std::fs::create_dir_all(place(path).parent().unwrap()).unwrap();
            std::fs::write(place(path), bytes).unwrap();
        }
        for name in ["journal", "blobs", "trajectories"] {
            std::fs::create_dir_all(after.path().join(name)).unwrap();
        }
        for name in ["manifest.json", "outline.json"] {
            std::fs::copy(root.join(name), after.path().join(name)).unwrap();
        }
        if after.path().join("seal.json").exists() {
            let (sealed, _) = RunFolder::read(after.path()).unwrap();
            let broken = sealed.broken_seals().unwrap();
            if !broken.is_empty() {
                return Some(format!("a seal that is not true: {broken:?}"));
            }
        }
        let path = after.path().join("journal/p.r1.jsonl");
        let lines = if path.exists() {
            match journal::events(&path) {
                Ok(events) => events.len(),
                Err(error) => return Some(error.to_string()),
            }
        } else {
            0
        };
        if lines < promised {
            return Some(format!("{lines} of {promised} lines"));
        }
        for turn in 0..lines {
            let name = blake3::hash(&blob(turn)).to_hex().to_string();
            if let Err(error) = crate::folder::read_blob(after.path(), &name) {
                return Some(error.to_string());
            }
        }
        // A blob that is there by its name is never written again.
        for (path, bytes) in left {
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_blob = path.parent().is_some_and(|dir| dir.ends_with("blobs"));
            if is_blob
                && !name.starts_with(UNFINISHED)
                && blake3::hash(bytes).to_hex().as_str() != name
            {
                return Some(format!("blob {name} is not what it says"));
            }
        }
        None
    }

    #[test]
    fn no_cut_of_the_power_takes_what_was_synced() {
        assert_eq!(losses(true), [""; 0]);
    }

    #[test]
    fn what_an_agent_locked_in_its_workspace_keeps_no_run_from_being_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create(&dir.path().join("run"), &manifest()).unwrap();
        let workspace = folder.workspace("p", 1);
        let locked = ["file", "folder"].map(|name| workspace.join(name));
        std::fs::create_dir_all(&locked[1]).unwrap();
        std::fs::write(&locked[0], "x").unwrap();
        let lock = |mode: u32| {
            for path in &locked {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
                std::fs::set_permissions(path, mode).unwrap();
            }
        };
        lock(0o000);
        let synced = folder.survive_power_cuts();
        lock(0o700);
        synced.unwrap();
        folder.survive_power_cuts().unwrap();
    }

    #[test]
    fn new_folders_above_a_runs_are_synced_with_it_before_the_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("x/y/run");
        let mut folder = RunFolder::create(&root, &manifest()).unwrap();
        let synced = |folder: &RunFolder| {
            let deeds = folder.disk().done.lock().unwrap().clone();
            ["x/y", "x", ""].map(|above| {
                let above = std::fs::canonicalize(dir.path().join(above)).unwrap();
                deeds
                    .iter()
                    .any(|deed| matches!(deed, Deed::SyncedNames(of) if *of == above))
            })
        };
        assert_eq!(synced(&folder), [false; 3]);
        folder.survive_power_cuts().unwrap();
        assert_eq!(synced(&folder), [true; 3]);
    }

    #[test]
    fn parts_that_models_played_are_on_the_disk_before_the_merged_run_has_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let above = std::fs::canonicalize(dir.path()).unwrap();
        let part = RunFolder::create(&above.join("part"), &manifest()).unwrap();
        part.put_blob(&blob(0)).unwrap();
        let merged = |name: &str, players: Players| {
            let whole = Manifest {
                players,
                ..manifest()
            };
            let mut folder = RunFolder::draft(&above.join(name), &whole, [&part]).unwrap();
            folder.publish().unwrap();
            folder.disk().done.lock().unwrap().clone()
        };
        let deeds = merged("models", Players::named("m", "m", "m"));
        let is_draft = |path: &Path| crate::draft::is_draft(path);
        let blob = deeds.iter().position(|deed| {
            matches!(deed, Deed::Synced(path) if is_draft(path) && path.starts_with(&above)
                && path.components().any(|part| part.as_os_str() == "blobs"))
        });
        let name = deeds
            .iter()
            .position(|deed| matches!(deed, Deed::SyncedNames(of) if *of == above));
        assert!(blob.is_some() && blob < name, "{deeds:?}");
        let scripted = Players::named("reference", "lexical", "lexical");
        assert!(scripted.scripted());
        let deeds = merged("scripted", scripted);
        assert!(deeds.is_empty(), "{deeds:?}");
    }

    #[test]
    fn a_new_folder_that_is_to_last_is_on_the_disk_before_it_has_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let above = std::fs::canonicalize(dir.path()).unwrap();
        let folder = RunFolder::create_as(&above.join("run"), &manifest(), &above, true).unwrap();
        let deeds = folder.disk().done.lock().unwrap().clone();
        let first = |is: &dyn Fn(&Deed) -> bool| deeds.iter().position(is);
        let is_draft = |path: &Path| crate::draft::is_draft(path);
        let content = first(
            &|deed| matches!(deed, Deed::Synced(path) if is_draft(path) && path.ends_with("manifest.json")),
        );
        let names = first(
            &|deed| matches!(deed, Deed::SyncedNames(of) if is_draft(of) && of.parent() == Some(&above)),
        );
        let above = first(&|deed| matches!(deed, Deed::SyncedNames(of) if *of == above));
        assert!(
            content.is_some() && content < names && names < above,
            "{deeds:?}"
        );
    }

    #[test]
    fn of_two_that_begin_one_part_at_once_the_second_is_told_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("part-1");
        let part = Manifest {
            shard: Some("1/2".parse().unwrap()),
            ..manifest()
        };
        let mut first = RunFolder::draft(&root, &part, []).unwrap();
        let mut second = RunFolder::draft(&root, &part, []).unwrap();
        first.publish().unwrap();
        let late = RunFolder::draft(&root, &part, []).map(drop);
        for told in [second.publish(), late] {
            let told = told.unwrap_err().to_string();
            assert!(told.contains("another process works on it"), "{told}");
        }
        let whole = RunFolder::draft(&root, &manifest(), []).unwrap_err();
        assert!(whole.to_string().contains("it is there already"), "{whole}");
    }

    #[test]
    fn without_syncing_the_same_cuts_take_lines_and_blobs() {
        let losses = losses(false);
        let is_lost = |what: &str| losses.iter().any(|loss| loss.contains(what));
        for what in ["lines", "is not what it says", "a seal that is not true"] {
            assert!(is_lost(what), "{what}: {losses:?}");
        }
    }
}
