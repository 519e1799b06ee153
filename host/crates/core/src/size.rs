//! A number of bytes as people write it: `4G`, `512M`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of memory, at least 64 MiB. In files and options a number with `K`, `M`, `G` or `T`, each 1,024 of the one before.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Memory(u64);

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

impl Memory {
    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const LEAST: u64 = 64 << 20;
        let wanted = || format!("`{text}` is no amount of memory; want one such as 4G or 512M");
        let unit = UNITS
            .iter()
            .find(|(letter, _)| text.ends_with([*letter, letter.to_ascii_lowercase()]));
        let &(_, shift) = unit.ok_or_else(wanted)?;
        let number = &text[..text.len() - 1];
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wanted());
        }
        let number: u64 = number.parse().map_err(|_| wanted())?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(wanted)?;
        if bytes < LEAST {
            return Err(format!(
                "{text} of memory is too little to play anything; at least 64M"
            ));
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Memory {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Memory> for String {
    fn from(memory: Memory) -> Self {
        memory.to_string()
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |shift: &u32| self.0.trailing_zeros() >= *shift;
        match UNITS.iter().find(|(_, shift)| whole(shift)) {
            Some((letter, shift)) => write!(f, "{}{letter}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_number_with_its_unit() {
        let bytes = |text: &str| text.parse::<Memory>().map(Memory::bytes);
        assert_eq!(bytes("4G"), Ok(4 << 30));
        assert_eq!(bytes("512m"), Ok(512 << 20));
        for bad in [
            "",
            "4",
            "G",
            "-4G",
            "+4G",
            "4.5G",
            "4 G",
            "4GB",
            "99999999999T",
            "63M",
            "ä",
        ] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        let memory: Memory = "2048M".parse().unwrap();
        assert_eq!(memory.to_string(), "2G");
    }
}
