//! Lines of results that are not held: a long run has one for each session. They are read again whenever they are asked for, from
//! the journals or from `results.json`.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, BufReader, Cursor, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::error::FolderError;
use super::folder::{with_players_in, within};
use super::foreign::open_file;
use super::private::{key_of, read_record};
use super::results::{FaultLine, RunResults, SessionLine};

/// Where the lines of results lie.
pub trait Rows<T> {
    /// Gives each in its order, until one is not taken.
    fn each(&self, take: &mut dyn FnMut(&T) -> io::Result<()>) -> io::Result<()>;
}

impl<T> Rows<T> for Vec<T> {
    fn each(&self, take: &mut dyn FnMut(&T) -> io::Result<()>) -> io::Result<()> {
        self.iter().try_for_each(take)
    }
}

impl Rows<SessionLine> for RunResults {
    fn each(&self, take: &mut dyn FnMut(&SessionLine) -> io::Result<()>) -> io::Result<()> {
        self.sessions.each(take)
    }
}

impl Rows<FaultLine> for RunResults {
    fn each(&self, take: &mut dyn FnMut(&FaultLine) -> io::Result<()>) -> io::Result<()> {
        self.faults.each(take)
    }
}

/// Results whose lines lie elsewhere. The same text as that of [`RunResults`].
#[derive(Debug)]
pub struct Told<R> {
    /// All but the lines of sessions and faults.
    pub head: RunResults,
    pub rows: R,
}

impl<R> AsMut<RunResults> for Told<R> {
    fn as_mut(&mut self) -> &mut RunResults {
        &mut self.head
    }
}

impl<R: Rows<SessionLine> + Rows<FaultLine>> Serialize for Told<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = serde_json::to_value(&self.head).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in head.as_object().into_iter().flatten() {
            match key.as_str() {
                SESSIONS => map.serialize_entry(key, &List::<SessionLine, _>::of(&self.rows))?,
                FAULTS => map.serialize_entry(key, &List::<FaultLine, _>::of(&self.rows))?,
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

/// The fields of results that have a line for each session or fault.
const SESSIONS: &str = "sessions";
const FAULTS: &str = "faults";

struct List<'a, T, R>(&'a R, PhantomData<T>);

impl<'a, T, R: Rows<T>> List<'a, T, R> {
    fn of(rows: &'a R) -> Self {
        Self(rows, PhantomData)
    }
}

impl<T: Serialize, R: Rows<T>> Serialize for List<'_, T, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut failed = None;
        let given = self.0.each(&mut |row| {
            list.serialize_element(row).map_err(|error| {
                failed = Some(error);
                io::Error::other("a line cannot be written")
            })
        });
        match failed {
            Some(error) => Err(error),
            None => given.map_err(S::Error::custom).and_then(|()| list.end()),
        }
    }
}

/// The lines of a run's `results.json`.
#[derive(Debug, Clone)]
pub struct InFile {
    folder: PathBuf,
}

impl InFile {
    fn path(&self) -> PathBuf {
        self.folder.join("results.json")
    }

    /// A private run's is decrypted as a whole.
    fn open(&self) -> io::Result<Box<dyn Read>> {
        let path = self.path();
        let key = key_of(&self.folder).map_err(io::Error::other)?;
        if key.is_some() {
            let text = read_record(&self.folder, &path)?;
            return Ok(Box::new(Cursor::new(text)));
        }
        Ok(Box::new(BufReader::new(open_file(&self.folder, &path)?)))
    }

    fn walk(&self, walk: Walk<'_>) -> io::Result<Map<String, Value>> {
        let failed = RefCell::new(None);
        let mut from = serde_json::Deserializer::from_reader(self.open()?);
        let read = from.deserialize_map(Fields {
            walk,
            failed: &failed,
        });
        let head = read.and_then(|head| from.end().map(|()| head));
        match failed.into_inner() {
            Some(error) => Err(error),
            None => Ok(head?),
        }
    }
}

impl Rows<SessionLine> for InFile {
    fn each(&self, take: &mut dyn FnMut(&SessionLine) -> io::Result<()>) -> io::Result<()> {
        let walk = Walk {
            session: take,
            fault: &mut |_| Ok(()),
        };
        self.walk(walk).map(drop)
    }
}

impl Rows<FaultLine> for InFile {
    fn each(&self, take: &mut dyn FnMut(&FaultLine) -> io::Result<()>) -> io::Result<()> {
        let walk = Walk {
            session: &mut |_| Ok(()),
            fault: take,
        };
        self.walk(walk).map(drop)
    }
}

/// The scores of a finished run, whose lines stay in their file. Each has been read once.
pub fn read_told(folder: &Path) -> Result<Told<InFile>, FolderError> {
    let rows = InFile {
        folder: folder.to_owned(),
    };
    let failed = |reason: String| FolderError::Read {
        path: rows.path(),
        reason,
    };
    let nothing = Walk {
        session: &mut |_| Ok(()),
        fault: &mut |_| Ok(()),
    };
    let head = rows.walk(nothing);
    let head = head.map_err(|error| failed(error.to_string()))?;
    let head = with_players_in(Value::Object(head)).map_err(|error| failed(error.to_string()))?;
    let head = within(head).map_err(failed)?;
    Ok(Told { head, rows })
}

/// What becomes of the lines of a file.
struct Walk<'a> {
    session: &'a mut dyn FnMut(&SessionLine) -> io::Result<()>,
    fault: &'a mut dyn FnMut(&FaultLine) -> io::Result<()>,
}

