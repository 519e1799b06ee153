//! The folder that holds all of a report.

use std::fs;
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
    let banner = report.banner.as_deref();
    let mut files = vec![("index.html".to_owned(), page::html(report))];
    for (name, format) in [
        ("tables.txt", Format::Text),
        ("tables.md", Format::Markdown),
        ("tables.json", Format::Json),
        ("tables.tex", Format::Latex),
    ] {
        files.push((name.into(), render(format, &report.sheets, banner)));
    }
    for sheet in &report.sheets {
        files.push((format!("tables/{}.csv", sheet.id), csv_file(sheet, banner)));
    }
    for figure in figures(&report.measured(), Theme::Light, banner) {
        files.push((format!("figures/{}.svg", figure.id), figure.svg));
    }
    for (name, text) in files {
        let path = dir.join(name);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(dir)).and_then(|()| fs::write(&path, text));
        written.map_err(|error| failed(&path, error.to_string()))?;
    }
    Ok(())
}
