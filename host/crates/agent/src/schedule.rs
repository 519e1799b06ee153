//! The `cron` tool and what comes of it: jobs on the session clock. Between two sessions those that are due fire in the
//! order of time (the engine's `wake`); during a session none does. A job that fires once is never left out. One that recurs
//! fires once between two sessions, at the last of its moments, and says how many went before: nothing else happens
//! there, so that the others would find the same. Nothing here reads a real clock.

use cronexpr::{Crontab, FallbackTimezoneOption, ParseOptions};
use jiff::ToSpan;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Deserialize;

use pibench_record::event::{Job, Jobs, When};

/// Open jobs at a time.
const MOST_JOBS: usize = 20;

/// Wakes between two sessions after which no job can be added before the next one: a job could add another one for the
/// minute after, without end.
const MOST_WAKES: u32 = 24;

/// Moments of an expression that are counted when they are folded into one: each has to be looked for.
const COUNTED: u32 = 1_000;

/// Characters of a message and of an expression. The longest sensible expression lists every minute.
const MESSAGE: usize = 4_000;
const EXPRESSION: usize = 400;

/// The shortest interval, in seconds: a turn takes a minute of the session clock.
const SHORTEST: u32 = 60;

/// No job is later: a search for the next moment looks four years ahead, and time ends with the year 9999.
const LAST_YEAR: i16 = 9990;

