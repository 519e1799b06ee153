//! The conditions `called` and `order`: which calls were made, how often, and in which order.

use pibench_sdk::grader::CallStatus;
use serde_json::Value;

use crate::finding::{Finding, Undecided};
use crate::matcher::{Captures, Fields, Matcher, Names, Path};
use crate::range::Range;
use crate::scene::{ParsedCall, Scene, json_or_text};
use crate::table::{ConfigError, Node, Table};

/// How many times an order may compare a step with a call. Captures make it try combinations; the calls of a session
/// are a few hundred at most.
const MAX_COMPARISONS: u32 = 100_000;

/// How many calls that came near a reason mentions.
const NEAR_MISSES: usize = 2;

/// What is asked of one call.
struct Pattern {
    tools: Vec<String>,
    arguments: Option<Fields>,
    result: Option<Matcher>,
    status: Option<CallStatus>,
    code: Option<Matcher>,
    turn: Option<Range>,
}

impl Pattern {
    /// Takes a pattern's keys from a table that may have more.
    fn parse(table: &mut Table, names: Names) -> Result<Self, ConfigError> {
        let tools: Vec<String> = table
            .require("tool")?
            .one_or_more()?
            .into_iter()
            .map(tool)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            tools,
            arguments: table.read("arguments", |node| Fields::parse(node, names))?,
            result: table.read("result", |node| Matcher::parse(node, names))?,
            status: table
                .read("status", |node| status(&node))?
                .unwrap_or(Some(CallStatus::Ok)),
            code: table.read("code", |node| Matcher::parse_number(node, names))?,
            turn: table.read("turn", Range::parse)?,
        })
    }

    fn names(&self, call: &ParsedCall) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|tool| is_named(tool, &call.call.tool))
    }

    /// None for a call that fits; else what differs.
    fn mismatch(&self, call: &ParsedCall, captures: &Captures) -> Option<String> {
        let Self {
            tools: _,
            arguments,
            result,
            status,
            code,
            turn,
        } = self;
        if let Some(status) = status
            && *status != call.call.status
        {
            return Some(format!(
                "ended as {}, not {}",
                status_name(call.call.status),
                status_name(*status)
            ));
        }
        if let Some(turn) = turn
            && !turn.holds(call.call.turn.into())
        {
            return Some(format!("was in turn {}, not {turn}", call.call.turn));
        }
        let code = code.as_ref().and_then(|code| {
            let reason = code.mismatch(Some(&Value::from(call.call.code)), captures)?;
            Some(format!("its code {reason}"))
        });
        let arguments = || {
            let reason = arguments.as_ref()?.mismatch(call.arguments(), captures)?;
            Some(format!("its argument {reason}"))
        };
        let result = || {
            let reason = result_mismatch(result.as_ref()?, call.result(), captures)?;
            Some(format!("its result {reason}"))
        };
        code.or_else(arguments).or_else(result)
    }

    /// As reasons name it.
    fn title(&self) -> String {
        self.tools.join(" or ")
    }
}

/// Fields of a text, which is what built-in tools give, are those of the JSON in it.
fn result_mismatch(matcher: &Matcher, result: &Value, captures: &Captures) -> Option<String> {
    match result {
        Value::String(text) if matcher.asks_for_fields() => {
            matcher.mismatch(Some(&json_or_text(text)), captures)
        }
        _ => matcher.mismatch(Some(result), captures),
    }
}

fn tool(node: Node) -> Result<String, ConfigError> {
    let path = node.path.clone();
    let name = node.text()?;
    if name.is_empty() {
        return Err(ConfigError::new(&path, "must not be empty"));
    }
    Ok(name)
}

/// Whether a tool's name is this one, in which `*` stands for any characters. An expression would cost more to compile
/// than all the names of a session to compare.
fn is_named(wanted: &str, name: &str) -> bool {
    let Some((head, tail)) = wanted.split_once('*') else {
        return wanted == name;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    let mut tail = tail;
    while let Some((part, others)) = tail.split_once('*') {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        (rest, tail) = (after, others);
    }
    rest.ends_with(tail)
}

/// None for any.
fn status(node: &Node) -> Result<Option<CallStatus>, ConfigError> {
    match node.value.as_str() {
        Some("ok") => Ok(Some(CallStatus::Ok)),
        Some("tool_error") => Ok(Some(CallStatus::ToolError)),
        Some("failed") => Ok(Some(CallStatus::Failed)),
        Some("any") => Ok(None),
        _ => Err(node.error("must be \"ok\", \"tool_error\", \"failed\" or \"any\"")),
    }
}

fn status_name(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => "ok",
        CallStatus::ToolError => "tool_error",
        CallStatus::Failed => "failed",
    }
}

