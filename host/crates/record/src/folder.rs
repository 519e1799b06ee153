//! The run folder: where each file of a run stands, and the lock that keeps a second process out.
//!
//! ```text
//! manifest.json                      what was asked for and with what it was made
//! journal/<persona>.r<run>.jsonl     the truth: one line per event
//! blobs/<blake3>                     files, app states, prompts and judges' replies, each once
//! workspaces/<persona>.r<run>/       the agent's files
//! trajectories/<persona>.r<run>/<session>.json
//! agents/<persona>.r<run>/           what processes of the agent's keep until their episode is over: never compared
//! outline.json                       what the suite holds, for readers
//! results.json                       scores, made from the journals
//! preflight.jsonl                    tokens of what the models were asked before the first session, one line each time
//! timing.jsonl                       real time and durations: never compared
//! seal.json                          BLAKE3 of the files above but for blobs, which are named by it, and workspaces
//! seal.json.sig                      a signature over the seal, where somebody signed the run
//! log.jsonl                          what happened when (`run/log`): never compared, never read
//! key.age                            of a run of a private pack alone: its key, encrypted to the recipients (`private`)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;

use super::disk::Disk;
use super::draft::{NEW, UNFINISHED};
pub use super::error::FolderError;
use super::event::{RoleUsage, VERSION};
use super::folder_lock::{LOCK, Lock, holds_everywhere};
use super::foreign::{is_plain, lines, open_end, open_file, read_dir, read_file};
use super::mirror;
use super::names::{Files, Names};
use super::outline::Outline;
use super::private::{self, kept, key_of, read_record};
use super::results::{self, RunResults};
use super::same;
pub use super::seal::Seal;
use super::seal::{self, Broken, Sealed, Unsound};
use pibench_core::cost::MicroUsd;
use pibench_core::player::{LEXICAL, ModelSettings, Players};
use pibench_core::record::GuestCall;
use pibench_core::vocabulary::{Ablation, Protocol, Scaffold};
use pibench_vault::{KEY_FILE, Key};

/// What was asked for, and all that a score can be traced to. Exempt from comparison: it knows the real time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// 1.
    pub version: u32,
    /// The host's version.
    pub host: String,
    /// When the run was made, UTC.
    pub started: String,
    pub suite: String,
    /// The suite file, absolute.
    pub suite_path: String,
    /// BLAKE3 over the parts of the suite that change a score.
    pub suite_digest: String,
    /// These parts: settings by their dotted key with their value as JSON, folders with BLAKE3 over their files. Empty in runs
    /// of version 1 of the protocol.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub suite_parts: BTreeMap<String, String>,
    pub protocol: Protocol,
    /// The version of the host's rules; 1 where it is absent.
    #[serde(default = "first_protocol")]
    pub protocol_version: u32,
    /// The profile of the built-in scaffold.
    pub scaffold: Scaffold,
    /// The wording of the agent's system prompt: `neutral`, `coached`, or `own` for that of the operator's prompts. Absent
    /// where another program played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaffold_prompt: Option<String>,
    /// BLAKE3 of the agent's prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaffold_prompt_digest: Option<String>,
    pub agent: String,
    pub user: String,
    pub judge: String,
    /// What played each role.
    pub players: Players,
    /// The models of each role (`agent`, `user`, `judge`), with what of their settings changes answers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, Vec<ModelSettings>>,
    /// What was started as the agent, where it is a process of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessMark>,
    pub runs: u32,
    pub seed: u64,
    /// Only these; empty for all.
    pub personas: Vec<String>,
    pub sessions: Vec<String>,
    /// What was taken away from the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ablate: Option<Ablation>,
    /// The part of the run's episodes that this folder has; absent for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// What the verdicts were made from, when they were made again; absent in a run that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graded: Option<Graded>,
    /// Settings of the command line in the place of the suite file's, as they were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// What `--max-cost` said when the run was begun, in millionths of a US dollar: whoever goes on with it is bound by that,
    /// too, unless another bound is given. Absent: nothing bounds what is spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<MicroUsd>,
    /// Folders of plugins, in the order of the search.
    pub plugin_dirs: Vec<String>,
    /// A folder with prompts of the operator's own.
    pub prompts: Option<String>,
    /// The version of the built-in prompts; absent where own ones are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_version: Option<u32>,
    /// BLAKE3 of the prompts.
    pub prompts_digest: String,
    /// The operator's policy, absolute.
    pub policy: Option<String>,
    /// BLAKE3 of the policy.
    pub policy_digest: Option<String>,
    /// The plugins in use, by name.
    pub plugins: BTreeMap<String, PluginMark>,
    /// The limits of guests.
    #[schemars(with = "BTreeMap<String, Value>")]
    pub limits: BTreeMap<String, Value>,
    /// Where the run comes from when another program played it; absent for runs of this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Of what a run that may be shown was made; absent in the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// The most parts of a run: there is an episode for each, of at most a thousand personas.
const MOST_PARTS: u32 = 1_000_000;

impl Manifest {
    /// By what prompts models judged before models graded by others, in words; None where they were the same, or that is not
    /// known.
    pub fn prompts_before(&self) -> Option<String> {
        let graded = self.graded.as_ref()?;
        let digest = graded.prompts_digest.as_ref()?;
        let by_patterns = graded.judge == LEXICAL || self.judge == LEXICAL;
        if by_patterns || *digest == self.prompts_digest {
            return None;
        }
        Some(match graded.prompts_version {
            Some(version) => format!("built-in, version {version}"),
            None => format!("digest {}", digest.chars().take(12).collect::<String>()),
        })
    }

    /// What writes the results of such a folder anew, in words. Who goes on with a run plays, and takes none that was not played
    /// here.
    pub fn made_anew(&self) -> String {
        let removed = "remove results.json and seal.json:";
        match (&self.imported, &self.graded) {
            _ if self.published.is_some() => {
                "`pibench-host publish RUN --out DIR` makes the folder anew, of the run that it was made of".into()
            }
            (_, Some(Graded { from, .. })) => {
                format!("{removed} the same `pibench-host grade {from} ...` writes them anew")
            }
            (Some(Imported { path, .. }), None) => format!(
                "`pibench-host import results {path} --suite {} --out DIR` makes the folder anew",
                self.suite_path
            ),
            (None, None) => format!("{removed} `pibench-host run --resume` writes them anew"),
        }
    }

    /// What of it goes beyond what can be played, so that whoever counts by it would have no end.
    fn beyond(&self) -> Option<String> {
        if let Some(reason) = results::beyond(self.runs) {
            return Some(reason);
        }
        let Shard { index, of } = self.shard?;
        let is_part = (1..=MOST_PARTS).contains(&of) && (1..=of).contains(&index);
        (!is_part).then(|| {
            format!(
                "`shard` must be a part from 1 to its number of parts, which are at most {MOST_PARTS}, and is {index} of {of}"
            )
        })
    }
}

