//! Sessions in the Agent Trajectory Interchange Format: a file each, with the user's messages, the model's answers, the calls
//! with their results and the subagents. What the format has no field for stands in `extra`.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{ExportError, Played, write};
use crate::run_record::RunRecord;
use pibench_core::message::Usage;
use pibench_core::record::CallRecord;
use pibench_record::event::{Step, Turn};
use pibench_record::folder::read_blob;

/// The version of the format.
const VERSION: &str = "ATIF-v1.8";

/// Writes `run-<place>/<persona>.r<run>/<session>.json`, and pictures beside it.
pub(super) fn trajectories(
    at: usize,
    run: &RunRecord,
    played: &[Played<'_>],
    out: &Path,
) -> Result<Vec<PathBuf>, ExportError> {
    let mut written = Vec::new();
    for one in played {
        let dir = out.join(format!("run-{at}/{}.r{}", one.line.persona, one.line.run));
        let failed = |source| ExportError::Write {
            path: dir.clone(),
            source,
        };
        std::fs::create_dir_all(&dir).map_err(failed)?;
        let mut pictures = Vec::new();
        let trajectory = trajectory(run, one, &mut pictures)?;
        for picture in pictures {
            write(&dir.join(picture.name), &picture.content)?;
        }
        let path = dir.join(format!("{}.json", one.line.id));
        write(&path, trajectory.to_string().as_bytes())?;
        written.push(path);
    }
    Ok(written)
}

/// A picture that a tool gave: the format names files.
struct Picture {
    name: String,
    content: Vec<u8>,
}

fn trajectory(
    run: &RunRecord,
    played: &Played<'_>,
    pictures: &mut Vec<Picture>,
) -> Result<Value, ExportError> {
    let Played { line, trajectory } = played;
    let id = format!("{}-{}-r{}", line.persona, line.id, line.run);
    let mut steps = Steps::new(agent(run), id.clone(), pictures);
    let system = read_blob(&run.dir, &trajectory.started.system)?;
    steps.say("system", &String::from_utf8_lossy(&system));
    for turn in &trajectory.turns {
        steps.turn(turn);
    }
    let used = &line.usage.agent;
    let told = |tokens| used.known(tokens);
    let metrics = json!({
        "total_prompt_tokens": told(used.input_tokens), "total_completion_tokens": told(used.output_tokens),
        "total_cached_tokens": told(used.cached_tokens), "total_cost_usd": cost(used), "total_steps": steps.done.len(),
        "extra": { "reasoning_tokens": told(used.reasoning_tokens), "calls": used.calls },
    });
    let mut whole = steps.into_trajectory(&id);
    whole["session_id"] = id.into();
    whole["notes"] = "Times are of the session's clock. What the agent's memory step did after the last turn is left out.".into();
    whole["final_metrics"] = metrics;
    whole["extra"] = json!({
        "suite": trajectory.suite, "suite_digest": run.manifest.suite_digest, "persona": line.persona, "session": line.id,
        "run": line.run, "title": trajectory.title, "category": trajectory.category, "user": run.results.user,
        "judge": run.results.judge, "scripted": run.results.scripted, "outcome": line.outcome, "turns": line.turns,
        "proc": line.proc, "proc_scored": line.proc_scored, "comp": line.comp, "weight": line.weight,
        "intents": trajectory.finished.intents, "checklist": trajectory.finished.items,
    });
    Ok(whole)
}

/// What was measured. A scaffold of somebody else's is not told apart: the record has the name of what played.
fn agent(run: &RunRecord) -> Value {
    json!({
        "name": "pibench-host", "version": run.manifest.host, "model_name": run.results.agent,
        "extra": {
            "scaffold_prompt": run.results.scaffold_prompt, "ablate": run.results.ablate,
            "protocol": run.manifest.protocol, "protocol_version": run.manifest.protocol_version,
            "scaffold": run.manifest.scaffold, "players": run.results.players, "seed": run.manifest.seed,
        },
    })
}

/// US dollars, of the calls with a known price; None where a price is missing.
fn cost(used: &Usage) -> Option<f64> {
    used.known_cost().map(|cost| cost.0 as f64 / 1e6)
}

/// Steps in the making. An answer stands open until the next: the results of its calls are its observation.
struct Steps<'a> {
    agent: Value,
    id: String,
    done: Vec<Value>,
    subagents: Vec<Value>,
    pictures: &'a mut Vec<Picture>,
}

impl<'a> Steps<'a> {
    fn new(agent: Value, id: String, pictures: &'a mut Vec<Picture>) -> Self {
        Self {
            agent,
            id,
            done: Vec::new(),
            subagents: Vec::new(),
            pictures,
        }
    }

