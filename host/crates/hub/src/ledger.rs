//! The hub's memory: submitters' tokens as hashes, their runs and episodes, the queue, and what was used on a day. One file of `SQLite`,
//! which the program's `hub token` changes while a hub reads it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::config::{Purse, Quotas};
use crate::token::{Drawn, draw, hash, parts};
use pibench_core::cost::MicroUsd;

const FILE: &str = "hub.sqlite";

/// Beside it: locked by the hub that plays.
const LOCK: &str = "lock";

/// Of the tables, in the file's `user_version`.
const VERSION: i64 = 3;

/// How long another process may write before this one gives up.
const PATIENCE: Duration = Duration::from_secs(5);

/// Seconds that no episode has to wait for. One that seems to was sent away before the machine's clock went back.
const LONGEST_WAIT: i64 = 60;

/// Characters of a submitter's name.
const LONGEST_NAME: usize = 64;

const TABLES: &str = "
    CREATE TABLE token (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, made TEXT NOT NULL, revoked TEXT
    ) STRICT;
    CREATE UNIQUE INDEX valid ON token (name) WHERE revoked IS NULL;
    CREATE TABLE run (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, agent TEXT NOT NULL, episodes INTEGER NOT NULL, made TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'open', why TEXT
    ) STRICT;
    CREATE INDEX of_name ON run (name);
    CREATE TABLE episode (
        run TEXT NOT NULL REFERENCES run, number INTEGER NOT NULL, state TEXT NOT NULL, place INTEGER NOT NULL,
        not_before INTEGER NOT NULL DEFAULT 0, turn_open INTEGER NOT NULL DEFAULT 0, broken INTEGER NOT NULL DEFAULT 0,
        seconds INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (run, number)
    ) STRICT;
    CREATE INDEX in_state ON episode (state);
    CREATE TABLE used (
        name TEXT NOT NULL, day TEXT NOT NULL, episodes INTEGER NOT NULL DEFAULT 0, turns INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (name, day)
    ) STRICT;
";

/// What version 2 has beside: money, and which models have answered the hub's own question.
const MONEY: &str = "
    ALTER TABLE used ADD COLUMN micro_usd INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX of_day ON used (day);
    CREATE TABLE asked (model TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT;
";

/// What version 3 has beside: how many runs were begun, and the how manieth each is, since rows of some go. Nothing that is asked
/// of runs reads all of them.
const BEGUN: &str = "
    ALTER TABLE used ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
    INSERT INTO used (name, day, runs) SELECT name, substr(made, 1, 10), count(*) FROM run WHERE true GROUP BY 1, 2
        ON CONFLICT DO UPDATE SET runs = excluded.runs;
    ALTER TABLE run ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
    UPDATE run SET attempt = numbered.attempt FROM (
        SELECT rowid AS row, row_number() OVER (PARTITION BY name ORDER BY rowid) AS attempt FROM run
    ) AS numbered WHERE run.rowid = numbered.row;
    DROP INDEX of_name;
    CREATE INDEX of_name ON run (name, made DESC, id);
    CREATE INDEX of_state ON run (state, name, made);
";

/// Runs that were abandoned before an episode was opened, of days before this one: nothing was ever kept of them.
const FORGOTTEN: &str = "state = 'failed' AND made < ?1
    AND NOT EXISTS (SELECT 1 FROM episode WHERE episode.run = run.id)";

/// Under whose name the hub's own questions are paid. No submitter's is empty.
const HUB: &str = "";

/// Seconds for which a model's answer to the hub's own question holds.
const ANSWERED: i64 = 24 * 60 * 60;

/// Why the memory cannot be read or written. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("open {}: {source}", path.display())]
    Open {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("make the folder {}: {source}", path.display())]
    Folder {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("open {}: it is of version {found}, and this host has version {VERSION}", path.display())]
    Version { path: PathBuf, found: i64 },
    #[error("lock {}: another hub hosts by these books; end it first, or name another folder as `data`", path.display())]
    Locked { path: PathBuf },
    #[error("lock {}: {source}", path.display())]
    Lock {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("keep the hub's books: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error("draw a token: {0}")]
    Draw(getrandom::Error),
    /// What was asked for cannot be.
    #[error("{0}")]
    Asked(String),
}

type Kept<T> = Result<T, LedgerError>;

/// Keeps other hubs away as long as the file is open; the system lets go of it when the process ends, however it ends.
fn lock(path: PathBuf) -> Kept<File> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    let locked = file.map_err(TryLockError::Error).and_then(|file| {
        file.try_lock()?;
        Ok(file)
    });
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => LedgerError::Locked { path },
        TryLockError::Error(source) => LedgerError::Lock { path, source },
    })
}

