//! A quoted text that goes on left of what it belongs to, which `PyYAML` reads and version 1.2 forbids: the line is indented
//! for the parser. That changes nothing of the text, whose lines begin at their first word. Neither does another line end.

/// Bytes that may be read again, all repairs together: 3,000 lines of a file of the usual size.
const WORK_LIMIT: usize = 64 << 20;

/// A text with spaces put before some of its lines.
#[derive(Debug)]
pub(super) struct Repaired {
    text: String,
    /// Where spaces were put in, and how many: places of the text as it is now, in their order.
    added: Vec<(usize, usize)>,
    work: usize,
}

impl Repaired {
    /// In version 1.1 a line may end in NEL, too (U+0085). It is as long as the line end that it becomes.
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.replace('\u{85}', "\r\n"),
            added: Vec::new(),
            work: 0,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The place that the author's text has for a place of this one.
    pub(super) fn original(&self, at: usize) -> usize {
        let before = self.added.iter().take_while(|(start, _)| *start < at);
        let spaces: usize = before.map(|(start, count)| (at - start).min(*count)).sum();
        at - spaces
    }

    /// Indents the line of a place; false when that is too much work, or no help: no text goes on with the end of a document.
    pub(super) fn indent(&mut self, at: usize, width: usize) -> bool {
        self.work = self.work.saturating_add(self.text.len() + width);
        let Some(before) = self.text.get(..at) else {
            return false;
        };
        let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let line = &self.text[start..];
        let ends = ["---", "..."].iter().any(|mark| {
            let rest = line.strip_prefix(mark);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
        });
        if ends || self.work > WORK_LIMIT {
            return false;
        }
        self.text.insert_str(start, &" ".repeat(width));
        for (place, _) in self.added.iter_mut().filter(|(place, _)| *place >= start) {
            *place += width;
        }
        let nth = self.added.partition_point(|(place, _)| *place < start);
        self.added.insert(nth, (start, width));
        true
    }
}