/// A tool was called so, so many times.
pub(crate) struct Called {
    pattern: Pattern,
    count: Range,
}

impl Called {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let mut table = node.table()?;
        let pattern = Pattern::parse(&mut table, Names::NONE)?;
        let count = table.read("count", Range::parse)?.unwrap_or(Range::SOME);
        table.finish()?;
        Ok(Self { pattern, count })
    }

    pub(crate) fn judge(&self, scene: &Scene) -> Finding {
        let mut fitting = Vec::new();
        let mut near = Vec::new();
        for call in scene.calls.iter().filter(|call| self.pattern.names(call)) {
            match self.pattern.mismatch(call, &Captures::new()) {
                None => fitting.push(call.call.number),
                Some(reason) => near.push(format!("call {}: {reason}", call.call.number)),
            }
        }
        let reason = format!("{}{}", self.found(&fitting), near_misses(&near));
        Finding {
            pass: self.count.holds(fitting.len() as u64),
            reason,
        }
    }

    fn found(&self, fitting: &[u32]) -> String {
        let title = self.pattern.title();
        match fitting {
            [] => format!("no call of {title} fits, {} wanted", self.count),
            [one] => format!("call {one} of {title} fits, {} wanted", self.count),
            [first, .., last] => {
                format!(
                    "{} calls of {title} fit, {first} to {last}, {} wanted",
                    fitting.len(),
                    self.count
                )
            }
        }
    }
}

fn near_misses(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    let shown = near
        .iter()
        .rev()
        .take(NEAR_MISSES)
        .rev()
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    let more = if near.len() > NEAR_MISSES {
        format!(" ({} more)", near.len() - NEAR_MISSES)
    } else {
        String::new()
    };
    format!("; but {shown}{more}")
}

/// Calls were made one after another.
pub(crate) struct Order {
    steps: Vec<Step>,
}

/// One call of an order and what later steps remember of it.
struct Step {
    pattern: Pattern,
    captures: Vec<Capture>,
}

/// A value to remember.
#[derive(Debug, Clone)]
struct Capture {
    name: String,
    from: Source,
    path: Path,
    /// As written.
    text: String,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Arguments,
    Result,
}

impl Order {
    pub(crate) fn parse(node: Node) -> Result<Self, ConfigError> {
        let path = node.path.clone();
        let mut names = Vec::new();
        let mut steps = Vec::new();
        for node in node.list()? {
            let step = Step::parse(node, &names)?;
            names.extend(step.captures.iter().map(|capture| capture.name.clone()));
            steps.push(step);
        }
        if steps.len() < 2 {
            return Err(ConfigError::new(&path, "needs at least two steps"));
        }
        Ok(Self { steps })
    }

    pub(crate) fn judge(&self, scene: &Scene) -> Result<Finding, Undecided> {
        let mut search = Search {
            steps: &self.steps,
            calls: &scene.calls,
            left: MAX_COMPARISONS,
            furthest: None,
        };
        let found = search.from(0, 0, &Captures::new())?;
        let reason = match &found {
            Some(numbers) => {
                let numbers = numbers
                    .iter()
                    .rev()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                format!("the steps are calls {numbers}")
            }
            None => search.failure(),
        };
        Ok(Finding {
            pass: found.is_some(),
            reason,
        })
    }
}

impl Step {
    fn parse(node: Node, earlier: &[String]) -> Result<Self, ConfigError> {
        let mut table = node.table()?;
        let pattern = Pattern::parse(&mut table, Names(earlier))?;
        let captures = table
            .read("capture", |node| captures(node, earlier))?
            .unwrap_or_default();
        table.finish()?;
        Ok(Self { pattern, captures })
    }

