//! What several personas start from: people and records of apps, JSON in a folder beside the suite file. An import makes
//! such a folder; it may be large, so nothing of it is kept twice in the pack.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Loader, cannot, is_id};
use crate::manifest::{Person, PersonaFile};
use crate::problem::Report;
use crate::toml_file::Place;

/// Bytes of one file.
const FILE_LIMIT: u64 = 64 << 20;

/// The folder of all seeds.
pub const FOLDER: &str = "seeds";

/// The file of the people; each app has one by its name.
pub const PEOPLE: &str = "people.json";

impl Loader {
    /// Puts what the persona's seed holds before its own people and records. Of an app that the persona has no tools of
    /// nothing is read.
    pub(super) fn seed(
        &mut self,
        file: &mut PersonaFile,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) {
        let Some(name) = file.seed.clone() else {
            return;
        };
        if !is_id(&name) {
            report.add(place.span(), format!("`{name}` is no id"));
            return;
        }
        let folder = format!("{FOLDER}/{name}");
        self.pack.ask_folder(&folder);
        match self.read_people(&folder) {
            Ok(people) => {
                let own = std::mem::take(&mut file.people);
                let others = people
                    .into_iter()
                    .filter(|person| own.iter().all(|one| one.email != person.email));
                file.people = others.collect();
                file.people.extend(own);
            }
            Err(reason) => report.add(place.span(), reason),
        }
        let mut apps: Vec<&str> = file
            .tools
            .iter()
            .filter_map(|tool| tool.split_once("__"))
            .map(|(app, _)| app)
            .collect();
        apps.sort_unstable();
        apps.dedup();
        for app in apps {
            let path = format!("{folder}/{app}.json");
            if !self.pack.is_file(&path) {
                continue;
            }
            match self.read_records(&path) {
                Ok(records) => prepend(&mut file.apps, app, records),
                Err(reason) => report.add(place.span(), reason),
            }
        }
    }

    fn read_people(&mut self, folder: &str) -> Result<Vec<Person>, String> {
        let path = format!("{folder}/{PEOPLE}");
        let content = self.pack.read(&path, FILE_LIMIT);
        let content = content.map_err(|error| cannot(&error))?;
        serde_json::from_slice(&content).map_err(|error| format!("cannot read `{path}`: {error}"))
    }

    fn read_records(&mut self, path: &str) -> Result<BTreeMap<String, Vec<Value>>, String> {
        let content = self.pack.read(path, FILE_LIMIT);
        let content = content.map_err(|error| cannot(&error))?;
        serde_json::from_slice(&content).map_err(|error| format!("cannot read `{path}`: {error}"))
    }
}

/// Lists of records, before those that are there.
fn prepend(apps: &mut BTreeMap<String, Value>, app: &str, records: BTreeMap<String, Vec<Value>>) {
    let own = apps
        .entry(app.to_owned())
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    // What is no table is told by the app.
    let Value::Object(own) = own else {
        return;
    };
    for (list, mut items) in records {
        match own.remove(&list) {
            Some(Value::Array(more)) => items.extend(more),
            Some(other) => items.push(other),
            None => {}
        }
        own.insert(list, Value::Array(items));
    }
}
