//! YAML as `PyYAML`'s `safe_load` reads it, which is what the public data was written for: version 1.1, where `yes` is true,
//! `010` is eight, and a quoted text may go on at any column. Where its events come from knows version 1.2, and most of what
//! `PyYAML` allows beside it; what the events mean is decided here. Time, memory and depth are bounded by the text and by the
//! limits below. U+2028 and U+2029 stay in a text as `PyYAML` keeps them; that they also end its line is not known here, so that
//! blanks beside them stay, and what they part is refused.

mod de;
mod scalar;
mod unindented;

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StrInput, Tag};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::unindented::Repaired;

/// Lists and maps in one another.
const DEPTH_LIMIT: usize = 64;

/// What one file may come to with its aliases written out: bytes of text, and [`NODE_COST`] for each value.
const COST_LIMIT: usize = 16 << 20;

/// What a value costs beside its text.
const NODE_COST: usize = 32;

const TAG: &str = "tag:yaml.org,2002:";

/// Why a text is not read, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    /// Bytes from the start of the text.
    pub(super) at: usize,
    pub(super) message: String,
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Bytes from the start of the text.
    at: usize,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// What it means, and its text, which a field of text takes.
    Scalar {
        value: Value,
        text: String,
    },
    List(Vec<Node>),
    /// In the order of the file, each key once.
    Map(Vec<(Key, Node)>),
}

#[derive(Debug, Clone)]
struct Key {
    at: usize,
    name: String,
}

impl Node {
    /// The value as JSON. What JSON has no number for (infinities, integers beyond 64 bits) stays text.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar { value, .. } => value.clone(),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(key, node)| (key.name.clone(), node.to_json()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// The value as a type.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, YamlError> {
        T::deserialize(self).map_err(|error| error.placed(self.at))
    }

    fn cost(&self) -> usize {
        let below = match &self.kind {
            Kind::Scalar { text, .. } => text.len(),
            Kind::List(items) => items.iter().map(Self::cost).sum(),
            Kind::Map(fields) => {
                let fields = fields.iter();
                fields.map(|(key, node)| key.name.len() + node.cost()).sum()
            }
        };
        NODE_COST + below
    }
}

/// Reads a text of one document; none is null.
pub(super) fn read(text: &str) -> Result<Node, YamlError> {
    let mut repaired = Repaired::new(text);
    loop {
        let mut reader = Reader::new(&repaired);
        let error = match reader.document() {
            Ok(node) => return Ok(node),
            Err(error) => error,
        };
        let (line, width) = (reader.unindented, reader.deepest + 1);
        match line {
            Some(at) if repaired.indent(at, width) => {}
            _ => return Err(error),
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    text: &'t Repaired,
    /// None while the value is being read.
    anchors: HashMap<usize, Option<Node>>,
    cost: usize,
    /// The rightmost column that something began at.
    deepest: usize,
    /// Where a quoted text goes on left of what it belongs to, in the repaired text.
    unindented: Option<usize>,
}

type Read<T> = Result<T, YamlError>;

impl<'t> Reader<'t> {
    fn new(text: &'t Repaired) -> Self {
        let mut options = Options::default();
        options.set_emit_comments(false);
        options.flow_nesting_limit = DEPTH_LIMIT;
        options.block_nesting_limit = DEPTH_LIMIT;
        Self {
            parser: Parser::new_from_str_with_options(text.text(), options),
            text,
            anchors: HashMap::new(),
            cost: 0,
            deepest: 0,
            unindented: None,
        }
    }

    fn document(&mut self) -> Read<Node> {
        self.next()?;
        let (at, start) = self.next()?;
        if matches!(start, Event::StreamEnd) {
            let (value, text) = (Value::Null, String::new());
            let kind = Kind::Scalar { value, text };
            return Ok(Node { at, kind });
        }
        let (at, event) = self.next()?;
        let node = self.node(at, event, 0)?;
        self.next()?;
        match self.next()? {
            (_, Event::StreamEnd) => Ok(node),
            (at, _) => Err(wrong(at, "a second document; one is expected")),
        }
    }

    fn next(&mut self) -> Read<(usize, Event<'t>)> {
        match self.parser.next() {
            Some(Ok((event, span))) => {
                self.deepest = self.deepest.max(span.start.col());
                let at = span.start.byte_offset().unwrap_or_default();
                Ok((self.text.original(at), event))
            }
            Some(Err(error)) => Err(self.unreadable(&error)),
            None => Err(wrong(0, "it ends too early")),
        }
    }

    fn unreadable(&mut self, error: &ScanError) -> YamlError {
        let at = error.marker().byte_offset().unwrap_or_default();
        // The second: a line of it that begins with a tab.
        let kinds = [
            ErrorKind::InvalidQuotedScalarIndent,
            ErrorKind::TabInIndentation,
        ];
        if kinds.contains(error.kind()) {
            self.unindented = Some(at);
        }
        YamlError {
            at: self.text.original(at),
            message: error.info(),
        }
    }

    /// The value that an event starts.
    fn node(&mut self, at: usize, event: Event<'t>, depth: usize) -> Read<Node> {
        if depth > DEPTH_LIMIT {
            let message = format!("more than {DEPTH_LIMIT} lists and maps in one another");
            return Err(wrong(at, &message));
        }
        let (anchor, node) = match event {
            Event::Alias(anchor) => return self.alias(at, anchor),
            Event::Scalar(text, style, anchor, tag) => {
                self.charge(at, NODE_COST + text.len())?;
                let plain = style == ScalarStyle::Plain;
                let tag = tag.as_deref().map(name_of);
                let meant = scalar::resolve(tag.as_deref(), plain, &text);
                let kind = Kind::Scalar {
                    value: meant.map_err(|message| wrong(at, &message))?,
                    text: text.into_owned(),
                };
                (anchor, Node { at, kind })
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.charge(at, NODE_COST)?;
                known_tag(at, tag.as_deref(), &["seq", "omap", "pairs"])?;
                self.anchors.insert(anchor, None);
                (anchor, self.list(at, depth)?)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.charge(at, NODE_COST)?;
                known_tag(at, tag.as_deref(), &["map", "set"])?;
                self.anchors.insert(anchor, None);
                (anchor, self.map(at, depth)?)
            }
            _ => return Err(wrong(at, "no value")),
        };
        // 0 is no anchor.
        if anchor > 0 {
            self.anchors.insert(anchor, Some(node.clone()));
        }
        Ok(node)
    }

    fn alias(&mut self, at: usize, anchor: usize) -> Read<Node> {
        let Some(Some(node)) = self.anchors.get(&anchor) else {
            return Err(wrong(at, "the alias stands in what it is of"));
        };
        let (cost, node) = (node.cost(), node.clone());
        self.charge(at, cost)?;
        Ok(node)
    }

    fn charge(&mut self, at: usize, cost: usize) -> Read<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > COST_LIMIT {
            let message = format!("more than {} MiB with its aliases", COST_LIMIT >> 20);
            return Err(wrong(at, &message));
        }
        Ok(())
    }

    fn list(&mut self, at: usize, depth: usize) -> Read<Node> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (_, Event::SequenceEnd) => break,
                (at, event) => items.push(self.node(at, event, depth + 1)?),
            }
        }
        let kind = Kind::List(items);
        Ok(Node { at, kind })
    }

    /// Of a key that stands twice the last value counts; what `<<` brings in gives way to the map's own.
    fn map(&mut self, at: usize, depth: usize) -> Read<Node> {
        let mut own = Fields::default();
        let mut brought = Vec::new();
        loop {
            let (key_at, event) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let merges = matches!(
                &event,
                Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<"
            );
            let key = self.node(key_at, event, depth + 1)?;
            let (value_at, event) = self.next()?;
            let value = self.node(value_at, event, depth + 1)?;
            if merges {
                brought.extend(maps_of(value)?);
            } else {
                own.put(key_of(&key)?, value);
            }
        }
        // The first of several maps wins.
        for (key, value) in brought {
            own.put_below(key, value);
        }
        let kind = Kind::Map(own.fields);
        Ok(Node { at, kind })
    }
}

