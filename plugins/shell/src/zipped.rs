//! `zip` and `unzip`: their command lines, and archives as bytes. It opens no file.

use std::collections::BTreeSet;
use std::io::{Cursor, Read as _, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// A command line of `zip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing {
    /// `-` is standard output.
    pub archive: String,
    pub files: Vec<String>,
    /// Patterns of names that are left out.
    pub excluded: Vec<String>,
    pub recursive: bool,
    /// Names without their folders, and no folders.
    pub bare: bool,
    pub quiet: bool,
    /// 0 stores; 1 to 9.
    pub level: i64,
}

/// What `unzip` does with the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpack {
    Extract,
    /// To standard output.
    Print,
    List,
    /// One name a line.
    Names,
    Test,
}

/// A command line of `unzip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacking {
    pub action: Unpack,
    pub archive: String,
    /// Patterns of the names that are wanted; all where there is none.
    pub wanted: Vec<String>,
    pub excluded: Vec<String>,
    /// The folder that is extracted into.
    pub target: Option<String>,
    /// What is there: true is overwritten, false left without a word, none left and told.
    pub overwrite: Option<bool>,
    pub bare: bool,
    pub quiet: bool,
}

/// Where an argument belongs that is no option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Names,
    /// Up to the next option.
    Excluded,
    /// The next one alone.
    Target,
}

fn impossible(option: &str) -> String {
    format!("the option {option} is not possible here")
}

/// Reads the arguments behind `zip`. An error names the option that is not possible.
pub fn parse_zip(arguments: &[String]) -> Result<Packing, String> {
    let mut request = Packing {
        archive: String::new(),
        files: Vec::new(),
        excluded: Vec::new(),
        recursive: false,
        bare: false,
        quiet: false,
        level: 6,
    };
    let (mut names, mut place) = (Vec::new(), Place::Names);
    for argument in arguments {
        let options = match argument.as_str() {
            "--recurse-paths" => "r",
            "--junk-paths" => "j",
            "--quiet" => "q",
            "--exclude" => "x",
            long if long.starts_with("--") => return Err(impossible(long)),
            short if short.len() > 1 && short.starts_with('-') => &short[1..],
            name if place == Place::Excluded => {
                request.excluded.push(name.to_owned());
                continue;
            }
            name => {
                names.push(name.to_owned());
                continue;
            }
        };
        place = Place::Names;
        for option in options.chars() {
            match option {
                'r' => request.recursive = true,
                'j' => request.bare = true,
                'q' => request.quiet = true,
                'x' => place = Place::Excluded,
                '0'..='9' => request.level = i64::from(option.to_digit(10).unwrap_or(6)),
                // Attributes are not kept.
                'X' | 'v' => {}
                _ => return Err(impossible(&format!("-{option}"))),
            }
        }
    }
    let mut names = names.into_iter();
    request.archive = names.next().ok_or("no archive is named")?;
    request.files = names.collect();
    if request.files.is_empty() {
        return Err("nothing is named to put into it".into());
    }
    let name = request.archive.rsplit('/').next().unwrap_or_default();
    if name != "-" && !name.contains('.') {
        request.archive.push_str(".zip");
    }
    Ok(request)
}

