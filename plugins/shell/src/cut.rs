//! How bashkit's commands say that a limit of theirs cut their output, by the whole form: a program of the agent may write of
//! limits, too, and is believed. Nothing is stopped here.

/// By command, or what stands before the words: what stands around the limit, up to the line's end.
const FORMS: [(&[&str], &str, &str); 4] = [
    (
        &["fc", "history", "numfmt", "seq", "yes"],
        " limit (",
        ") exceeded; output truncated",
    ),
    (&["expand", "unexpand"], " exceeds byte limit (", ")"),
    (
        &["awk: fatal", "jq: error", "memory limit exceeded"],
        " limit (",
        ") exceeded",
    ),
    (&["jq"], " limit exceeded (", ")"),
];

/// Whether a line of standard error says that an output is not whole.
pub fn is_told(line: &str) -> bool {
    line.ends_with("find: output size limit exceeded")
        || FORMS.iter().any(|(names, before, after)| {
            let limit = line.strip_suffix(after);
            let parts = limit.and_then(|rest| rest.rsplit_once(before));
            let named = parts.and_then(|(words, limit)| Some((words.rsplit_once(": ")?.0, limit)));
            named.is_some_and(|(place, limit)| {
                is_limit(limit) && names.iter().any(|name| ends_with(place, name))
            })
        })
}

/// Such as `100000`, `10000 lines`, `4096 bytes`.
fn is_limit(text: &str) -> bool {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    number.parse::<u64>().is_ok() && ["", "bytes", "lines"].contains(&unit)
}

/// Bashkit puts `bash: line 1: ` before some names.
fn ends_with(place: &str, name: &str) -> bool {
    let before = place.strip_suffix(name);
    before.is_some_and(|before| before.is_empty() || before.ends_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_by_its_whole_form_and_a_programs_own_words_are_none() {
        for line in [
            "seq: line limit (100000) exceeded; output truncated",
            "yes: output limit (10000 lines) exceeded; output truncated",
            "numfmt: output byte limit (1048576) exceeded; output truncated",
            "bash: line 3: history: output limit (4096 bytes) exceeded; output truncated",
            "unexpand: output exceeds byte limit (1048576)",
            "find: output size limit exceeded",
            "awk: fatal: loop iteration limit (2000000) exceeded",
            "awk: fatal: getline total input limit (10000000 bytes) exceeded",
            "jq: error: recursion limit (64) exceeded",
            "jq: output limit exceeded (1048576 bytes)",
            "bash: memory limit exceeded: word split field limit (1000000) exceeded",
        ] {
            assert!(is_told(line), "{line}");
        }
        for line in [
            "note: the daily limit (500 EUR) was exceeded by one trip",
            "budget: limit (500) exceeds nothing",
            "budget: daily limit (500) exceeded; output truncated",
            "budgetseq: daily limit (500) exceeded; output truncated",
            "seq: line limit (500 EUR) exceeded; output truncated",
            "seq: line limit (500) exceeded; output truncated by hand",
            "seq: invalid argument",
        ] {
            assert!(!is_told(line), "{line}");
        }
    }
}
