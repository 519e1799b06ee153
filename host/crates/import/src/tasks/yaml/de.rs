//! Values as types: an error knows the place of the innermost value that it is about. A field of text takes any scalar as
//! it is written.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use super::{Key, Kind, Node, YamlError};

/// An error before its place is known.
#[derive(Debug)]
pub(in crate::tasks) struct TypeError {
    at: Option<usize>,
    message: String,
}

impl TypeError {
    /// With the place of the value that it came out of, unless it has one.
    pub(super) fn placed(self, at: usize) -> YamlError {
        YamlError {
            at: self.at.unwrap_or(at),
            message: self.message,
        }
    }

    fn or_at(mut self, at: usize) -> Self {
        self.at.get_or_insert(at);
        self
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TypeError {}

impl serde::de::Error for TypeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            at: None,
            message: message.to_string(),
        }
    }
}

type Found<T> = Result<T, TypeError>;

impl<'de> Deserializer<'de> for &'de Node {
    type Error = TypeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Found<V::Value> {
        let found = match &self.kind {
            Kind::Scalar { value, .. } => scalar(value, visitor),
            Kind::List(items) => visitor.visit_seq(Items(items.iter())),
            Kind::Map(fields) => visitor.visit_map(Entries {
                fields: fields.iter(),
                value: None,
            }),
        };
        found.map_err(|error| error.or_at(self.at))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Found<V::Value> {
        match &self.kind {
            Kind::Scalar { value, text } if !value.is_null() => visitor
                .visit_str(text)
                .map_err(|error: TypeError| error.or_at(self.at)),
            Kind::Scalar { .. } => {
                let null = Unexpected::Other("null");
                Err(TypeError::invalid_type(null, &visitor).or_at(self.at))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// Python makes a number of a text that is one.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Found<V::Value> {
        let text = match &self.kind {
            Kind::Scalar {
                value: Value::String(text),
                ..
            } => text.trim(),
            _ => "",
        };
        match text.parse() {
            Ok(number) => visitor.visit_f64(number),
            Err(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Found<V::Value> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Found<V::Value> {
        match &self.kind {
            Kind::Scalar {
                value: Value::Null, ..
            } => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

fn scalar<'de, V: Visitor<'de>>(value: &Value, visitor: V) -> Found<V::Value> {
    match value {
        Value::Bool(value) => visitor.visit_bool(*value),
        Value::String(text) => visitor.visit_str(text),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => visitor.visit_i64(number),
            (_, Some(number), _) => visitor.visit_u64(number),
            (_, _, Some(number)) => visitor.visit_f64(number),
            _ => Err(TypeError::custom("no number")),
        },
        _ => visitor.visit_unit(),
    }
}

struct Items<'de>(std::slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = TypeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Found<Option<T::Value>> {
        let next = self.0.next();
        next.map(|node| seed.deserialize(node).map_err(|error| error.or_at(node.at)))
            .transpose()
    }
}

struct Entries<'de> {
    fields: std::slice::Iter<'de, (Key, Node)>,
    value: Option<&'de Node>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = TypeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Found<Option<K::Value>> {
        let Some((key, value)) = self.fields.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        let name = serde::de::value::StrDeserializer::new(&key.name);
        let found = seed.deserialize(name);
        found
            .map(Some)
            .map_err(|error: TypeError| error.or_at(key.at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Found<V::Value> {
        let value = self.value.take();
        let value = value.ok_or_else(|| TypeError::custom("no value"))?;
        seed.deserialize(value)
            .map_err(|error| error.or_at(value.at))
    }
}
