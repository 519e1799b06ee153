//! The beginning and the end of a stream that may be longer than anybody wants to keep. It never grows above its bound,
//! and never decides how the two are shown to a model: that is the host's.

use std::collections::VecDeque;

/// What is kept of a stream.
#[derive(Debug)]
pub struct Ends {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Ends {
    /// Keeps at most `most` bytes: one half from the beginning, one from the end.
    pub fn new(most: usize) -> Self {
        Self {
            half: most / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        // Of a long piece only the end can stay.
        let (over, rest) = rest.split_at(rest.len().saturating_sub(self.half));
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.dropped += (over.len() + surplus) as u64;
    }

    /// What was kept, as text, with a line in between that counts what was not.
    pub fn finish(mut self) -> String {
        if self.dropped == 0 {
            self.head.extend(self.tail);
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let tail: Vec<u8> = self.tail.into();
        format!(
            "{}\n[... {} bytes left out ...]\n{}",
            String::from_utf8_lossy(&self.head),
            self.dropped,
            String::from_utf8_lossy(&tail)
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(most: usize, pieces: &[&str]) -> String {
        let mut ends = Ends::new(most);
        for piece in pieces {
            ends.push(piece.as_bytes());
        }
        ends.finish()
    }

    #[test]
    fn a_short_stream_stays_whole() {
        assert_eq!(kept(8, &["ab", "", "cdef", "gh"]), "abcdefgh");
    }

    #[test]
    fn a_long_stream_keeps_both_ends() {
        let expected = "abcd\n[... 3 bytes left out ...]\nhijk";
        assert_eq!(kept(8, &["abcdefghijk"]), expected);
        assert_eq!(kept(8, &["abc", "def", "ghi", "jk"]), expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut ends = Ends::new(8);
        ends.push(b"a\xffb");
        assert_eq!(ends.finish(), "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn how_a_stream_is_cut_in_pieces_changes_nothing(
            pieces in proptest::collection::vec("[a-z]{0,9}", 0..9)
        ) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(kept(8, &pieces), kept(8, &[&pieces.concat()]));
        }
    }
}
