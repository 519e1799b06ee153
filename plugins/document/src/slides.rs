//! PPTX: the slides in the order in which they are shown, each with its speaker's notes.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::markup::{self, attribute, malformed};
use crate::package::Package;
use crate::{Pages, Wanted};

const PRESENTATION: &str = "ppt/presentation.xml";

pub(crate) fn read(content: Vec<u8>, mut wanted: Wanted) -> Result<Pages, String> {
    let mut package = Package::open(content)?;
    let ids = slide_ids(&package.part(PRESENTATION)?)?;
    let relations = package.relations(PRESENTATION)?;
    let total = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    for (number, id) in (1..).zip(&ids) {
        if !wanted.has(number) {
            continue;
        }
        let slide = relations
            .iter()
            .find(|relation| relation.id == *id)
            .ok_or_else(|| format!("slide {number} is missing"))?;
        let mut text = markup::text(&package.part(&slide.target)?)?;
        let notes = package
            .relations(&slide.target)?
            .into_iter()
            .find(|relation| relation.kind.ends_with("/notesSlide"));
        if let Some(notes) = notes {
            text.push_str("Notes:\n");
            text.push_str(&markup::text(&package.part(&notes.target)?)?);
        }
        wanted.take(number, "", &text);
    }
    Ok(wanted.of(total))
}

/// The relations' ids of the slides, in order.
fn slide_ids(presentation: &str) -> Result<Vec<String>, String> {
    let mut reader = Reader::from_str(presentation);
    let mut ids = Vec::new();
    loop {
        match reader.read_event().map_err(malformed)? {
            Event::Eof => return Ok(ids),
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == "sldId" => {
                // `id` is the slide's own number, `r:id` the relation's.
                let relation = tag
                    .attributes()
                    .flatten()
                    .find(|attribute| attribute.key.prefix().is_some());
                ids.push(relation.map_or_else(
                    || attribute(&tag, "id"),
                    |relation| relation.value.into_owned(),
                ));
            }
            _ => {}
        }
    }
}