/// An agent that is a process of its own: its entry as it was played, and what it said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessMark {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Names of the variables of the host's that it is given.
    pub environment: Vec<String>,
    /// Variables with values of their own, by name: BLAKE3 of the value, which may be a key.
    pub set: BTreeMap<String, String>,
    /// The folder of the workspace that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    pub confined: bool,
    /// What else of its installation it can read.
    pub read: Vec<String>,
    /// Which tools it is offered: `apps` or `all`.
    pub tools: String,
    /// How long its home lasts: `process` or `episode`.
    pub home: String,
    /// The mode of its own that it works in; absent for the one that it starts in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// As its first process told it; absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<Product>,
}

/// What an agent's process says that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Product {
    pub name: String,
    pub version: String,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

pub(super) fn first_protocol() -> u32 {
    1
}

/// The source of a run that was not played here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The format: `pi-bench`.
    pub format: String,
    /// The folder, absolute.
    pub path: String,
    /// BLAKE3 of every file that was read.
    pub digest: String,
}

/// How a published run is marked in its manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// BLAKE3 of the seal of the run that it was made of.
    pub seal: String,
    pub transcripts: Transcripts,
}

/// What is shown of what was said and done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transcripts {
    /// Nothing: scores and faults.
    None,
    /// The agent's side, with the hidden intents that the user told it, and no other.
    AfterReveal,
    /// Everything.
    All,
}

/// The run that was graded again: its play is this folder's, its verdicts are not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Graded {
    /// Its folder, absolute.
    pub from: String,
    /// BLAKE3 of its seal, which holds the digests of its other files.
    pub seal: String,
    /// That of the suite as it was played.
    pub suite_digest: String,
    /// The rules that its sessions were played by.
    pub protocol: Protocol,
    /// Who judged it.
    pub judge: String,
    /// BLAKE3 of the prompts that it was judged by; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_digest: Option<String>,
    /// Their version; absent where own ones were used, and where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts_version: Option<u32>,
}

/// One of several parts of a run that are played apart, on as many machines: every episode is in just one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// 1, 2, 3, ..., `of`.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl Shard {
    /// Whether the episode of this number (0, 1, 2, ... over runs, then personas) is in this part.
    pub fn has(self, episode: usize) -> bool {
        episode % self.of as usize + 1 == self.index as usize
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('/').and_then(|(index, of)| {
            let (index, of) = (index.parse().ok()?, of.parse().ok()?);
            (1..=of).contains(&index).then_some(Self { index, of })
        });
        numbers.ok_or("a part is I/N with I from 1 to N, such as 2/4")
    }
}

/// Which plugin it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginMark {
    pub sha256: String,
    pub size: usize,
    /// As the component says; empty when it does not.
    pub version: String,
    /// The version of the interface that it exports.
    pub interface: String,
    /// Whether a lock beside the file vouched for it.
    pub pinned: bool,
    /// What it could use of what it asks for.
    pub grants: Vec<String>,
    /// Who signed it, where the policy named them; absent where nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedMark>,
    /// What one call of it could use at most.
    pub limits: Value,
}

/// Who signed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignedMark {
    /// Their first name in the file of those who may sign.
    pub by: String,
    /// The key's fingerprint, `SHA256:...`.
    pub key: String,
}

/// A run folder that this process holds the lock of.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    /// Held as long as the folder is in use; the system lets go of it when the process ends, however it ends. None for one
    /// that is only read and has no file to lock.
    held: Option<Lock>,
    disk: Arc<Disk>,
    /// Held while the manifest is completed.
    manifest: Mutex<()>,
    /// Of a folder that is not under its own name yet: it is removed if it never is.
    draft: Option<Draft>,
    /// The folders above it that were made for it, the nearest first.
    above: Vec<PathBuf>,
}

#[derive(Debug)]
struct Draft {
    dir: TempDir,
    name: PathBuf,
    /// Whether it has all that it will have.
    is_whole: bool,
}