/// A token, as far as the operator may see it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Known {
    pub name: String,
    pub id: String,
    /// UTC.
    pub made: String,
    pub revoked: Option<String>,
    /// Of all the submitter's tokens.
    pub runs: u64,
    pub finished: u64,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    Open,
    Finished,
    /// It will have no result.
    Failed,
}

impl RunState {
    const ALL: [(Self, &str); 3] = [
        (Self::Open, "open"),
        (Self::Finished, "finished"),
        (Self::Failed, "failed"),
    ];

    fn word(self) -> &'static str {
        let named = Self::ALL.iter().find(|(state, _)| *state == self);
        named.map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Self {
        let named = Self::ALL.iter().find(|(_, named)| *named == word);
        named.map_or(Self::Failed, |(state, _)| *state)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) id: String,
    /// The submitter.
    pub(crate) name: String,
    pub(crate) agent: String,
    pub(crate) episodes: u32,
    pub(crate) made: String,
    pub(crate) state: RunState,
    pub(crate) why: Option<String>,
}

/// Which episode: of a run, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) run: String,
    pub(crate) number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EpisodeState {
    /// It waits for a place.
    Queued,
    Playing,
    /// It goes on with the next request for it.
    Paused,
    Over,
}

impl EpisodeState {
    const ALL: [(Self, &str); 4] = [
        (Self::Queued, "queued"),
        (Self::Playing, "playing"),
        (Self::Paused, "paused"),
        (Self::Over, "over"),
    ];

    fn word(self) -> &'static str {
        let named = Self::ALL.iter().find(|(state, _)| *state == self);
        named.map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Self {
        let named = Self::ALL.iter().find(|(_, named)| *named == word);
        named.map_or(Self::Paused, |(state, _)| *state)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Episode {
    pub(crate) number: u32,
    pub(crate) state: EpisodeState,
    /// The submitter was given the message that is open, and it was counted.
    pub(crate) turn_open: bool,
    /// Turns that were broken off because nothing came.
    pub(crate) broken: u32,
    /// How long it was played, of real time.
    pub(crate) seconds: u64,
}

/// What was used on a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Used {
    pub(crate) episodes: u32,
    pub(crate) turns: u32,
    /// That were begun, whatever became of them.
    pub(crate) runs: u32,
    pub(crate) bytes: u64,
    /// What the models of user and judge cost.
    pub(crate) paid: MicroUsd,
}

/// Whether an episode was opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Now(u32),
    /// It was before.
    Already(u32),
    /// Why not now, for the submitter.
    Refused(String),
    /// The run has no such episode.
    Absent,
    /// Every episode of the run was before.
    All,
    /// Why not before the next day.
    UsedUp(String),
}

/// Why a run was not begun, for the submitter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// No agent may be called so.
    Name(String),
    /// Not beside those that are open.
    Refused(String),
    /// Not before the next day.
    UsedUp(String),
}

