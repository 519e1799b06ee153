//! What an agent asks of its client: files and commands, which the tools of the scaffold do in the sandbox, by the same door
//! and into the same record as a model's calls; and permissions, which are granted within the workspace and refused outside.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, Error, PermissionOption, PermissionOptionKind,
    ReadTextFileRequest, ReadTextFileResponse, RequestId, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
    TerminalOutputRequest, TerminalOutputResponse, ToolCallContent, ToolKind,
    WaitForTerminalExitRequest, WriteTextFileRequest,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::deeds::Deeds;
use super::desk::{Desk, Served};
use super::ready::Prepared;
use super::running::{Done, Running};
use super::terminal::{Output, Terminals, exit_status};
use pibench_acp::Incoming;
use pibench_core::path::WorkspacePath;
use pibench_sandbox::workspace::View;

/// Work on a request, which goes on while others are seen to; what is to be answered, where it ends with that.
pub(super) type Work = BoxFuture<'static, Option<Done>>;

/// Commands that are kept at the same time.
const TERMINALS: usize = 64;

/// The longest that a command may take, in seconds.
const TIMEOUT: u32 = 600;

/// Sees to a request: the work on it, and what goes on after that.
pub(super) fn see_to(
    id: RequestId,
    method: &str,
    params: Value,
    running: &Running,
    desk: &Desk,
    view: &View,
    prepared: &Prepared,
) -> Vec<Work> {
    let client = Client {
        desk: desk.clone(),
        view: view.clone(),
        root: prepared.launch.root(),
        confined: prepared.launch.confined.is_some(),
        terminals: Arc::clone(&running.terminals),
    };
    let done = move |result| Some(Done { id, result });
    match method {
        "fs/read_text_file" => vec![async move { done(client.read(params).await) }.boxed()],
        "fs/write_text_file" => vec![async move { done(client.write(params).await) }.boxed()],
        "terminal/create" => match client.create(params) {
            // The command runs whether or not anybody waits for it.
            Ok((answer, command)) => vec![at_once(done(to_value(&answer))), command],
            Err(error) => vec![at_once(done(Err(error)))],
        },
        "terminal/output" => vec![at_once(done(client.output(params)))],
        "terminal/wait_for_exit" => vec![async move { done(client.wait(params).await) }.boxed()],
        // It ends by its own time: its end is not told any more.
        "terminal/kill" => vec![at_once(done(client.terminal(&params).map(|_| json!({}))))],
        "terminal/release" => vec![at_once(done(client.release(&params)))],
        "session/request_permission" => vec![at_once(done(client.permit(params, &running.deeds)))],
        _ => vec![at_once(done(Err(Error::method_not_found())))],
    }
}

fn at_once(done: Option<Done>) -> Work {
    std::future::ready(done).boxed()
}

/// What an agent has for a client.
struct Client {
    desk: Desk,
    view: View,
    /// The workspace as the agent sees it.
    root: String,
    confined: bool,
    terminals: Terminals,
}

impl Client {
    async fn read(self, params: Value) -> Result<Value, Error> {
        let ReadTextFileRequest {
            path, line, limit, ..
        } = Incoming::params(params)?;
        let path = self.within(&path)?;
        let arguments = json!({ "path": path });
        let served = Served::File(path.clone());
        let called = self.desk.call("read_file", &arguments, served).await;
        called.map_err(refused)?;
        // The tool numbers lines and shortens; what the agent asked for is the text itself.
        let parsed = WorkspacePath::parse(&path).map_err(|error| refused(error.to_string()))?;
        let content = self.view.read(&parsed);
        let content = content.map_err(|error| refused(format!("failed to {error}")))?;
        let text = String::from_utf8(content)
            .map_err(|_| refused(format!("failed to read {path}: it is no UTF-8 text")))?;
        let text = if line.is_none() && limit.is_none() {
            text
        } else {
            let skipped = line.unwrap_or(1).saturating_sub(1) as usize;
            let most = limit.map_or(usize::MAX, |limit| limit as usize);
            text.split_inclusive('\n')
                .skip(skipped)
                .take(most)
                .collect()
        };
        to_value(&ReadTextFileResponse::new(text))
    }

