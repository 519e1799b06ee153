//! What makes a line of the results small in memory, for a long run has one for each session: names that lines share, and no
//! place for the use of models where none was asked.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use super::event::RoleUsage;

/// The id of a persona or a session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Name(#[serde(with = "text")] Arc<str>);

mod text {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        Ok(String::deserialize(from)?.into())
    }
}

impl Name {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        *self.0 == *other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        *self.0 == **other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

impl JsonSchema for Name {
    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }

    fn inline_schema() -> bool {
        String::inline_schema()
    }
}

/// What models were used for a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Used(Option<Box<RoleUsage>>);

impl Deref for Used {
    type Target = RoleUsage;

    fn deref(&self) -> &RoleUsage {
        static NOTHING: LazyLock<RoleUsage> = LazyLock::new(RoleUsage::default);
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl From<RoleUsage> for Used {
    fn from(usage: RoleUsage) -> Self {
        Self((!usage.is_none()).then(|| Box::new(usage)))
    }
}

impl Serialize for Used {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Used {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RoleUsage::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Used {
    fn schema_name() -> Cow<'static, str> {
        RoleUsage::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        RoleUsage::json_schema(generator)
    }

    fn inline_schema() -> bool {
        RoleUsage::inline_schema()
    }
}

/// The names of lines, each once.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<Name>);

impl Names {
    /// Gives a line the name that the others have.
    pub(super) fn share(&mut self, name: &mut Name) {
        if let Some(known) = self.0.get(name.as_str()) {
            *name = Name::clone(known);
        } else {
            self.0.insert(name.clone());
        }
    }
}
