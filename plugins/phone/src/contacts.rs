//! Contacts: people as one account has them in its address book.

use jiff::civil::{Date, DateTime};
use pibench_sdk::account::Email;
use pibench_sdk::list::List;
use pibench_sdk::listing::Search;
use pibench_sdk::text::{self, Text};
use pibench_sdk::tool::ToolError;
use pibench_sdk::{clock, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Phone;
use crate::number::PhoneNumber;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddContact {
    pub first_name: String,
    pub last_name: String,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub relationships: Option<Vec<String>>,
    /// YYYY-MM-DD.
    pub birthday: Option<String>,
    pub home_address: Option<String>,
    pub work_address: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateContact {
    pub contact_id: u32,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub relationships: Option<Vec<String>>,
    pub birthday: Option<String>,
    pub home_address: Option<String>,
    pub work_address: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchContacts {
    pub relationship: Option<String>,
    #[serde(flatten)]
    pub search: Search,
}

/// The longest name, relationship and address, in bytes.
const MAX_NAME: usize = 100;
const MAX_RELATIONSHIP: usize = 50;
const MAX_ADDRESS: usize = 500;
/// The most relationships of a contact.
const MAX_RELATIONSHIPS: usize = 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Contact {
    pub owner: Email,
    pub first_name: Text,
    pub last_name: Text,
    pub phone_number: Option<PhoneNumber>,
    pub email: Option<Email>,
    pub relationships: List<Text>,
    pub birthday: Option<Date>,
    pub home_address: Option<Text>,
    pub work_address: Option<Text>,
    pub created_at: DateTime,
}

/// What somebody says about a contact; what is not given stays, and an empty text takes away.
#[derive(Debug, Default)]
pub(crate) struct ContactChange {
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub phone_number: Option<String>,
    pub email: Option<String>,
    pub relationships: Option<Vec<String>>,
    pub birthday: Option<String>,
    pub home_address: Option<String>,
    pub work_address: Option<String>,
}

impl Phone {
    pub(crate) fn add_contact(
        &mut self,
        me: &Email,
        arguments: AddContact,
    ) -> Result<Value, ToolError> {
        let AddContact {
            first_name,
            last_name,
            phone_number,
            email,
            relationships,
            birthday,
            home_address,
            work_address,
        } = arguments;
        let change = ContactChange {
            first_name: Some(first_name),
            last_name: Some(last_name),
            phone_number,
            email,
            relationships,
            birthday,
            home_address,
            work_address,
        };
        let contact_id = self.insert_contact(me, change, clock::now())?;
        Ok(json!({
            "message": format!("Contact {contact_id} is added."),
            "contact_id": contact_id,
        }))
    }

    pub(crate) fn update_contact(
        &mut self,
        me: &Email,
        arguments: UpdateContact,
    ) -> Result<Value, ToolError> {
        let UpdateContact {
            contact_id,
            first_name,
            last_name,
            phone_number,
            email,
            relationships,
            birthday,
            home_address,
            work_address,
        } = arguments;
        let change = ContactChange {
            first_name,
            last_name,
            phone_number,
            email,
            relationships,
            birthday,
            home_address,
            work_address,
        };
        let mut contact = self.contact(me, contact_id)?.clone();
        contact.apply(change)?;
        self.check_unique(&contact, Some(contact_id))?;
        if let Some(kept) = self.contacts.get_mut(contact_id) {
            *kept = contact;
        }
        Ok(json!({"message": format!("Contact {contact_id} is updated.")}))
    }

    pub(crate) fn search_contacts(
        &mut self,
        me: &Email,
        arguments: SearchContacts,
    ) -> Result<Vec<Value>, ToolError> {
        let SearchContacts {
            relationship,
            search,
        } = arguments;
        let wanted = |contact: &Contact| {
            contact.owner == *me
                && relationship
                    .as_ref()
                    .is_none_or(|relationship| contact.is(relationship))
        };
        let mut contacts: Vec<(u32, &Contact)> = self
            .contacts
            .iter()
            .filter(|(_, contact)| wanted(contact))
            .collect();
        contacts.sort_by_cached_key(|(id, contact)| (contact.name().to_lowercase(), *id));
        let search = Search {
            query: search.query.map(as_stored),
            ..search
        };
        let contacts = search.of(contacts, |(_, contact)| contact.searchable());
        let view = |(id, contact): (u32, &Contact)| {
            let mut view = contact.view();
            view["contact_id"] = json!(id);
            view
        };
        Ok(contacts.into_iter().map(view).collect())
    }

    /// Adds a contact; 422 if it breaks a rule, 409 if another one has its number.
    pub(crate) fn insert_contact(
        &mut self,
        owner: &Email,
        change: ContactChange,
        created_at: DateTime,
    ) -> Result<u32, ToolError> {
        let mut contact = Contact::new(owner.clone(), created_at);
        contact.apply(change)?;
        self.check_unique(&contact, None)?;
        Ok(self.contacts.insert(contact))
    }

    /// Messages show the contact that has their number, so there must be one at most.
    fn check_unique(&self, contact: &Contact, own_id: Option<u32>) -> Result<(), ToolError> {
        let Some(number) = &contact.phone_number else {
            return Ok(());
        };
        let taken = self.contacts.iter().find(|(id, other)| {
            other.owner == contact.owner
                && other.phone_number.as_ref() == Some(number)
                && Some(*id) != own_id
        });
        match taken {
            None => Ok(()),
            Some((id, other)) => Err(ToolError::taken(format!(
                "Contact {id}, {}, has the number {number} already.",
                other.name()
            ))),
        }
    }

    /// One's own contact: 409 if there is none, 422 if it is somebody else's.
    fn contact(&self, me: &Email, id: u32) -> Result<&Contact, ToolError> {
        let contact = self
            .contacts
            .get(id)
            .ok_or_else(|| ToolError::conflict("contact", id))?;
        if contact.owner != *me {
            return Err(ToolError::invalid(format!(
                "Contact {id} belongs to another account."
            )));
        }
        Ok(contact)
    }
}

impl Contact {
    /// Nameless: a beginning for [`Contact::apply`].
    fn new(owner: Email, created_at: DateTime) -> Self {
        Self {
            owner,
            first_name: Text::default(),
            last_name: Text::default(),
            phone_number: None,
            email: None,
            relationships: List::default(),
            birthday: None,
            home_address: None,
            work_address: None,
            created_at,
        }
    }

    /// 422 for what breaks a rule; the contact is then to be thrown away.
    fn apply(&mut self, change: ContactChange) -> Result<(), ToolError> {
        let ContactChange {
            first_name,
            last_name,
            phone_number,
            email,
            relationships,
            birthday,
            home_address,
            work_address,
        } = change;
        if let Some(name) = first_name {
            self.first_name = text::not_empty("first name", &name, MAX_NAME)?.into();
        }
        if let Some(name) = last_name {
            self.last_name = text::at_most("last name", name.trim().to_owned(), MAX_NAME)?.into();
        }
        set(&mut self.phone_number, phone_number, PhoneNumber::parse)?;
        set(&mut self.email, email, Email::parse)?;
        set(&mut self.birthday, birthday, |text| {
            time::parse_date("birthday", text)
        })?;
        set(&mut self.home_address, home_address, checked_address)?;
        set(&mut self.work_address, work_address, checked_address)?;
        if let Some(relationships) = relationships {
            self.relationships = checked_relationships(relationships)?;
        }
        Ok(())
    }

    /// First and last name.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.first_name, self.last_name)
            .trim()
            .to_owned()
    }

    fn is(&self, relationship: &str) -> bool {
        let relationship = relationship.trim().to_lowercase();
        self.relationships
            .iter()
            .any(|own| own.to_lowercase() == relationship)
    }

    fn searchable(&self) -> String {
        let Self {
            phone_number,
            email,
            relationships,
            home_address,
            work_address,
            ..
        } = self;
        let number = phone_number.as_ref().map(PhoneNumber::as_str);
        let optional = [
            number,
            email.as_ref().map(Email::as_str),
            home_address.as_deref(),
            work_address.as_deref(),
        ];
        let texts = optional.into_iter().flatten();
        let texts: Vec<&str> = texts
            .chain(relationships.iter().map(Text::as_str))
            .collect();
        format!("{}\n{}", self.name(), texts.join("\n"))
    }

    /// Without id and owner.
    pub(crate) fn view(&self) -> Value {
        json!({
            "first_name": self.first_name,
            "last_name": self.last_name,
            "email": self.email,
            "phone_number": self.phone_number,
            "relationships": self.relationships,
            "birthday": self.birthday,
            "home_address": self.home_address,
            "work_address": self.work_address,
            "created_at": self.created_at,
        })
    }
}

/// Sets a field to what is given; an empty text takes it away.
fn set<T>(
    field: &mut Option<T>,
    given: Option<String>,
    parse: impl Fn(&str) -> Result<T, ToolError>,
) -> Result<(), ToolError> {
    let Some(given) = given else { return Ok(()) };
    *field = match given.trim() {
        "" => None,
        text => Some(parse(text)?),
    };
    Ok(())
}

fn checked_address(address: &str) -> Result<Text, ToolError> {
    Ok(text::at_most("address", address.to_owned(), MAX_ADDRESS)?.into())
}

/// Trimmed, each once, none empty.
fn checked_relationships(relationships: Vec<String>) -> Result<List<Text>, ToolError> {
    let mut checked: Vec<Text> = Vec::new();
    for relationship in relationships {
        let relationship = text::not_empty("relationship", &relationship, MAX_RELATIONSHIP)?.into();
        if !checked.contains(&relationship) {
            checked.push(relationship);
        }
    }
    if checked.len() > MAX_RELATIONSHIPS {
        return Err(ToolError::invalid(format!(
            "A contact has at most {MAX_RELATIONSHIPS} relationships."
        )));
    }
    Ok(checked.into())
}

/// A phone number in the form in which contacts have it, so that it is found; other queries as they are.
fn as_stored(query: String) -> String {
    PhoneNumber::parse(&query).map_or(query, |number| number.to_string())
}