/// Wakes you between sessions with message. add: message and one of every_seconds, cron_expr, at; remove: job_id.
#[derive(Debug, Deserialize, JsonSchema)]
#[expect(
    clippy::doc_markdown,
    reason = "a model reads argument names as they are"
)]
#[schemars(deny_unknown_fields)]
pub(super) struct CronArguments {
    action: Action,
    #[serde(default)]
    message: Option<String>,
    /// At least 60.
    #[serde(default)]
    every_seconds: Option<u32>,
    /// 0 8 * * MON-FRI.
    #[serde(default)]
    cron_expr: Option<String>,
    /// 2026-03-02T09:00:00.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    at: Option<String>,
    /// Of cron_expr, such as Europe/Paris; the session's clock is then UTC.
    #[serde(default)]
    tz: Option<String>,
    #[serde(default)]
    job_id: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Action {
    Add,
    List,
    Remove,
}

/// Carries out a call; what the agent is told, or why nothing changed. `woken`: how often the agent was since the last
/// session, 0 in a session.
pub(super) fn cron(
    jobs: &mut Jobs,
    arguments: CronArguments,
    now: DateTime,
    woken: u32,
) -> Result<String, String> {
    match arguments.action {
        Action::Add if woken >= MOST_WAKES => Err(format!(
            "you were woken {MOST_WAKES} times since the last session; add the job in the next one"
        )),
        Action::Add => add(jobs, arguments, now),
        Action::List => Ok(list(jobs)),
        Action::Remove => remove(jobs, arguments.job_id),
    }
}

fn add(jobs: &mut Jobs, arguments: CronArguments, now: DateTime) -> Result<String, String> {
    let CronArguments {
        action: _,
        message,
        every_seconds,
        cron_expr,
        at,
        tz,
        job_id: _,
    } = arguments;
    let message = message.filter(|message| !message.trim().is_empty());
    let message = message.ok_or("a job needs a `message`: what you are to be told")?;
    if message.chars().count() > MESSAGE {
        return Err(format!("a message has at most {MESSAGE} characters"));
    }
    if jobs.open.len() >= MOST_JOBS {
        return Err(format!(
            "there are {MOST_JOBS} jobs already, the most there can be; remove one first"
        ));
    }
    if tz.is_some() && cron_expr.is_none() {
        return Err("`tz` goes with `cron_expr` only".into());
    }
    let (when, first) = match (every_seconds, cron_expr, at) {
        (Some(seconds), None, None) => {
            if seconds < SHORTEST {
                return Err(format!(
                    "`every_seconds` is {seconds}; at least {SHORTEST} is allowed"
                ));
            }
            (When::EverySeconds(seconds), None)
        }
        (None, Some(expression), None) => (
            When::Cron {
                expression,
                zone: tz,
            },
            None,
        ),
        (None, None, Some(at)) => (When::At, Some(moment(&at, now)?)),
        _ => {
            return Err("give one of `every_seconds`, `cron_expr` and `at`, and no other".into());
        }
    };
    let next = match first {
        Some(next) => next,
        None => next_after(&when, now, now)?.ok_or("the job would never be due")?,
    };
    jobs.made += 1;
    let id = format!("job-{}", jobs.made);
    let answer = format!("Added {id}; it is due at {next} for the first time.");
    jobs.open.push(Job {
        id,
        message,
        when,
        next,
    });
    Ok(answer)
}

fn moment(at: &str, now: DateTime) -> Result<DateTime, String> {
    let wanted: DateTime = at.trim().parse().map_err(|_| {
        format!("`at` is {at:?}; write a local date and time such as 2026-03-02T09:00:00")
    })?;
    if wanted <= now {
        return Err(format!("`at` is {wanted}, and it is {now} now"));
    }
    Ok(wanted)
}

/// The next moment of a job after `now`; None when there is none. A job of seconds counts from when it was last due.
fn next_after(when: &When, last: DateTime, now: DateTime) -> Result<Option<DateTime>, String> {
    if now.year() > LAST_YEAR {
        return Ok(None);
    }
    match when {
        When::At => Ok(None),
        When::EverySeconds(seconds) => {
            let step = i64::from(*seconds);
            let gone = now.duration_since(last).as_secs() / step;
            let next = last.checked_add(((gone + 1) * step).seconds());
            Ok(next.ok())
        }
        When::Cron { expression, zone } => {
            let crontab = crontab(expression, zone.as_deref())?;
            Ok(later(&crontab, now))
        }
    }
}

/// The first moment of an expression after another one. The session clock has no zone: read as UTC it has no gaps and no
/// repeated hours.
fn later(crontab: &Crontab, now: DateTime) -> Option<DateTime> {
    let start = now.to_zoned(TimeZone::UTC).ok()?;
    let next = crontab.find_next(start.timestamp()).ok()?;
    Some(next.timestamp().to_zoned(TimeZone::UTC).datetime())
}

fn crontab(expression: &str, zone: Option<&str>) -> Result<Crontab, String> {
    let bad = |reason: String| {
        format!("`cron_expr` {expression:?} is not understood: {reason}; as in `0 8 * * MON-FRI`")
    };
    if expression.len() > EXPRESSION {
        return Err(format!("`cron_expr` has at most {EXPRESSION} characters"));
    }
    if expression.split_whitespace().count() != 5 {
        return Err(bad("it needs five fields".into()));
    }
    let mut options = ParseOptions::default();
    options.fallback_timezone_option = FallbackTimezoneOption::UTC;
    let text = match zone {
        // A blank would smuggle in another field.
        Some(zone) if zone.is_empty() || zone.contains(char::is_whitespace) => {
            return Err(format!("`tz` {zone:?} is no time zone; as in Europe/Paris"));
        }
        Some(zone) => format!("{expression} {zone}"),
        None => expression.to_owned(),
    };
    cronexpr::parse_crontab_with(&text, options).map_err(|error| {
        // Its message is a drawing of several lines; the last says why.
        let text = error.to_string();
        bad(text.lines().last().unwrap_or_default().trim().to_owned())
    })
}

fn list(jobs: &Jobs) -> String {
    if jobs.open.is_empty() {
        return "There are no jobs.".into();
    }
    let line = |job: &Job| {
        let Job {
            id,
            message,
            when,
            next,
        } = job;
        let when = match when {
            When::At => "once".into(),
            When::EverySeconds(seconds) => format!("every {seconds} s"),
            When::Cron { expression, zone } => {
                let zone = zone
                    .as_ref()
                    .map_or_else(String::new, |zone| format!(" {zone}"));
                format!("cron {expression}{zone}")
            }
        };
        format!("{id} ({when}, next at {next}): {message}")
    };
    jobs.open.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn remove(jobs: &mut Jobs, id: Option<String>) -> Result<String, String> {
    let id = id.ok_or("to remove a job give its `job_id`; `list` shows them")?;
    let place = jobs.open.iter().position(|job| job.id == id);
    let place = place.ok_or_else(|| format!("there is no job {id:?}; `list` shows them"))?;
    jobs.open.remove(place);
    Ok(format!("Removed {id}."))
}

/// A job that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due<'a> {
    pub job: &'a Job,
    pub at: DateTime,
    /// Its moments before this one that it did not fire at.
    pub folded: u32,
    /// There may be more of them: nobody counted on.
    pub or_more: bool,
}

/// The job that is due first, at `until` at the latest; of several at one moment the oldest.
pub fn due(jobs: &Jobs, until: DateTime) -> Option<Due<'_>> {
    let open = jobs.open.iter().filter(|job| job.next <= until);
    let due = open.map(|job| {
        let (at, folded) = last(job, until);
        let or_more = folded >= COUNTED && matches!(job.when, When::Cron { .. });
        Due {
            job,
            at,
            folded,
            or_more,
        }
    });
    due.min_by_key(|due| due.at)
}

