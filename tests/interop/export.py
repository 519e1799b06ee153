"""Reads what `export` wrote with inspect_ai and pandas, and compares it with the run folder."""

import json
import pathlib
import sys

import pandas
from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

scene = pathlib.Path(sys.argv[1])
results = json.loads((scene / "run/results.json").read_text())
sessions = results["sessions"]

# Inspect: the whole log, its list, its lists of samples, and its data frames.
(listed,) = list_eval_logs(str(scene / "inspect"))
log = read_eval_log(listed)
assert log.status == "success" and log.eval.model == "pibench/reactive", log.status
assert len(log.samples) == len(sessions), len(log.samples)
means = {score.name: score.metrics["mean"].value for score in log.results.scores}
assert means == {"proc": results["proc"], "comp": results["comp"]}, means
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
assert set(table) == {"runs", "sessions", "turns", "calls", "intents", "verdicts", "usage"}, set(table)
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
print(f"export: {len(sessions)} sessions and {calls} calls are read by inspect_ai and pandas as they were recorded")
