//! The zip archive that an Office document is: parts by name, and the relations between them. It bounds what a part may
//! unpack to.

use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;

use crate::markup::{attribute, malformed};

/// The most that one part unpacks to, in bytes.
const PART: u64 = 48 << 20;

pub(crate) struct Package(ZipArchive<Cursor<Vec<u8>>>);

impl Package {
    pub(crate) fn open(content: Vec<u8>) -> Result<Self, String> {
        ZipArchive::new(Cursor::new(content))
            .map(Self)
            .map_err(|error| format!("it is no Office document: {error}"))
    }

    /// A part that must be there.
    pub(crate) fn part(&mut self, name: &str) -> Result<String, String> {
        self.find(name)?
            .ok_or_else(|| format!("it is no such document: the part {name} is missing"))
    }

    /// A part that may be there.
    pub(crate) fn find(&mut self, name: &str) -> Result<Option<String>, String> {
        let Ok(part) = self.0.by_name(name) else {
            return Ok(None);
        };
        let mut text = String::new();
        let read = part
            .take(PART + 1)
            .read_to_string(&mut text)
            .map_err(|error| format!("the part {name} cannot be read: {error}"))?;
        if read as u64 > PART {
            return Err(format!("the part {name} unpacks to more than {PART} bytes"));
        }
        Ok(Some(text))
    }

    /// What a part refers to: (id, type, target) of each relation, targets as paths of the archive.
    pub(crate) fn relations(&mut self, of: &str) -> Result<Vec<Relation>, String> {
        let (folder, name) = of.rsplit_once('/').unwrap_or(("", of));
        let Some(text) = self.find(&format!("{folder}/_rels/{name}.rels"))? else {
            return Ok(Vec::new());
        };
        let mut reader = Reader::from_str(&text);
        let mut relations = Vec::new();
        loop {
            match reader.read_event().map_err(malformed)? {
                Event::Eof => return Ok(relations),
                Event::Start(tag) | Event::Empty(tag)
                    if tag.local_name().as_ref() == "Relationship" =>
                {
                    relations.push(Relation {
                        id: attribute(&tag, "Id"),
                        kind: attribute(&tag, "Type"),
                        target: resolved(folder, &attribute(&tag, "Target")),
                    });
                }
                _ => {}
            }
        }
    }
}

/// A reference from one part to another.
pub(crate) struct Relation {
    pub(crate) id: String,
    /// A URI that ends in what the target is.
    pub(crate) kind: String,
    pub(crate) target: String,
}

/// `../slides/slide1.xml` seen from `ppt/notesSlides`.
fn resolved(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in target.split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "." => {}
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn package(parts: &[(&str, &[u8])]) -> Package {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in parts {
            archive
                .start_file(*name, SimpleFileOptions::default())
                .unwrap();
            archive.write_all(content).unwrap();
        }
        Package::open(archive.finish().unwrap().into_inner()).unwrap()
    }

    #[test]
    fn a_part_that_unpacks_without_end_is_refused() {
        let mut package = package(&[("bomb", &vec![b' '; 50 << 20]), ("plain", b"granted")]);
        assert_eq!(package.part("plain").as_deref(), Ok("granted"));
        let refused = package.part("bomb").unwrap_err();
        assert!(refused.contains("unpacks to more than"), "{refused}");
        assert!(package.part("none").unwrap_err().contains("is missing"));
    }

    #[test]
    fn targets_are_resolved_where_they_stand() {
        assert_eq!(resolved("ppt", "slides/a.xml"), "ppt/slides/a.xml");
        assert_eq!(resolved("ppt/slides", "../notes/n.xml"), "ppt/notes/n.xml");
        assert_eq!(resolved("ppt/slides", "/ppt/x.xml"), "ppt/x.xml");
    }
}