/// The last moment of a job that is due until then, and how many it has before.
fn last(job: &Job, until: DateTime) -> (DateTime, u32) {
    match &job.when {
        When::At => (job.next, 0),
        When::EverySeconds(seconds) => {
            let step = i64::from(*seconds);
            let gone = until.duration_since(job.next).as_secs() / step;
            let at = job.next.checked_add((gone * step).seconds());
            let folded = u32::try_from(gone).unwrap_or(u32::MAX);
            (at.unwrap_or(job.next), folded)
        }
        // The expression was understood when the job was made.
        When::Cron { expression, zone } => crontab(expression, zone.as_deref())
            .map_or((job.next, 0), |crontab| last_of(&crontab, job.next, until)),
    }
}

fn last_of(crontab: &Crontab, first: DateTime, until: DateTime) -> (DateTime, u32) {
    let until_then = |moment: &DateTime| *moment <= until;
    let after = |moment| later(crontab, moment).filter(until_then);
    let moments = std::iter::successors(Some(first), |moment| after(*moment));
    let counted = moments.take(COUNTED as usize + 1).enumerate();
    let (folded, at) = counted.last().unwrap_or((0, first));
    let folded = u32::try_from(folded).unwrap_or(COUNTED);
    if folded < COUNTED {
        return (at, folded);
    }
    // Looked for from the end: there may be one each minute, for years.
    let windows = [1, 24, 32 * 24, 9 * 366 * 24];
    let late = windows.into_iter().find_map(|hours: i64| {
        let start = until.checked_sub(hours.hours()).ok()?;
        std::iter::successors(after(start), |moment| after(*moment)).last()
    });
    (late.unwrap_or(at), folded)
}