    /// None where a value to capture is not there.
    fn capture(&self, call: &ParsedCall, captures: &Captures) -> Result<Captures, String> {
        let mut captures = captures.clone();
        for Capture {
            name,
            from,
            path,
            text,
        } in &self.captures
        {
            let value = match from {
                Source::Arguments => path.find(call.arguments()).cloned(),
                Source::Result => match call.result() {
                    Value::String(text) => path.find(&json_or_text(text)).cloned(),
                    result => path.find(result).cloned(),
                },
            };
            captures.insert(
                name.clone(),
                value.ok_or_else(|| format!("has no {text} to capture"))?,
            );
        }
        Ok(captures)
    }
}

fn captures(node: Node, earlier: &[String]) -> Result<Vec<Capture>, ConfigError> {
    let mut captures: Vec<Capture> = Vec::new();
    for (name, node) in node.table()?.into_nodes() {
        if earlier.contains(&name) {
            return Err(node.error(format!("`{name}` is captured by an earlier step already")));
        }
        let wrong = node.error("must be `result.PATH` or `arguments.PATH`");
        let text = node.text()?;
        let (from, rest) = match text.split_once('.') {
            Some(("result", rest)) => (Source::Result, rest),
            Some(("arguments", rest)) => (Source::Arguments, rest),
            _ => return Err(wrong),
        };
        let path = Path::parse(rest).ok_or(wrong)?;
        captures.push(Capture {
            name,
            from,
            path,
            text,
        });
    }
    Ok(captures)
}

/// Looks for calls that fit the steps one after another.
struct Search<'a> {
    steps: &'a [Step],
    calls: &'a [ParsedCall<'a>],
    left: u32,
    /// The step that no search came beyond, and the last call that came near it.
    furthest: Option<(usize, Option<String>)>,
}

impl Search<'_> {
    /// The calls for the steps from `step` on, looked for from `call` on; their numbers, last first.
    fn from(
        &mut self,
        step: usize,
        call: usize,
        captures: &Captures,
    ) -> Result<Option<Vec<u32>>, Undecided> {
        let steps = self.steps;
        let Some(wanted) = steps.get(step) else {
            return Ok(Some(Vec::new()));
        };
        let calls = self.calls;
        for (index, call) in calls.iter().enumerate().skip(call) {
            self.left = self.left.checked_sub(1).ok_or_else(|| {
                Undecided(format!(
                    "an order has more than {MAX_COMPARISONS} combinations to try"
                ))
            })?;
            if !wanted.pattern.names(call) {
                continue;
            }
            let remembered = match wanted.pattern.mismatch(call, captures) {
                None => wanted.capture(call, captures),
                Some(reason) => Err(reason),
            };
            match remembered {
                Err(reason) => self.note(step, Some(format!("call {} {reason}", call.call.number))),
                Ok(remembered) => {
                    if let Some(mut numbers) = self.from(step + 1, index + 1, &remembered)? {
                        numbers.push(call.call.number);
                        return Ok(Some(numbers));
                    }
                    // A later call for a step that captures nothing leaves less for the steps after it.
                    if wanted.captures.is_empty() {
                        return Ok(None);
                    }
                }
            }
        }
        self.note(step, None);
        Ok(None)
    }

    fn note(&mut self, step: usize, reason: Option<String>) {
        let further = match &self.furthest {
            None => true,
            Some((furthest, known)) => {
                step > *furthest || (step == *furthest && (reason.is_some() || known.is_none()))
            }
        };
        if further {
            self.furthest = Some((step, reason));
        }
    }

    fn failure(&self) -> String {
        let (step, reason) = self.furthest.clone().unwrap_or((0, None));
        let title = self
            .steps
            .get(step)
            .map(|step| step.pattern.title())
            .unwrap_or_default();
        let after = if step == 0 {
            ""
        } else {
            " after the steps before it"
        };
        let near = reason
            .map(|reason| format!("; but {reason}"))
            .unwrap_or_default();
        format!("step {} ({title}) was not made{after}{near}", step + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::is_named;

    proptest! {
        #[test]
        fn a_star_stands_for_any_characters(wanted in "[ab*_]{0,8}", name in "[ab_]{0,8}") {
            let parts: Vec<String> = wanted.split('*').map(regex::escape).collect();
            let expression = format!("^(?:{})$", parts.join(".*"));
            let expected = regex::Regex::new(&expression).unwrap().is_match(&name);
            prop_assert_eq!(is_named(&wanted, &name), expected);
        }
    }
}
