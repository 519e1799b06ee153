//! The folder that holds all of a report.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::draft::Draft;
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

/// Writes a new folder: `index.html`, `tables.<format>`, `tables/<id>.csv`, `figures/<id>.svg`. It is there whole or not at all.
pub fn write(report: &Report, out: &Path) -> Result<(), WriteError> {
    let failed = |path: &Path, error: io::Error| WriteError {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    let draft = Draft::of(out).map_err(|error| failed(out, error))?;
    fill(report, draft.path()).map_err(|(name, error)| failed(&out.join(name), error))?;
    draft.publish().map_err(|error| failed(out, error))
}

/// Writes all files of a report into a folder; an error has the name of the file with it.
fn fill(report: &Report, dir: &Path) -> Result<(), (String, io::Error)> {
    let put = |name: String, text: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>| {
        let path = dir.join(&name);
        let made = fs::create_dir_all(path.parent().unwrap_or(dir));
        let written = made.and_then(|()| File::create(&path)).and_then(|file| {
            let mut file = BufWriter::new(file);
            text(&mut file)?;
            file.flush()
        });
        written.map_err(|error| (name, error))
    };
    let put_text =
        |name: String, text: String| put(name, &mut |file| file.write_all(text.as_bytes()));
    let banner = report.banner.as_deref();
    put("index.html".into(), &mut |file| page::write(report, file))?;
    for (name, format) in [
        ("tables.txt", Format::Text),
        ("tables.md", Format::Markdown),
        ("tables.json", Format::Json),
        ("tables.tex", Format::Latex),
    ] {
        put_text(name.into(), render(format, &report.sheets, banner))?;
    }
    for sheet in &report.sheets {
        put_text(format!("tables/{}.csv", sheet.id), csv_file(sheet, banner))?;
    }
    for figure in figures(&report.measured(), Theme::Light, banner) {
        put_text(format!("figures/{}.svg", figure.id), figure.svg)?;
    }
    Ok(())
}