impl RunFolder {
    /// A new folder with its manifest.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Self, FolderError> {
        let mut folder = Self::draft(path, manifest, [])?;
        folder.publish()?;
        Ok(folder)
    }

    /// A new folder whose records are under the key of another place, such as the suite's folder, where that is private.
    /// `is_synced`: it survives a power cut whole, or is not there.
    pub fn create_as(
        path: &Path,
        manifest: &Manifest,
        place: &Path,
        is_synced: bool,
    ) -> Result<Self, FolderError> {
        let mut folder = Self::draft(path, manifest, [])?;
        private::take_key(&folder.root, [place])?;
        if is_synced {
            folder.disk = Arc::new(Disk::synced());
        }
        folder.publish()?;
        Ok(folder)
    }

    /// A new folder that takes over all that others have of the same run: journals, blobs, workspaces, trajectories, timing
    /// and preflight. An episode that two of them have is refused. It lies beside `path` under a name of its own until it is
    /// published: a process that is killed before leaves nothing there.
    pub fn draft<'a>(
        path: &Path,
        manifest: &Manifest,
        parts: impl IntoIterator<Item = &'a Self>,
    ) -> Result<Self, FolderError> {
        if path.exists() {
            return Err(is_there(path, manifest));
        }
        let failed = |source| FolderError::Write {
            path: path.to_owned(),
            source,
        };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let of_parent = |source| FolderError::Write {
            path: parent.to_owned(),
            source,
        };
        let above = missing_above(path, manifest);
        let there = nearest_above(path).and_then(fs::canonicalize);
        refuse_within(path, &there.map_err(of_parent)?)?;
        fs::create_dir_all(parent).map_err(of_parent)?;
        // As the folder lies in the end, so that nothing depends on where it was made.
        let parent = fs::canonicalize(parent).map_err(of_parent)?;
        remove_abandoned(&parent);
        holds_everywhere(&parent, manifest.shard.is_some())?;
        let (dir, lock) = new_dir(&parent)?;
        for name in ["journal", "blobs", "workspaces", "trajectories"] {
            fs::create_dir(dir.path().join(name)).map_err(failed)?;
        }
        write_json(&dir.path().join("manifest.json"), manifest)?;
        let parts: Vec<_> = parts.into_iter().map(Self::root).collect();
        private::take_key(dir.path(), parts.iter().copied())?;
        let is_whole = !parts.is_empty();
        for part in parts {
            adopt(dir.path(), part)?;
        }
        // As their parts were: answers of real models are not to be had again.
        let lasts = is_whole && !manifest.players.scripted();
        Ok(Self {
            root: dir.path().to_owned(),
            held: Some(lock),
            disk: if lasts {
                Arc::new(Disk::synced())
            } else {
                Arc::default()
            },
            manifest: Mutex::default(),
            draft: Some(Draft {
                dir,
                name: path.to_owned(),
                is_whole,
            }),
            above,
        })
    }

    /// Takes away a folder that was made by this process and in which nothing was played, and those above it that were made for it and
    /// hold nothing else; whether it did. One that also lies elsewhere stays.
    ///
    /// # Errors
    ///
    /// Something of it cannot be removed.
    pub fn discard(&self) -> Result<bool, FolderError> {
        if self.held.is_none() || mirror::find(&self.root).is_some() {
            return Ok(false);
        }
        remove_lock_last(&self.root).map_err(|source| FolderError::Write {
            path: self.root.clone(),
            source,
        })?;
        // One that holds something else stays, and those above it do.
        let _ = self.above.iter().try_for_each(fs::remove_dir);
        Ok(true)
    }

    /// Gives a draft its own name, when all of it is on the disk if it is to survive a power cut.
    pub fn publish(&mut self) -> Result<(), FolderError> {
        let Some(Draft {
            dir,
            name,
            is_whole,
        }) = self.draft.take()
        else {
            return Ok(());
        };
        let failed = |source| FolderError::Write {
            path: name.clone(),
            source,
        };
        self.disk.sync_tree(dir.path()).map_err(failed)?;
        fs::rename(dir.path(), &name).map_err(|source| match source.kind() {
            // Whoever was first plays it.
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => {
                FolderError::Locked { path: name.clone() }
            }
            _ => failed(source),
        })?;
        // The folder has another name now: nothing is left to clean up.
        let _ = dir.keep();
        self.root = fs::canonicalize(&name).map_err(failed)?;
        for dir in folders_above(&self.root) {
            self.disk.has_changed(&dir);
        }
        self.disk.sync_names().map_err(failed)?;
        let sent = if is_whole {
            mirror::send_whole(&self.root)
        } else {
            mirror::send_folder(&self.root)
        };
        match sent {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(FolderError::Locked {
                path: self.root.clone(),
            }),
            sent => sent.map_err(failed),
        }
    }

    /// An existing folder, to go on with it. One in which a link stands for something of a run is refused.
    pub fn open(path: &Path) -> Result<(Self, Manifest), FolderError> {
        let manifest = read_manifest(path)?;
        Ok((Self::lock(path)?, manifest))
    }

    /// An existing folder, to look at it: nothing in it is written, so that it may stand on read-only media, and must not
    /// be. Others may look at it too; nobody may work on it.
    pub fn read(path: &Path) -> Result<(Self, Manifest), FolderError> {
        let manifest = read_manifest(path)?;
        let root = fs::canonicalize(path).map_err(|error| FolderError::Read {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let lock = Lock::share(&root)?;
        let folder = Self {
            root,
            held: lock,
            disk: Arc::default(),
            manifest: Mutex::default(),
            draft: None,
            above: Vec::new(),
        };
        Ok((folder, manifest))
    }

    fn lock(path: &Path) -> Result<Self, FolderError> {
        let root = fs::canonicalize(path).map_err(|source| FolderError::Write {
            path: path.to_owned(),
            source,
        })?;
        refuse_links(&root)?;
        let lock = Lock::alone(&root)?;
        sweep(&root)?;
        Ok(Self {
            root,
            held: Some(lock),
            disk: Arc::default(),
            manifest: Mutex::default(),
            draft: None,
            above: Vec::new(),
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn journal(&self, persona: &str, run: u32) -> PathBuf {
        self.of_episode("journal", persona, run, ".jsonl")
    }

    /// Where what an episode has in one of the folders stands. A persona of a stranger's record must not lead out of the run folder:
    /// where its name is no part of a path, nothing can stand there, for no file's name has a zero in it.
    fn of_episode(&self, folder: &str, persona: &str, run: u32, end: &str) -> PathBuf {
        let name = if is_plain(persona) { persona } else { "\0" };
        self.root.join(folder).join(format!("{name}.r{run}{end}"))
    }

    /// The files of its journals, sorted by name.
    pub fn journals(&self) -> Result<Vec<PathBuf>, FolderError> {
        let dir = self.root.join("journal");
        let names = names(&dir)?.map(|name| Ok(dir.join(name?)));
        let mut paths = names.collect::<Result<Vec<_>, FolderError>>()?;
        paths.sort();
        Ok(paths)
    }

    pub fn workspace(&self, persona: &str, run: u32) -> PathBuf {
        self.of_episode("workspaces", persona, run, "")
    }

    /// Returns when an episode's workspace is on the disk, of a run that is to survive power cuts.
    pub fn sync_workspace(&self, persona: &str, run: u32) -> Result<(), FolderError> {
        let dir = self.workspace(persona, run);
        self.disk.has_changed(&self.root.join("workspaces"));
        let synced = self.disk.sync_tree(&dir);
        synced.map_err(|source| self.unsynced(source))
    }

    /// Writes down that it is worked on from now on, and where: for those who follow runs of many machines.
    pub fn begin(&self, node: &str) -> Result<(), FolderError> {
        let Some(lock) = &self.held else {
            // Nobody plays into a folder that is only read.
            return Ok(());
        };
        lock.begin(&self.root, node)?;
        self.send(&[LOCK])
    }

    /// Sends files of the folder itself that are not written whole, as they are now, to where the folder also is.
    fn send(&self, names: &[&str]) -> Result<(), FolderError> {
        let Some((mirror, path)) = mirror::find(&self.root) else {
            return Ok(());
        };
        let sent = mirror::send_files(mirror, &self.root, path, names);
        sent.map_err(|source| self.unsynced(source))
    }

    /// Keeps bytes under their hash; the name. The same bytes are written once.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<String, FolderError> {
        let key = key_of(&self.root)?;
        let name = blob_name(key.as_ref(), &blake3::hash(bytes).to_hex());
        let path = self.root.join("blobs").join(&name);
        if path.exists() {
            return Ok(name);
        }
        let failed = |source| FolderError::Write {
            path: path.clone(),
            source,
        };
        let encrypted = key.map(|key| key.encrypt(bytes)).transpose();
        let encrypted = encrypted.map_err(|error| failed(std::io::Error::other(error)))?;
        self.write_whole(&path, encrypted.as_deref().unwrap_or(bytes))?;
        Ok(name)
    }

    /// The name of the blob whose content has this hash, whether or not it is there.
    pub fn name_of(&self, hash: &str) -> Result<String, FolderError> {
        Ok(blob_name(key_of(&self.root)?.as_ref(), hash))
    }

    /// The bytes of a blob, checked against its name.
    pub fn blob(&self, name: &str) -> Result<Vec<u8>, FolderError> {
        read_blob(&self.root, name)
    }

    /// Writes `trajectories/<persona>.r<run>/<session>.json`.
    pub fn put_trajectory(
        &self,
        persona: &str,
        run: u32,
        session: &str,
        trajectory: &impl Serialize,
    ) -> Result<(), FolderError> {
        let path = self.trajectory(persona, run, session)?;
        let dir = self.of_episode("trajectories", persona, run, "");
        fs::create_dir_all(&dir).map_err(|source| FolderError::Write { path: dir, source })?;
        // Its name may be new, and what is in it would be lost with it.
        self.disk.has_changed(&self.root.join("trajectories"));
        self.write_record(&path, trajectory)?;
        // Once a session is often enough for what no score depends on.
        self.send(&[TIMING, PREFLIGHT, LOG])
    }

    /// Whether a session's trajectory file holds just this.
    pub fn has_trajectory(
        &self,
        persona: &str,
        run: u32,
        session: &str,
        trajectory: &impl Serialize,
    ) -> Result<bool, FolderError> {
        self.holds(&self.trajectory(persona, run, session)?, trajectory)
    }

    /// Where a session's trajectory stands.
    fn trajectory(&self, persona: &str, run: u32, session: &str) -> Result<PathBuf, FolderError> {
        if !is_plain(persona) || !is_plain(session) {
            return Err(FolderError::Read {
                path: self.root.clone(),
                reason: format!(
                    "it has a trajectory of {session:?} of {persona:?}, and these are no names of a session and a persona"
                ),
            });
        }
        let dir = self.of_episode("trajectories", persona, run, "");
        Ok(dir.join(format!("{session}.json")))
    }

    /// Writes `outline.json`.
    pub fn put_outline(&self, outline: &Outline) -> Result<(), FolderError> {
        self.write_record(&self.root.join(OUTLINE), outline)
    }

    /// Whether `outline.json` holds just this.
    pub fn has_outline(&self, outline: &Outline) -> Result<bool, FolderError> {
        self.holds(&self.root.join(OUTLINE), outline)
    }

    /// Writes `results.json`, and `seal.json` over everything that is now final.
    pub fn put_results(&self, results: &impl Serialize) -> Result<(), FolderError> {
        if self.root.join(KEY_FILE).exists() {
            self.clear_workspaces()?;
        }
        // A run that has results is gone on with no more, and what is missing of it stays so. Blobs are there since the lines
        // that name them.
        self.sync(&["workspaces", "journal", "trajectories"])?;
        self.write_record(&self.root.join("results.json"), results)?;
        // A seal is of what is there whatever happens.
        self.sync(&[])?;
        self.send(&[TIMING, PREFLIGHT, LOG])?;
        mirror::send_workspaces(&self.root).map_err(|source| self.unsynced(source))?;
        let seal = Sealed::new(&self.root, self.sealed_files(), self.blob_names());
        self.write_json(&self.root.join(SEAL), &seal)?;
        self.disk
            .sync_names()
            .map_err(|source| self.unsynced(source))?;
        mirror::finish(&self.root).map_err(|source| self.unsynced(source))
    }

    /// The agent's files of a private run lie open while it is played. They can be made again from the record.
    fn clear_workspaces(&self) -> Result<(), FolderError> {
        let dir = self.root.join("workspaces");
        let failed = |source| FolderError::Write {
            path: dir.clone(),
            source,
        };
        fs::remove_dir_all(&dir).map_err(failed)?;
        fs::create_dir(&dir).map_err(failed)
    }

    /// From now on what is written survives a power cut, and so does what is there.
    pub fn survive_power_cuts(&mut self) -> Result<(), FolderError> {
        if !self.disk.is_synced() {
            self.disk = Arc::new(Disk::synced());
        }
        for dir in folders_above(&self.root) {
            self.disk.has_changed(&dir);
        }
        self.sync(&["workspaces", "journal", "trajectories", "blobs"])
    }

    /// The way of its bytes.
    pub fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// What lies in the folder itself, and all that is below some of it.
    fn sync(&self, below: &[&str]) -> Result<(), FolderError> {
        let synced = || {
            for name in below {
                self.disk.sync_tree(&self.root.join(name))?;
            }
            self.disk.sync_files(&self.root)
        };
        synced().map_err(|source| self.unsynced(source))
    }

    fn unsynced(&self, source: std::io::Error) -> FolderError {
        FolderError::Write {
            path: self.root.clone(),
            source,
        }
    }

    /// Writes what only those read who have the key of a private run.
    fn write_record(&self, path: &Path, value: &impl Serialize) -> Result<(), FolderError> {
        let key = key_of(&self.root)?;
        let failed = |source| FolderError::Write {
            path: path.to_owned(),
            source,
        };
        if key.is_none() {
            return self.write_json(path, value);
        }
        let text = pretty(value).map_err(|error| failed(error.into()))?;
        let text = kept(key.as_ref(), text).map_err(failed)?;
        self.write_whole(path, &text)
    }

    /// Whether a record holds just what would be written now.
    fn holds(&self, path: &Path, value: &impl Serialize) -> Result<bool, FolderError> {
        if key_of(&self.root)?.is_some() {
            return holds(path, read_record(&self.root, path), value);
        }
        let found = open_file(&self.root, path);
        same::holds(found, |text| write_pretty(text, value)).map_err(|error| FolderError::Read {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> Result<(), FolderError> {
        let written = self.disk.write(path, |file| write_pretty(file, value));
        written.map_err(|source| FolderError::Write {
            path: path.to_owned(),
            source,
        })
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
        let written = self.disk.write_whole(path, bytes);
        written.map_err(|source| FolderError::Write {
            path: path.to_owned(),
            source,
        })
    }

    /// Takes away `results.json`, the seal and its signature of a run that is gone on with: they are of what it was.
    pub fn unseal(&self) -> Result<(), FolderError> {
        for name in OF_END {
            let path = self.root.join(name);
            match fs::remove_file(&path) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FolderError::Write { path, source });
                }
                _ => self.disk.has_changed(&self.root),
            }
            if let Some((mirror, path)) = mirror::find(&path) {
                mirror.remove(path);
            }
        }
        self.disk
            .sync_names()
            .map_err(|source| self.unsynced(source))
    }

    /// Whether something is there that is written when a run ends.
    pub fn has_ended(&self) -> bool {
        OF_END.iter().any(|name| self.root.join(name).exists())
    }

    /// Whether `results.json` holds just this.
    pub fn has_results(&self, results: &impl Serialize) -> Result<bool, FolderError> {
        self.holds(&self.root.join("results.json"), results)
    }

    /// Files that are not what the seal says, each with what is wrong.
    pub fn broken_seals(&self) -> Result<Vec<(String, String)>, FolderError> {
        let path = self.root.join(SEAL);
        let text = |what: String| Ok(vec![(SEAL.to_owned(), what)]);
        let found = seal::compare(&path, &self.root, self.sealed_files(), self.blob_names());
        let Broken {
            files: mut broken,
            mut added,
            added_blobs,
            gone_blobs,
        } = match found {
            Ok(found) => found,
            Err(Unsound::Folder(error)) => return Err(error),
            Err(Unsound::Unreadable(error)) => return text(error.to_string()),
            Err(Unsound::Text) => {
                let text_now = read_file(&self.root, &path).unwrap_or_default();
                let wrong = serde_json::from_slice::<Seal>(&text_now).err();
                let changed = || "it was changed after the run".to_owned();
                return text(wrong.map_or_else(changed, |error| error.to_string()));
            }
        };
        added.extend(self.unknown_files()?);
        let blobs = added_blobs.iter();
        added.extend(blobs.map(|name| format!("{BLOBS}/{}", name.trim_end_matches('/'))));
        let added = added.into_iter();
        let gone = gone_blobs.iter().map(|name| format!("{BLOBS}/{name}"));
        broken.extend(gone.map(|path| (path, seal::GONE.into())));
        broken.extend(added.map(|path| (path, "it was added after the run".into())));
        // Blobs of a private run stand among its files too.
        let mut told = BTreeSet::new();
        broken.retain(|one| told.insert(one.clone()));
        Ok(broken)
    }

    /// Blobs that do not hold what their names say, each with what is wrong. Those of a private run are sealed as its files are: nobody
    /// else can tell of what a name is.
    fn broken_blobs(&self) -> Result<Vec<(String, String)>, FolderError> {
        if self.root.join(KEY_FILE).exists() {
            return Ok(Vec::new());
        }
        let names = self.blob_names().par_bridge();
        let wrong = names.filter_map(|name| match name {
            Ok(name) => {
                let what = self.wrong_blob(&name)?;
                Some(Ok((format!("{BLOBS}/{name}"), what)))
            }
            Err(error) => Some(Err(error)),
        });
        let mut wrong = wrong.collect::<Result<Vec<_>, FolderError>>()?;
        wrong.sort();
        Ok(wrong)
    }

    fn wrong_blob(&self, name: &str) -> Option<String> {
        match self.digest(&format!("{BLOBS}/{name}")) {
            Ok(digest) if digest == name => None,
            Ok(_) => Some("it is not what its name says".into()),
            Err(FolderError::Read { reason, .. }) => Some(reason),
            Err(error) => Some(error.to_string()),
        }
    }

    /// What lies in the folder itself and is none of its files.
    fn unknown_files(&self) -> Result<Vec<String>, FolderError> {
        let mut unknown = names(&self.root)?.collect::<Result<Vec<_>, _>>()?;
        unknown.retain(|name| !KNOWN.contains(&name.as_str()));
        unknown.sort();
        Ok(unknown)
    }

    fn blob_names(&self) -> Names {
        Names::of(&self.root.join(BLOBS))
    }

    /// What processes of an episode's agent keep until it is over.
    pub fn agent(&self, persona: &str, run: u32) -> PathBuf {
        self.of_episode(AGENTS, persona, run, "")
    }

    /// Completes the manifest by what the first process of the agent's says that it is. What another one said before, where that is
    /// not the same.
    pub fn name_product(&self, product: &Product) -> Result<Option<Product>, FolderError> {
        let _alone = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut manifest = read_manifest(&self.root)?;
        let Some(mark) = &mut manifest.process else {
            return Ok(None);
        };
        if let Some(known) = &mark.product {
            return Ok((known != product).then(|| known.clone()));
        }
        mark.product = Some(product.clone());
        self.write_json(&self.root.join("manifest.json"), &manifest)?;
        Ok(None)
    }

    /// The workspaces that lie here, by the folder's name, in no order.
    pub fn workspace_names(
        &self,
    ) -> Result<impl Iterator<Item = Result<String, FolderError>>, FolderError> {
        names(&self.root.join("workspaces"))
    }

    /// Says that a finished run's files are not those that were sealed, and which is the first; None where they are. Of blobs it is
    /// looked whether they are there.
    pub fn changed_since_sealed(path: &Path) -> Result<Option<String>, FolderError> {
        let broken = Self::read(path)?.0.broken_seals()?;
        Ok(changed(path, &broken))
    }

    /// The same, to the last byte of every blob.
    pub fn changed_to_the_byte(path: &Path) -> Result<Option<String>, FolderError> {
        let folder = Self::read(path)?.0;
        let mut broken = folder.broken_seals()?;
        broken.extend(folder.broken_blobs()?);
        Ok(changed(path, &broken))
    }

    /// The same of a copy that was made without blobs.
    pub fn changed_but_for_blobs(path: &Path) -> Result<Option<String>, FolderError> {
        let mut broken = Self::read(path)?.0.broken_seals()?;
        broken.retain(|(name, _)| !Path::new(name).starts_with(BLOBS));
        Ok(changed(path, &broken))
    }

    fn digest(&self, path: &str) -> Result<String, FolderError> {
        seal::digest(&self.root, path)
    }

    fn sealed_files(&self) -> Files {
        let mut names = vec!["manifest.json", OUTLINE, "results.json"];
        names.extend(["journal/", "trajectories/"]);
        let others = [TIMING, PREFLIGHT, KEY_FILE].into_iter();
        names.extend(others.filter(|name| self.root.join(name).exists()));
        if self.root.join(KEY_FILE).exists() {
            // Their names tell nothing to whoever has no key.
            names.push("blobs/");
        }
        Files::of(&self.root, names.into_iter().map(str::to_owned).collect())
    }

    /// Takes over what was played in another folder: blobs, workspaces, timing and preflight, but neither journals nor what
    /// is made of them. Doing it again repairs what a killed process had copied by halves.
    pub fn adopt_play(&self, other: &Self) -> Result<(), FolderError> {
        for dir in ["blobs", "workspaces"] {
            let (from, to) = (other.root.join(dir), self.root.join(dir));
            copy_all(&other.root, &from, &to, Existing::Replaced)?;
        }
        let blobs = self.root.join(BLOBS);
        if let Some((mirror, path)) = mirror::find(&blobs) {
            mirror::send_below(mirror, &blobs, path, &|_| true)
                .map_err(|source| self.unsynced(source))?;
        }
        for name in [TIMING, PREFLIGHT] {
            let (from, path) = (other.root.join(name), self.root.join(name));
            if from.exists() {
                let copied = open_file(&other.root, &from).and_then(|mut from| {
                    self.disk
                        .write(&path, |to| std::io::copy(&mut from, to).map(drop))
                });
                copied.map_err(|source| FolderError::Write { path, source })?;
            }
        }
        Ok(())
    }

    /// The seal's bytes, of which a signature over the run is made: the seal names every other file by its digest.
    pub fn seal_text(&self) -> Result<Vec<u8>, FolderError> {
        seal::plain_file(&self.root, SEAL)
    }

    /// Writes the signature over the seal, in the place of another one.
    pub fn put_seal_signature(&self, signature: &str) -> Result<(), FolderError> {
        self.write_whole(&self.root.join(SEAL_SIGNATURE), signature.as_bytes())
    }

    /// The name of the seal's bytes: BLAKE3, hex.
    pub fn seal(&self) -> Result<String, FolderError> {
        self.digest(SEAL)
    }

    /// Adds a line to `timing.jsonl`.
    pub fn put_timing(&self, timing: &Timing) -> Result<(), FolderError> {
        self.add_line(TIMING, timing)
    }

    /// Adds what a preflight has used.
    pub fn put_preflight(&self, used: &RoleUsage) -> Result<(), FolderError> {
        self.add_line(PREFLIGHT, used)
    }

    /// What all preflights of the run have used.
    pub fn preflight(&self) -> RoleUsage {
        read_preflight(&self.root)
    }

    fn add_line(&self, name: &str, line: &impl Serialize) -> Result<(), FolderError> {
        let path = self.root.join(name);
        let failed = |source| FolderError::Write {
            path: path.clone(),
            source,
        };
        let mut file = open_end(&path).map_err(failed)?;
        let mut line = serde_json::to_vec(line).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(failed)
    }
}

/// What is told of a run of which something is not as it was sealed.
fn changed(dir: &Path, broken: &[(String, String)]) -> Option<String> {
    let ((name, what), others) = broken.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let dir = dir.display();
    Some(format!(
        "{dir} was changed since it was sealed ({name}: {what}{more}): `pibench-host verify {dir}` tells whether its scores follow \
         from its record."
    ))
}

/// A folder for a new run, and its lock, held.
fn new_dir(parent: &Path) -> Result<(TempDir, Lock), FolderError> {
    /// Another process may take a folder for abandoned until its lock is held.
    const TRIES: usize = 16;
    let mut last = FolderError::Locked {
        path: parent.to_owned(),
    };
    for _ in 0..TRIES {
        let dir = tempfile::Builder::new().prefix(NEW).tempdir_in(parent);
        let dir = dir.map_err(|source| FolderError::Write {
            path: parent.to_owned(),
            source,
        })?;
        match Lock::alone(dir.path()) {
            Ok(lock) if dir.path().join(LOCK).exists() => return Ok((dir, lock)),
            Ok(_) => {}
            Err(error @ FolderError::NoLocks { .. }) => return Err(error),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Why a folder cannot be made where one is. A part that is there is gone on with: one that was not a moment ago has just been begun
/// by another process.
fn is_there(path: &Path, manifest: &Manifest) -> FolderError {
    let path = path.to_owned();
    match manifest.shard {
        Some(_) => FolderError::Locked { path },
        None => FolderError::Exists { path },
    }
}

/// A process that is killed over it leaves what the next one takes for abandoned, too.
pub(super) fn remove_lock_last(dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != LOCK {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(dir.join(LOCK))?;
    fs::remove_dir(dir)
}

/// The folders above a new one that are not there yet, the nearest first. That of all parts is other processes' too.
fn missing_above(path: &Path, manifest: &Manifest) -> Vec<PathBuf> {
    let path = std::path::absolute(path).unwrap_or_default();
    let above = path.ancestors().skip(1).take_while(|dir| !dir.exists());
    let above = above.filter(|_| manifest.shard.is_none());
    above.map(Path::to_owned).collect()
}

/// The nearest folder above a new one that there is.
fn nearest_above(path: &Path) -> std::io::Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    let there = whole.ancestors().skip(1).find(|above| above.exists());
    Ok(there.unwrap_or(Path::new("/")).to_owned())
}

/// Refuses a place in a run folder: its seal has all that lies there.
fn refuse_within(path: &Path, there: &Path) -> Result<(), FolderError> {
    let is_run = |dir: &&Path| dir.join("manifest.json").is_file() && dir.join("journal").is_dir();
    match there.ancestors().find(is_run) {
        None => Ok(()),
        Some(run) => Err(FolderError::Within {
            path: path.to_owned(),
            run: run.to_owned(),
        }),
    }
}

/// Whether a new folder can be made in this place: the nearest folder above it that there is can be written to, is in no run folder,
/// and has a name that is text.
pub fn check_place(path: &Path) -> Result<(), FolderError> {
    let of_place = |source| FolderError::Place {
        path: path.to_owned(),
        source,
    };
    let there = nearest_above(path).map_err(of_place)?;
    if !there.is_dir() {
        return Err(of_place(std::io::ErrorKind::NotADirectory.into()));
    }
    let real = fs::canonicalize(&there).map_err(of_place)?;
    if real.to_str().is_none() {
        return Err(FolderError::NotUtf8 {
            path: path.to_owned(),
            above: real,
        });
    }
    refuse_within(path, &real)?;
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(&there, access).map_err(|error| of_place(error.into()))
}

/// Removes what killed processes left of run folders that they made here. One that is being made holds its lock.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(NEW) {
            continue;
        }
        // What cannot be removed is in nobody's way.
        match open_file(&entry.path(), &entry.path().join(LOCK)) {
            Ok(lock) if lock.try_lock().is_ok() => drop(remove_lock_last(&entry.path())),
            // Killed before it had a lock: there is nothing in it.
            Err(_) => drop(fs::remove_dir(entry.path())),
            Ok(_) => {}
        }
    }
}

/// The outline's file.
const OUTLINE: &str = "outline.json";

/// The seal's file.
const TIMING: &str = "timing.jsonl";
const PREFLIGHT: &str = "preflight.jsonl";
const SEAL: &str = "seal.json";
/// The file of a signature over the seal.
pub const SEAL_SIGNATURE: &str = "seal.json.sig";
/// What a run has when it has ended, and is taken away where it is gone on with.
const OF_END: [&str; 3] = ["results.json", SEAL, SEAL_SIGNATURE];
/// The namespace of signatures over runs.
pub const SEAL_NAMESPACE: &str = "pibench-run";
const LOG: &str = "log.jsonl";
pub(super) const PULSE: &str = "pulse.json";
const BLOBS: &str = "blobs";
const AGENTS: &str = "agents";
/// All that a run folder has itself.
pub(super) const KNOWN: [&str; 16] = [
    "manifest.json",
    "journal",
    BLOBS,
    "workspaces",
    "trajectories",
    AGENTS,
    OUTLINE,
    "results.json",
    PREFLIGHT,
    TIMING,
    SEAL,
    SEAL_SIGNATURE,
    LOG,
    PULSE,
    LOCK,
    KEY_FILE,
];

/// A line of `timing.jsonl`: what one turn took in real time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    pub persona: String,
    /// 1, 2, 3, ...
    pub run: u32,
    pub session: String,
    /// 1, 2, 3, ...
    pub turn: u32,
    /// Milliseconds, from the message to the journal's line.
    pub ms: u64,
    /// UTC.
    pub ended: String,
    /// The calls into guests since the line before, in the order of apps, then graders.
    pub guests: Vec<GuestCall>,
}

/// Refuses to write where a link stands for a folder or file of a run, or for the folder of an episode: it may be a stranger's, and
/// leads where he likes.
fn refuse_links(root: &Path) -> Result<(), FolderError> {
    let mut paths: Vec<_> = KNOWN.iter().map(|name| root.join(name)).collect();
    for dir in ["workspaces", "trajectories", AGENTS] {
        // What is no folder is told by whoever needs it.
        let entries = read_dir(&root.join(dir)).into_iter().flatten().flatten();
        paths.extend(entries.map(|entry| entry.path()));
    }
    match paths.into_iter().find(|path| path.is_symlink()) {
        None => Ok(()),
        Some(path) => Err(FolderError::Read {
            path,
            reason: "it is a link, and a run is not written through one; put what it leads to in its place".into(),
        }),
    }
}

/// Removes the files that a killed process was still writing. Not in workspaces: what is there is the agent's.
fn sweep(root: &Path) -> Result<(), FolderError> {
    let mut files = Vec::new();
    for dir in ["blobs", "trajectories"] {
        collect_files(root, &root.join(dir), &mut files)?;
    }
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        files.push(entry.file_name().display().to_string());
    }
    for file in files {
        let path = root.join(file);
        let unfinished = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED));
        if unfinished {
            fs::remove_file(&path).map_err(|source| FolderError::Write { path, source })?;
        }
    }
    Ok(())
}

