//! What a name that is not known was meant to be.

/// How like a word has to be to be named (Jaro-Winkler, from 0 to 1).
const LIKENESS: f64 = 0.8;

/// The known word that is most like an unknown one, when any is.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// A question after what could not be found; nothing where nothing is like it.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(word, known);
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_like_is_named_and_nothing_that_is_not() {
        let known = ["openai", "openrouter", "anthropic"];
        assert_eq!(nearest("opnai", known), Some("openai"));
        assert_eq!(nearest("xyz", known), None);
        let asked = " (did you mean `anthropic`?)";
        assert_eq!(did_you_mean("antropic", known), asked);
        assert_eq!(did_you_mean("xyz", known), "");
    }
}
