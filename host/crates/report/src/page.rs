//! The page to look at a report: one HTML file without any other. Data stands in it compressed, an index first and each
//! session by itself, so that a browser unpacks what is looked at. The browser's part is in `host/page`.

mod chunk;
mod index;
mod pack;

use std::io::{self, Write};

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::escape;
use super::report::Report;

pub use chunk::episode_chunks;
pub use index::{Index, index};

/// The browser's part, in the order of its loading. One scope holds them all.
const SCRIPTS: [&str; 9] = [
    include_str!("../page/element.js"),
    include_str!("../page/source.js"),
    include_str!("../page/sheet.js"),
    include_str!("../page/overview.js"),
    include_str!("../page/sessions.js"),
    include_str!("../page/session.js"),
    include_str!("../page/turn.js"),
    include_str!("../page/compare.js"),
    include_str!("../page/main.js"),
];
const STYLE: &str = include_str!("../page/page.css");

/// Writes the page with all its data in it.
pub fn write(report: &Report, page: &mut dyn Write) -> io::Result<()> {
    let [head, rest] = document(&title(report), report.banner.as_deref(), "'none'");
    page.write_all(head.as_bytes())?;
    let mut block = |id: &str, packed: &[u8]| {
        writeln!(
            page,
            "<script type=\"application/octet-stream\" id=\"{id}\">{}</script>",
            Base64Display::new(packed, &BASE64)
        )
    };
    block("index", &pack::pack(&index(report))?)?;
    for (place, packed) in pack::sessions(report)?.iter().enumerate() {
        block(&format!("s{place}"), packed)?;
    }
    page.write_all(rest.as_bytes())
}

/// The page that asks the viewer's server for its data.
pub fn shell(report: &Report) -> String {
    document(&title(report), report.banner.as_deref(), "'self'").concat()
}

fn title(report: &Report) -> String {
    let mut suites: Vec<&str> = report
        .runs
        .iter()
        .map(|run| run.results.suite.as_str())
        .collect();
    suites.dedup();
    format!("{} · pibench-host", suites.join(", "))
}

/// What stands before the data and what behind it; `connect` says where the page may ask for more.
fn document(title: &str, banner: Option<&str>, connect: &str) -> [String; 2] {
    let script = format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat());
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    // Even markup that found its way into the page could load and run nothing.
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src {connect}; base-uri 'none'; \
         form-action 'none'",
        hash(&script),
        hash(STYLE)
    );
    let banner = banner.map_or_else(String::new, |banner| {
        format!(
            "<aside class=\"banner\" aria-label=\"Caution\">{}</aside>\n",
            escape::html(banner)
        )
    });
    let head = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{banner}\
         <div id=\"page\"><noscript>This page shows its data by JavaScript of its own; nothing is loaded from \
         anywhere.</noscript></div>\n",
        escape::html(title)
    );
    let rest = format!("<script>{script}</script>\n</body>\n</html>\n");
    [head, rest]
}