/// What becomes of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Refused,
    Stays,
    Replaced,
}

/// Copies all that a folder has of a run to another of the same run.
fn adopt(to: &Path, from: &Path) -> Result<(), FolderError> {
    for dir in ["journal", "workspaces", "trajectories", "blobs"] {
        let existing = if dir == "blobs" {
            Existing::Stays
        } else {
            Existing::Refused
        };
        copy_all(from, &from.join(dir), &to.join(dir), existing)?;
    }
    for name in [TIMING, PREFLIGHT] {
        let (lines, path) = (from.join(name), to.join(name));
        if !lines.exists() {
            continue;
        }
        let append = || {
            let mut file = File::options().append(true).create(true).open(&path)?;
            std::io::copy(&mut open_file(from, &lines)?, &mut file).map(drop)
        };
        append().map_err(|source| FolderError::Write {
            path: path.clone(),
            source,
        })?;
    }
    Ok(())
}

/// Copies what is below a folder of a run folder.
fn copy_all(root: &Path, from: &Path, to: &Path, existing: Existing) -> Result<(), FolderError> {
    let failed = |source| FolderError::Write {
        path: to.to_owned(),
        source,
    };
    let unread = |path: &Path, error: std::io::Error| FolderError::Read {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    fs::create_dir_all(to).map_err(failed)?;
    // No link to one.
    drop(read_dir(to).map_err(failed)?);
    for entry in read_dir(from).map_err(|error| unread(from, error))? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type().map_err(failed)?;
        if !kind.is_dir() && !kind.is_file() {
            return Err(FolderError::Read {
                path: entry.path(),
                reason: "it is neither a file nor a folder".into(),
            });
        }
        if kind.is_dir() {
            copy_all(root, &entry.path(), &target, existing)?;
        } else if existing == Existing::Replaced || !target.exists() {
            let path = entry.path();
            let file = open_file(root, &path).map_err(|error| unread(&path, error))?;
            copy_new(file, &target).map_err(failed)?;
        } else if existing == Existing::Refused {
            return Err(FolderError::Twice { path: target });
        }
    }
    Ok(())
}