/// Reads the arguments behind `unzip`. An error names the option that is not possible.
pub fn parse_unzip(arguments: &[String]) -> Result<Unpacking, String> {
    let mut request = Unpacking {
        action: Unpack::Extract,
        archive: String::new(),
        wanted: Vec::new(),
        excluded: Vec::new(),
        target: None,
        overwrite: None,
        bare: false,
        quiet: false,
    };
    let (mut names, mut place) = (Vec::new(), Place::Names);
    for argument in arguments {
        let options = match argument.strip_prefix('-') {
            Some(options) if !options.is_empty() => options,
            _ => {
                match place {
                    Place::Names => names.push(argument.clone()),
                    Place::Excluded => request.excluded.push(argument.clone()),
                    Place::Target => {
                        request.target = Some(argument.clone());
                        place = Place::Names;
                    }
                }
                continue;
            }
        };
        place = Place::Names;
        let mut options = options.chars();
        while let Some(option) = options.next() {
            match option {
                'l' | 'v' => request.action = Unpack::List,
                'p' | 'c' => request.action = Unpack::Print,
                't' => request.action = Unpack::Test,
                'Z' => request.action = Unpack::Names,
                '1' if request.action == Unpack::Names => {}
                'o' => request.overwrite = Some(true),
                'n' => request.overwrite = Some(false),
                'j' => request.bare = true,
                'q' => request.quiet = true,
                'x' => place = Place::Excluded,
                'd' => {
                    let attached = options.as_str();
                    if attached.is_empty() {
                        place = Place::Target;
                    } else {
                        request.target = Some(attached.to_owned());
                    }
                    break;
                }
                _ => return Err(impossible(&format!("-{option}"))),
            }
        }
    }
    if place == Place::Target {
        return Err("no folder stands behind -d".into());
    }
    let mut names = names.into_iter();
    request.archive = names.next().ok_or("no archive is named")?;
    request.wanted = names.collect();
    Ok(request)
}

impl Unpacking {
    /// Whether an entry of this name is asked for.
    pub fn wants(&self, name: &str) -> bool {
        let is_of = |patterns: &[String]| patterns.iter().any(|pattern| fits(pattern, name));
        (self.wanted.is_empty() || is_of(&self.wanted)) && !is_of(&self.excluded)
    }
}

/// Whether a name is one of a pattern's, in which `*` stands for any characters, `/` among them, and `?` for one. A bracket is
/// itself: parts of Office documents have it in their names.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Where the last star stands, and how far it reaches.
    let mut star = None;
    while of < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(&sign) if sign == '?' || sign == name[of] => {
                at += 1;
                of += 1;
            }
            _ => {
                let Some((before, reach)) = star else {
                    return false;
                };
                star = Some((before, reach + 1));
                at = before + 1;
                of = reach + 1;
            }
        }
    }
    pattern[at..].iter().all(|sign| *sign == '*')
}

/// What an archive says of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As it stands there; a folder's ends with `/`.
    pub name: String,
    /// Its place below a folder; none where it would lead out of it.
    pub path: Option<String>,
    /// Bytes, unpacked and packed, as the archive says.
    pub size: u64,
    pub packed: u64,
    /// `2026-11-29 12:30`.
    pub time: String,
}

impl Entry {
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }

    /// By how much it shrank, in per cent.
    pub fn saved(&self) -> u64 {
        let saved = self.size.saturating_sub(self.packed);
        (saved * 100).checked_div(self.size).unwrap_or_default()
    }
}

/// An archive that is read.
pub struct Archive(ZipArchive<Cursor<Vec<u8>>>);

impl Archive {
    /// An error reads after the archive's name.
    pub fn open(content: Vec<u8>) -> Result<Self, String> {
        let archive = ZipArchive::new(Cursor::new(content));
        let archive = archive.map_err(|error| format!("not a zip archive, or cut: {error}"))?;
        Ok(Self(archive))
    }

    /// Its entries, in order.
    pub fn entries(&mut self) -> Result<Vec<Entry>, String> {
        let count = self.0.len();
        let entry = |at: usize| -> Result<Entry, String> {
            let file = self.0.by_index_raw(at).map_err(|error| error.to_string())?;
            let name = file.name().map_err(|error| error.to_string())?.into_owned();
            let path = file.enclosed_name().filter(|_| !file.is_symlink());
            let time = file.last_modified().unwrap_or_default();
            Ok(Entry {
                path: path.and_then(|path| path.to_str().map(str::to_owned)),
                name,
                size: file.size(),
                packed: file.compressed_size(),
                time: format!(
                    "{}-{:02}-{:02} {:02}:{:02}",
                    time.year(),
                    time.month(),
                    time.day(),
                    time.hour(),
                    time.minute()
                ),
            })
        };
        (0..count).map(entry).collect()
    }

