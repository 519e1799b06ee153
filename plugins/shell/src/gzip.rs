//! `gzip`, `gunzip` and `zcat`: the command line, and bytes to bytes. It opens no file.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// What is to be done with each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Compress,
    Decompress,
    List,
    Test,
}

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub action: Action,
    pub to_stdout: bool,
    pub keep: bool,
    /// Overwrites what is there.
    pub force: bool,
    /// 1 to 9.
    pub level: u32,
    /// Empty: standard input.
    pub files: Vec<String>,
}

/// Reads the arguments behind `name`. An error names the option that is not possible.
pub fn parse(name: &str, arguments: &[String]) -> Result<Request, String> {
    let mut request = Request {
        action: if name == "gzip" {
            Action::Compress
        } else {
            Action::Decompress
        },
        to_stdout: name == "zcat",
        keep: false,
        force: false,
        level: 6,
        files: Vec::new(),
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let unknown = || format!("the option {argument} is not possible here");
        match argument.as_str() {
            "--" => request.files.extend(arguments.by_ref().cloned()),
            "-" => request.files.push("-".into()),
            long if long.starts_with("--") => {
                let short = match long {
                    "--stdout" | "--to-stdout" => 'c',
                    "--decompress" | "--uncompress" => 'd',
                    "--force" => 'f',
                    "--keep" => 'k',
                    "--list" => 'l',
                    "--no-name" => 'n',
                    "--quiet" => 'q',
                    "--test" => 't',
                    "--verbose" => 'v',
                    "--fast" => '1',
                    "--best" => '9',
                    _ => return Err(unknown()),
                };
                request.set(short).ok_or_else(unknown)?;
            }
            short if short.starts_with('-') => {
                for option in short.chars().skip(1) {
                    request.set(option).ok_or_else(unknown)?;
                }
            }
            file => request.files.push(file.to_owned()),
        }
    }
    Ok(request)
}

impl Request {
    fn set(&mut self, option: char) -> Option<()> {
        match option {
            'c' => self.to_stdout = true,
            'd' => self.action = Action::Decompress,
            'l' => self.action = Action::List,
            't' => self.action = Action::Test,
            'f' => self.force = true,
            'k' => self.keep = true,
            '1'..='9' => self.level = option.to_digit(10)?,
            // Names and times are not kept, and nothing is said beside errors.
            'n' | 'N' | 'q' | 'v' => {}
            _ => return None,
        }
        Some(())
    }
}

/// The compressed bytes, without name and time: the same each time.
pub fn compress(content: &[u8], level: u32) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(content)?;
    encoder.finish()
}

/// The bytes, at most `most`. An error reads after the file's name.
pub fn decompress(content: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let mut decompressed = Vec::new();
    let bound = most as u64 + 1;
    MultiGzDecoder::new(content)
        .take(bound)
        .read_to_end(&mut decompressed)
        .map_err(|error| format!("not in gzip format, or cut: {error}"))?;
    if decompressed.len() > most {
        return Err(format!(
            "it has more than {most} bytes; read it in parts, by python3's gzip"
        ));
    }
    Ok(decompressed)
}

/// The name without its ending; None if it has none.
pub fn stem(name: &str) -> Option<String> {
    if let Some(stem) = name.strip_suffix(".tgz") {
        return Some(format!("{stem}.tar"));
    }
    let stem = name.strip_suffix(".gz")?;
    (!stem.is_empty() && !stem.ends_with('/')).then(|| stem.to_owned())
}

/// The heading of a list.
pub const HEADING: &str = "         compressed        uncompressed  ratio uncompressed_name\n";

/// A file's line in a list.
pub fn listed(name: &str, compressed: usize, uncompressed: usize) -> String {
    #[allow(clippy::cast_precision_loss, reason = "a share, shown with one digit")]
    let saved = match uncompressed {
        0 => 0.0,
        all => 100.0 * (1.0 - compressed as f64 / all as f64),
    };
    let name = stem(name).unwrap_or_else(|| name.to_owned());
    format!("{compressed:>19} {uncompressed:>19} {saved:>5.1}% {name}\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(name: &str, arguments: &[&str]) -> Result<Request, String> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        parse(name, &arguments)
    }

    #[test]
    fn the_names_and_options_say_what_is_done() {
        for (name, arguments, action, to_stdout) in [
            ("gzip", &["a"][..], Action::Compress, false),
            ("gzip", &["-dc", "a"], Action::Decompress, true),
            ("gzip", &["--list", "a"], Action::List, false),
            ("gunzip", &["-t", "a"], Action::Test, false),
            ("zcat", &["--", "a"], Action::Decompress, true),
        ] {
            let request = line(name, arguments).unwrap();
            assert_eq!((request.action, request.to_stdout), (action, to_stdout));
            assert_eq!(request.files, ["a"]);
        }
        let request = line("gzip", &["-k9f", "-"]).unwrap();
        assert_eq!(
            (request.level, request.keep, request.force),
            (9, true, true)
        );
        for bad in ["-r", "--rsyncable", "-0"] {
            assert!(line("gzip", &[bad]).unwrap_err().contains(bad));
        }
    }

    #[test]
    fn what_is_too_long_or_no_gzip_is_an_error() {
        let bomb = compress(&vec![0; 100_000], 9).unwrap();
        assert_eq!(decompress(&bomb, 100_000).unwrap().len(), 100_000);
        assert!(decompress(&bomb, 99_999).unwrap_err().contains("99999"));
        assert!(decompress(&bomb[..50], 100_000).is_err());
        assert!(decompress(b"plain", 9).is_err());
    }

    #[test]
    fn names_lose_their_ending() {
        assert_eq!(stem("a.tgz").as_deref(), Some("a.tar"));
        assert_eq!(stem("d/a.txt.gz").as_deref(), Some("d/a.txt"));
        assert_eq!(stem(".gz"), None);
        assert_eq!(stem("a"), None);
        assert_eq!(
            listed("a.gz", 25, 100),
            "                 25                 100  75.0% a\n"
        );
    }

    proptest! {
        #[test]
        fn what_was_compressed_comes_back(content in proptest::collection::vec(any::<u8>(), 0..999)) {
            let compressed = compress(&content, 6).unwrap();
            prop_assert_eq!(decompress(&compressed, 999).unwrap(), content);
        }
    }
}
