//! One session file: from its wire form to the domain's, with everything that it names read and checked.

use std::collections::BTreeSet;

use camino::Utf8Path;
use jiff::civil::DateTime;
use serde_json::{Map, Value};
use toml::value::Datetime;

use super::{
    Loader, STAGED_LIMIT, beside, cannot, check_apps, check_id, check_ids, check_length,
    check_text, without_date, without_dates,
};
use crate::manifest::{
    HEAVIEST, IntentFile, ItemFile, RuleFile, SessionFile, StagedFile, StepFile, Trigger,
};
use crate::pack::plain;
use crate::problem::Report;
use crate::problem::Source;
use crate::suite::{Grading, Intent, Item, Rule, Session, Staged, Step, lists_tool};
use crate::toml_file::Place;
use pibench_core::matcher::{Matcher, MatcherError};
use pibench_core::vocabulary::MatcherFile;

impl Loader {
    /// `name` is the folder's name, `folder` its path from the pack's root; `tools` are the persona's, where known.
    pub(super) fn session(
        &mut self,
        source: &Source,
        name: Option<&str>,
        folder: &str,
        tools: Option<&[String]>,
    ) -> Option<Session> {
        self.file(source, |loader, document, report| {
            let file: SessionFile = document.read(report)?;
            let root = document.root();
            check_id(&file.id, name, &root.key("id"), report);
            check_text("title", &file.title, &root.key("title"), report);
            if file.trigger != Trigger::Heartbeat {
                check_text("request", &file.request, &root.key("request"), report);
            }
            check_apps(&file.apps, tools, &root.key("apps"), report);
            check_evidence(&file, &root.key("evidence"), report);
            let clock = clock(file.clock, &root.key("clock"), report);
            let intents = intents(&file.intents, &root.key("intents"), report);
            let checklist =
                loader.checklist(&file.checklist, folder, &root.key("checklist"), report);
            check_histories(&file, tools, &root.key("checklist"), report);
            let files = loader.stage(&file.files, folder, &[], &root.key("files"), report);
            check_reference(&file, tools, &root, report);
            if name.is_some_and(|name| name != file.id) {
                return None;
            }
            let SessionFile {
                version: _,
                id,
                title,
                description: _,
                category,
                clock: _,
                trigger,
                request,
                intents: _,
                checklist: _,
                files: _,
                apps,
                evidence,
                reference,
                metadata: _,
            } = file;
            Some(Session {
                id,
                title,
                category,
                clock: clock?,
                trigger: trigger_without_dates(trigger),
                request,
                intents,
                checklist,
                files,
                apps: without_dates(apps),
                files_read: evidence.files_read,
                tool_evidence: evidence.tools,
                reference: reference.into_iter().filter_map(step).collect(),
                depends_on: Vec::new(),
                dependency_only: false,
            })
        })
    }

