//! Tokens: drawn at random, shown once, and kept as hashes only.

use blake3::Hash;

/// Before every token, so that those who search for leaked secrets know one.
const MARK: &str = "pibench_";

/// Bytes of the part by which a token is found, and of the secret.
const ID: usize = 8;
const SECRET: usize = 32;

/// What a hash is one of: a hash of another kind is none of a token.
const CONTEXT: &str = "pibench-host hub token 2026-11";

/// A new token: `pibench_<id>_<secret>`.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) id: String,
    /// To be shown once, and kept nowhere.
    pub(crate) text: String,
    pub(crate) hash: Hash,
}

impl Drawn {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let (id, secret) = (draw::<ID>()?, draw::<SECRET>()?);
        Ok(Self {
            hash: hash(&secret),
            text: format!("{MARK}{id}_{secret}"),
            id,
        })
    }
}

/// Random bytes, in hex.
pub(crate) fn draw<const N: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}")))
}

/// Of 32 random bytes: nothing slower is needed, because nobody can try them all.
pub(crate) fn hash(secret: &str) -> Hash {
    Hash::from_bytes(blake3::derive_key(CONTEXT, secret.as_bytes()))
}

/// Id and secret of what was shown as a token; None for what has not the form of one.
pub(crate) fn parts(text: &[u8]) -> Option<(&str, &str)> {
    let text = std::str::from_utf8(text).ok()?;
    let (id, secret) = text.strip_prefix(MARK)?.split_once('_')?;
    let hex = |part: &str, bytes| {
        part.len() == 2 * bytes && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    (hex(id, ID) && hex(secret, SECRET)).then_some((id, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_drawn_and_nothing_else_is_one() {
        let drawn = Drawn::new().unwrap();
        let (id, secret) = parts(drawn.text.as_bytes()).unwrap();
        assert_eq!((id, hash(secret)), (drawn.id.as_str(), drawn.hash));
        assert_ne!(Drawn::new().unwrap().text, drawn.text);
        let longer = format!("{}0", drawn.text);
        for other in ["", "pibench_", "pibench_1_2", &drawn.text[1..], &longer] {
            assert_eq!(parts(other.as_bytes()), None, "{other}");
        }
    }
}
