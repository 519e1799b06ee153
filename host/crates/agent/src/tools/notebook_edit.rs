//! `notebook_edit`: the cells of a Jupyter notebook (nbformat 4). Everything else of the notebook stays as it is.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};

use super::{Refusal, count, file_path, read_text, refusal};
use pibench_core::path::WorkspacePath;
use pibench_sandbox::workspace::{Workspace, WorkspaceError};

pub(super) const DESCRIPTION: &str = "\
    Of an .ipynb: replace drops outputs; insert goes behind cell_index, or first into an empty or missing one.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    path: String,
    #[serde(default)]
    cell_index: usize,
    #[serde(default)]
    new_source: String,
    #[serde(default)]
    #[schemars(with = "CellType")]
    cell_type: Option<CellType>,
    #[serde(default)]
    edit_mode: EditMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum CellType {
    Code,
    Markdown,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl CellType {
    fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
        }
    }
}

pub(crate) fn run(workspace: &mut Workspace, arguments: &Arguments) -> Result<String, Refusal> {
    let Arguments {
        path,
        cell_index,
        new_source,
        cell_type,
        edit_mode,
    } = arguments;
    let path = file_path(path)?;
    if !path.as_str().to_lowercase().ends_with(".ipynb") {
        return Err(Refusal::new(format!(
            "{path} is no notebook: its name does not end in .ipynb. Use edit_file"
        )));
    }
    let mut notebook = read(workspace, &path, *edit_mode)?;
    let with_ids = notebook["nbformat_minor"].as_u64().unwrap_or(0) >= 5;
    let cells = notebook.get_mut("cells").and_then(Value::as_array_mut);
    let cells = cells.ok_or_else(|| {
        Refusal::new(format!(
            "{path} has no list of cells. Only notebooks of nbformat 4 can be edited"
        ))
    })?;
    let index = *cell_index;
    let done = match edit_mode {
        EditMode::Insert if cells.is_empty() => {
            let kind = cell_type.unwrap_or(CellType::Code);
            cells.push(cell(kind, new_source, with_ids.then_some(0)));
            format!("Inserted {} cell 0", kind.name())
        }
        _ if index >= cells.len() => {
            return Err(Refusal::new(format!(
                "there is no cell {index}: {path} has {}, counted from 0",
                count(cells.len(), "cell")
            )));
        }
        EditMode::Insert => {
            let kind = cell_type.unwrap_or(CellType::Code);
            let id = with_ids.then_some(cells.len());
            cells.insert(index + 1, cell(kind, new_source, id));
            format!("Inserted {} cell {}", kind.name(), index + 1)
        }
        EditMode::Replace => {
            replace(&mut cells[index], new_source, *cell_type);
            format!("Replaced cell {index}")
        }
        EditMode::Delete => {
            cells.remove(index);
            format!("Deleted cell {index}")
        }
    };
    let cells = count(cells.len(), "cell");
    workspace
        .write(&path, &written(&notebook))
        .map_err(|error| refusal(&error))?;
    Ok(format!("{done} of {path} ({cells})"))
}

fn read(workspace: &Workspace, path: &WorkspacePath, mode: EditMode) -> Result<Value, Refusal> {
    if mode == EditMode::Insert
        && let Err(WorkspaceError::NotFound(_)) = workspace.stat(path)
    {
        return Ok(json!({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}));
    }
    let text = read_text(workspace, path)?;
    serde_json::from_str(&text).map_err(|error| {
        Refusal::new(format!(
            "{path} is no JSON ({error}), so it is no notebook. Look at it with read_file"
        ))
    })
}

/// A new cell. Since nbformat 4.5 each has a name of its own.
fn cell(kind: CellType, source: &str, id: Option<usize>) -> Value {
    let mut cell = json!({"cell_type": kind.name(), "metadata": {}, "source": lines(source)});
    if let Some(number) = id {
        let hash = blake3::hash(format!("{number}\n{source}").as_bytes());
        cell["id"] = hash.to_hex()[..8].into();
    }
    if kind == CellType::Code {
        cell["execution_count"] = Value::Null;
        cell["outputs"] = json!([]);
    }
    cell
}

fn replace(cell: &mut Value, source: &str, kind: Option<CellType>) {
    let Some(fields) = cell.as_object_mut() else {
        *cell = self::cell(kind.unwrap_or(CellType::Code), source, None);
        return;
    };
    if let Some(kind) = kind {
        fields.insert("cell_type".into(), kind.name().into());
    }
    fields.insert("source".into(), lines(source));
    if fields.get("cell_type").is_some_and(|kind| kind == "code") {
        // They belong to the text that was there.
        fields.insert("execution_count".into(), Value::Null);
        fields.insert("outputs".into(), json!([]));
    } else {
        fields.shift_remove("execution_count");
        fields.shift_remove("outputs");
    }
}