/// The fields of a map that is being read, found by their names.
#[derive(Default)]
struct Fields {
    fields: Vec<(Key, Node)>,
    places: HashMap<String, usize>,
}

impl Fields {
    fn put(&mut self, key: Key, value: Node) {
        match self.places.get(&key.name) {
            Some(place) => self.fields[*place].1 = value,
            None => self.put_below(key, value),
        }
    }

    fn put_below(&mut self, key: Key, value: Node) {
        if !self.places.contains_key(&key.name) {
            self.places.insert(key.name.clone(), self.fields.len());
            self.fields.push((key, value));
        }
    }
}

/// A key as JSON has it: Python's words for what is no text.
fn key_of(key: &Node) -> Read<Key> {
    let name = match &key.kind {
        Kind::Scalar {
            value: Value::String(text),
            ..
        } => text.clone(),
        Kind::Scalar { value, .. } => value.to_string(),
        Kind::List(_) | Kind::Map(_) => {
            return Err(wrong(key.at, "a list or a map is no key"));
        }
    };
    Ok(Key { at: key.at, name })
}

fn maps_of(value: Node) -> Read<Vec<(Key, Node)>> {
    let at = value.at;
    match value.kind {
        Kind::Map(fields) => Ok(fields),
        Kind::List(items) => {
            let mut all = Vec::new();
            for item in items {
                let item_at = item.at;
                let Kind::Map(fields) = item.kind else {
                    return Err(wrong(item_at, "`<<` takes maps"));
                };
                all.extend(fields);
            }
            Ok(all)
        }
        Kind::Scalar { .. } => Err(wrong(at, "`<<` takes maps")),
    }
}

fn name_of(tag: &Tag) -> String {
    [tag.handle(), tag.suffix()].concat()
}

fn known_tag(at: usize, tag: Option<&Tag>, known: &[&str]) -> Read<()> {
    let Some(tag) = tag.map(name_of).filter(|tag| tag != "!") else {
        return Ok(());
    };
    let known = |name: &str| known.contains(&name);
    if tag.strip_prefix(TAG).is_some_and(known) {
        return Ok(());
    }
    Err(wrong(at, &format!("the tag `{tag}` is not known here")))
}

fn wrong(at: usize, message: &str) -> YamlError {
    YamlError {
        at,
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
