//! The log of a run, `log.jsonl` in its folder: what happened when, in real time, for a person who looks for the reason of
//! something. Nothing reads it back, no score depends on it, and it is never compared or sealed. The same spans go to a
//! collector where the operator names one.

mod spans;

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;
use std::task::{self, Poll};
use std::time::Instant;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Subscriber, dispatcher};
use tracing_subscriber::filter::{EnvFilter, FilterExt, Targets, filter_fn};
use tracing_subscriber::layer::Context;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::{LookupSpan, Scope};
use tracing_subscriber::{Layer, fmt, registry};

use pibench_model::collector::Collector;
use pibench_model::told::MESSAGES;
use pibench_record::foreign::open_end;
use pibench_vault::keyring;
use spans::Spans;

/// The file's name.
const FILE: &str = "log.jsonl";

/// Where the spans of a run go: episode, session, turn, call.
#[derive(Debug)]
pub struct Log {
    dispatch: Dispatch,
}

impl Log {
    /// Adds to the log of a run folder what is at least of this level, and sends the spans to the collector. `stderr` filters
    /// what goes to stderr, as everywhere in the program.
    pub fn open(
        folder: &Path,
        level: LevelFilter,
        collector: Option<Collector>,
        stderr: EnvFilter,
    ) -> io::Result<Self> {
        // Our own crates only, by the beginning of their names: what libraries say at the lower levels holds whole requests, keys among them.
        let ours = |level| Targets::new().with_target("pibench_", level);
        let lines = if level == LevelFilter::OFF {
            None
        } else {
            let file = open_end(&folder.join(FILE))?;
            let is_private = keyring::is_private(folder);
            Some(Lines { file, is_private }.with_filter(ours(level)))
        };
        let mut sent = ours(LevelFilter::INFO);
        if collector.as_ref().is_some_and(Collector::takes_messages) {
            sent = sent.with_target(MESSAGES, LevelFilter::INFO);
        }
        let spans = collector.map(Spans::new).transpose()?;
        let spans = spans.map(|spans| spans.with_filter(sent));
        let told = fmt::layer()
            .with_writer(io::stderr)
            .without_time()
            .log_internal_errors(false)
            .with_filter(stderr.and(filter_fn(|about| about.target() != MESSAGES)));
        Ok(Self {
            dispatch: Dispatch::new(registry().with(lines).with(spans).with(told)),
        })
    }

    /// A future whose spans and events go here.
    pub(super) fn of<F: Future>(&self, future: F) -> Logged<F> {
        Logged {
            dispatch: self.dispatch.clone(),
            future: Some(Box::pin(future)),
        }
    }
}

/// A future with a log. Its spans close there also when it is dropped before its end: elsewhere they are unknown.
pub(super) struct Logged<F> {
    dispatch: Dispatch,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for Logged<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<F::Output> {
        let Self { dispatch, future } = &mut *self;
        let Some(future) = future else {
            // Taken only by the drop below.
            return Poll::Pending;
        };
        dispatcher::with_default(dispatch, || future.as_mut().poll(context))
    }
}

impl<F> Drop for Logged<F> {
    fn drop(&mut self) {
        dispatcher::with_default(&self.dispatch, || drop(self.future.take()));
    }
}

/// A JSON object a line: for each span that ends and for each event, with the spans that it is in.
struct Lines {
    file: File,
    /// Whether a private pack is played: what plugins say and faults quote may be of its intents and rules, and a log is no
    /// record, which could be encrypted. Names and numbers alone are kept.
    is_private: bool,
}

/// Fields whose text is a name: what the private record of a run has open too.
const NAMES: [&str; 14] = [
    "agent", "app", "before", "ended", "grader", "id", "kind", "model", "outcome", "persona",
    "plugin", "session", "source", "tool",
];

/// In the place of a text that is not kept.
const WITHHELD: &str = "(withheld: the pack is private)";

/// What is kept of a span until it ends.
struct Open {
    fields: Fields,
    began: Instant,
}

/// The fields of a span or an event.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Lines {
    /// `within`: the spans, the innermost first.
    fn write<'a, S: Subscriber + LookupSpan<'a>>(
        &self,
        level: Level,
        within: Option<Scope<'a, S>>,
        fields: Map<String, Value>,
    ) {
        let mut line = Map::new();
        line.insert("at".into(), jiff::Timestamp::now().to_string().into());
        line.insert("level".into(), level.as_str().to_ascii_lowercase().into());
        for span in within.into_iter().flat_map(Scope::from_root) {
            if let Some(open) = span.extensions().get::<Open>() {
                line.insert(span.name().into(), open.fields.0.clone().into());
            }
        }
        line.extend(fields);
        if self.is_private {
            line.iter_mut()
                .for_each(|(name, value)| withhold(name, value));
        }
        let mut text = Value::from(line).to_string();
        text.push('\n');
        // In one piece, at the file's end: lines of threads do not mix. A full disk stops the journal, not the log.
        let _ = (&self.file).write_all(text.as_bytes());
    }
}

/// Takes the place of texts that are no names, also of those within.
fn withhold(name: &str, value: &mut Value) {
    match value {
        Value::Object(fields) => fields
            .iter_mut()
            .for_each(|(name, value)| withhold(name, value)),
        Value::String(text) if !["at", "level"].contains(&name) && !NAMES.contains(&name) => {
            *text = WITHHELD.into();
        }
        _ => {}
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Lines {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Open {
                fields,
                began: Instant::now(),
            });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
        {
            values.record(&mut open.fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = *event.metadata().level();
        self.write(level, context.event_scope(event), fields.0);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let began = span.extensions().get::<Open>().map(|open| open.began);
        let ms = began.map(|began| began.elapsed().as_secs_f64() * 1000.0);
        let mut fields = Map::new();
        fields.insert("ended".into(), span.name().into());
        fields.insert("ms".into(), ms.into());
        let level = *span.metadata().level();
        self.write(level, context.span_scope(&id), fields);
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        self.0.insert(field.name().into(), text.into());
    }
}
