//! Notebooks: the cells in order, each with its source and the text of its outputs. Pictures are named only.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Refusal;
use pibench_core::path::WorkspacePath;

/// What is read of a notebook (nbformat 4); everything else is left out.
#[derive(Debug, Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
}

#[derive(Debug, Deserialize)]
struct Cell {
    #[serde(rename = "cell_type")]
    kind: String,
    #[serde(default)]
    source: Lines,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Debug, Deserialize)]
struct Output {
    #[serde(default)]
    text: Lines,
    #[serde(default)]
    data: Map<String, Value>,
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
}

/// A text, or its lines: the format has both.
#[derive(Debug, Default)]
struct Lines(String);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(joined(&Value::deserialize(deserializer)?)))
    }
}

fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// The text of a notebook. Cells count from 0, as `notebook_edit` counts them.
pub(super) fn text(path: &WorkspacePath, json: &str) -> Result<String, Refusal> {
    let notebook: Notebook = serde_json::from_str(json).map_err(|error| {
        Refusal::new(format!(
            "{path} is no notebook: {error}. Read it by another name to see it as text"
        ))
    })?;
    let mut text = String::new();
    for (index, cell) in notebook.cells.iter().enumerate() {
        add(&mut text, &format!("--- cell {index}: {} ---", cell.kind));
        add(&mut text, &cell.source.0);
        for output in &cell.outputs {
            add(&mut text, "--- output ---");
            add(&mut text, &shown(output));
        }
    }
    if text.is_empty() {
        text.push_str("(the notebook has no cells)\n");
    }
    Ok(text)
}

fn shown(output: &Output) -> String {
    let Output {
        text,
        data,
        ename,
        evalue,
    } = output;
    if !ename.is_empty() {
        return format!("{ename}: {evalue}");
    }
    if !text.0.is_empty() {
        return text.0.clone();
    }
    if let Some(plain) = data.get("text/plain") {
        joined(plain)
    } else {
        let kinds: Vec<&str> = data.keys().map(String::as_str).collect();
        format!("({})", kinds.join(", "))
    }
}

fn add(text: &mut String, piece: &str) {
    if piece.is_empty() {
        return;
    }
    text.push_str(piece);
    if !piece.ends_with('\n') {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(notebook: &Value) -> Result<String, String> {
        let path = WorkspacePath::parse("a.ipynb").unwrap();
        text(&path, &notebook.to_string()).map_err(|refusal| refusal.text)
    }

    #[test]
    fn cells_come_in_order_with_the_text_of_their_outputs() {
        let notebook = json!({"nbformat": 4, "metadata": {}, "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {"cell_type": "code", "source": "1 + 1\nplot()", "outputs": [
                {"output_type": "execute_result", "data": {"text/plain": ["2"]}},
                {"output_type": "stream", "text": "hello\n"},
                {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                {"output_type": "error", "ename": "NameError", "evalue": "plot", "traceback": []},
            ]},
        ]});
        let expected = "--- cell 0: markdown ---\n# Title\ntext\n--- cell 1: code ---\n1 + 1\nplot()\n\
            --- output ---\n2\n--- output ---\nhello\n--- output ---\n(image/png)\n--- output ---\nNameError: plot\n";
        assert_eq!(shown(&notebook).as_deref(), Ok(expected));
    }

    #[test]
    fn what_is_no_notebook_is_refused() {
        let reason = shown(&json!({"worksheets": []})).unwrap_err();
        assert!(
            reason.starts_with("a.ipynb is no notebook: missing field `cells`"),
            "{reason}"
        );
        assert_eq!(
            shown(&json!({"cells": []})).as_deref(),
            Ok("(the notebook has no cells)\n")
        );
    }
}
