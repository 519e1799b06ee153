//! Whether a file holds just what would be written now, without either text as a whole.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};

/// Bytes that are compared at once.
const BUFFER: usize = 32 << 10;

/// Of a file as it was opened; false also where there is none.
pub(super) fn holds(
    file: io::Result<File>,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<bool> {
    let file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut same = Same {
        found: BufReader::with_capacity(BUFFER, file),
        part: Vec::new(),
        differs: false,
    };
    let mut writer = BufWriter::with_capacity(BUFFER, &mut same);
    let written = text(&mut writer).and_then(|()| writer.flush());
    // Not to be written once more.
    let _ = writer.into_parts();
    if same.differs {
        return Ok(false);
    }
    written?;
    Ok(same.found.read(&mut [0])? == 0)
}

/// Takes a text as long as it is that of the file.
struct Same {
    found: BufReader<File>,
    part: Vec<u8>,
    differs: bool,
}

impl Write for Same {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.part.resize(bytes.len(), 0);
        match self.found.read_exact(&mut self.part) {
            Ok(()) if self.part == bytes => Ok(bytes.len()),
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
            Ok(()) | Err(_) => {
                self.differs = true;
                Err(io::Error::other("it is another text"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_to_its_last_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text");
        let long = "a line\n".repeat(20_000);
        std::fs::write(&path, &long).unwrap();
        let holds =
            |text: &str| holds(File::open(&path), |file| file.write_all(text.as_bytes())).unwrap();
        assert!(holds(&long));
        assert!(
            !holds(&long[1..])
                && !holds(&format!("{long}a"))
                && !holds(&long.replace("line", "word"))
        );
        assert!(!holds(""));
        std::fs::remove_file(&path).unwrap();
        assert!(!holds(""));
    }
}
