//! XLSX: each sheet's used cells, a line for each row with its number; of formulas the values that were stored.

use std::io::Cursor;

use calamine::{Data, Reader, Xlsx};

use crate::{Pages, Wanted};

pub(crate) fn read(content: Vec<u8>, mut wanted: Wanted) -> Result<Pages, String> {
    let mut book: Xlsx<_> =
        Xlsx::new(Cursor::new(content)).map_err(|error| format!("it is no workbook: {error}"))?;
    let names = book.sheet_names();
    for (number, name) in (1..).zip(&names) {
        if !wanted.has(number) {
            continue;
        }
        let range = book
            .worksheet_range(name)
            .map_err(|error| format!("sheet {name} cannot be read: {error}"))?;
        let first = range.start().map_or(1, |(row, _)| u64::from(row) + 1);
        let mut text = String::new();
        for (row, cells) in (first..).zip(range.rows()) {
            let cells: Vec<String> = cells.iter().map(cell).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                text.push_str(&row.to_string());
                text.push_str(": ");
                text.push_str(&cells.join(" | "));
                text.push('\n');
            }
            if text.len() > wanted.left {
                break;
            }
        }
        wanted.take(number, name, &text);
    }
    Ok(wanted.of(u32::try_from(names.len()).unwrap_or(u32::MAX)))
}

fn cell(data: &Data) -> String {
    let Data::DateTime(moment) = data else {
        return data.to_string().replace('\n', " ");
    };
    if moment.is_duration() {
        return moment.to_string();
    }
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let written = format!("{year:04}-{month:02}-{day:02}");
    match (hour, minute, second) {
        (0, 0, 0) => written,
        _ => format!("{written} {hour:02}:{minute:02}:{second:02}"),
    }
}