/// The file, opened twice: who reads waits for nobody who writes, and nobody who writes for the disk. Calls are short.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl Ledger {
    /// Opens the books in a hub's folder; makes both where there are none.
    pub fn open(data: &Path) -> Kept<Self> {
        make_private(data).map_err(|source| LedgerError::Folder {
            path: data.to_owned(),
            source,
        })?;
        let path = data.join(FILE);
        let opened = || {
            let mut connection = connect(&path)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            let transaction = immediate(&mut connection)?;
            let found: i64 =
                transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if found == 0 {
                transaction.execute_batch(TABLES)?;
            }
            if found < 2 {
                transaction.execute_batch(MONEY)?;
            }
            if found < VERSION {
                transaction.execute_batch(BEGUN)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
            let reader = connect(&path)?;
            reader.pragma_update(None, "query_only", true)?;
            Ok((connection, reader, found.max(VERSION)))
        };
        let failed = |source| LedgerError::Open {
            path: path.clone(),
            source,
        };
        let (writer, reader, found) = opened().map_err(failed)?;
        if found != VERSION {
            return Err(LedgerError::Version { path, found });
        }
        Ok(Self {
            path,
            writer: Mutex::new(writer),
            reader: Mutex::new(reader),
        })
    }

    /// What a hub does that plays: a line lasts when the process ends, and after a power cut from the next
    /// [`Ledger::settle`] on. No other hub plays by these books while the lock is held; tokens are made and revoked beside it.
    pub(crate) fn play(&self) -> Kept<File> {
        let lock = lock(self.path.with_file_name(LOCK))?;
        let connection = self.writer();
        connection.pragma_update(None, "synchronous", "normal")?;
        // A request would wait for the disk, and all others for it.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        // Of a process before this one.
        connection.execute(
            "UPDATE episode SET state = 'paused', not_before = 0 WHERE state IN ('playing', 'queued')",
            [],
        )?;
        let forget = format!("DELETE FROM run WHERE {FORGOTTEN}");
        connection.execute(&forget, [today()])?;
        Ok(lock)
    }

    /// Moves what was written to its place, and to the disk. Takes as long as the disk does; nobody who reads or writes waits.
    pub(crate) fn settle(&self) -> Kept<()> {
        let connection = connect(&self.path)?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    }

    /// Makes a submitter's token. It is shown now and never again.
    pub fn add_token(&self, name: &str) -> Kept<String> {
        check_name("submitter", name).map_err(LedgerError::Asked)?;
        let drawn = Drawn::new().map_err(LedgerError::Draw)?;
        let connection = self.writer();
        let there: Option<String> = connection
            .query_row(
                "SELECT id FROM token WHERE name = ?1 AND revoked IS NULL",
                [name],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(id) = there {
            return Err(LedgerError::Asked(format!(
                "add a token for {name}: the token {id} is valid; `hub token revoke {name}` first, the runs stay {name}'s"
            )));
        }
        connection.execute(
            "INSERT INTO token (id, name, hash, made) VALUES (?1, ?2, ?3, ?4)",
            params![drawn.id, name, drawn.hash.as_bytes(), now()],
        )?;
        Ok(drawn.text)
    }

    /// Every token, the oldest first.
    pub fn tokens(&self) -> Kept<Vec<Known>> {
        let connection = self.reader();
        let mut asked = connection.prepare(
            "SELECT name, id, made, revoked, (SELECT coalesce(sum(runs), 0) FROM used WHERE used.name = token.name),
                (SELECT count(*) FROM run WHERE run.name = token.name AND state = 'finished')
                FROM token ORDER BY made, name",
        )?;
        let rows = asked.query_map([], |row| {
            Ok(Known {
                name: row.get(0)?,
                id: row.get(1)?,
                made: row.get(2)?,
                revoked: row.get(3)?,
                runs: row.get(4)?,
                finished: row.get(5)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// From now on the submitter's token lets nobody in.
    pub fn revoke_token(&self, name: &str) -> Kept<()> {
        let connection = self.writer();
        let changed = connection.execute(
            "UPDATE token SET revoked = ?2 WHERE name = ?1 AND revoked IS NULL",
            params![name, now()],
        )?;
        if changed == 0 {
            return Err(LedgerError::Asked(format!(
                "revoke the token of {name}: there is no valid one; `hub token list` shows all"
            )));
        }
        Ok(())
    }

    /// Whose valid token this is.
    pub(crate) fn recognise(&self, text: &[u8]) -> Kept<Option<String>> {
        let Some((id, secret)) = parts(text) else {
            return Ok(None);
        };
        let connection = self.reader();
        let mut asked = connection
            .prepare_cached("SELECT name, hash FROM token WHERE id = ?1 AND revoked IS NULL")?;
        let row = asked.query_row([id], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, [u8; 32]>(1)?))
        });
        let row = row.optional()?;
        let shown = hash(secret);
        // One that nobody knows is compared too, and no comparison ends sooner than another.
        let (name, kept) = row.map_or((None, Hash::from_bytes([0; 32])), |(name, kept)| {
            (Some(name), Hash::from_bytes(kept))
        });
        Ok(name.filter(|_| shown == kept))
    }

    /// Whether the submitter has a valid token.
    pub(crate) fn is_valid(&self, name: &str) -> Kept<bool> {
        let connection = self.reader();
        let mut asked =
            connection.prepare_cached("SELECT 1 FROM token WHERE name = ?1 AND revoked IS NULL")?;
        Ok(asked.exists([name])?)
    }

    /// Begins a run.
    pub(crate) fn add_run(
        &self,
        name: &str,
        agent: &str,
        episodes: u32,
        quotas: Quotas,
    ) -> Kept<Result<Run, NotBegun>> {
        if let Err(reason) = check_name("agent", agent) {
            return Ok(Err(NotBegun::Name(reason)));
        }
        let mut connection = self.writer();
        let transaction = immediate(&mut connection)?;
        let open: u32 = transaction.query_row(
            "SELECT count(*) FROM run WHERE name = ?1 AND state = 'open'",
            [name],
            |row| row.get(0),
        )?;
        if open >= quotas.open_runs {
            return Ok(Err(NotBegun::Refused(format!(
                "you have {open} runs that are not finished, and may have {}: finish or abandon one",
                quotas.open_runs
            ))));
        }
        if !spend(&transaction, name, Unit::Runs, quotas.runs_a_day)? {
            let reason = used_up(quotas.runs_a_day, "runs");
            return Ok(Err(NotBegun::UsedUp(reason)));
        }
        let forget = format!("DELETE FROM run WHERE name = ?2 AND {FORGOTTEN}");
        transaction
            .prepare_cached(&forget)?
            .execute(params![today(), name])?;
        let id = draw::<8>().map_err(LedgerError::Draw)?;
        transaction.execute(
            "INSERT INTO run (id, name, agent, episodes, made, attempt)
                VALUES (?1, ?2, ?3, ?4, ?5, (SELECT sum(runs) FROM used WHERE name = ?2))",
            params![id, name, agent, episodes, now()],
        )?;
        let run = run_in(&transaction, &id)?;
        transaction.commit()?;
        Ok(run.ok_or_else(|| NotBegun::Refused("the run was lost".into())))
    }

    pub(crate) fn run(&self, id: &str) -> Kept<Option<Run>> {
        Ok(run_in(&self.reader(), id)?)
    }

    /// The submitter's runs, the newest first; the last hundred.
    pub(crate) fn runs_of(&self, name: &str) -> Kept<Vec<Run>> {
        let connection = self.reader();
        let mut asked = connection.prepare_cached(
            "SELECT id, name, agent, episodes, made, state, why FROM run WHERE name = ?1
                ORDER BY made DESC, id LIMIT 100",
        )?;
        let rows = asked.query_map([name], run_of)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The how manieth run of its submitter this is, whatever became of the others.
    pub(crate) fn attempt(&self, run: &Run) -> Kept<u64> {
        let connection = self.reader();
        let mut asked = connection.prepare_cached("SELECT attempt FROM run WHERE id = ?1")?;
        Ok(asked.query_row([&run.id], |row| row.get(0))?)
    }

    /// The submitter's runs that have a folder, for its room on the disk. Over a connection of its own: however many they are,
    /// nobody who is recognised meanwhile waits.
    pub(crate) fn ids_of(&self, name: &str) -> Kept<Vec<String>> {
        let connection = connect(&self.path)?;
        let mut asked = connection
            .prepare("SELECT id FROM run WHERE name = ?1 AND state IN ('open', 'finished')")?;
        let rows = asked.query_map([name], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// A run has its result, or will have none. Its episodes are over.
    pub(crate) fn end_run(&self, id: &str, state: RunState, why: Option<&str>) -> Kept<()> {
        let mut connection = self.writer();
        let transaction = immediate(&mut connection)?;
        transaction.execute(
            "UPDATE run SET state = ?2, why = ?3 WHERE id = ?1 AND state = 'open'",
            params![id, state.word(), why],
        )?;
        transaction.execute("UPDATE episode SET state = 'over' WHERE run = ?1", [id])?;
        Ok(transaction.commit()?)
    }

    /// Runs whose episodes are all over, and that have no result yet.
    pub(crate) fn played_runs(&self) -> Kept<Vec<Run>> {
        let connection = self.reader();
        let mut asked = connection.prepare_cached(
            "SELECT id, name, agent, episodes, made, state, why FROM run WHERE state = 'open'
                AND episodes = (SELECT count(*) FROM episode WHERE run = id AND episode.state = 'over')",
        )?;
        let rows = asked.query_map([], run_of)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(crate) fn failed_runs(&self) -> Kept<Vec<String>> {
        let connection = self.reader();
        let mut asked = connection.prepare("SELECT id FROM run WHERE state = 'failed'")?;
        let rows = asked.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Opens an episode of a run: this one, or the first that is not open yet. It waits in the queue then.
    pub(crate) fn open_episode(
        &self,
        run: &Run,
        number: Option<u32>,
        quotas: Quotas,
    ) -> Kept<Opened> {
        let mut connection = self.writer();
        let transaction = immediate(&mut connection)?;
        let there: Vec<u32> = transaction
            .prepare_cached("SELECT number FROM episode WHERE run = ?1")?
            .query_map([&run.id], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let number = match number {
            Some(number) if there.contains(&number) => return Ok(Opened::Already(number)),
            Some(number) => number,
            None => match (1..=run.episodes).find(|number| !there.contains(number)) {
                Some(number) => number,
                None => return Ok(Opened::All),
            },
        };
        if !(1..=run.episodes).contains(&number) {
            return Ok(Opened::Absent);
        }
        let open: u32 = transaction.query_row(
            "SELECT count(*) FROM episode JOIN run ON run.id = episode.run
                WHERE run.name = ?1 AND episode.state <> 'over'",
            [&run.name],
            |row| row.get(0),
        )?;
        if open >= quotas.episodes_at_once {
            return Ok(Opened::Refused(format!(
                "{open} episodes of yours are open, and {} may be at once: play one to its end",
                quotas.episodes_at_once
            )));
        }
        if !spend(
            &transaction,
            &run.name,
            Unit::Episodes,
            quotas.episodes_a_day,
        )? {
            let reason = used_up(quotas.episodes_a_day, "episodes");
            return Ok(Opened::UsedUp(reason));
        }
        transaction.execute(
            "INSERT INTO episode (run, number, state, place)
                VALUES (?1, ?2, 'queued', (SELECT coalesce(max(place), 0) + 1 FROM episode))",
            params![run.id, number],
        )?;
        transaction.commit()?;
        Ok(Opened::Now(number))
    }

    pub(crate) fn episode(&self, spot: &Spot) -> Kept<Option<Episode>> {
        let connection = self.reader();
        let mut asked = connection.prepare_cached(
            "SELECT number, state, turn_open, broken, seconds FROM episode WHERE run = ?1 AND number = ?2",
        )?;
        let row = asked.query_row(params![spot.run, spot.number], episode_of);
        Ok(row.optional()?)
    }

    /// The episodes of a run that were opened.
    pub(crate) fn episodes(&self, run: &str) -> Kept<Vec<Episode>> {
        let connection = self.reader();
        let mut asked = connection.prepare_cached(
            "SELECT number, state, turn_open, broken, seconds FROM episode WHERE run = ?1 ORDER BY number",
        )?;
        let rows = asked.query_map([run], episode_of)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How many of the queue come before this one, of whoever's.
    pub(crate) fn before(&self, spot: &Spot) -> Kept<u64> {
        let connection = self.reader();
        let mut asked = connection.prepare_cached(
            "SELECT count(*) FROM episode WHERE state = 'queued'
                AND place < (SELECT place FROM episode WHERE run = ?1 AND number = ?2)",
        )?;
        Ok(asked.query_row(params![spot.run, spot.number], |row| row.get(0))?)
    }

    /// A paused episode takes its place at the end of the queue.
    pub(crate) fn queue(&self, spot: &Spot) -> Kept<()> {
        let connection = self.writer();
        let mut asked = connection.prepare_cached(
            "UPDATE episode SET state = 'queued', place = (SELECT max(place) + 1 FROM episode)
                WHERE run = ?1 AND number = ?2 AND state = 'paused'",
        )?;
        asked.execute(params![spot.run, spot.number])?;
        Ok(())
    }

    /// The next of the queue, which plays from now on: of the submitter who has the fewest that play.
    pub(crate) fn next(&self) -> Kept<Option<(Spot, Run, Episode)>> {
        let mut connection = self.writer();
        let transaction = immediate(&mut connection)?;
        let found: Option<(String, u32)> = transaction
            .prepare_cached(
                "SELECT episode.run, episode.number FROM episode JOIN run ON run.id = episode.run
                    WHERE episode.state = 'queued' AND (episode.not_before <= ?1 OR episode.not_before > ?1 + ?2)
                    ORDER BY (SELECT count(*) FROM episode AS other JOIN run AS its ON its.id = other.run
                        WHERE other.state = 'playing' AND its.name = run.name), episode.place LIMIT 1",
            )?
            .query_row([Timestamp::now().as_second(), LONGEST_WAIT], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let Some((run, number)) = found else {
            return Ok(None);
        };
        transaction.execute(
            "UPDATE episode SET state = 'playing' WHERE run = ?1 AND number = ?2",
            params![run, number],
        )?;
        let episode = transaction.query_row(
            "SELECT number, state, turn_open, broken, seconds FROM episode WHERE run = ?1 AND number = ?2",
            params![run, number],
            episode_of,
        )?;
        let its = run_in(&transaction, &run)?;
        transaction.commit()?;
        Ok(its.map(|its| (Spot { run, number }, its, episode)))
    }

    /// An episode that played does not any more. `wait`: how long it has to.
    pub(crate) fn stop(
        &self,
        spot: &Spot,
        state: EpisodeState,
        played: Duration,
        wait: Duration,
    ) -> Kept<()> {
        let not_before = Timestamp::now().as_second() + seconds(wait);
        self.writer().execute(
            "UPDATE episode SET state = ?3, seconds = seconds + ?4, not_before = ?5
                WHERE run = ?1 AND number = ?2 AND state = 'playing'",
            params![
                spot.run,
                spot.number,
                state.word(),
                seconds(played),
                not_before
            ],
        )?;
        Ok(())
    }

    /// A turn was broken off because nothing came; how many of the episode were.
    pub(crate) fn broke_off(&self, spot: &Spot) -> Kept<u32> {
        let connection = self.writer();
        Ok(connection.query_row(
            "UPDATE episode SET broken = broken + 1 WHERE run = ?1 AND number = ?2 RETURNING broken",
            params![spot.run, spot.number],
            |row| row.get(0),
        )?)
    }

    /// Counts a turn of the submitter's, whose message is handed out now; whether one was left.
    pub(crate) fn begin_turn(&self, spot: &Spot, name: &str, quotas: Quotas) -> Kept<bool> {
        let mut connection = self.writer();
        let transaction = immediate(&mut connection)?;
        if !spend(&transaction, name, Unit::Turns, quotas.turns_a_day)? {
            return Ok(false);
        }
        transaction
            .prepare_cached("UPDATE episode SET turn_open = 1 WHERE run = ?1 AND number = ?2")?
            .execute(params![spot.run, spot.number])?;
        transaction.commit()?;
        Ok(true)
    }

    /// The turn was answered.
    pub(crate) fn end_turn(&self, spot: &Spot) -> Kept<()> {
        let connection = self.writer();
        let mut asked = connection
            .prepare_cached("UPDATE episode SET turn_open = 0 WHERE run = ?1 AND number = ?2")?;
        asked.execute(params![spot.run, spot.number])?;
        Ok(())
    }

    /// What the submitter used today.
    pub(crate) fn used(&self, name: &str) -> Kept<Used> {
        let connection = self.reader();
        let mut asked = connection.prepare_cached(
            "SELECT episodes, turns, runs, bytes, micro_usd FROM used WHERE name = ?1 AND day = ?2",
        )?;
        let row = asked.query_row([name, &today()], |row| {
            Ok(Used {
                episodes: row.get(0)?,
                turns: row.get(1)?,
                runs: row.get(2)?,
                bytes: row.get(3)?,
                paid: MicroUsd(row.get(4)?),
            })
        });
        Ok(row.optional()?.unwrap_or_default())
    }

    /// Counts what a model's answer cost, for a submitter's episode.
    pub(crate) fn pay(&self, name: &str, sum: MicroUsd) -> Kept<()> {
        let connection = self.writer();
        let mut asked = connection.prepare_cached(
            "INSERT INTO used (name, day, micro_usd) VALUES (?1, ?2, ?3)
                ON CONFLICT DO UPDATE SET micro_usd = micro_usd + ?3",
        )?;
        asked.execute(params![name, today(), sum.0])?;
        Ok(())
    }

    /// The same, for a question of the hub's own.
    pub(crate) fn pay_for_hub(&self, sum: MicroUsd) -> Kept<()> {
        self.pay(HUB, sum)
    }

    /// Why no more may be paid today for a submitter's episodes, for the submitter; None when more may.
    pub(crate) fn lacks_money(&self, name: &str, purse: Purse) -> Kept<Option<String>> {
        if let Some(most) = purse.own {
            let paid = self.used(name)?.paid;
            if paid >= most {
                return Ok(Some(format!(
                    "the models of user and judge may cost {most} a day for your episodes, and have cost {paid}: {NEXT_DAY}"
                )));
            }
        }
        let Some(most) = purse.all else {
            return Ok(None);
        };
        let paid: u64 = {
            let connection = self.reader();
            let mut asked = connection
                .prepare_cached("SELECT coalesce(sum(micro_usd), 0) FROM used WHERE day = ?1")?;
            asked.query_row([today()], |row| row.get(0))?
        };
        // What the others spent is theirs to know.
        Ok((MicroUsd(paid) >= most).then(|| {
            format!("the models of user and judge may cost {most} a day for all episodes of this host, and have: {NEXT_DAY}")
        }))
    }

    /// Whether this model has answered the hub's own question not long ago.
    pub(crate) fn has_answered(&self, model: &str) -> Kept<bool> {
        let now = Timestamp::now().as_second();
        let connection = self.reader();
        let mut asked =
            connection.prepare("SELECT 1 FROM asked WHERE model = ?1 AND at BETWEEN ?2 AND ?3")?;
        Ok(asked.exists(params![model, now - ANSWERED, now])?)
    }

    /// The model has answered the hub's own question now.
    pub(crate) fn put_answered(&self, model: &str) -> Kept<()> {
        self.writer().execute(
            "INSERT INTO asked (model, at) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET at = ?2",
            params![model, Timestamp::now().as_second()],
        )?;
        Ok(())
    }

    /// Counts bytes of the submitter's day.
    pub(crate) fn add_bytes(&self, name: &str, bytes: u64) -> Kept<()> {
        let connection = self.writer();
        let mut asked = connection.prepare_cached(
            "INSERT INTO used (name, day, bytes) VALUES (?1, ?2, ?3)
                ON CONFLICT DO UPDATE SET bytes = bytes + ?3",
        )?;
        asked.execute(params![name, today(), bytes])?;
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is counted by the day.
#[derive(Clone, Copy)]
enum Unit {
    Episodes,
    Turns,
    Runs,
}

/// Counts one more, unless that is more than may be.
fn spend(transaction: &Transaction<'_>, name: &str, unit: Unit, most: u32) -> Kept<bool> {
    let count = match unit {
        Unit::Episodes => {
            "UPDATE used SET episodes = episodes + 1 WHERE name = ?1 AND day = ?2 AND episodes < ?3"
        }
        Unit::Turns => {
            "UPDATE used SET turns = turns + 1 WHERE name = ?1 AND day = ?2 AND turns < ?3"
        }
        Unit::Runs => "UPDATE used SET runs = runs + 1 WHERE name = ?1 AND day = ?2 AND runs < ?3",
    };
    let day = today();
    transaction
        .prepare_cached("INSERT OR IGNORE INTO used (name, day) VALUES (?1, ?2)")?
        .execute([name, &day])?;
    let counted = transaction
        .prepare_cached(count)?
        .execute(params![name, day, most])?;
    Ok(counted == 1)
}

/// Why nothing more of a day's quota is to be had.
pub(crate) fn used_up(most: u32, what: &str) -> String {
    format!("your {most} {what} of this day are used up; {NEXT_DAY}")
}

/// When there is more of what is counted by the day.
const NEXT_DAY: &str = "the next day begins at 00:00 UTC";

/// How long it is until then.
pub(crate) fn rest_of_day() -> Duration {
    const DAY: i64 = 24 * 60 * 60;
    let gone = Timestamp::now().as_second().rem_euclid(DAY);
    Duration::from_secs((DAY - gone).unsigned_abs())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection)
}

fn immediate(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
}

fn run_in(connection: &Connection, id: &str) -> rusqlite::Result<Option<Run>> {
    let mut asked = connection.prepare_cached(
        "SELECT id, name, agent, episodes, made, state, why FROM run WHERE id = ?1",
    )?;
    asked.query_row([id], run_of).optional()
}

fn run_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        id: row.get(0)?,
        name: row.get(1)?,
        agent: row.get(2)?,
        episodes: row.get(3)?,
        made: row.get(4)?,
        state: RunState::of(&row.get::<_, String>(5)?),
        why: row.get(6)?,
    })
}

fn episode_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Episode> {
    Ok(Episode {
        number: row.get(0)?,
        state: EpisodeState::of(&row.get::<_, String>(1)?),
        turn_open: row.get(2)?,
        broken: row.get(3)?,
        seconds: row.get(4)?,
    })
}

/// Names stand in paths of records, tables and signers' eyes: plain ones only.
fn check_name(of: &str, name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-@+".contains(c);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        return Err(format!(
            "name the {of}: want 1 to {LONGEST_NAME} letters of English, digits or any of . _ - @ +"
        ));
    }
    Ok(())
}

fn now() -> String {
    let now = Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Of UTC.
fn today() -> String {
    Timestamp::now().strftime("%Y-%m-%d").to_string()
}

fn seconds(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

/// A folder that nobody else may look into.
pub(crate) fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    // It may have been there.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))
}

#[cfg(test)]
mod tests;
