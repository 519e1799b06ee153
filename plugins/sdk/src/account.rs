//! Accounts, logins and access tokens, as every app has them.
//!
//! An account has at most one token: it is drawn at the login, given again to whoever logs in a second time, and gone
//! with the logout. Nothing here is ever shown to graders.
//!
//! The people of the world have accounts in every app, without a password: mail reaches them, nobody logs in. A seed
//! may name one of them with a password, and so make a person of the world its own.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use crate::layer::{Base, Layer, RowState};
use crate::refusal::ToolError;
use crate::search::{Index, Words};
use crate::text::Text;
use crate::{clock, listing, random};

pub(crate) mod world;

/// When the people of a seed got their accounts: seeds do not say, so long before any session.
const REGISTERED_AT: DateTime = jiff::civil::datetime(2020, 1, 1, 0, 0, 0, 0);

/// An email address in lower case, trimmed: the same address is the same value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct Email(Text);

impl Email {
    /// The canonical form of a text; whether it looks like an address is [`Email::parse`]'s business.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_lowercase().into())
    }

    /// For the world's rows: an address in its canonical form.
    pub const fn constant(text: &'static str) -> Self {
        Self(Text::constant(text))
    }

    /// The canonical form of a text that looks like an address: `name@host`, without blanks. 422 otherwise.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let email = Self::new(text);
        let well_formed = email.0.split_once('@').is_some_and(|(name, host)| {
            let plain = |c: char| {
                !c.is_whitespace() && !c.is_control() && !matches!(c, '@' | ',' | ';' | '<' | '>')
            };
            !name.is_empty()
                && !host.is_empty()
                && name.chars().all(plain)
                && host.chars().all(plain)
        });
        if well_formed {
            Ok(email)
        } else {
            Err(ToolError::invalid(format!("{text:?} is no email address.")))
        }
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl From<String> for Email {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Email> for String {
    fn from(email: Email) -> Self {
        email.0.into()
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Somebody of a seed (`wit/tools.wit`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    pub first_name: String,
    pub last_name: String,
    pub email: Email,
    #[serde(default)]
    pub phone_number: Option<String>,
    /// In this app. Without one nobody can log in to the account.
    #[serde(default)]
    pub password: Option<String>,
}

/// Somebody's account in the app.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Account {
    pub first_name: Text,
    pub last_name: Text,
    pub email: Email,
    pub phone_number: Option<Text>,
    pub registered_at: DateTime,
    pub last_logged_in: Option<DateTime>,
    password: Option<String>,
    token: Option<String>,
}

impl Account {
    fn new(person: Person, registered_at: DateTime) -> Self {
        let Person {
            first_name,
            last_name,
            email,
            phone_number,
            password,
        } = person;
        let (last_logged_in, token) = (None, None);
        Self {
            first_name: first_name.into(),
            last_name: last_name.into(),
            email,
            phone_number: phone_number.map(Text::from),
            registered_at,
            last_logged_in,
            password,
            token,
        }
    }

    /// Of somebody of the world.
    pub(crate) const fn of_world(
        first_name: &'static str,
        last_name: &'static str,
        email: &'static str,
        phone_number: &'static str,
        registered_at: DateTime,
    ) -> Self {
        Self {
            first_name: Text::constant(first_name),
            last_name: Text::constant(last_name),
            email: Email::constant(email),
            phone_number: Some(Text::constant(phone_number)),
            registered_at,
            last_logged_in: None,
            password: None,
            token: None,
        }
    }

    /// First and last name.
    pub fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
            .trim()
            .to_owned()
    }
}

impl Base<Email> for Account {
    fn base() -> &'static [(Email, Self)] {
        world::PEOPLE
    }
}

/// The accounts of an app, by address.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Accounts {
    /// Whether the app is opened over the world.
    world: bool,
    /// See [`keep_all_rows`](crate::listing::keep_all_rows).
    #[serde(default)]
    pub(crate) all_rows: bool,
    by_email: Layer<Email, Account>,
    /// Made at the first search after somebody signed up. Shared with copies of the app.
    #[serde(skip)]
    index: OnceCell<Rc<Index>>,
}

impl Accounts {
    /// The accounts of a seed, beside the world's. An address that is none, or that stands twice, is an error.
    pub fn from_people(people: Vec<Person>, world: bool) -> Result<Self, String> {
        let mut accounts = Self {
            world,
            all_rows: false,
            by_email: Layer::new(world),
            index: OnceCell::new(),
        };
        for (index, person) in people.into_iter().enumerate() {
            accounts
                .adopt(person)
                .map_err(|error| format!("people[{index}]: {}", error.message))?;
        }
        Ok(accounts)
    }