    /// What somebody said, or a step of the agent without calls.
    fn say(&mut self, source: &str, message: &str) -> &mut Value {
        let number = self.done.len() + 1;
        self.done
            .push(json!({ "step_id": number, "source": source, "message": message }));
        self.last()
    }

    fn last(&mut self) -> &mut Value {
        let last = self.done.len() - 1;
        &mut self.done[last]
    }

    fn turn(&mut self, turn: &Turn) {
        let step = self.say("user", &turn.message);
        step["timestamp"] = turn.clock.as_str().into();
        let used = turn.usage.agent;
        step["extra"] = json!({ "turn": turn.turn, "agent_usage": used });
        self.all(&turn.steps);
    }

    fn all(&mut self, steps: &[Step]) {
        for step in steps {
            self.one(step);
        }
    }

    fn one(&mut self, step: &Step) {
        match step {
            Step::Reply {
                text,
                reasoning,
                calls,
            } => {
                let step = self.say("agent", text);
                let reasoning = reasoning.as_ref().map(|reasoning| reasoning.text.as_str());
                if let Some(reasoning) = reasoning.filter(|text| !text.is_empty()) {
                    step["reasoning_content"] = reasoning.into();
                }
                let calls: Vec<Value> = calls
                    .iter()
                    .map(|made| call(&made.id, &made.name, &made.arguments))
                    .collect();
                if !calls.is_empty() {
                    step["tool_calls"] = calls.into();
                }
            }
            Step::Call { id, record, .. } => self.result(id, record),
            Step::Picture {
                path,
                media_type,
                data,
            } => self.picture(path, media_type, data),
            // The scaffold's own words, without a model.
            Step::Notice { text } => self.say("agent", text)["llm_call_count"] = 0.into(),
            Step::Nudge { text } => {
                self.say("system", text);
            }
            Step::Subagent {
                label,
                task,
                steps,
                result,
            } => self.subagent(label, task, steps, result),
            Step::Consolidated { summary, .. } => {
                self.say("system", summary)["extra"] = json!({ "kind": "summary_of_older_turns" });
            }
        }
    }

    /// The answer whose calls are made. A call without one, as an agent from outside makes it, gets one without words.
    fn result(&mut self, id: &str, record: &CallRecord) {
        let has = |step: &Value| {
            let calls = step["tool_calls"].as_array();
            calls.is_some_and(|calls| calls.iter().any(|call| call["tool_call_id"] == id))
        };
        if !self.done.last().is_some_and(has) {
            let arguments = record.arguments.to_string();
            self.say("agent", "")["tool_calls"] = json!([call(id, &record.tool, &arguments)]);
        }
        self.observe(json!({
            "source_call_id": id, "content": record.result,
            "extra": { "number": record.number, "status": record.status, "code": record.code },
        }));
    }

    fn observe(&mut self, result: Value) {
        // No host writes a result before an answer, and a record may be a stranger's.
        if self.done.is_empty() {
            self.say("agent", "");
        }
        let step = self.last();
        if let Some(results) = step["observation"]["results"].as_array_mut() {
            results.push(result);
        } else {
            step["observation"] = json!({ "results": [result] });
        }
    }

    fn picture(&mut self, path: &str, media_type: &str, data: &str) {
        let Ok(content) = STANDARD.decode(data) else {
            return;
        };
        // A record says what it likes; no name of a file follows from that.
        let end = match media_type {
            "image/png" => "png",
            "image/jpeg" => "jpeg",
            "image/gif" => "gif",
            "image/webp" => "webp",
            _ => "image",
        };
        let name = format!("{}.{end}", blake3::hash(&content).to_hex());
        self.observe(json!({ "content": [
            { "type": "text", "text": path },
            { "type": "image", "source": { "media_type": media_type, "path": name } },
        ] }));
        self.pictures.push(Picture { name, content });
    }

    fn subagent(&mut self, label: &str, task: &str, steps: &[Step], result: &str) {
        let id = format!("{}-subagent-{}", self.id, self.subagents.len() + 1);
        let mut own = Steps::new(self.agent.clone(), id.clone(), self.pictures);
        own.say("user", task);
        own.all(steps);
        let mut own = own.into_trajectory(&id);
        own["extra"] = json!({ "label": label });
        self.subagents.push(own);
        self.observe(
            json!({ "content": result, "subagent_trajectory_ref": [{ "trajectory_id": id }] }),
        );
    }