    async fn write(self, params: Value) -> Result<Value, Error> {
        let WriteTextFileRequest { path, content, .. } = Incoming::params(params)?;
        let path = self.within(&path)?;
        let arguments = json!({ "path": path, "content": content });
        let called = self
            .desk
            .call("write_file", &arguments, Served::File(path))
            .await;
        called.map(|_| json!({})).map_err(refused)
    }

    /// Begins a command; what is told of it at once, and the command.
    fn create(self, params: Value) -> Result<(CreateTerminalResponse, Work), Error> {
        let CreateTerminalRequest {
            command,
            args,
            env,
            cwd,
            ..
        } = Incoming::params(params)?;
        let mut line = String::new();
        for variable in env {
            // Writing to a string cannot fail.
            let _ = write!(
                line,
                "export {}={}; ",
                variable.name,
                quoted(&variable.value)
            );
        }
        line.push_str(&command);
        for word in args {
            line.push(' ');
            line.push_str(&quoted(&word));
        }
        let mut arguments = json!({ "command": line, "timeout": TIMEOUT });
        if let Some(cwd) = cwd {
            let folder = self.within(&cwd)?;
            if !folder.is_empty() {
                arguments["working_dir"] = folder.into();
            }
        }
        let (tell, told) = watch::channel(None);
        let id = {
            let mut terminals = self
                .terminals
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if terminals.len() >= TERMINALS {
                return Err(refused(format!(
                    "there are {TERMINALS} terminals: release one"
                )));
            }
            let id = (1..).map(|number| format!("terminal-{number}"));
            let id = id.into_iter().find(|id| !terminals.contains_key(id));
            let id = id.unwrap_or_default();
            terminals.insert(id.clone(), told);
            id
        };
        let (desk, served) = (self.desk, Served::Terminal(id.clone()));
        let command = async move {
            let output = match desk.call("exec", &arguments, served).await {
                Ok(text) => Output::of_exec(&text),
                Err(text) => Output { text, code: None },
            };
            // It may have been released.
            let _ = tell.send(Some(output));
            None
        };
        Ok((CreateTerminalResponse::new(id), command.boxed()))
    }

    fn terminal(&self, params: &Value) -> Result<watch::Receiver<Option<Output>>, Error> {
        let id = params["terminalId"].as_str().unwrap_or_default();
        let terminals = self
            .terminals
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = terminals.get(id).cloned();
        known.ok_or_else(|| refused(format!("there is no terminal `{id}`")))
    }

    fn output(&self, params: Value) -> Result<Value, Error> {
        let told = self.terminal(&params)?.borrow().clone();
        let _: TerminalOutputRequest = Incoming::params(params)?;
        to_value(&match told {
            None => TerminalOutputResponse::new("", false),
            Some(Output { text, code }) => {
                TerminalOutputResponse::new(text, false).exit_status(exit_status(code))
            }
        })
    }

    async fn wait(self, params: Value) -> Result<Value, Error> {
        let mut told = self.terminal(&params)?;
        let _: WaitForTerminalExitRequest = Incoming::params(params)?;
        let ended = told.wait_for(Option::is_some).await;
        let ended = ended.map_err(|_| refused("the command was not run to its end".into()))?;
        to_value(&exit_status(ended.as_ref().and_then(|output| output.code)))
    }

    fn release(&self, params: &Value) -> Result<Value, Error> {
        self.terminal(params)?;
        let id = params["terminalId"].as_str().unwrap_or_default();
        let mut terminals = self
            .terminals
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        terminals.remove(id);
        Ok(json!({}))
    }