    /// Whether the app is opened over the world: what its tables are made with.
    pub fn world(&self) -> bool {
        self.world
    }

    /// A new account, from now on. 422 if the address is none or has an account.
    pub fn sign_up(&mut self, person: Person) -> Result<(), ToolError> {
        Email::parse(person.email.as_str())?;
        if self.by_email.contains_key(&person.email) {
            return Err(taken(&person.email));
        }
        self.by_email
            .insert(person.email.clone(), Account::new(person, clock::now()));
        self.index.take();
        Ok(())
    }

    /// Somebody of a seed; somebody of the world keeps their registration.
    fn adopt(&mut self, person: Person) -> Result<(), ToolError> {
        Email::parse(person.email.as_str())?;
        if self.named().any(|account| account.email == person.email) {
            return Err(taken(&person.email));
        }
        let known = self.by_email.get(&person.email);
        let registered_at = known.map_or(REGISTERED_AT, |account| account.registered_at);
        self.by_email
            .insert(person.email.clone(), Account::new(person, registered_at));
        Ok(())
    }

    /// The account's token. 401 for an unknown address, a wrong password, and an account without one, all alike.
    pub fn log_in(&mut self, username: &str, password: &str) -> Result<String, ToolError> {
        let account = self.by_email.get_mut(&Email::new(username));
        let account = account.filter(|account| account.password.as_deref() == Some(password));
        let account = account
            .ok_or_else(|| ToolError::unauthorized("The user name or the password is wrong."))?;
        account.last_logged_in = Some(clock::now());
        let draw = || format!("{:016x}{:016x}", random::next(), random::next());
        Ok(account.token.get_or_insert_with(draw).clone())
    }

    /// Ends the account's token.
    pub fn log_out(&mut self, email: &Email) {
        if let Some(account) = self.by_email.get_mut(email) {
            account.token = None;
        }
    }

    /// Whose token this is. 401 if nobody's.
    pub fn authorize(&self, token: Option<&str>) -> Result<Email, ToolError> {
        let Some(token) = token else {
            return Err(ToolError::unauthorized(
                "The access_token is missing. Log in first.",
            ));
        };
        let account = self
            .named()
            .find(|account| account.token.as_deref() == Some(token));
        let account = account.ok_or_else(|| {
            ToolError::unauthorized("The access_token is not valid. Log in again.")
        })?;
        Ok(account.email.clone())
    }

    pub fn get(&self, email: &Email) -> Option<&Account> {
        self.by_email.get(email)
    }

    /// The account with this address; 409 for an address without one.
    pub fn known(&self, email: &Email) -> Result<&Account, ToolError> {
        let account = self.get(email);
        account.ok_or_else(|| ToolError::conflict("account", email))
    }

    /// Whom an argument of a list names, if it does: 422 if it is no address, 409 for one without an account.
    pub fn named_by(&self, email: Option<&str>) -> Result<Option<Email>, ToolError> {
        let Some(email) = email else {
            return Ok(None);
        };
        let email = Email::parse(email)?;
        self.known(&email)?;
        Ok(Some(email))
    }

    pub fn contains(&self, email: &Email) -> bool {
        self.by_email.contains_key(email)
    }

    /// All accounts, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Account> {
        self.by_email.values()
    }

    /// The accounts whose name or address matches a query, best first; all, by address, without one.
    pub fn search(&self, query: Option<&str>) -> Vec<&Account> {
        let accounts: Vec<&Account> = self.iter().collect();
        let Some(query) = query.filter(|query| !query.trim().is_empty()) else {
            return accounts;
        };
        let text = |account: &&Account| format!("{} {}", account.name(), account.email);
        let index = self
            .index
            .get_or_init(|| Rc::new(accounts.iter().map(text).collect()));
        let hits = index.rank(query);
        listing::picked(accounts, hits)
    }

    /// The accounts that are not as in the world: those of the seed and those that signed up. Only they can log in.
    pub fn named(&self) -> impl Iterator<Item = &Account> {
        self.by_email.changes()
    }

    /// Those of them that the world does not have at all.
    pub fn added(&self) -> impl Iterator<Item = &Account> {
        self.by_email.added().map(|(_, account)| account)
    }

    /// What graders see of those that are not as in the world: see [`Layer::state`].
    pub fn state<'a, S: Serialize>(
        &'a self,
        mut view: impl FnMut(&'a Account) -> S,
    ) -> Vec<RowState<S>> {
        self.by_email.state(|_, account| view(account))
    }

    /// The words of [`name`](Self::name) and address, by which somebody is found.
    pub fn words(&self, email: &Email) -> Rc<Words> {
        self.by_email.words(email, |account| {
            let name = account.map_or_else(|| email.to_string(), Account::name);
            format!("{name} {email}")
        })
    }

    /// First and last name, or the address where there is no account.
    pub fn name(&self, email: &Email) -> String {
        self.get(email)
            .map_or_else(|| email.to_string(), Account::name)
    }
}