/// Copies a file, with its mode, to a new one in the place of what is there: nothing is written into another file, or through a link.
fn copy_new(mut from: File, to: &Path) -> std::io::Result<()> {
    match fs::remove_file(to) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(to)?;
    std::io::copy(&mut from, &mut file)?;
    file.set_permissions(from.metadata()?.permissions())
}

/// The names in a folder, in no order.
fn names(
    dir: &Path,
) -> Result<impl Iterator<Item = Result<String, FolderError>> + use<>, FolderError> {
    let path = dir.to_owned();
    let failed = move |error: std::io::Error| FolderError::Read {
        path: path.clone(),
        reason: error.to_string(),
    };
    let entries = read_dir(dir).map_err(&failed)?;
    Ok(entries.map(move |entry| {
        let name = entry.map_err(&failed)?.file_name();
        Ok(name.to_string_lossy().into_owned())
    }))
}

fn collect_files(root: &Path, dir: &Path, files: &mut Vec<String>) -> Result<(), FolderError> {
    let failed = |error: std::io::Error| FolderError::Read {
        path: dir.to_owned(),
        reason: error.to_string(),
    };
    for entry in read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            collect_files(root, &path, files)?;
        } else if let Ok(relative) = path.strip_prefix(root) {
            files.push(relative.display().to_string());
        }
    }
    Ok(())
}