    /// The bytes of an entry, at most `most`. An error reads after the entry's name.
    pub fn read(&mut self, at: usize, most: usize) -> Result<Vec<u8>, String> {
        let file = self.0.by_index(at).map_err(|error| error.to_string())?;
        let mut content = Vec::new();
        let read = file.take(most as u64 + 1).read_to_end(&mut content);
        read.map_err(|error| format!("damaged: {error}"))?;
        if content.len() > most {
            return Err(format!("it has more than {most} bytes"));
        }
        Ok(content)
    }
}

/// An archive of what was in the old one and of these, a name ending with `/` for a folder, which take the place of those of the
/// same name. Without times: the same each time.
pub fn pack(
    old: Option<Vec<u8>>,
    added: &[(String, Vec<u8>)],
    level: i64,
) -> Result<Vec<u8>, String> {
    let failed = |error: zip::result::ZipError| error.to_string();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let names: BTreeSet<&str> = added.iter().map(|(name, _)| name.as_str()).collect();
    if let Some(old) = old {
        let mut old = Archive::open(old)?;
        let entries = old.entries()?;
        for (at, entry) in entries.iter().enumerate() {
            if !names.contains(entry.name.as_str()) {
                let file = old.0.by_index_raw(at).map_err(failed)?;
                writer.raw_copy_file(file).map_err(failed)?;
            }
        }
    }
    let options = SimpleFileOptions::default().last_modified_time(DateTime::default());
    let options = match level {
        0 => options.compression_method(CompressionMethod::Stored),
        level => options
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(level)),
    };
    for (name, content) in added {
        if name.ends_with('/') {
            writer
                .add_directory(name.as_str(), options)
                .map_err(failed)?;
            continue;
        }
        writer.start_file(name.as_str(), options).map_err(failed)?;
        let written = writer.write_all(content);
        written.map_err(|error| error.to_string())?;
    }
    Ok(writer.finish().map_err(failed)?.into_inner())
}

