//! `read_file` on documents: samples that are made here, read by the real component; and files that are none, or worse.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use camino::Utf8Path;
use pibench_agent::tools::Refusal;
use pibench_agent::tools::read_file::{Read, ReadError, read};
use pibench_core::path::WorkspacePath;
use pibench_sandbox::document::Format;
use pibench_sandbox::workspace::{Quota, Workspace};
use pibench_sandbox::{Documents, GuestFault, Limits, Plugins};
use serde_json::{Value, json};

use crate::scene::{cache, root};

fn documents(limits: Limits) -> Documents {
    let dirs = vec![root().join("target/plugins")];
    Documents::new(
        Arc::new(Plugins::new(BTreeMap::new(), dirs, cache())),
        limits,
    )
}

/// What `read_file` says of a file with this content.
async fn shown(name: &str, content: &[u8], mut arguments: Value) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap().join("ws");
    let mut workspace = Workspace::create(&path, Quota::default()).unwrap();
    workspace
        .write(&WorkspacePath::parse(name).unwrap(), content)
        .unwrap();
    arguments["path"] = name.into();
    let arguments = serde_json::from_value(arguments).unwrap();
    match read(&documents(Limits::DOCUMENT), &workspace, &arguments).await {
        Ok(Read::Text(text)) => Ok(text),
        Ok(Read::Picture { text, .. }) => panic!("{name}: {text}"),
        Err(ReadError::Refused(Refusal { text, .. })) => Err(text),
        Err(ReadError::Broke(fault)) => panic!("{name}: {fault}"),
    }
}

/// A PDF with a line of text on each page.
pub(crate) fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    let mut kids = String::new();
    for text in pages {
        let number = objects.len() + 1;
        write!(kids, "{number} 0 R ").unwrap();
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            number + 1
        ));
        let content = format!("BT /F1 12 Tf 72 720 Td ({text}) Tj 0 -20 Td (second line) Tj ET");
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len());
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = String::new();
    for (index, object) in objects.iter().enumerate() {
        writeln!(places, "{:010} 00000 n ", file.len()).unwrap();
        write!(file, "{} 0 obj\n{object}\nendobj\n", index + 1).unwrap();
    }
    let (start, size) = (file.len(), objects.len() + 1);
    write!(
        file,
        "xref\n0 {size}\n0000000000 65535 f \n{places}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    file.into_bytes()
}