/// Whether a file, as it was read, holds just what would be written now.
fn holds(
    path: &Path,
    read: std::io::Result<Vec<u8>>,
    value: &impl Serialize,
) -> Result<bool, FolderError> {
    let failed = |reason: String| FolderError::Read {
        path: path.to_owned(),
        reason,
    };
    let wanted = pretty(value).map_err(|error| failed(error.to_string()))?;
    match read {
        Ok(found) => Ok(found == wanted),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The text of a record, as it is made.
fn write_pretty(mut text: &mut dyn Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut text, value)?;
    text.write_all(b"\n")
}

fn pretty(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    /// Most trajectories are shorter, and a place that grows is copied each time.
    const USUAL: usize = 32 << 10;
    let mut text = Vec::with_capacity(USUAL);
    serde_json::to_writer_pretty(&mut text, value)?;
    text.push(b'\n');
    Ok(text)
}

/// A blob's name, of the BLAKE3 of its content, hex. That of a private run tells nothing of the content.
fn blob_name(key: Option<&Key>, hash: &str) -> String {
    key.map_or_else(|| hash.to_owned(), |key| key.name(hash))
}

/// The bytes of a blob of a run folder, checked against its name.
pub fn read_blob(folder: &Path, name: &str) -> Result<Vec<u8>, FolderError> {
    let path = folder.join("blobs").join(name);
    let failed = |reason: String| FolderError::Read {
        path: path.clone(),
        reason,
    };
    let plain = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !plain {
        return Err(failed("a blob's name is a hash".into()));
    }
    let bytes = read_file(folder, &path).map_err(|error| failed(error.to_string()))?;
    let key = key_of(folder)?;
    let bytes = match &key {
        Some(key) => key.decrypt(&bytes).map_err(failed)?,
        None => bytes,
    };
    if blob_name(key.as_ref(), &blake3::hash(&bytes).to_hex()) != name {
        return Err(failed("the content is not what the journal names".into()));
    }
    Ok(bytes)
}

/// Bytes of a line of `timing.jsonl` or `preflight.jsonl`.
const LINE_LIMIT: u64 = 1 << 20;

/// What the turns of a run took in real time, read as it is asked for; lines that are cut or are none are left out, for nothing
/// depends on them.
pub fn read_timings(folder: &Path) -> impl Iterator<Item = Timing> + use<> {
    let file = open_file(folder, &folder.join(TIMING)).ok();
    let lines = file.into_iter().flat_map(|file| lines(file, LINE_LIMIT));
    lines.filter_map(|line| serde_json::from_slice(&line).ok())
}

/// What all preflights of a run have used; lines that are cut or are none are left out.
pub fn read_preflight(folder: &Path) -> RoleUsage {
    let mut used = RoleUsage::default();
    let file = open_file(folder, &folder.join(PREFLIGHT)).ok();
    let lines = file.into_iter().flat_map(|file| lines(file, LINE_LIMIT));
    for line in lines.filter_map(|line| serde_json::from_slice::<RoleUsage>(&line).ok()) {
        used += line;
    }
    used
}

/// The scores of a finished run.
pub fn read_results(folder: &Path) -> Result<RunResults, FolderError> {
    let path = folder.join("results.json");
    let failed = |reason: String| FolderError::Read {
        path: path.clone(),
        reason,
    };
    if key_of(folder)?.is_none()
        && let Ok(file) = open_file(folder, &path)
        && let Ok(results) = serde_json::from_reader(BufReader::new(file))
    {
        return within(results).map_err(failed);
    }
    let text = read_record(folder, &path).map_err(|error| failed(error.to_string()))?;
    let results = with_players(&text).map_err(|error| failed(error.to_string()))?;
    within(results).map_err(failed)
}

/// Results that can be counted by.
pub(super) fn within(results: RunResults) -> Result<RunResults, String> {
    match results::beyond(results.runs) {
        Some(reason) => Err(reason),
        None => Ok(results),
    }
}

/// A manifest or results. Those of version 1 of the protocol do not say who played the roles: their names do.
fn with_players<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    // What says it is read as it is: a tree of a long run's results is ten times their size.
    match serde_json::from_slice(text) {
        // Missed after all was read. Of two entries of one name a tree keeps one; they would have been told first.
        Err(failed) if failed.to_string().starts_with("missing field `players`") => {
            with_players_in(serde_json::from_slice(text)?)
        }
        read => read,
    }
}

