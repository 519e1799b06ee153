//! The spans of the log for a collector, in OTLP's JSON, with the names that OpenTelemetry has for generative models. A prompt, an
//! answer, a call's arguments and its result are in them only where the collector takes messages.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::Fields;
use pibench_model::collector::Collector;
use pibench_model::told::{MESSAGES, NAMES};

/// OTLP's numbers for a span's kind and for a span that failed.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const FAILED: u8 = 2;

/// Fields of episode, session and turn, which every span in them has, and their names.
const PLACE: [(&str, &str); 4] = [
    ("persona", "pibench.persona"),
    ("run", "pibench.run"),
    ("session", "pibench.session"),
    ("turn", "pibench.turn"),
];

/// Fields of a question to a model, and their names.
const CHAT: [(&str, &str); 7] = [
    ("model", "gen_ai.request.model"),
    ("server", "server.address"),
    ("input_tokens", "gen_ai.usage.input_tokens"),
    ("cached_tokens", "gen_ai.usage.cache_read.input_tokens"),
    ("output_tokens", "gen_ai.usage.output_tokens"),
    ("reasoning_tokens", "gen_ai.usage.reasoning.output_tokens"),
    ("role", "pibench.role"),
];

/// Sends each span when it ends. A trace is an episode.
pub(super) struct Spans {
    collector: Collector,
    /// Ids are drawn from it, so that those of two processes differ.
    seed: [u8; 32],
    drawn: AtomicU64,
}

/// What is kept of a span until it ends.
struct Open {
    trace: String,
    id: String,
    /// Nanoseconds since 1970.
    began: i128,
    fields: Map<String, Value>,
    events: Vec<Value>,
}

impl Spans {
    pub(super) fn new(collector: Collector) -> std::io::Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Self {
            collector,
            seed,
            drawn: AtomicU64::new(0),
        })
    }

    /// A new id of so many bytes, in hex.
    fn draw(&self, bytes: usize) -> String {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed);
        let hash = blake3::keyed_hash(&self.seed, &number.to_le_bytes());
        hash.to_hex()[..2 * bytes].to_owned()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let trace = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<Open>().map(|open| open.trace.clone())
        });
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(Open {
            trace: trace.unwrap_or_else(|| self.draw(16)),
            id: self.draw(8),
            began: now(),
            fields: fields.0,
            events: Vec::new(),
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            open.fields.extend(fields.0);
        }
    }

    /// Of all events only a session's scores, and what is told as messages: others hold words of models and servers.
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields(fields) = fields;
        if event.metadata().target() == MESSAGES {
            if let Some(span) = context.event_span(event)
                && let Some(open) = span.extensions_mut().get_mut::<Open>()
            {
                open.fields.extend(fields);
            }
            return;
        }
        if fields.get("scored") != Some(&Value::Bool(true)) {
            return;
        }
        let Some(span) = context.event_span(event) else {
            return;
        };
        let mut extensions = span.extensions_mut();
        let Some(open) = extensions.get_mut::<Open>() else {
            return;
        };
        for name in ["proc", "comp"] {
            let Some(value) = fields.get(name) else {
                continue;
            };
            let about = [
                ("gen_ai.evaluation.name", name.into()),
                ("gen_ai.evaluation.score.value", value.clone()),
            ];
            open.events.push(json!({
                "name": "gen_ai.evaluation.result", "timeUnixNano": now().to_string(), "attributes": attributes(about),
            }));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let mut place = Map::new();
        for above in span.scope().from_root() {
            if let Some(open) = above.extensions().get::<Open>()
                && matches!(above.name(), "episode" | "session" | "turn")
            {
                place.extend(open.fields.clone());
            }
        }
        let parent = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<Open>().map(|open| open.id.clone())
        });
        let open = span.extensions_mut().remove::<Open>();
        if let Some(open) = open {
            let bytes = messages(&open.fields)
                .filter_map(|(_, text)| Some(text.as_str()?.len()))
                .sum();
            let written = written(span.name(), &open, &place, parent);
            self.collector.take(written, bytes);
        }
    }
}