/// A notebook keeps text as a list of lines, each with its end.
fn lines(source: &str) -> Value {
    source.split_inclusive('\n').collect()
}

/// As Jupyter writes it: indented by one blank, with a line end.
fn written(notebook: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" "));
    // A JSON value with text keys, into memory: nothing can fail.
    let _ = notebook.serialize(&mut serializer);
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::Builtin;
    use super::super::tests::{check_refused, get, put, workspace};
    use super::*;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": ["# Title\n", "Text"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "metadata": {"tags": ["keep"]},
   "outputs": [{"output_type": "stream", "text": ["1\n"]}],
   "source": ["print(1)"]
  }
 ],
 "metadata": {"kernelspec": {"name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 4
}
"##;

    fn edit(arguments: Value) -> (String, Value) {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a.ipynb", NOTEBOOK);
        let mut arguments = arguments;
        arguments["path"] = "a.ipynb".into();
        let said = Builtin::NotebookEdit
            .run(&mut workspace, &arguments)
            .unwrap();
        (
            said,
            serde_json::from_str(&get(&workspace, "a.ipynb")).unwrap(),
        )
    }

    #[test]
    fn a_replaced_code_cell_loses_its_outputs_and_nothing_else() {
        let (said, notebook) = edit(json!({"cell_index": 1, "new_source": "x = 1\nprint(x)"}));
        assert_eq!(said, "Replaced cell 1 of a.ipynb (2 cells)");
        let expected = json!({
            "cell_type": "code", "execution_count": null, "metadata": {"tags": ["keep"]},
            "outputs": [], "source": ["x = 1\n", "print(x)"],
        });
        assert_eq!(notebook["cells"][1], expected);
        let mut before: Value = serde_json::from_str(NOTEBOOK).unwrap();
        before["cells"][1] = expected;
        assert_eq!(notebook, before);
    }

    #[test]
    fn a_cell_can_change_its_kind() {
        let (_, notebook) =
            edit(json!({"cell_index": 1, "new_source": "Text", "cell_type": "markdown"}));
        let expected =
            json!({"cell_type": "markdown", "metadata": {"tags": ["keep"]}, "source": ["Text"]});
        assert_eq!(notebook["cells"][1], expected);
    }

    #[test]
    fn a_cell_is_inserted_behind_another_and_deleted() {
        let (said, notebook) =
            edit(json!({"cell_index": 0, "new_source": "y", "edit_mode": "insert"}));
        assert_eq!(said, "Inserted code cell 1 of a.ipynb (3 cells)");
        assert_eq!(notebook["cells"][1]["source"], json!(["y"]));
        assert_eq!(notebook["cells"][2]["source"], json!(["print(1)"]));
        let (said, notebook) = edit(json!({"cell_index": 0, "edit_mode": "delete"}));
        assert_eq!(said, "Deleted cell 0 of a.ipynb (1 cell)");
        assert_eq!(notebook["cells"][0]["source"], json!(["print(1)"]));
    }

    #[test]
    fn a_notebook_that_is_not_there_is_made() {
        let (_folder, mut workspace) = workspace();
        let arguments = json!({
            "path": "new.ipynb", "new_source": "# Hi", "cell_type": "markdown", "edit_mode": "insert",
        });
        Builtin::NotebookEdit
            .run(&mut workspace, &arguments)
            .unwrap();
        let notebook: Value = serde_json::from_str(&get(&workspace, "new.ipynb")).unwrap();
        assert_eq!(notebook["cells"][0]["source"], json!(["# Hi"]));
        assert_eq!(notebook["cells"][0]["id"].as_str().map(str::len), Some(8));
        assert_eq!(notebook["nbformat"], 4);
    }

    #[test]
    fn what_cannot_be_edited_is_refused() {
        let (_folder, mut workspace) = workspace();
        put(&mut workspace, "a.ipynb", NOTEBOOK);
        put(&mut workspace, "b.ipynb", "no json");
        put(&mut workspace, "c.ipynb", "[]");
        put(&mut workspace, "d.md", "text");
        let mut check = |path: &str, index: u64, expected| {
            let arguments = json!({"path": path, "cell_index": index, "new_source": "x"});
            check_refused(&mut workspace, Builtin::NotebookEdit, &arguments, expected);
        };
        check(
            "a.ipynb",
            2,
            "there is no cell 2: a.ipynb has 2 cells, counted from 0",
        );
        check("b.ipynb", 0, "is no JSON");
        check("c.ipynb", 0, "no list of cells");
        check("d.md", 0, "Use edit_file");
        check("e.ipynb", 0, "no such file");
    }
}
