//! Accounts, logins and access tokens, as every app has them.
//!
//! An account has at most one token: it is drawn at the login, given again to whoever logs in a second time, and gone
//! with the logout. Nothing here is ever shown to graders.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use crate::tool::ToolError;
use crate::{clock, random};

/// When the people of a seed got their accounts: seeds do not say, so long before any session.
const REGISTERED_AT: DateTime = jiff::civil::datetime(2020, 1, 1, 0, 0, 0, 0);

/// An email address in lower case, trimmed: the same address is the same value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Email(String);

impl Email {
    /// The canonical form of a text; whether it looks like an address is [`Email::parse`]'s business.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_lowercase())
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
        &self.0
    }
}

impl From<String> for Email {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Email> for String {
    fn from(email: Email) -> Self {
        email.0
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
    pub first_name: String,
    pub last_name: String,
    pub email: Email,
    pub phone_number: Option<String>,
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
            first_name,
            last_name,
            email,
            phone_number,
            registered_at,
            last_logged_in,
            password,
            token,
        }
    }

    /// First and last name.
    pub fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
            .trim()
            .to_owned()
    }
}

/// The accounts of an app, by address.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Accounts {
    by_email: BTreeMap<Email, Account>,
}

impl Accounts {
    /// The accounts of a seed. An address that is none, or that stands twice, is an error.
    pub fn from_people(people: Vec<Person>) -> Result<Self, String> {
        let mut accounts = Self::default();
        for (index, person) in people.into_iter().enumerate() {
            accounts
                .insert(person, REGISTERED_AT)
                .map_err(|error| format!("people[{index}]: {}", error.message))?;
        }
        Ok(accounts)
    }

    /// A new account, from now on. 422 if the address is none or has an account.
    pub fn sign_up(&mut self, person: Person) -> Result<(), ToolError> {
        self.insert(person, clock::now())
    }

    fn insert(&mut self, person: Person, registered_at: DateTime) -> Result<(), ToolError> {
        Email::parse(person.email.as_str())?;
        if self.by_email.contains_key(&person.email) {
            return Err(ToolError::invalid(format!(
                "{} has an account already.",
                person.email
            )));
        }
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
            .by_email
            .values()
            .find(|account| account.token.as_deref() == Some(token));
        let account = account.ok_or_else(|| {
            ToolError::unauthorized("The access_token is not valid. Log in again.")
        })?;
        Ok(account.email.clone())
    }

    pub fn get(&self, email: &Email) -> Option<&Account> {
        self.by_email.get(email)
    }

    pub fn contains(&self, email: &Email) -> bool {
        self.by_email.contains_key(email)
    }

    /// All accounts, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Account> {
        self.by_email.values()
    }

    /// First and last name, or the address where there is no account.
    pub fn name(&self, email: &Email) -> String {
        self.get(email)
            .map_or_else(|| email.to_string(), Account::name)
    }
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
        Accounts::from_people(vec![
            person("Ida", "Ida@Vale.test", Some("pw")),
            person("Bo", "bo@vale.test", None),
        ])
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
        let error = Accounts::from_people(vec![person("a@b"), person("A@b ")]).unwrap_err();
        assert_eq!(error, "people[1]: a@b has an account already.");
        let error = Accounts::from_people(vec![person("nobody")]).unwrap_err();
        assert_eq!(error, "people[0]: \"nobody\" is no email address.");
    }
}
