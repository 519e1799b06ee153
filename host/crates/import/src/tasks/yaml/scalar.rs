//! What a scalar means: the implicit types of YAML 1.1, with the limits of `PyYAML` (`1e3` is text there, for it has no dot).
//! Dates stay the text that they are.

use serde_json::{Number, Value};

use super::TAG;

/// The meaning of a scalar with a tag or without; an error where `PyYAML` has no constructor, or refuses the value.
pub(super) fn resolve(tag: Option<&str>, plain: bool, text: &str) -> Result<Value, String> {
    let unfit = |what: &str| format!("`{text}` is no {what}");
    match tag {
        None | Some("!") if plain => implicit(text),
        None | Some("!") => Ok(text.into()),
        Some(tag) => match tag.strip_prefix(TAG) {
            Some("str" | "binary" | "timestamp") => Ok(text.into()),
            Some("null") => Ok(Value::Null),
            Some("bool") => boolean(&text.to_lowercase())
                .map(Value::Bool)
                .ok_or_else(|| unfit("bool")),
            Some("int") => whole(text.trim()).ok_or_else(|| unfit("int")),
            Some("float") => float(text)
                .or_else(|| text.replace('_', "").parse().ok().map(|n| real(n, text)))
                .ok_or_else(|| unfit("float")),
            _ => Err(format!("the tag `{tag}` is not known here")),
        },
    }
}

fn implicit(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        // PyYAML knows the type and has no constructor for it.
        "=" => return Err("`=` is no value".to_owned()),
        _ => {}
    }
    if let Some(value) = boolean(text) {
        return Ok(Value::Bool(value));
    }
    Ok(whole(text)
        .or_else(|| float(text))
        .unwrap_or_else(|| text.into()))
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Digits of a base, with underscores between.
fn digits(text: &str, base: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c == '_' || c.is_digit(base))
}

fn signed(text: &str) -> (&str, &str) {
    match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("", &text[1..]),
        _ => ("", text),
    }
}

/// An integer in one of five writings. Beyond 64 bits it stays text, which loses no digit.
fn whole(text: &str) -> Option<Value> {
    let (sign, rest) = signed(text);
    let radix = |digits: &str, base| {
        let bare = digits.replace('_', "");
        // Underscores alone are no number for Python either.
        let found = i128::from_str_radix(&format!("{sign}{bare}"), base);
        (!bare.is_empty()).then(|| found.map_or_else(|_| text.into(), |n| integer(n, text)))
    };
    if let Some(bits) = rest.strip_prefix("0b").filter(|rest| digits(rest, 2)) {
        return radix(bits, 2);
    }
    if let Some(hex) = rest.strip_prefix("0x").filter(|rest| digits(rest, 16)) {
        return radix(hex, 16);
    }
    if rest == "0" {
        return radix(rest, 10);
    }
    if let Some(octal) = rest.strip_prefix('0').filter(|rest| digits(rest, 8)) {
        return radix(octal, 8);
    }
    if !rest.starts_with(|c: char| ('1'..='9').contains(&c)) {
        return None;
    }
    if digits(rest, 10) {
        return radix(rest, 10);
    }
    let (first, places) = rest.split_once(':')?;
    if !digits(first, 10) {
        return None;
    }
    let mut sum: i128 = first.replace('_', "").parse().ok()?;
    for place in places.split(':') {
        sum = sum.checked_mul(60)?.checked_add(sixty(place)?.into())?;
    }
    Some(integer(if sign == "-" { -sum } else { sum }, text))
}

/// One or two digits below 60.
fn sixty(place: &str) -> Option<u8> {
    let fits = place.len() <= 2 && place.bytes().all(|byte| byte.is_ascii_digit());
    place.parse().ok().filter(|n| fits && *n < 60)
}

fn integer(number: i128, text: &str) -> Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => text.into(),
    }
}

/// A number with a dot.
fn float(text: &str) -> Option<Value> {
    let (sign, rest) = signed(text);
    if matches!(rest, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(text.into());
    }
    let (before, after) = rest.split_once('.')?;
    if let Some((first, places)) = before.split_once(':') {
        return sexagesimal(sign, first, places, after).map(|n| real(n, text));
    }
    let (fraction, exponent) = match after.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (after, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']);
        digits.is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    });
    let fraction_fits = fraction
        .bytes()
        .all(|byte| byte == b'_' || byte.is_ascii_digit());
    let fits = if before.is_empty() {
        // Without a digit before the dot there is no sign, and one behind it.
        text.starts_with('.') && fraction.starts_with(|c: char| c.is_ascii_digit())
    } else {
        before.starts_with(|c: char| c.is_ascii_digit()) && digits(before, 10)
    };
    if !(fits && fraction_fits && exponent_fits) {
        return None;
    }
    let number: f64 = text.replace('_', "").parse().ok()?;
    Some(real(number, text))
}

fn sexagesimal(sign: &str, first: &str, places: &str, fraction: &str) -> Option<f64> {
    let fits = first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first, 10)
        && fraction
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_digit());
    if !fits {
        return None;
    }
    let mut sum: f64 = first.replace('_', "").parse().ok()?;
    for place in places.split(':') {
        sum = sum * 60.0 + f64::from(sixty(place)?);
    }
    let fraction: f64 = format!("0.{}", fraction.replace('_', "")).parse().ok()?;
    let sum = sum + fraction;
    Some(if sign == "-" { -sum } else { sum })
}

fn real(number: f64, text: &str) -> Value {
    Number::from_f64(number).map_or_else(|| text.into(), Value::Number)
}