    fn into_trajectory(self, id: &str) -> Value {
        let mut whole = json!({
            "schema_version": VERSION, "trajectory_id": id, "agent": self.agent, "steps": self.done,
        });
        if !self.subagents.is_empty() {
            whole["subagent_trajectories"] = self.subagents.into();
        }
        whole
    }
}

/// A call as the model wrote it. What is no object of JSON is kept as it was written.
fn call(id: &str, name: &str, arguments: &str) -> Value {
    let read: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
    let mut call = json!({ "tool_call_id": id, "function_name": name });
    if read.is_none() {
        call["extra"] = json!({ "written": arguments });
    }
    call["arguments"] = read.unwrap_or_default().into();
    call
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> (Value, usize) {
        let read: Vec<Step> = serde_json::from_str(text).unwrap();
        let mut pictures = Vec::new();
        let agent = json!({ "name": "a", "version": "1" });
        let mut steps = Steps::new(agent, "s".into(), &mut pictures);
        steps.all(&read);
        (steps.into_trajectory("s"), pictures.len())
    }

    #[test]
    fn results_pictures_and_subagents_are_observed_by_the_answer_that_asked_for_them() {
        let (whole, pictures) = steps(
            r#"[
            { "step": "reply", "text": "Looking.", "reasoning": "a picture", "calls": [
                { "id": "c1", "name": "read_file", "arguments": "{\"path\":\"a.png\"}" },
                { "id": "c2", "name": "spawn", "arguments": "no object" } ] },
            { "step": "call", "id": "c1", "record": { "number": 1, "turn": 1, "tool": "read_file",
                "arguments": { "path": "a.png" }, "status": "ok", "result": "shown below" } },
            { "step": "call", "id": "c2", "record": { "number": 2, "turn": 1, "tool": "spawn",
                "arguments": "no object", "status": "tool_error", "result": "refused" } },
            { "step": "picture", "path": "a.png", "media_type": "image/png", "data": "iVBORw0KGgo=" },
            { "step": "subagent", "label": "sums", "task": "Add.", "result": "3", "steps": [
                { "step": "reply", "text": "3" } ] },
            { "step": "nudge", "text": "Go on." },
            { "step": "notice", "text": "No more calls." }
        ]"#,
        );
        let first = &whole["steps"][0];
        assert_eq!(first["reasoning_content"], "a picture");
        assert_eq!(first["tool_calls"][0]["arguments"]["path"], "a.png");
        assert_eq!(first["tool_calls"][1]["arguments"], json!({}));
        assert_eq!(first["tool_calls"][1]["extra"]["written"], "no object");
        let results = first["observation"]["results"].as_array().unwrap();
        assert_eq!(results[1]["source_call_id"], "c2");
        let source = &results[2]["content"][1]["source"];
        assert_eq!(source["media_type"], "image/png");
        assert!(source["path"].as_str().unwrap().contains(".png"));
        assert_eq!(pictures, 1);
        let subagent = &whole["subagent_trajectories"][0];
        assert_eq!(
            results[3]["subagent_trajectory_ref"][0]["trajectory_id"],
            subagent["trajectory_id"]
        );
        assert_eq!(subagent["steps"][0]["message"], "Add.");
        assert_eq!(subagent["steps"][1]["message"], "3");
        assert_eq!(whole["steps"][1]["source"], "system");
        assert_eq!(whole["steps"][2]["llm_call_count"], 0);
        assert_eq!(whole["steps"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn a_record_does_not_say_what_a_pictures_file_is_called() {
        for media_type in ["image/html", "image/x/../../up", "text/html"] {
            let told = format!(
                r#"[{{ "step": "picture", "path": "a", "media_type": "{media_type}", "data": "iVBORw0KGgo=" }}]"#
            );
            let (whole, pictures) = steps(&told);
            let source = &whole["steps"][0]["observation"]["results"][0]["content"][1]["source"];
            let path = source["path"].as_str().unwrap();
            assert!(path.contains(".image") && !path.contains('/'), "{path}");
            assert_eq!(pictures, 1);
        }
    }

    #[test]
    fn a_call_that_no_answer_asked_for_gets_one_without_words() {
        let (whole, _) = steps(
            r#"[
            { "step": "call", "id": "x", "record": { "number": 1, "turn": 1, "tool": "glob",
                "arguments": { "pattern": "*" }, "status": "ok", "result": "a.md" } }
        ]"#,
        );
        let step = &whole["steps"][0];
        assert_eq!(
            (&step["source"], &step["message"]),
            (&"agent".into(), &"".into())
        );
        assert_eq!(step["tool_calls"][0]["function_name"], "glob");
        assert_eq!(step["observation"]["results"][0]["source_call_id"], "x");
    }
}