/// The fields of results; those that have lines are left empty.
struct Fields<'a, 'f> {
    walk: Walk<'a>,
    failed: &'f RefCell<Option<io::Error>>,
}

impl<'de> Visitor<'de> for Fields<'_, '_> {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("results")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let Self { walk, failed } = self;
        let mut head = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if head.contains_key(&key) {
                let told = format!("duplicate field `{key}`");
                return Err(serde::de::Error::custom(told));
            }
            let value = match key.as_str() {
                SESSIONS => from.next_value_seed(Elements {
                    take: walk.session,
                    failed,
                })?,
                FAULTS => from.next_value_seed(Elements {
                    take: walk.fault,
                    failed,
                })?,
                _ => from.next_value()?,
            };
            head.insert(key, value);
        }
        Ok(head)
    }
}

/// Gives each element of a list and keeps none.
struct Elements<'a, 'f, T> {
    take: &'a mut dyn FnMut(&T) -> io::Result<()>,
    failed: &'f RefCell<Option<io::Error>>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Elements<'_, '_, T> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Elements<'_, '_, T> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        while let Some(element) = from.next_element::<T>()? {
            if let Err(error) = (self.take)(&element) {
                *self.failed.borrow_mut() = Some(error);
                return Err(serde::de::Error::custom("a line is not taken"));
            }
        }
        Ok(Value::Array(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{FaultKind, RoleUsage};
    use crate::folder::read_results;
    use pibench_core::player::Players;

    fn results(sessions: usize) -> RunResults {
        let line = |at: usize| {
            serde_json::json!({
                "id": format!("s{}", at % 7), "persona": "p", "run": at + 1, "proc": 100.0 / 3.0, "proc_scored": null, "weight": 1,
                "comp": 1.0, "turns": at, "outcome": "complete",
                "intents": { "completed": 1, "inferred": 0, "provided": 0, "open": 2 },
                "usage": RoleUsage::default(), "cost": null,
            })
        };
        let fault = serde_json::json!({ "persona": "p", "session": "s1", "run": 1, "turn": 2, "kind": "judge", "source": "m", "message": "x" });
        let lines: Vec<Value> = (0..sessions).map(line).collect();
        let faults = vec![fault; sessions / 2];
        serde_json::from_value(serde_json::json!({
            "version": 1, "suite": "s", "agent": "m", "user": "m", "judge": "m", "players": Players::named("m", "m", "m"),
            "protocol_version": 2, "scripted": false, "runs": 3, "proc": 66.666_666_666_666_67, "comp": null, "proc_std": 0.1,
            "comp_std": null, "scored": { "scored": 1, "of": 2 },
            "personas": [{ "id": "p", "proc": 1e-7, "comp": null, "scored": { "scored": 1, "of": 2 } }],
            "sessions": lines, "faults": faults, "usage": RoleUsage::default(), "cost": 12,
        }))
        .unwrap()
    }

    #[test]
    fn what_lies_elsewhere_is_the_same_text() {
        let dir = tempfile::tempdir().unwrap();
        for sessions in [0, 1, 9] {
            let results = results(sessions);
            let text = serde_json::to_string_pretty(&results).unwrap();
            std::fs::write(dir.path().join("results.json"), &text).unwrap();
            let told = read_told(dir.path()).unwrap();
            assert!(told.head.sessions.is_empty() && told.head.faults.is_empty());
            assert_eq!(serde_json::to_string_pretty(&told).unwrap(), text);
            assert_eq!(
                serde_json::to_string(&told).unwrap(),
                serde_json::to_string(&results).unwrap()
            );
        }
    }

    #[test]
    fn a_line_that_is_none_or_is_not_taken_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        let text = serde_json::to_string(&results(9)).unwrap();
        let write = |text: &str| std::fs::write(dir.path().join("results.json"), text).unwrap();
        write(&text);
        let rows = read_told(dir.path()).unwrap().rows;
        let mut seen = 0;
        let stopped = rows.each(&mut |line: &SessionLine| {
            seen += 1;
            if line.run == 4 {
                Err(io::Error::other("enough"))
            } else {
                Ok(())
            }
        });
        assert_eq!(
            (seen, stopped.unwrap_err().to_string().as_str()),
            (4, "enough")
        );
        let mut kinds = Vec::new();
        rows.each(&mut |fault: &FaultLine| {
            kinds.push(fault.fault.kind);
            Ok(())
        })
        .unwrap();
        assert_eq!(kinds, [FaultKind::Judge; 4]);
        // One of before players were told, which their names say.
        let players = serde_json::to_string(&Players::named("m", "m", "m")).unwrap();
        let older = text.replacen(&format!("\"players\":{players},"), "", 1);
        assert_ne!(older, text);
        let whole = read_results(dir.path()).unwrap();
        write(&older);
        assert_eq!(read_results(dir.path()).unwrap(), whole);
        for broken in [
            text.replace("\"s3\"", "3"),
            text[..text.len() - 1].to_owned(),
            format!("{text}x"),
            // Of two entries of one name readers would take different ones.
            text.replacen('{', "{\"sessions\":[],", 1),
            text.replacen("\"runs\":3", "\"runs\":3,\"runs\":3", 1),
            older.replacen("\"runs\":3", "\"runs\":3,\"runs\":3", 1),
            text.replacen("\"runs\":3", "\"runs\":4294967295", 1),
        ] {
            write(&broken);
            read_told(dir.path()).unwrap_err();
            read_results(dir.path()).unwrap_err();
        }
    }
}