    fn checklist(
        &mut self,
        files: &[ItemFile],
        folder: &str,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Vec<Item> {
        check_length("checklist", files.len(), place, report);
        check_ids(files.iter().map(|item| item.id.as_str()), place, report);
        let items = files.iter().enumerate();
        items
            .filter_map(|(index, item)| self.item(item, folder, &place.index(index), report))
            .collect()
    }

    fn item(
        &mut self,
        file: &ItemFile,
        folder: &str,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Option<Item> {
        let ItemFile {
            id,
            criterion,
            weight,
            when,
            met,
            rule,
        } = file;
        check_text("criterion", criterion, &place.key("criterion"), report);
        // That it is finite was seen with its type.
        if *weight <= 0.0 {
            report.add(
                place.key("weight").span(),
                format!("the weight {weight} is not above 0"),
            );
        } else if weight.is_finite() && *weight > HEAVIEST {
            report.add(
                place.key("weight").span(),
                format!("`weight` must be at most {HEAVIEST}"),
            );
        }
        let met = met
            .as_ref()
            .and_then(|file| matcher(file, &place.key("met"), report));
        let grading = match rule {
            None => Grading::Rubric { met },
            Some(rule) => {
                if met.is_some() {
                    report.add(
                        place.key("met").span(),
                        "an item with a `rule` has no `met`: the grader decides",
                    );
                }
                Grading::Rule(self.rule(rule, folder, &place.key("rule"), report)?)
            }
        };
        Some(Item {
            id: id.clone(),
            criterion: criterion.clone(),
            weight: *weight,
            when: *when,
            grading,
        })
    }

    /// Puts the script's text into the grader's configuration.
    fn rule(
        &mut self,
        file: &RuleFile,
        folder: &str,
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Option<Rule> {
        let RuleFile {
            grader,
            config,
            script,
            check,
            accepts: _,
            rejects: _,
        } = file;
        check_id(grader, None, &place.key("grader"), report);
        if check.as_ref().is_some_and(String::is_empty) {
            report.add(place.key("check").span(), "`check` is empty");
        }
        let mut config = match config {
            Value::Null => Map::new(),
            Value::Object(fields) => fields.clone(),
            _ => {
                report.add(place.key("config").span(), "`config` must be a table");
                return None;
            }
        };
        if grader == "python" && script.is_none() {
            report.add_with_help(
                place.span(),
                "a `python` rule without a script",
                "name the file beside the session file: script = \"<file>.py\"",
            );
        }
        if let Some(script) = script {
            let span = place.key("script").span();
            match beside(folder, script).and_then(|path| self.source(&path)) {
                Ok(source) => {
                    // Python takes no byte order mark in the text of a program; editors write one.
                    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
                    let text = Value::String(text.to_owned());
                    if config.insert("script".to_owned(), text).is_some() {
                        report.add(span, "both a script file and a `script` in `config`");
                    }
                }
                Err(message) => report.add(span, message),
            }
        }
        let config = without_date(Value::Object(config));
        Some(Rule {
            grader: grader.clone(),
            config,
            check: check.clone(),
        })
    }

    /// The contents of files to stage; `there` are paths that stand in the workspace already.
    pub(super) fn stage(
        &mut self,
        files: &[StagedFile],
        folder: &str,
        there: &[&str],
        place: &Place<'_>,
        report: &mut Report<'_>,
    ) -> Vec<Staged> {
        check_length("files", files.len(), place, report);
        let mut staged: Vec<Staged> = Vec::new();
        for (index, StagedFile { source, path }) in files.iter().enumerate() {
            let place = place.index(index);
            let target = path
                .as_deref()
                .or_else(|| Utf8Path::new(source).file_name())
                .unwrap_or(source);
            let target_span = place
                .key(if path.is_some() { "path" } else { "source" })
                .span();
            if path.is_some()
                && let Err(reason) = plain(target)
            {
                report.add(
                    target_span.clone(),
                    format!("cannot stage `{target}` into the workspace: {reason}"),
                );
            }
            let paths = staged.iter().map(|file| file.path.as_str());
            let mut paths = paths.chain(there.iter().copied());
            if let Some(other) = paths.find(|other| clash(other, target)) {
                let message = format!("`{target}` is in the way of the staged file `{other}`");
                report.add_with_help(target_span, message, "give each file a `path` of its own");
            }
            let read = beside(folder, source).and_then(|path| {
                self.pack
                    .read(&path, STAGED_LIMIT)
                    .map_err(|error| cannot(&error))
            });
            match read {
                Ok(content) => staged.push(Staged {
                    path: target.to_owned(),
                    content: content.into(),
                }),
                Err(message) => report.add(place.key("source").span(), message),
            }
        }
        staged
    }
}

/// Two files cannot have one path, and a file cannot be the folder of another.
fn clash(one: &str, other: &str) -> bool {
    let below = |file: &str, folder: &str| {
        file.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
    };
    one == other || below(one, other) || below(other, one)
}

fn clock(written: Datetime, place: &Place<'_>, report: &mut Report<'_>) -> Option<DateTime> {
    let local = written.date.is_some() && written.time.is_some() && written.offset.is_none();
    let clock = if local {
        written.to_string().parse().ok()
    } else {
        None
    };
    if clock.is_none() {
        let message = format!("`{written}` is no local date and time");
        report.add_with_help(
            place.span(),
            message,
            "as in 2026-03-02T09:00:00, without a zone",
        );
    }
    clock
}

fn intents(files: &[IntentFile], place: &Place<'_>, report: &mut Report<'_>) -> Vec<Intent> {
    check_length("intents", files.len(), place, report);
    if files.is_empty() {
        report.add_with_help(
            place.span(),
            "no intents",
            "a session has at least one hidden intent",
        );
    }
    check_ids(files.iter().map(|intent| intent.id.as_str()), place, report);
    files
        .iter()
        .enumerate()
        .map(|(index, file)| intent(file, &place.index(index), report))
        .collect()
}

fn intent(file: &IntentFile, place: &Place<'_>, report: &mut Report<'_>) -> Intent {
    let IntentFile {
        id,
        content,
        scope,
        satisfied,
        asked,
        found_in,
    } = file;
    check_text("content", content, &place.key("content"), report);
    if satisfied.is_none() && asked.is_none() {
        report.warn(
            place.key("id").span(),
            format!("the intent `{id}` has no matcher"),
            "with the `lexical` user agent it is never satisfied and never asked for",
        );
    }
    if asked
        .as_ref()
        .is_some_and(|asked| asked.within.iter().any(|within| within != "response"))
    {
        let span = place.key("asked").key("within").span();
        report.add_with_help(
            span,
            "`asked` looks at the response only",
            "leave `within` out",
        );
    }
    Intent {
        id: id.clone(),
        content: content.clone(),
        scope: *scope,
        found_in: found_in.clone(),
        satisfied: satisfied
            .as_ref()
            .and_then(|file| matcher(file, &place.key("satisfied"), report)),
        asked: asked
            .as_ref()
            .and_then(|file| matcher(file, &place.key("asked"), report)),
    }
}

/// States of all matchers of a file. The largest of the embedded suite has some ten thousand.
const STATES: usize = 1 << 20;

/// Mistakes of one matcher that are told.
const MISTAKES: usize = 20;

/// Compiles a matcher. Each of its mistakes is reported: what is wrong is mended, and the rest tried again. The matchers of
/// a file have a budget: who goes beyond it is named, and those behind it are left alone.
fn matcher(file: &MatcherFile, place: &Place<'_>, report: &mut Report<'_>) -> Option<Matcher> {
    /// A pattern that compiles and does not match the empty text.
    const SOUND: &str = "x";
    let mut mended = file.clone();
    let mut sound = true;
    if report.count_states(0) > STATES {
        return None;
    }
    for _ in 0..MISTAKES {
        let error = match Matcher::new(&mended) {
            Ok(matcher) => {
                let states = report.count_states(matcher.units());
                if states <= STATES {
                    return sound.then_some(matcher);
                }
                let message = format!(
                    "the matchers up to here have {states} states, more than {STATES} together; this one has {}",
                    matcher.units()
                );
                let help = "say less with each, or have fewer; those behind it are not read";
                report.add_with_help(place.span(), message, help);
                return None;
            }
            Err(error) => error,
        };
        sound = false;
        report.count_states(if matches!(error, MatcherError::TooLarge { .. }) {
            STATES / 16
        } else {
            STATES / 256
        });
        let message = match &error {
            MatcherError::Pattern {
                pattern, source, ..
            } => {
                // The last line says what is wrong; those before it draw the pattern.
                let text = source.to_string();
                let reason = text.lines().last().unwrap_or_default();
                let reason = reason.trim_start_matches("error: ");
                format!("bad regular expression `{pattern}`: {reason}")
            }
            other => format!("cannot {other}"),
        };
        let part = match &error {
            MatcherError::NoGroups | MatcherError::TooLarge { .. } => "all",
            MatcherError::EmptyGroup { place }
            | MatcherError::Pattern { place, .. }
            | MatcherError::MatchesEmpty { place, .. }
            | MatcherError::UnknownPlace { place, .. }
            | MatcherError::Glob { place, .. } => place,
        };
        let (key, indices) = steps(part);
        let span = indices
            .iter()
            .fold(place.key(key), |place, index| place.index(*index))
            .span();
        report.add(span, message);
        if !mend(&mut mended, key, &indices, SOUND) {
            return None;
        }
    }
    None
}

/// Puts a sound pattern where a bad one was; false when the place is not one of the matcher's.
fn mend(file: &mut MatcherFile, key: &str, indices: &[usize], sound: &str) -> bool {
    let MatcherFile {
        within, all, none, ..
    } = file;
    let bad = match (key, indices) {
        ("within", [index]) => {
            let place = within.get_mut(*index);
            return place.map(|place| "files".clone_into(place)).is_some();
        }
        ("all", [index]) => {
            let group = all.get_mut(*index);
            return group.map(|group| group.push(sound.to_owned())).is_some();
        }
        ("all", [index, nth]) => all.get_mut(*index).and_then(|group| group.get_mut(*nth)),
        ("none", [index]) => none.get_mut(*index),
        _ => None,
    };
    bad.map(|bad| sound.clone_into(bad)).is_some()
}

/// `all[1][0]` as its key and its indices.
fn steps(part: &str) -> (&str, Vec<usize>) {
    let mut pieces = part.split(['[', ']']).filter(|piece| !piece.is_empty());
    let key = pieces.next().unwrap_or_default();
    (key, pieces.filter_map(|piece| piece.parse().ok()).collect())
}

fn check_evidence(file: &SessionFile, place: &Place<'_>, report: &mut Report<'_>) {
    for (index, path) in file.evidence.files_read.iter().enumerate() {
        if let Err(reason) = plain(path) {
            let message = format!("`{path}` is no file of the workspace: {reason}");
            report.add(place.key("files_read").index(index).span(), message);
        }
    }
    for (index, evidence) in file.evidence.tools.iter().enumerate() {
        let place = place.key("tools").index(index);
        check_text("tool", &evidence.tool, &place.key("tool"), report);
        for (key, paths) in [("call", &evidence.call), ("result", &evidence.result)] {
            for (nth, path) in paths
                .iter()
                .enumerate()
                .filter(|(_, path)| path.split('.').any(str::is_empty))
            {
                report.add(
                    place.key(key).index(nth).span(),
                    format!("`{path}` is no dotted path"),
                );
            }
        }
    }
}

/// Checks the reference workflow: its steps, what they save and use, and that they serve every intent.
fn check_reference(
    file: &SessionFile,
    tools: Option<&[String]>,
    root: &Place<'_>,
    report: &mut Report<'_>,
) {
    let place = root.key("reference");
    check_length("reference", file.reference.len(), &place, report);
    if file.reference.is_empty() {
        return report.warn(
            root.key("id").span(),
            "no reference workflow",
            "the `reference` agent cannot play it",
        );
    }
    let mut saved = BTreeSet::new();
    for (index, step) in file.reference.iter().enumerate() {
        let place = place.index(index);
        check_step(step, tools, &place, report);
        check_serves(step, &file.intents, &place, report);
        check_placeholders(&step.arguments, &saved, &place.key("arguments"), report);
        saved.extend(step.save.as_deref());
    }
    for (index, intent) in file.intents.iter().enumerate() {
        if !file
            .reference
            .iter()
            .any(|step| step.serves.contains(&intent.id))
        {
            report.warn(
                root.key("intents").index(index).key("id").span(),
                format!(
                    "no step of the reference workflow serves the intent `{}`",
                    intent.id
                ),
                "name it in the `serves` of the step that satisfies it",
            );
        }
    }
}

/// Checks the examples of rules: their steps, and that what they use is saved by one of them or by the reference workflow.
fn check_histories(
    file: &SessionFile,
    tools: Option<&[String]>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let of_reference: Vec<&str> = saves(&file.reference).collect();
    for (index, item) in file.checklist.iter().enumerate() {
        let Some(rule) = &item.rule else { continue };
        let place = place.index(index).key("rule");
        for (key, histories) in [("accepts", &rule.accepts), ("rejects", &rule.rejects)] {
            let place = place.key(key);
            check_length(key, histories.len(), &place, report);
            for (nth, steps) in histories.iter().enumerate() {
                let place = place.index(nth);
                if steps.is_empty() {
                    report.add_with_help(
                        place.span(),
                        "a history without steps",
                        "`nop`, who does nothing, is played anyway",
                    );
                }
                check_length(key, steps.len(), &place, report);
                let mut saved: BTreeSet<&str> = of_reference.iter().copied().collect();
                for (nth, step) in steps.iter().enumerate() {
                    let place = place.index(nth);
                    check_step(step, tools, &place, report);
                    check_serves(step, &file.intents, &place, report);
                    check_placeholders(&step.arguments, &saved, &place.key("arguments"), report);
                    saved.extend(step.save.as_deref());
                }
            }
        }
    }
}

fn saves(steps: &[StepFile]) -> impl Iterator<Item = &str> {
    steps.iter().filter_map(|step| step.save.as_deref())
}

fn check_step(
    step: &StepFile,
    tools: Option<&[String]>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    let StepFile {
        serves: _,
        tool,
        arguments,
        save,
        say,
    } = step;
    match (tool, say) {
        (Some(tool), None) => {
            check_text("tool", tool, &place.key("tool"), report);
            if !matches!(arguments, Value::Null | Value::Object(_)) {
                report.add(place.key("arguments").span(), "`arguments` must be a table");
            }
            if tool.contains("__") && tools.is_some_and(|tools| !lists_tool(tools, tool)) {
                let message = format!("the persona has no tool `{tool}`");
                report.warn(
                    place.key("tool").span(),
                    message,
                    "add it to the persona's tools",
                );
            }
            if let Some(name) = save
                .as_deref()
                .filter(|name| name.is_empty() || name.contains(['.', '{', '}']))
            {
                report.add(
                    place.key("save").span(),
                    format!("`{name}` cannot be used in `{{{{name.path}}}}`"),
                );
            }
        }
        (None, Some(text)) => {
            check_text("say", text, &place.key("say"), report);
            for (key, present) in [
                ("arguments", !arguments.is_null()),
                ("save", save.is_some()),
            ] {
                if present {
                    report.add(
                        place.key(key).span(),
                        format!("a step with `say` has no `{key}`"),
                    );
                }
            }
        }
        (Some(_), Some(_)) => {
            report.add_with_help(
                place.span(),
                "a step with both `tool` and `say`",
                "make two steps of it",
            );
        }
        (None, None) => {
            report.add_with_help(
                place.span(),
                "a step with neither `tool` nor `say`",
                "add one of them",
            );
        }
    }
}

fn check_serves(
    step: &StepFile,
    intents: &[IntentFile],
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    for (nth, id) in step.serves.iter().enumerate() {
        if !intents.iter().any(|intent| intent.id == *id) {
            let span = place.key("serves").index(nth).span();
            let known: Vec<&str> = intents.iter().map(|intent| intent.id.as_str()).collect();
            report.add_with_help(
                span,
                format!("unknown intent `{id}`"),
                format!("known: {}", known.join(", ")),
            );
        }
    }
}

/// Every `{{name.path}}` needs an earlier step that saved `name`.
fn check_placeholders(
    value: &Value,
    saved: &BTreeSet<&str>,
    place: &Place<'_>,
    report: &mut Report<'_>,
) {
    match value {
        Value::String(text) => {
            let inner = text
                .strip_prefix("{{")
                .and_then(|text| text.strip_suffix("}}"));
            let Some(inner) = inner else { return };
            let name = inner.split('.').next().unwrap_or_default();
            if !saved.contains(name) {
                let message = format!("`{text}` stands for a result that no earlier step saved");
                report.add_with_help(
                    place.span(),
                    message,
                    format!("write save = \"{name}\" in the step before"),
                );
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_placeholders(item, saved, &place.index(index), report);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                check_placeholders(field, saved, &place.key(key), report);
            }
        }
        _ => {}
    }
}

/// None for a step that does nothing, which is told of when it is checked.
pub(crate) fn step(file: StepFile) -> Option<Step> {
    let StepFile {
        serves: _,
        tool,
        arguments,
        save,
        say,
    } = file;
    match (tool, say) {
        (Some(tool), _) => {
            let arguments = if arguments.is_null() {
                Value::Object(Map::new())
            } else {
                without_date(arguments)
            };
            Some(Step::Call {
                tool,
                arguments,
                save,
            })
        }
        (None, say) => Some(Step::Say { text: say? }),
    }
}

fn trigger_without_dates(trigger: Trigger) -> Trigger {
    match trigger {
        Trigger::Environment { source, payload } => Trigger::Environment {
            source,
            payload: without_date(payload),
        },
        other => other,
    }
}