pub(super) fn with_players_in<T: DeserializeOwned>(mut value: Value) -> serde_json::Result<T> {
    if value.is_object() && value["players"].is_null() {
        let name = |role: &str| value[role].as_str().unwrap_or_default();
        let is_imported = value["imported"].is_object() || value["imported"] == true;
        let players = if is_imported {
            Players::IMPORTED
        } else {
            Players::named(name("agent"), name("user"), name("judge"))
        };
        value["players"] = serde_json::to_value(players)?;
    }
    serde_json::from_value(value)
}

/// What the suite of a run holds; None for a folder of before outlines were written.
pub fn read_outline(folder: &Path) -> Result<Option<Outline>, FolderError> {
    let path = folder.join(OUTLINE);
    let failed = |reason: String| FolderError::Read {
        path: path.clone(),
        reason,
    };
    let text = match read_record(folder, &path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error.to_string())),
    };
    let outline: Outline =
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    // Whoever needs the manifest says what is wrong with it.
    let runs = read_manifest(folder).map_or(1, |manifest| manifest.runs);
    match outline.beyond(runs) {
        Some(reason) => Err(failed(reason)),
        None => Ok(Some(outline)),
    }
}

/// The run folder itself, or those just below, by name; none where there is none.
pub(super) fn runs_below(path: &Path) -> Vec<PathBuf> {
    let is_run = |path: &Path| path.join("manifest.json").exists();
    if is_run(path) {
        return vec![path.to_owned()];
    }
    let mut runs = folders_in(path);
    runs.retain(|path| is_run(path));
    runs.sort();
    runs
}