/// A zip archive of parts, none of them compressed.
fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let offset = u32::try_from(file.len()).unwrap();
        let size = u32::try_from(content.len()).unwrap();
        let mut fields = Vec::new();
        // Version, flags, method, time and date; then the sums and lengths.
        fields.extend([20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0]);
        fields.extend(crc32(content.as_bytes()).to_le_bytes());
        fields.extend(size.to_le_bytes());
        fields.extend(size.to_le_bytes());
        fields.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        fields.extend([0, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&fields);
        file.extend(name.as_bytes());
        file.extend(content.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = u32::try_from(file.len()).unwrap();
    let count = u16::try_from(parts.len()).unwrap().to_le_bytes();
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].concat());
    file.extend(u32::try_from(directory.len()).unwrap().to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// The checksum of zip archives (ISO 3309).
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

pub(crate) fn docx(body: &str) -> Vec<u8> {
    let xml = format!(r#"<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>"#);
    package(&[("word/document.xml", &xml)])
}

fn xlsx(rows: &str) -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let relations = "http://schemas.openxmlformats.org/package/2006/relationships";
    let sheet = |rows: &str| {
        format!(r#"<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>"#)
    };
    package(&[
        (
            "_rels/.rels",
            &format!(
                r#"<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
            ),
        ),
        (
            "xl/workbook.xml",
            &format!(
                r#"<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="Hours" sheetId="1" r:id="r1"/><sheet name="Empty" sheetId="2" r:id="r2"/></sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &format!(
                r#"<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{office}/worksheet" Target="worksheets/sheet2.xml"/></Relationships>"#
            ),
        ),
        ("xl/worksheets/sheet1.xml", &sheet(rows)),
        ("xl/worksheets/sheet2.xml", &sheet("")),
    ])
}

fn pptx() -> Vec<u8> {
    let slide = |text: &str| {
        format!(r#"<p:sld xmlns:a="a" xmlns:p="p"><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"#)
    };
    package(&[
        (
            "ppt/presentation.xml",
            r#"<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="rId3"/><p:sldId id="257" r:id="rId2"/></p:sldIdLst></p:presentation>"#,
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            r#"<Relationships><Relationship Id="rId2" Type="t/slide" Target="slides/slide1.xml"/><Relationship Id="rId3" Type="t/slide" Target="/ppt/slides/slide2.xml"/></Relationships>"#,
        ),
        ("ppt/slides/slide1.xml", &slide("the last")),
        ("ppt/slides/slide2.xml", &slide("the first")),
        (
            "ppt/slides/_rels/slide2.xml.rels",
            r#"<Relationships><Relationship Id="n" Type="t/notesSlide" Target="../notesSlides/n1.xml"/></Relationships>"#,
        ),
        ("ppt/notesSlides/n1.xml", &slide("say hello")),
    ])
}

#[tokio::test]
async fn a_pdf_is_read_by_pages() {
    let text = shown("a.pdf", &pdf(&["Hello page", "Other page"]), json!({}))
        .await
        .unwrap();
    for line in [
        "| --- page 1 of 2 ---",
        "Hello page",
        "second line",
        "| --- page 2 of 2 ---",
        "Other page",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.find("Hello page") < text.find("second line"), "{text}");
    let many: Vec<String> = (1..=45)
        .map(|number| format!("text of page {number}."))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let file = pdf(&many);
    let text = shown("a.pdf", &file, json!({})).await.unwrap();
    assert!(
        text.contains("page 20.") && !text.contains("page 21."),
        "{text}"
    );
    assert!(
        text.ends_with("\n(pages 1-20 of 45; go on with pages=21-40)"),
        "{text}"
    );
    let text = shown("a.pdf", &file, json!({"pages": "41-45"}))
        .await
        .unwrap();
    assert!(
        text.contains("page 45.") && !text.contains("page 40."),
        "{text}"
    );
    assert!(text.ends_with("end of file)"), "{text}");
    let refused = shown("a.pdf", &file, json!({"pages": "46"}))
        .await
        .unwrap_err();
    assert_eq!(refused, "a.pdf has no page 46: it has 45. Ask for another");
}

#[tokio::test]
async fn word_excel_and_powerpoint_are_read() {
    let body = r#"<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Terms</w:t></w:r></w:p>
        <w:p><w:r><w:t>Fees &amp; </w:t></w:r><w:r><w:t>costs</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>A</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>B</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"#;
    let text = shown("a.docx", &docx(body), json!({})).await.unwrap();
    assert_eq!(
        text,
        "1| --- page 1 of 1 ---\n2| # Terms\n3| Fees & costs\n4| A | B\n(lines 1-4 of 4; end of file)"
    );
    let rows = r#"<row r="2"><c r="A2" t="inlineStr"><is><t>Ada</t></is></c><c r="B2"><v>7.5</v></c></row>
        <row r="4"><c r="B4" t="b"><v>1</v></c></row>"#;
    let text = shown("a.xlsx", &xlsx(rows), json!({})).await.unwrap();
    for line in [
        "--- sheet 1 of 2 (Hours) ---",
        "| 2: Ada | 7.5",
        "--- sheet 2 of 2 (Empty) ---",
        "| (no text)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let text = shown("a.pptx", &pptx(), json!({})).await.unwrap();
    let first = "1| --- slide 1 of 2 ---\n2| the first\n3| Notes:\n4| say hello\n5| --- slide 2 of 2 ---\n6| the last\n";
    assert!(text.starts_with(first), "{text}");
    let text = shown(
        "a.pptx",
        &pptx(),
        json!({"pages": "2", "limit": 1, "offset": 2}),
    )
    .await
    .unwrap();
    assert!(text.starts_with("2| the last\n"), "{text}");
}

#[tokio::test]
async fn a_long_document_comes_in_parts() {
    let paragraph = format!("<w:p><w:r><w:t>{}</w:t></w:r></w:p>", "word ".repeat(200));
    let file = docx(&paragraph.repeat(600));
    let text = shown("a.docx", &file, json!({})).await.unwrap();
    assert!(text.chars().count() <= 128_100, "{}", text.len());
    assert!(
        text.contains("go on with offset="),
        "{}",
        &text[text.len() - 100..]
    );
}

#[tokio::test]
async fn what_is_no_document_is_refused_with_its_reason() {
    for (name, content) in [
        ("a.pdf", b"not a pdf".as_slice()),
        ("a.docx", b"not a zip"),
        ("a.xlsx", b"PK\x03\x04broken"),
        ("a.pptx", &docx("<w:p/>")),
        ("a.docx", &xlsx("")),
        ("a.pdf", b""),
    ] {
        let refused = shown(name, content, json!({})).await.unwrap_err();
        assert!(refused.contains("cannot be read"), "{name}: {refused}");
        assert!(
            refused.ends_with("Work from another file"),
            "{name}: {refused}"
        );
    }
    let refused = shown("a.md", b"text", json!({"pages": "1"}))
        .await
        .unwrap_err();
    assert!(refused.contains("has no pages"), "{refused}");
    let whole = pdf(&["granted"]);
    let cut = shown("a.pdf", &whole[..whole.len() / 2], json!({})).await;
    assert!(cut.is_err() || !cut.unwrap().contains("granted"));
    assert!(
        shown("a.pdf", &whole, json!({}))
            .await
            .unwrap()
            .contains("granted")
    );
}

#[tokio::test]
async fn a_document_without_end_is_bounded() {
    let far = r#"<row r="1048576"><c r="XFD1048576"><v>1</v></c></row><row r="1"><c r="A1"><v>1</v></c></row>"#;
    let wide = shown("a.xlsx", &xlsx(far), json!({})).await;
    assert!(wide.is_err() || wide.unwrap().len() < 200_000);
    let tight = Limits {
        fuel: 1_000_000,
        ..Limits::DOCUMENT
    };
    let fault = documents(tight)
        .read(&pdf(&["x"; 40]), Format::Pdf, 1, 20)
        .await
        .unwrap_err();
    assert_eq!(fault, GuestFault::Fuel { limit: 1_000_000 });
    let pages = documents(Limits::DOCUMENT)
        .read(&pdf(&["x"; 40]), Format::Pdf, 1, 20)
        .await
        .unwrap();
    assert_eq!((pages.total, pages.found.len()), (40, 20));
}

/// Pages of the web, as the agent's `web_fetch` has them read.
#[tokio::test]
async fn pages_without_end_or_sense_are_read_or_refused_and_their_small_twin_is_read() {
    let read = async |html: String| {
        let documents = documents(Limits::DOCUMENT);
        let pages = documents.read(html.as_bytes(), Format::Html, 1, 1).await?;
        let mut found = pages.found;
        let page = found.remove(0);
        Ok::<_, GuestFault>((page.title, page.text))
    };
    let page = |deep: String| format!("<html><title>Deep</title><body>{deep}the bottom");
    let expected = ("Deep".to_owned(), "the bottom".to_owned());
    for deep in [
        "<div><div></div>".repeat(3),
        "<div>".repeat(200_000),
        "<div></x>".repeat(500_000),
    ] {
        assert_eq!(read(page(deep)).await.unwrap(), expected);
    }
    for odd in [
        "<a href=x>",
        "<ul><li>",
        "<!--",
        "&#x",
        "<script>",
        "<title>",
        "<main>",
    ] {
        let large = odd.repeat((5 << 20) / odd.len());
        match read(large).await {
            // The reader's answer is bounded, and so is what it may spend.
            Ok((_, text)) => assert!(text.len() < 1 << 20, "{odd}"),
            Err(fault) => assert!(!fault.is_infrastructure(), "{odd}: {fault}"),
        }
    }
}

#[tokio::test]
async fn a_notebook_shows_its_cells() {
    let notebook =
        json!({"cells": [{"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": []}]});
    let text = shown("a.ipynb", notebook.to_string().as_bytes(), json!({}))
        .await
        .unwrap();
    assert_eq!(
        text,
        "1| --- cell 0: code ---\n2| x = 1\n3| x\n(lines 1-3 of 3; end of file)"
    );
}

/// The same archive as [`package`] makes, with its parts deflated: small files that become large ones.
fn deflated(parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    use std::io::Write as _;
    let mut file = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        let options = zip::write::SimpleFileOptions::default();
        file.start_file(*name, options).unwrap();
        file.write_all(content).unwrap();
    }
    file.finish().unwrap().into_inner()
}

fn zlib(content: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(content).unwrap();
    packed.finish().unwrap()
}

/// A PDF of these objects, the first of which is its catalog.
fn pdf_of(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = String::new();
    for (index, object) in objects.iter().enumerate() {
        writeln!(places, "{:010} 00000 n ", file.len()).unwrap();
        file.extend(format!("{} 0 obj\n", index + 1).bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let (start, size) = (file.len(), objects.len() + 1);
    let end = format!(
        "xref\n0 {size}\n0000000000 65535 f \n{places}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend(end.bytes());
    file
}

fn page(filter: &str, content: &[u8]) -> Vec<u8> {
    let stream = format!("<< /Length {} /Filter {filter} >>\nstream\n", content.len());
    let mut stream = stream.into_bytes();
    stream.extend(content);
    stream.extend(b"\nendstream");
    let plain = |text: &str| text.as_bytes().to_vec();
    pdf_of(&[
        plain("<< /Type /Catalog /Pages 2 0 R >>"),
        plain("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
        plain(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>",
        ),
        stream,
        plain("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"),
    ])
}

/// A PDF whose page has two lines: "Page", and these codes in a font of that encoding.
fn pdf_with_font(encoding: &str, codes: &str) -> Vec<u8> {
    let content =
        format!("BT /F1 12 Tf 72 720 Td (Page) Tj 0 -20 Td /F2 12 Tf <{codes}> Tj ET").into_bytes();
    let stream = format!("<< /Length {} >>\nstream\n", content.len()).into_bytes();
    let plain = |text: &str| text.as_bytes().to_vec();
    pdf_of(&[
        plain("<< /Type /Catalog /Pages 2 0 R >>"),
        plain("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
        plain(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> /Contents 4 0 R >>",
        ),
        [stream, content, plain("\nendstream")].concat(),
        plain("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"),
        plain(&format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /Mincho /Encoding {encoding} /DescendantFonts [7 0 R] >>"
        )),
        plain(
            "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Mincho /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /DW 1000 /FontDescriptor 8 0 R >>",
        ),
        plain("<< /Type /FontDescriptor /FontName /Mincho /Flags 6 >>"),
        plain("/UniKS-UTF16-V"),
    ])
}

/// The reader has none of the standard's tables of codes.
#[tokio::test]
async fn a_pdf_in_a_standard_font_of_east_asia_is_read_or_says_what_cannot_be() {
    for (encoding, codes, expected) in [
        ("/UniJIS-UCS2-H", "8ACB6C4266F80031", "請求書1"),
        ("/UniJIS-UCS2-HW-H", "8ACB6C4266F8", "請求書"),
        ("/UniGB-UTF16-H", "53D17968", "发票"),
        ("9 0 R", "C804C138", "전세"),
    ] {
        let text = shown("a.pdf", &pdf_with_font(encoding, codes), json!({}))
            .await
            .unwrap();
        assert!(text.contains("Page"), "{encoding}: {text}");
        assert!(text.contains(expected), "{encoding}: {text}");
        assert!(!text.contains("cannot be read"), "{encoding}: {text}");
    }
    for encoding in ["90ms-RKSJ-H", "GBK-EUC-H", "Identity-H"] {
        let file = pdf_with_font(&format!("/{encoding}"), "90BF8B81");
        let text = shown("a.pdf", &file, json!({})).await.unwrap();
        assert!(text.contains("Page"), "{encoding}: {text}");
        let expected = format!("[text in the font's encoding `{encoding}` cannot be read]");
        assert!(text.contains(&expected), "{encoding}: {text}");
    }
}

/// A document with this body.
fn word(body: &str) -> Vec<u8> {
    let xml = format!(r#"<w:document xmlns:w="w"><w:body>{body}</w:body></w:document>"#);
    deflated(&[("word/document.xml", xml.into_bytes())])
}

/// A PDF whose pages have these children, of which it says to have one.
fn pages(kids: &str) -> Vec<u8> {
    let plain = |text: &str| text.as_bytes().to_vec();
    pdf_of(&[
        plain("<< /Type /Catalog /Pages 2 0 R >>"),
        plain(&format!("<< /Type /Pages /Kids [{kids}] /Count 1 >>")),
    ])
}

/// Name, what is bad about it, content.
fn bombs() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let twice = zlib(&zlib(&vec![b' '; 256 << 20]));
    let deep = format!(
        "{}granted{}",
        "<w:tbl><w:tr><w:tc>".repeat(50_000),
        "</w:tc></w:tr></w:tbl>".repeat(50_000)
    );
    let laughs: Vec<String> = (1..40)
        .map(|level| format!("<!ENTITY l{level} \"&l{};&l{};\">", level - 1, level - 1))
        .collect();
    let laughs = laughs.concat();
    let laughs = format!(
        "<!DOCTYPE d [<!ENTITY l0 \"ha\">{laughs}]><w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>&l39;</w:t></w:r></w:p></w:body></w:document>"
    );
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    vec![
        (
            "a.pdf",
            "a stream that grows twice",
            page("[/FlateDecode /FlateDecode]", &twice),
        ),
        (
            "a.pdf",
            "a stream that grows",
            page("/FlateDecode", &zlib(&vec![b' '; 512 << 20])),
        ),
        ("a.pdf", "pages in a circle", pages("2 0 R 2 0 R")),
        ("a.pdf", "deep lists", pages(&nested)),
        (
            "a.docx",
            "a part that grows",
            deflated(&[("word/document.xml", vec![b' '; 512 << 20])]),
        ),
        (
            "a.docx",
            "very many paragraphs",
            word(&"<w:p/>".repeat(20 << 20)),
        ),
        ("a.docx", "deep tables", word(&deep)),
        (
            "a.docx",
            "entities",
            deflated(&[("word/document.xml", laughs.into_bytes())]),
        ),
        (
            "a.xlsx",
            "a part that grows",
            deflated(&[("xl/workbook.xml", vec![b' '; 512 << 20])]),
        ),
        (
            "a.pptx",
            "a part that grows",
            deflated(&[("ppt/presentation.xml", vec![b' '; 512 << 20])]),
        ),
    ]
}

/// Files that are small and would become large, deep or endless: each is refused with a reason or cut, in the guest, and the
/// twin of each that is not is read.
#[tokio::test]
async fn bombs_of_every_format_are_refused_or_cut_and_their_small_twins_are_read() {
    let text = b"BT /F1 12 Tf 72 720 Td (granted) Tj ET";
    for (name, what, bomb) in bombs() {
        assert!(bomb.len() < 4 << 20, "{name}, {what}: {} bytes", bomb.len());
        let said = shown(name, &bomb, json!({})).await;
        match said {
            Ok(text) => assert!(text.len() < 200_000, "{name}, {what}: {}", text.len()),
            Err(reason) => assert!(
                reason.len() < 2_000 && reason.contains("a."),
                "{name}, {what}: {reason}"
            ),
        }
    }
    for (name, twin) in [
        ("a.pdf", page("/FlateDecode", &zlib(text))),
        ("a.docx", word("<w:p><w:r><w:t>granted</w:t></w:r></w:p>")),
    ] {
        let said = shown(name, &twin, json!({})).await.unwrap();
        assert!(said.contains("granted"), "{name}: {said}");
    }
}

/// A picture is never decoded: one that says to be a thousand million pixels wide is as many bytes as it is.
#[tokio::test]
async fn a_picture_is_handed_over_by_its_bytes_whatever_size_it_claims() {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap().join("ws");
    let mut workspace = Workspace::create(&path, Quota::default()).unwrap();
    let mut claims =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x06\0\0\0".to_vec();
    claims.extend(crc32(&claims[12..]).to_be_bytes());
    claims.extend(b"\0\0\0\0IEND\xae\x42\x60\x82");
    for (name, content) in [
        ("claims.png", claims.clone()),
        ("large.png", [claims, vec![0; 40 << 20]].concat()),
    ] {
        let path = WorkspacePath::parse(name).unwrap();
        workspace.write(&path, &content).unwrap();
    }
    let ask = async |name: &str| {
        let arguments = serde_json::from_value(json!({ "path": name })).unwrap();
        read(&documents(Limits::DOCUMENT), &workspace, &arguments).await
    };
    assert!(matches!(ask("claims.png").await, Ok(Read::Picture { .. })));
    let Err(ReadError::Refused(Refusal { text, .. })) = ask("large.png").await else {
        panic!("it was read");
    };
    assert!(text.contains("pictures are shown up to"), "{text}");
}
