"""Reads what `export` wrote with inspect_ai, pandas, pyarrow and harbor's validator, and compares it with the run folder."""

import json
import os
import pathlib
import sys

import nbformat
import pandas
import pyarrow.parquet
from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

scene = pathlib.Path(sys.argv[1])
# Harbor's wheel as it is: its models need pydantic alone, which inspect_ai brings.
sys.path.append(sys.argv[2])
from harbor.models.trajectories import Trajectory  # noqa: E402
from harbor.utils.trajectory_validator import TrajectoryValidator  # noqa: E402

results = json.loads((scene / "run/results.json").read_text())
sessions = results["sessions"]

# Inspect: the whole log, its list, its lists of samples, and its data frames.
(listed,) = list_eval_logs(str(scene / "inspect"))
log = read_eval_log(listed)
assert log.status == "success" and log.eval.model == "pibench/reactive", log.status
assert len(log.samples) == len(sessions), len(log.samples)
overall = {score.name: score.metrics["overall"].value for score in log.results.scores}
assert overall == {"proc": results["proc"], "comp": results["comp"]}, overall
assert log.stats.started_at < log.stats.completed_at, log.stats
by_id = {(line["persona"] + "-" + line["id"], line["run"]): line for line in sessions}
calls = 0
for sample in log.samples:
    line = by_id[(sample.id, sample.epoch)]
    assert sample.scores["proc"].value == line["proc"], sample.id
    assert ("comp" in sample.scores) == (line["comp"] is not None), sample.id
    assert sample.metadata["session"] == line["id"] and sample.metadata["outcome"] == line["outcome"]
    assert sample.messages[0].role == "user" and sample.input == sample.messages[0].content
    calls += sum(event.event == "tool" for event in sample.events)
    asked = [call.id for message in sample.messages if message.role == "assistant" for call in message.tool_calls or []]
    answered = [message.tool_call_id for message in sample.messages if message.role == "tool"]
    assert set(answered) <= set(asked), sample.id
assert calls > 100, calls
assert len(read_eval_log_sample_summaries(listed)) == len(sessions)
assert len(samples_df(str(scene / "inspect"))) == len(sessions)
assert len(evals_df(str(scene / "inspect"))) == 1

# The tables, and the mean that Table 1 shows.
table = {path.stem: pandas.read_json(path, lines=True) for path in (scene / "jsonl").glob("*.jsonl")}
assert set(table) == {"runs", "sessions", "turns", "calls", "intents", "items", "verdicts", "usage"}, set(table)
assert len(table["sessions"]) == len(sessions)
assert len(table["turns"]) == sum(line["turns"] for line in sessions)
assert len(table["calls"]) == calls and len(table["usage"]) == 3 * len(sessions)
scored = table["sessions"].dropna(subset=["comp"])
comp = (scored["comp"] * scored["weight"]).groupby(scored["run"]).sum() / scored.groupby("run")["weight"].sum()
assert abs(comp.mean() - results["comp"]) < 0.01, comp

# The data set is those tables with a card.
card = (scene / "hf/README.md").read_text()
assert card.startswith("---\nconfigs:\n") and "data/sessions.jsonl" in card and "Scripted models" in card, card
for name in table:
    assert (scene / f"hf/data/{name}.jsonl").read_bytes() == (scene / f"jsonl/{name}.jsonl").read_bytes()

# Parquet: the same tables, each column of one type, also where nothing is known.
for name, lines in table.items():
    file = pyarrow.parquet.ParquetFile(scene / f"parquet/{name}.parquet")
    rows = [json.loads(line) for line in (scene / f"jsonl/{name}.jsonl").read_text().splitlines()]
    assert file.read().to_pylist() == rows, name
    assert {str(kind) for kind in file.schema_arrow.types} <= {"string", "int64", "double", "bool"}, file.schema_arrow
columns = pyarrow.parquet.read_schema(scene / "parquet/sessions.parquet")
assert str(columns.field("comp").type) == "double" and str(columns.field("title").type) == "string", columns

# The notebook's table is Table 1 of the program.
os.environ["PIBENCH_TABLES"] = str(scene / "parquet")
notebook = nbformat.read("docs/table1.ipynb", as_version=4)
nbformat.validate(notebook)
names = {}
for cell in notebook.cells:
    if cell.cell_type == "code":
        exec(cell.source, names)
drawn = names["table_1"]
(table_1,) = [table for table in json.loads((scene / "report.json").read_text())["tables"] if table["id"] == "table-1"]
(own,) = [row for row in table_1["rows"] if row["origin"] == "apart"]
shown = {column["title"]: cell.get("figures") for column, cell in zip(table_1["columns"], own["cells"])}
(label,) = drawn.index
assert label[0].startswith("apart, protocol paper") and label[1] == "reactive (scripted) (chosen sessions)", label
for column, cell in drawn.loc[label].items():
    figures = [f"{figure['value']:.1f}" + (f" ± {figure['std']:.1f}" if figure["std"] is not None else "") for figure in shown[column]]
    assert cell == " / ".join(figures), (column, cell, figures)
assert list(drawn.columns) == ["Proc", "Comp", "law_trainee"], drawn

# Trajectories, by the validator of those who made the format.
files = sorted((scene / "atif").rglob("*.json"))
assert len(files) == len(sessions), len(files)
made = 0
for file in files:
    validator = TrajectoryValidator()
    assert validator.validate(file), (file, validator.errors)
    trajectory = Trajectory.model_validate_json(file.read_text())
    line = by_id[(trajectory.extra["persona"] + "-" + trajectory.extra["session"], trajectory.extra["run"])]
    assert trajectory.schema_version == "ATIF-v1.8" and trajectory.agent.model_name == "reactive"
    assert trajectory.extra["proc"] == line["proc"] and trajectory.extra["outcome"] == line["outcome"]
    assert [step.source for step in trajectory.steps].count("user") == line["turns"], file
    observed = [result for step in trajectory.steps if step.observation for result in step.observation.results]
    made += sum(result.source_call_id is not None for result in observed)
assert made == calls, (made, calls)
print(f"export: {len(sessions)} sessions and {calls} calls are read by inspect_ai, pandas, pyarrow and harbor as they were recorded")