fn now() -> i128 {
    jiff::Timestamp::now().as_nanosecond()
}

type Attribute = (&'static str, Value);

/// A span that has ended. `place`: the fields of episode, session and turn, as far as it is in them.
fn written(name: &str, open: &Open, place: &Map<String, Value>, parent: Option<String>) -> Value {
    let (title, kind, mut all) = meant(name, &open.fields, place);
    all.extend(messages(&open.fields));
    all.extend(renamed(place, &PLACE));
    if let (Some(persona), Some(run), Some(session)) =
        (place.get("persona"), place.get("run"), place.get("session"))
    {
        let conversation = format!("{}.r{run}/{}", plain(persona), plain(session));
        all.push(("gen_ai.conversation.id", conversation.into()));
    }
    let status = match open.fields.get("error") {
        Some(error) => {
            all.push(("error.type", error.clone()));
            json!({ "code": FAILED })
        }
        None => json!({}),
    };
    let mut span = json!({
        "traceId": open.trace, "spanId": open.id, "name": title, "kind": kind,
        "startTimeUnixNano": open.began.to_string(), "endTimeUnixNano": now().to_string(),
        "attributes": attributes(all), "events": open.events, "status": status,
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = parent.into();
    }
    span
}

/// What a span of ours is to OpenTelemetry: its title, kind and attributes.
fn meant(
    name: &str,
    fields: &Map<String, Value>,
    place: &Map<String, Value>,
) -> (String, u8, Vec<Attribute>) {
    let word = |key: &str| fields.get(key).map_or("", plain);
    let operation = |name: &str| ("gen_ai.operation.name", Value::from(name));
    match name {
        "episode" => {
            let own = vec![("pibench.agent", word("agent").into())];
            (format!("episode {}", word("persona")), INTERNAL, own)
        }
        "session" => (format!("session {}", word("session")), INTERNAL, Vec::new()),
        "turn" => {
            let mut own = vec![
                operation("invoke_agent"),
                ("gen_ai.agent.name", "pibench-host".into()),
            ];
            own.extend(renamed(place, &[("agent", "gen_ai.request.model")]));
            ("invoke_agent pibench-host".into(), INTERNAL, own)
        }
        "chat" => {
            let provider = match word("provider") {
                "gemini" => "gcp.gemini",
                "moonshot" => "moonshot_ai",
                other => other,
            };
            let mut own = vec![operation("chat"), ("gen_ai.provider.name", provider.into())];
            own.extend(renamed(fields, &CHAT));
            (format!("chat {}", word("model")), CLIENT, own)
        }
        "call" => {
            let own = vec![
                operation("execute_tool"),
                ("gen_ai.tool.name", word("tool").into()),
                ("gen_ai.tool.type", "function".into()),
                ("gen_ai.tool.call.id", word("id").into()),
            ];
            (format!("execute_tool {}", word("tool")), INTERNAL, own)
        }
        other => (other.to_owned(), INTERNAL, Vec::new()),
    }
}

/// The fields that there are, under their other names.
fn renamed<'a>(
    fields: &'a Map<String, Value>,
    names: &'a [(&str, &'static str)],
) -> impl Iterator<Item = Attribute> + 'a {
    let one = |(key, name): &(&str, &'static str)| Some((*name, fields.get(*key)?.clone()));
    names.iter().filter_map(one)
}

/// The text of messages, where it was told.
fn messages(fields: &Map<String, Value>) -> impl Iterator<Item = Attribute> + '_ {
    renamed(fields, &NAMES)
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn attributes(all: impl IntoIterator<Item = Attribute>) -> Vec<Value> {
    let all = all.into_iter().filter_map(|(key, value)| {
        let value = match value {
            Value::String(text) => json!({ "stringValue": text }),
            Value::Bool(is) => json!({ "boolValue": is }),
            Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
            // 64 bits are a text in OTLP's JSON.
            Value::Number(number) => json!({ "intValue": number.to_string() }),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some(json!({ "key": key, "value": value }))
    });
    all.collect()
}