    /// Grants what stays within the workspace. What it comes to is a call of the record.
    fn permit(&self, params: Value, deeds: &Deeds) -> Result<Value, Error> {
        let RequestPermissionRequest {
            tool_call, options, ..
        } = Incoming::params(params)?;
        // Some tell of the call before and name it here by its id alone.
        let call = deeds.asked_of(tool_call);
        let mut paths: Vec<String> = Vec::new();
        let locations = call.locations.iter();
        paths.extend(locations.map(|location| location.path.to_string_lossy().into_owned()));
        paths.extend(call.content.iter().filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some(diff.path.to_string_lossy().into_owned()),
            _ => None,
        }));
        let is_command = call.kind == ToolKind::Execute;
        if let Some(input) = &call.raw_input {
            paths.extend(named_paths(input));
        }
        let outside = paths
            .iter()
            .find(|path| self.within(Path::new(path)).is_err());
        let refusal = match outside {
            Some(path) => Some(format!("{path} is outside of the workspace")),
            None if is_command && !self.confined => {
                let command = call.raw_input.as_ref().map(Value::to_string);
                let leaves = command.is_some_and(|command| leaves(&command, &self.root));
                leaves.then(|| "the command names a path outside of the workspace".to_owned())
            }
            None => None,
        };
        let chosen = choose(&options, refusal.is_none());
        let granted = refusal.is_none() && chosen.is_some();
        let told = match (&refusal, chosen) {
            (Some(reason), _) => format!("refused: {reason}"),
            (None, Some(option)) => format!("granted: {}", option.name),
            (None, None) => "refused: no option of the request grants it".to_owned(),
        };
        let arguments = json!({
            "title": call.title,
            "kind": call.kind,
            "paths": paths,
        });
        let (arguments, told) = (self.desk.cut_value(arguments), self.desk.cut(told));
        let arguments = arguments
            .to_string()
            .replace(&self.root, pibench_acp::WORKSPACE);
        let said = self.desk.take_said();
        let _ = self
            .desk
            .outside()
            .did("agent.permission", arguments, granted, told, said);
        let outcome = match chosen {
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
                option.option_id.clone(),
            )),
            None => RequestPermissionOutcome::Cancelled,
        };
        to_value(&RequestPermissionResponse::new(outcome))
    }

    /// A path of the agent's as the workspace has it.
    fn within(&self, path: &Path) -> Result<String, Error> {
        let outside = || refused(format!("{} is outside of the workspace", path.display()));
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.root).map_err(|_| outside())?
        } else {
            path
        };
        let text = relative.to_str().ok_or_else(outside)?;
        if text.is_empty() || text == "." {
            return Ok(String::new());
        }
        let parsed = WorkspacePath::parse(text).map_err(|_| outside())?;
        Ok(parsed.to_string())
    }
}

/// Paths in a tool's input, by the names that agents give them.
fn named_paths(input: &Value) -> Vec<String> {
    const NAMES: [&str; 9] = [
        "path",
        "file_path",
        "filePath",
        "abs_path",
        "absolute_path",
        "notebook_path",
        "directory",
        "dir_path",
        "cwd",
    ];
    let fields = input.as_object().into_iter().flatten();
    let named = fields.filter(|(name, _)| NAMES.contains(&name.as_str()));
    named
        .filter_map(|(_, path)| path.as_str().map(str::to_owned))
        .collect()
}

/// Whether a command of an agent that nothing confines names a path beside the workspace and the system's programs.
fn leaves(command: &str, root: &str) -> bool {
    const FREE: [&str; 4] = ["/usr/", "/bin/", "/tmp/", "/dev/null"];
    let words = command.split(|c: char| c.is_whitespace() || "\"'=;|&<>(){}[],:`\\".contains(c));
    words.into_iter().any(|word| {
        let free = FREE.iter().any(|free| word.starts_with(free)) || word.starts_with(root);
        let climbs = word.split('/').any(|part| part == "..");
        climbs || word.starts_with('~') || (word.starts_with('/') && word.len() > 1 && !free)
    })
}

/// The option by which a permission is granted, or refused: for this time where that can be had.
fn choose(options: &[PermissionOption], grant: bool) -> Option<&PermissionOption> {
    let kinds = if grant {
        [
            PermissionOptionKind::AllowOnce,
            PermissionOptionKind::AllowAlways,
        ]
    } else {
        [
            PermissionOptionKind::RejectOnce,
            PermissionOptionKind::RejectAlways,
        ]
    };
    let of = |kind| options.iter().find(|option| option.kind == kind);
    kinds.into_iter().find_map(of)
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn refused(reason: String) -> Error {
    Error::invalid_params().data(Value::String(reason))
}

fn to_value(answer: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(|_| Error::internal_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_leaves_the_workspace_is_known_by_its_paths() {
        let check = |command: &str, expected| {
            assert_eq!(leaves(command, "/runs/w"), expected, "{command}");
        };
        check("cat notes.md > /dev/null; /usr/bin/env ls /runs/w/a", false);
        check("echo 1/2", false);
        check("cat ../../manifest.json", true);
        check("cat ~/.ssh/id", true);
        check("find / -name 'x'", false);
        check("cat /etc/passwd", true);
        check("cat '/runs/other'", true);
    }

    #[test]
    fn a_word_for_the_shell_is_quoted() {
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