/// A job has fired: it is due again after `until`, or gone.
pub fn mark_fired(jobs: &mut Jobs, id: &str, until: DateTime) {
    let Some(place) = jobs.open.iter().position(|job| job.id == id) else {
        return;
    };
    let job = &mut jobs.open[place];
    // The expression was understood when the job was made.
    match next_after(&job.when, job.next, until) {
        Ok(Some(next)) => job.next = next,
        Ok(None) | Err(_) => drop(jobs.open.remove(place)),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Monday.
    fn now() -> DateTime {
        date(2026, 3, 2).at(9, 30, 0, 0)
    }

    fn call(jobs: &mut Jobs, arguments: Value) -> Result<String, String> {
        cron(jobs, serde_json::from_value(arguments).unwrap(), now(), 0)
    }

    fn check_first(mut arguments: Value, expected: &str) {
        let mut jobs = Jobs::default();
        arguments["action"] = "add".into();
        arguments["message"] = "Look.".into();
        let answer = call(&mut jobs, arguments).unwrap();
        assert_eq!(
            answer,
            format!("Added job-1; it is due at {expected} for the first time.")
        );
        assert_eq!(jobs.open[0].next.to_string(), expected);
    }

    #[test]
    fn a_job_is_due_after_seconds_by_an_expression_or_once() {
        check_first(json!({"every_seconds": 3600}), "2026-03-02T10:30:00");
        check_first(
            json!({"cron_expr": "0 8 * * MON-FRI"}),
            "2026-03-03T08:00:00",
        );
        check_first(json!({"cron_expr": "*/15 * * * *"}), "2026-03-02T09:45:00");
        check_first(json!({"cron_expr": "0 0 29 2 *"}), "2028-02-29T00:00:00");
        // Nine in Paris is eight by UTC in winter.
        check_first(
            json!({"cron_expr": "0 9 * * *", "tz": "Europe/Paris"}),
            "2026-03-03T08:00:00",
        );
        check_first(json!({"at": "2026-03-02T18:00:00"}), "2026-03-02T18:00:00");
    }

    #[test]
    fn a_bad_job_is_refused_with_what_would_do() {
        let check = |mut arguments: Value, expected: &str| {
            arguments["action"] = "add".into();
            let refused = call(&mut Jobs::default(), arguments.clone()).unwrap_err();
            assert!(refused.contains(expected), "{arguments}: {refused}");
        };
        check(json!({"every_seconds": 60}), "needs a `message`");
        let check = |mut arguments: Value, expected: &str| {
            arguments["message"] = "Look.".into();
            check(arguments, expected);
        };
        check(json!({}), "give one of");
        check(
            json!({"every_seconds": 60, "at": "2027-01-01T00:00:00"}),
            "give one of",
        );
        check(json!({"every_seconds": 59}), "at least 60");
        check(json!({"cron_expr": "every day"}), "five fields");
        check(json!({"cron_expr": "99 * * * *"}), "is not understood");
        check(
            json!({"cron_expr": "0 9 * * *", "tz": "Nowhere/Else"}),
            "is not understood",
        );
        check(
            json!({"cron_expr": "0 9 * * *", "tz": "UTC UTC"}),
            "no time zone",
        );
        check(json!({"cron_expr": "0 0 31 2 *"}), "never be due");
        check(json!({"at": "tomorrow"}), "2026-03-02T09:00:00");
        check(
            json!({"at": "2026-03-02T09:30:00"}),
            "it is 2026-03-02T09:30:00 now",
        );
        check(json!({"every_seconds": 60, "tz": "UTC"}), "`tz` goes with");
    }

    #[test]
    fn jobs_are_listed_and_removed() {
        let mut jobs = Jobs::default();
        let list = json!({"action": "list"});
        assert_eq!(call(&mut jobs, list.clone()).unwrap(), "There are no jobs.");
        let add = json!({"action": "add", "message": "Tea.", "every_seconds": 600});
        call(&mut jobs, add.clone()).unwrap();
        call(&mut jobs, add.clone()).unwrap();
        let shown = call(&mut jobs, list).unwrap();
        assert_eq!(
            shown.lines().next().unwrap(),
            "job-1 (every 600 s, next at 2026-03-02T09:40:00): Tea."
        );
        let remove = json!({"action": "remove", "job_id": "job-1"});
        call(&mut jobs, remove.clone()).unwrap();
        assert!(
            call(&mut jobs, remove)
                .unwrap_err()
                .contains("no job \"job-1\"")
        );
        // A name is not used again.
        assert!(call(&mut jobs, add).unwrap().starts_with("Added job-3"));
    }

    #[test]
    fn a_twenty_first_job_is_refused() {
        let mut jobs = Jobs::default();
        let add = json!({"action": "add", "message": "Tea.", "every_seconds": 600});
        for _ in 0..MOST_JOBS {
            call(&mut jobs, add.clone()).unwrap();
        }
        assert!(
            call(&mut jobs, add)
                .unwrap_err()
                .contains("there are 20 jobs already")
        );
    }

    #[test]
    fn due_jobs_come_in_the_order_of_time_and_a_single_one_goes() {
        let mut jobs = Jobs::default();
        for (message, at) in [
            ("second", "2026-03-02T12:00:00"),
            ("first", "2026-03-02T11:00:00"),
        ] {
            call(
                &mut jobs,
                json!({"action": "add", "message": message, "at": at}),
            )
            .unwrap();
        }
        let until = date(2026, 3, 3).at(0, 0, 0, 0);
        let mut fired_messages = Vec::new();
        while let Some(Due { job, .. }) = due(&jobs, until) {
            let Job { id, message, .. } = job.clone();
            fired_messages.push(message);
            mark_fired(&mut jobs, &id, until);
        }
        assert_eq!(fired_messages, ["first", "second"]);
        assert!(jobs.open.is_empty());
    }

    #[test]
    fn what_recurs_is_due_at_its_last_moment_and_says_how_many_went_before() {
        let check = |mut job: Value, until: DateTime, expected: (&str, u32)| {
            let is_uncounted = expected.1 == COUNTED;
            let mut jobs = Jobs::default();
            job["action"] = "add".into();
            job["message"] = "Look.".into();
            call(&mut jobs, job).unwrap();
            let Due {
                at,
                folded,
                or_more,
                ..
            } = due(&jobs, until).unwrap();
            assert_eq!((at.to_string().as_str(), folded), expected);
            assert_eq!(or_more, is_uncounted);
            mark_fired(&mut jobs, "job-1", until);
            assert!(due(&jobs, until).is_none() && jobs.open[0].next > until);
        };
        let thursday = date(2026, 3, 5).at(9, 0, 0, 0);
        let daily = json!({"cron_expr": "0 8 * * *"});
        check(daily.clone(), thursday, ("2026-03-05T08:00:00", 2));
        check(
            daily,
            date(2026, 3, 3).at(8, 0, 0, 0),
            ("2026-03-03T08:00:00", 0),
        );
        check(
            json!({"every_seconds": 7200}),
            thursday,
            ("2026-03-05T07:30:00", 34),
        );
        let in_years = date(2036, 3, 5).at(9, 0, 30, 0);
        let each_minute = json!({"cron_expr": "* * * * *"});
        check(each_minute, in_years, ("2036-03-05T09:00:00", COUNTED));
        let interval = json!({"every_seconds": 60});
        let week = date(2026, 3, 9).at(9, 30, 0, 0);
        check(interval.clone(), week, ("2026-03-09T09:30:00", 10_079));
        check(interval, in_years, ("2036-03-05T09:00:00", 5_264_609));
        check(
            json!({"cron_expr": "* * 1 1 *"}),
            in_years,
            ("2036-01-01T23:59:00", COUNTED),
        );
    }

    #[test]
    fn an_agent_that_was_woken_too_often_adds_no_job_before_the_next_session() {
        let mut jobs = Jobs::default();
        let add = json!({"action": "add", "message": "Tea.", "every_seconds": 600});
        let add = || serde_json::from_value(add.clone()).unwrap();
        let refused = cron(&mut jobs, add(), now(), MOST_WAKES).unwrap_err();
        assert!(refused.contains("woken 24 times"), "{refused}");
        cron(&mut jobs, add(), now(), MOST_WAKES - 1).unwrap();
    }

    proptest! {
        #[test]
        fn the_next_moment_is_always_later(seconds in 60_u32.., hour in 0..24_u32, minute in 0..60_u32, day in 1..366_i32) {
            let now = date(2026, 1, 1).at(0, 7, 30, 0).checked_add(day.days()).unwrap();
            for when in [
                When::EverySeconds(seconds),
                When::Cron { expression: format!("{minute} {hour} * * *"), zone: None },
                When::Cron { expression: format!("{minute} {hour} * * *"), zone: Some("America/New_York".into()) },
            ] {
                let next = next_after(&when, now, now).unwrap().unwrap();
                prop_assert!(next > now, "{when:?}: {next}");
            }
        }

        #[test]
        fn no_expression_breaks_the_host(expression in "[0-9*/,LW#?HA-Z -]{0,30}") {
            let when = When::Cron { expression, zone: None };
            let _ = next_after(&when, now(), now());
        }
    }
}