fn taken(email: &Email) -> ToolError {
    ToolError::taken(format!("{email} has an account already."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        let person = |first_name: &str, email: &str, password: Option<&str>| Person {
            first_name: first_name.to_owned(),
            last_name: "Vale".to_owned(),
            email: Email::new(email),
            phone_number: None,
            password: password.map(str::to_owned),
        };
        Accounts::from_people(
            vec![
                person("Ida", "Ida@Vale.test", Some("pw")),
                person("Bo", "bo@vale.test", None),
            ],
            false,
        )
        .unwrap()
    }

    #[test]
    fn a_login_gives_a_token_until_the_logout() {
        let mut accounts = accounts();
        let token = accounts.log_in("ida@vale.test", "pw").unwrap();
        assert_eq!(accounts.log_in("IDA@vale.test", "pw").unwrap(), token);
        let me = accounts.authorize(Some(&token)).unwrap();
        assert_eq!(me.as_str(), "ida@vale.test");
        accounts.log_out(&me);
        assert_eq!(accounts.authorize(Some(&token)).unwrap_err().status, 401);
        assert_ne!(accounts.log_in("ida@vale.test", "pw").unwrap(), token);
    }

    #[test]
    fn people_are_found_by_name_and_address_and_the_newest_too() {
        let mut accounts = accounts();
        let found = |accounts: &Accounts, query| {
            let found = accounts.search(query).into_iter();
            found
                .map(|it| it.first_name.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&accounts, Some(" ")), ["Bo", "Ida"]);
        assert_eq!(found(&accounts, Some("ida")), ["Ida"]);
        assert_eq!(found(&accounts, Some("vale.test")), ["Bo", "Ida"]);
        let person = Person {
            first_name: "Una".to_owned(),
            last_name: "Vale".to_owned(),
            email: Email::new("una@vale.test"),
            phone_number: None,
            password: None,
        };
        accounts.sign_up(person).unwrap();
        assert_eq!(found(&accounts, Some("una")), ["Una"]);
    }

    #[test]
    fn a_wrong_password_an_unknown_address_and_no_password_are_refused_alike() {
        let mut accounts = accounts();
        let refusals = [
            ("ida@vale.test", "no"),
            ("who@vale.test", "pw"),
            ("bo@vale.test", ""),
        ]
        .map(|(username, password)| accounts.log_in(username, password).unwrap_err());
        assert!(
            refusals
                .iter()
                .all(|refusal| *refusal == refusals[0] && refusal.status == 401)
        );
    }

    #[test]
    fn the_same_address_twice_is_an_error_that_names_the_record() {
        let person = |email: &str| Person {
            first_name: String::new(),
            last_name: String::new(),
            email: Email::new(email),
            phone_number: None,
            password: None,
        };
        let error = Accounts::from_people(vec![person("a@b"), person("A@b ")], false).unwrap_err();
        assert_eq!(error, "people[1]: a@b has an account already.");
        let error = Accounts::from_people(vec![person("nobody")], false).unwrap_err();
        assert_eq!(error, "people[0]: \"nobody\" is no email address.");
    }

    #[test]
    fn a_seed_may_make_somebody_of_the_world_its_own_once() {
        let somebody = world::PEOPLE[0].1.clone();
        let person = || Person {
            first_name: somebody.first_name.clone().into(),
            last_name: somebody.last_name.clone().into(),
            email: somebody.email.clone(),
            phone_number: None,
            password: Some("pw".to_owned()),
        };
        let mut accounts = Accounts::from_people(vec![], true).unwrap();
        let address = somebody.email.as_str();
        assert_eq!(accounts.log_in(address, "pw").unwrap_err().status, 401);
        assert!(accounts.sign_up(person()).is_err());
        let mut accounts = Accounts::from_people(vec![person()], true).unwrap();
        let token = accounts.log_in(address, "pw").unwrap();
        assert_eq!(accounts.authorize(Some(&token)).unwrap(), somebody.email);
        let account = accounts.get(&somebody.email).unwrap();
        assert_eq!(account.registered_at, somebody.registered_at);
        assert_eq!(accounts.added().count(), 0);
        assert_eq!(accounts.iter().count(), world::PEOPLE.len());
        assert!(Accounts::from_people(vec![person(), person()], true).is_err());
    }
}