/// The folders in a folder, which may be a stranger's: a link in it is none, since it may lead to what is somebody else's.
pub(super) fn folders_in(path: &Path) -> Vec<PathBuf> {
    entries_in(path, fs::FileType::is_dir)
}

/// The links in a folder that lead to folders, by name.
pub(super) fn links_in(path: &Path) -> Vec<PathBuf> {
    let mut links = entries_in(path, fs::FileType::is_symlink);
    links.retain(|link| link.is_dir());
    links.sort();
    links
}

fn entries_in(path: &Path, is_wanted: fn(&fs::FileType) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let wanted = entries.filter(|entry| entry.file_type().is_ok_and(|kind| is_wanted(&kind)));
    wanted.map(|entry| entry.path()).collect()
}

/// The manifest of a run folder.
pub fn read_manifest(folder: &Path) -> Result<Manifest, FolderError> {
    let path = folder.join("manifest.json");
    let failed = |reason: String| FolderError::Read {
        path: path.clone(),
        reason,
    };
    let text = read_file(folder, &path)
        .map_err(|error| failed(format!("{error}; is this a run folder?")))?;
    let manifest: Manifest = with_players(&text).map_err(|error| failed(error.to_string()))?;
    if manifest.version != VERSION {
        return Err(failed(format!(
            "version {}, and this host reads {VERSION}",
            manifest.version
        )));
    }
    match manifest.beyond() {
        Some(reason) => Err(failed(reason)),
        None => Ok(manifest),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FolderError> {
    let failed = |source| FolderError::Write {
        path: path.to_owned(),
        source,
    };
    let text = pretty(value).map_err(|error| failed(error.into()))?;
    write_whole(path, &text)
}

/// A file is there whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let written = Disk::default().write_whole(path, bytes);
    written.map_err(|source| FolderError::Write {
        path: path.to_owned(),
        source,
    })
}

/// The folders above a run's, as far as they can be opened: any of them may have been made with it, and would be lost with
/// its name.
fn folders_above(root: &Path) -> Vec<PathBuf> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let above = root.ancestors().skip(1);
    let can_be_synced = above.filter(|dir| fs::File::open(dir).is_ok());
    can_be_synced.map(Path::to_owned).collect()
}
