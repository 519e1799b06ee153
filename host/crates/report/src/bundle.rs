//! The folder that holds all of a report.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use super::figure::{Theme, figures};
use super::format::{Format, csv_file, render};
use super::page;
use super::report::Report;

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("write {path}: {reason}")]
pub struct WriteError {
    path: String,
    reason: String,
}

/// Writes a new folder: `index.html`, `tables.<format>`, `tables/<id>.csv`, `figures/<id>.svg`.
pub fn write(report: &Report, dir: &Path) -> Result<(), WriteError> {
    let failed = |path: &Path, reason: String| WriteError {
        path: path.display().to_string(),
        reason,
    };
    if dir.exists() {
        let reason = "it is there already; choose another --out".into();
        return Err(failed(dir, reason));
    }
    let create = |name: &str| {
        let path = dir.join(name);
        let made = fs::create_dir_all(path.parent().unwrap_or(dir));
        let file = made.and_then(|()| File::create(&path));
        file.map(BufWriter::new)
            .map_err(|error| failed(&path, error.to_string()))
    };
    let put = |name: String, text: String| {
        let mut file = create(&name)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.map_err(|error| failed(&dir.join(name), error.to_string()))
    };
    let banner = report.banner.as_deref();
    let mut page = create("index.html")?;
    let written = page::write(report, &mut page).and_then(|()| page.flush());
    written.map_err(|error| failed(&dir.join("index.html"), error.to_string()))?;
    for (name, format) in [
        ("tables.txt", Format::Text),
        ("tables.md", Format::Markdown),
        ("tables.json", Format::Json),
        ("tables.tex", Format::Latex),
    ] {
        put(name.into(), render(format, &report.sheets, banner))?;
    }
    for sheet in &report.sheets {
        put(format!("tables/{}.csv", sheet.id), csv_file(sheet, banner))?;
    }
    for figure in figures(&report.measured(), Theme::Light, banner) {
        put(format!("figures/{}.svg", figure.id), figure.svg)?;
    }
    Ok(())
}
