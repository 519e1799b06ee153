//! The operands of `sleep`: how long it is to wait. It waits for nothing.

use std::time::Duration;

/// The sum of the operands, each a number with or without `s`, `m`, `h` or `d`. An error names what is none.
pub fn parse(arguments: &[String]) -> Result<Duration, String> {
    if arguments.is_empty() {
        return Err("missing operand".into());
    }
    arguments.iter().try_fold(Duration::ZERO, |sum, argument| {
        let interval =
            one(argument).ok_or_else(|| format!("invalid time interval '{argument}'"))?;
        Ok(sum.saturating_add(interval))
    })
}

fn one(argument: &str) -> Option<Duration> {
    let unit = |name: char, seconds: f64| argument.strip_suffix(name).map(|rest| (rest, seconds));
    let (number, seconds) = unit('s', 1.0)
        .or_else(|| unit('m', 60.0))
        .or_else(|| unit('h', 3600.0))
        .or_else(|| unit('d', 86400.0))
        .unwrap_or((argument, 1.0));
    let number: f64 = number.parse().ok().filter(|number| *number >= 0.0)?;
    // Longer than there is a number for, as `inf` is: no command waits for its end.
    Some(Duration::try_from_secs_f64(number * seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &[&str]) -> Result<Duration, String> {
        let line: Vec<String> = line.iter().map(ToString::to_string).collect();
        parse(&line)
    }

    #[test]
    fn operands_are_added_with_their_units() {
        for (line, seconds) in [
            (&["2"][..], 2.0),
            (&["0.5", "1m"], 60.5),
            (&["1h", "1d"], 90_000.0),
            (&["1.5s"], 1.5),
        ] {
            assert_eq!(parsed(line), Ok(Duration::from_secs_f64(seconds)));
        }
        assert_eq!(parsed(&["inf", "1"]), Ok(Duration::MAX));
    }

    #[test]
    fn what_is_no_interval_is_named() {
        assert_eq!(parsed(&[]), Err("missing operand".into()));
        for bad in ["x", "-1", "1y", "", "s", "nan"] {
            assert_eq!(
                parsed(&["1", bad]),
                Err(format!("invalid time interval '{bad}'"))
            );
        }
    }
}
