//! Fonts whose codes have one of the standard's own tables, as those for Chinese, Japanese and Korean that no file carries. The
//! reader knows none of these tables and would end: here a table is given to those whose codes are UTF-16, and of
//! the others it is told that they cannot be read.

use std::collections::{BTreeMap, BTreeSet};

use pdf_extract::content::Content;
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

/// The key of a font under which its encoding is noted when it cannot be read.
const UNREADABLE: &[u8] = b"Unreadable";

/// The reader's own name for codes of two bytes.
const TWO_BYTES: &[u8] = b"Identity-H";

/// A table in which each code is the character of that number.
const UTF_16: &[u8] = b"1 beginbfrange\n<0000> <FFFF> <0000>\nendbfrange";

/// Objects that are names, which a font may refer to.
type Names = BTreeMap<ObjectId, Vec<u8>>;

/// Gives every font an encoding that the reader stands.
pub(super) fn make_readable(document: &mut Document) {
    let entry = |(id, object): (&ObjectId, &Object)| Some((*id, object.as_name().ok()?.to_vec()));
    let all: Names = document.objects.iter().filter_map(entry).collect();
    for object in document.objects.values_mut() {
        visit(object, &all);
    }
}

/// The dictionaries of an object: a font may stand within its page.
fn visit(object: &mut Object, names: &Names) {
    let dictionary = match object {
        Object::Dictionary(dictionary) => dictionary,
        Object::Stream(stream) => &mut stream.dict,
        _ => return,
    };
    if name(dictionary, b"Subtype", names) == Some(b"Type0".as_slice()) {
        mend(dictionary, names);
    }
    for (_, value) in dictionary.iter_mut() {
        visit(value, names);
    }
}

fn mend(font: &mut Dictionary, names: &Names) {
    let Some(encoding) = name(font, b"Encoding", names).map(<[u8]>::to_vec) else {
        // The file carries its table.
        return;
    };
    // A name in its place is that of a table again.
    let has_table = font.has(b"ToUnicode") && name(font, b"ToUnicode", names).is_none();
    let readable = match encoding.as_slice() {
        b"Identity-H" | b"Identity-V" => has_table,
        other => is_utf_16(other),
    };
    if !readable {
        font.remove(b"ToUnicode");
        font.set(UNREADABLE, Object::Name(encoding));
    } else if !has_table {
        let table = Stream::new(Dictionary::new(), UTF_16.to_vec());
        font.set("ToUnicode", table);
    }
    font.set("Encoding", Object::Name(TWO_BYTES.to_vec()));
}

/// `UniJIS-UCS2-H`, `UniGB-UTF16-V` and the like.
fn is_utf_16(encoding: &[u8]) -> bool {
    let name = String::from_utf8_lossy(encoding);
    name.starts_with("Uni") && (name.contains("-UCS2-") || name.contains("-UTF16-"))
}

fn name<'a>(font: &'a Dictionary, key: &[u8], names: &'a Names) -> Option<&'a [u8]> {
    match font.get(key).ok()? {
        Object::Name(name) => Some(name),
        Object::Reference(id) => names.get(id).map(Vec::as_slice),
        _ => None,
    }
}

/// The encodings of a page's text that cannot be read.
pub(super) fn unreadable(document: &Document, page: ObjectId) -> BTreeSet<String> {
    let mut fonts = document.get_page_fonts(page).unwrap_or_default();
    fonts.retain(|_, font| font.has(UNREADABLE));
    if fonts.is_empty() {
        return BTreeSet::new();
    }
    let content = document.get_page_content(page);
    let Ok(content) = content.and_then(|content| Content::decode(&content)) else {
        return BTreeSet::new();
    };
    let operations = content.operations.iter();
    let chosen = operations.filter(|done| done.operator == "Tf");
    let encoding = |font: &Object| {
        let font = fonts.get(font.as_name().ok()?)?;
        let encoding = font.get(UNREADABLE).ok()?.as_name().ok()?;
        Some(String::from_utf8_lossy(encoding).into_owned())
    };
    chosen
        .filter_map(|done| encoding(done.operands.first()?))
        .collect()
}
