//! Tries whether the apps take what was read: a record that its app refuses would stop every run, so it is left out, and
//! its reason told. It knows an app's refusals by their place (`alarms[3]: ...`) and opens nothing itself.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Seed;
use pibench_suite::manifest::Person;

/// Opens an app on people and records; its refusal otherwise.
pub type OpenApp<'a> = &'a mut dyn FnMut(&str, &[Person], &Value) -> Result<(), String>;

/// Refusals of one app, one record each: opening it again takes up to a second.
const REFUSALS: usize = 200;

/// The list of an app's refusals that is no app's own.
const PEOPLE: &str = "people";

impl Seed {
    /// Drops what the apps do not take, and says so.
    pub(in super::super) fn fit(&mut self, apps: &[&str], open: OpenApp<'_>) {
        let mut dropped = Dropped::default();
        let mut tries: BTreeMap<&str, usize> = BTreeMap::new();
        let mut queue: Vec<&str> = apps.iter().rev().copied().collect();
        while let Some(app) = queue.pop() {
            let none = Value::Object(Map::new());
            let records = self.apps.get(app).unwrap_or(&none);
            let Err(reason) = open(app, &self.people, records) else {
                continue;
            };
            let tries = tries.entry(app).or_default();
            *tries += 1;
            match self
                .drop_record(app, &reason)
                .filter(|_| *tries <= REFUSALS)
            {
                Some(list) => {
                    let everybody = list == PEOPLE;
                    dropped.add(app, list, reason);
                    if everybody {
                        // The others have no such person either.
                        queue = apps.iter().rev().copied().collect();
                    } else {
                        queue.push(app);
                    }
                }
                None if self.apps.remove(app).is_some() => {
                    let line = format!(
                        "{app}.db: the app cannot start from it and starts empty: {reason}"
                    );
                    self.left_out.push(line);
                    queue.push(app);
                }
                None => {
                    let line =
                        format!("{app}.db: the app does not start, even without records: {reason}");
                    self.left_out.push(line);
                }
            }
        }
        self.left_out.extend(dropped.lines());
        self.apps.retain(|_, records| {
            let lists = records.as_object_mut();
            lists.is_some_and(|lists| {
                lists.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
                !lists.is_empty()
            })
        });
    }

    /// Takes the record out that a refusal names; its list.
    fn drop_record(&mut self, app: &str, reason: &str) -> Option<String> {
        let (list, place) = place(reason)?;
        if list == PEOPLE {
            if place >= self.people.len() {
                return None;
            }
            self.people.remove(place);
        } else {
            let records = self.apps.get_mut(app)?.get_mut(list)?.as_array_mut()?;
            if place >= records.len() {
                return None;
            }
            records.remove(place);
        }
        Some(list.to_owned())
    }
}

/// The list and the place of `alarms[3]: ...`.
fn place(reason: &str) -> Option<(&str, usize)> {
    let (list, rest) = reason.split_once('[')?;
    let (place, _) = rest.split_once("]: ")?;
    Some((list, place.parse().ok()?))
}

/// Records that were dropped: how many for one reason, by app and list.
#[derive(Default)]
struct Dropped(BTreeMap<(String, String, String), usize>);

impl Dropped {
    fn add(&mut self, app: &str, list: String, reason: String) {
        let why = reason.split_once("]: ").map(|(_, why)| why.to_owned());
        let key = (app.to_owned(), list, why.unwrap_or(reason));
        *self.0.entry(key).or_default() += 1;
    }

    fn lines(self) -> impl Iterator<Item = String> {
        let line = |((app, list, why), count)| {
            format!("{app}.db: {count} of `{list}` that the app refuses: {why}")
        };
        self.0.into_iter().map(line)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seed() -> Seed {
        let person = |email: &str| Person {
            first_name: "Ida".into(),
            last_name: "Vale".into(),
            email: email.into(),
            phone_number: None,
            password: None,
            passwords: BTreeMap::new(),
        };
        let mut seed = Seed {
            people: vec![person("ida@vale.example"), person("nobody")],
            ..Seed::default()
        };
        seed.apps.insert(
            "phone".into(),
            json!({"alarms": [{"time": 1}, {"time": 2}, {"time": 1}]}),
        );
        seed
    }

    #[test]
    fn refused_records_and_people_are_dropped_and_told_by_their_reasons() {
        let mut seed = seed();
        let mut open = |_: &str, people: &[Person], records: &Value| {
            if let Some(place) = people.iter().position(|person| person.email == "nobody") {
                return Err(format!("people[{place}]: no address"));
            }
            let alarms = records["alarms"].as_array().into_iter().flatten();
            match alarms.clone().position(|alarm| alarm["time"] == 1) {
                Some(place) => Err(format!("alarms[{place}]: no time")),
                None => Ok(()),
            }
        };
        seed.fit(&["phone", "gmail"], &mut open);
        assert_eq!(seed.people.len(), 1);
        assert_eq!(seed.apps["phone"], json!({"alarms": [{"time": 2}]}));
        assert_eq!(
            seed.left_out,
            [
                "phone.db: 2 of `alarms` that the app refuses: no time",
                "phone.db: 1 of `people` that the app refuses: no address",
            ]
        );
    }

    #[test]
    fn an_app_that_refuses_without_end_starts_empty() {
        for reason in ["alarms[0]: no time", "alarms[9]: no time", "it trapped"] {
            let mut seed = seed();
            let alarms = vec![json!({}); REFUSALS + 2];
            seed.apps
                .insert("phone".into(), json!({ "alarms": alarms }));
            let mut tried = 0;
            seed.fit(&["phone"], &mut |_, _, records| {
                tried += 1;
                match records.get("alarms") {
                    Some(_) => Err(reason.to_owned()),
                    None => Ok(()),
                }
            });
            assert!(seed.apps.is_empty() && tried <= REFUSALS + 3, "{tried}");
            let last = seed.left_out.first().unwrap();
            assert!(last.contains("starts empty"), "{last}");
        }
    }
}