/// The lines of `unzip -l`.
pub fn listed(archive: &str, entries: &[&Entry]) -> String {
    const HEADING: &str =
        "  Length      Date    Time    Name\n---------  ---------- -----   ----\n";
    const RULE: &str = "---------                     -------";
    let line = |entry: &&Entry| {
        let Entry {
            name, size, time, ..
        } = entry;
        format!("{size:9}  {time}   {name}\n")
    };
    let lines: String = entries.iter().map(line).collect();
    let size: u64 = entries.iter().map(|entry| entry.size).sum();
    let count = entries.len();
    let files = if count == 1 { "file" } else { "files" };
    format!(
        "Archive:  {archive}\n{HEADING}{lines}{RULE}\n{size:9}                     {count} {files}\n"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_options_of_zip_say_what_is_done() {
        let request = parse_zip(&words("-rq9 out dir a.txt -x *.log tmp/*")).unwrap();
        assert_eq!(request.archive, "out.zip");
        assert_eq!(request.files, ["dir", "a.txt"]);
        assert_eq!(request.excluded, ["*.log", "tmp/*"]);
        assert!(request.recursive && request.quiet && !request.bare);
        assert_eq!(request.level, 9);
        assert_eq!(parse_zip(&words("- a")).unwrap().archive, "-");
        assert_eq!(parse_zip(&words("x.docx a")).unwrap().archive, "x.docx");
        for (line, reason) in [
            ("-e a.zip b", "-e is not possible"),
            ("--password x", "--password is not possible"),
            ("", "no archive"),
            ("a.zip", "nothing is named"),
        ] {
            let told = parse_zip(&words(line)).unwrap_err();
            assert!(told.contains(reason), "{line}: {told}");
        }
    }

    #[test]
    fn the_options_of_unzip_say_what_is_done() {
        let request = parse_unzip(&words("-oq a.zip word/* -d out -x *.rels")).unwrap();
        assert_eq!(request.action, Unpack::Extract);
        assert_eq!((request.overwrite, request.quiet), (Some(true), true));
        assert_eq!(request.target.as_deref(), Some("out"));
        assert!(request.wants("word/document.xml"));
        assert!(!request.wants("word/_rels/document.xml.rels") && !request.wants("docProps/a"));
        assert_eq!(
            parse_unzip(&words("-p a.zip b")).unwrap().action,
            Unpack::Print
        );
        assert_eq!(
            parse_unzip(&words("-Z1 a.zip")).unwrap().action,
            Unpack::Names
        );
        assert_eq!(
            parse_unzip(&words("a.zip -dout"))
                .unwrap()
                .target
                .as_deref(),
            Some("out")
        );
        for (line, reason) in [
            ("-P x a.zip", "-P is not possible"),
            ("a.zip -d", "no folder"),
            ("-l", "no archive"),
        ] {
            let told = parse_unzip(&words(line)).unwrap_err();
            assert!(told.contains(reason), "{line}: {told}");
        }
    }

    #[test]
    fn patterns_reach_over_folders_and_brackets_are_themselves() {
        for (pattern, name, is_one) in [
            ("*.xml", "word/document.xml", true),
            ("[Content_Types].xml", "[Content_Types].xml", true),
            ("w?rd/*", "word/a/b", true),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("?", "", false),
            ("a", "ab", false),
        ] {
            assert_eq!(fits(pattern, name), is_one, "{pattern} {name}");
        }
    }

    #[test]
    fn an_entry_that_leads_out_has_no_path_and_its_twin_has() {
        let outside = ("../out.txt".to_owned(), b"x".to_vec());
        let inside = ("in/./here.txt".to_owned(), b"y".to_vec());
        let bytes = pack(None, &[outside, inside], 6).unwrap();
        let entries = Archive::open(bytes).unwrap().entries().unwrap();
        assert_eq!(entries[0].path, None);
        assert_eq!(entries[1].path.as_deref(), Some("in/here.txt"));
    }

    #[test]
    fn what_unpacks_to_more_is_an_error_and_what_fits_is_read() {
        let files = [("z".to_owned(), vec![0; 1 << 20])];
        let mut archive = Archive::open(pack(None, &files, 6).unwrap()).unwrap();
        assert_eq!(archive.read(0, 1 << 20).unwrap().len(), 1 << 20);
        let told = archive.read(0, (1 << 20) - 1).unwrap_err();
        assert!(told.contains("more than 1048575 bytes"), "{told}");
        assert!(Archive::open(b"PK, no more".to_vec()).is_err());
    }

    #[test]
    fn what_is_added_takes_the_place_of_the_old() {
        let of = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let old = pack(None, &[of("a", "1"), of("b", "2"), of("d/", "")], 0).unwrap();
        let new = pack(Some(old.clone()), &[of("b", "three"), of("c", "4")], 9).unwrap();
        let mut archive = Archive::open(new).unwrap();
        let entries = archive.entries().unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["a", "d/", "b", "c"]);
        assert!(entries[1].is_folder());
        assert_eq!(archive.read(2, 99).unwrap(), b"three");
        assert_eq!(entries[0].time, "1980-01-01 00:00");
        assert_eq!(
            old,
            pack(None, &[of("a", "1"), of("b", "2"), of("d/", "")], 0).unwrap()
        );
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(
            files in proptest::collection::btree_map("[a-z]{1,9}", proptest::collection::vec(any::<u8>(), 0..999), 0..5),
            level in 0_i64..10,
        ) {
            let files: Vec<(String, Vec<u8>)> = files.into_iter().collect();
            let mut archive = Archive::open(pack(None, &files, level).unwrap()).unwrap();
            let entries = archive.entries().unwrap();
            prop_assert_eq!(entries.len(), files.len());
            for (at, (name, content)) in files.iter().enumerate() {
                prop_assert_eq!(&entries[at].name, name);
                prop_assert_eq!(&archive.read(at, 1000).unwrap(), content);
            }
        }

        #[test]
        fn anything_can_be_opened(content in proptest::collection::vec(any::<u8>(), 0..999)) {
            if let Ok(mut archive) = Archive::open(content) {
                let _ = archive.entries();
            }
        }
    }
}
