//! Commands of our own: `python3`, which the host runs, and those that say why they cannot work here.

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use crate::bindings::pibench::plugin::python;
use crate::bindings::pibench::plugin::types::{Program as WitProgram, Source};
use crate::python_line::{Program, Request, parse};
use crate::time::Time;

/// Where the workspace stands in the shell's tree.
pub(crate) const ROOT: &str = "/workspace";

/// `python3`, and `python`.
pub(crate) struct Python(pub(crate) Time);

#[async_trait]
impl Builtin for Python {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let request = match parse(context.args) {
            Ok(request) => request,
            Err(reason) => return Ok(ExecResult::err(format!("python3: {reason}\n"), 2)),
        };
        let stdin = context
            .stdin
            .map(|data| data.as_bytes())
            .unwrap_or_default();
        let (program, arguments, stdin) = match request {
            Request::Version => (Program::Code(VERSION.into()), Vec::new(), &[][..]),
            Request::Run { program, arguments } => (program, arguments, stdin),
        };
        let (source, stdin) = match program {
            Program::Code(code) => (Source::Code(code), stdin),
            Program::Module(module) => (Source::Module(module), stdin),
            Program::Stdin => {
                let text = String::from_utf8_lossy(stdin).into_owned();
                (Source::Script(("<stdin>".into(), text)), &[][..])
            }
            Program::File(name) => {
                // Read here and not by Python: the file may lie in this instance's memory, below /tmp.
                let path = context.cwd.join(&name);
                match context.fs.read_file(&path).await {
                    Ok(content) => {
                        let text = String::from_utf8_lossy(&content).into_owned();
                        (Source::Script((name, text)), stdin)
                    }
                    Err(error) => {
                        let message = format!("python3: can't open file '{name}': {error}\n");
                        return Ok(ExecResult::err(message, 2));
                    }
                }
            }
        };
        let Ok(directory) = context.cwd.strip_prefix(ROOT) else {
            let message =
                "python3: it runs in the workspace only: change to a directory below /workspace\n";
            return Ok(ExecResult::err(message, 1));
        };
        let mut environment: Vec<(String, String)> = context
            .env
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // The map has no order of its own.
        environment.sort();
        let program = WitProgram {
            source,
            arguments,
            working_directory: directory.to_string_lossy().into_owned(),
            environment,
        };
        let ended = python::run(&program, stdin);
        self.0.catch_up().await;
        Ok(match ended {
            Ok(outcome) => ExecResult {
                stdout: outcome.stdout.into(),
                stderr: outcome.stderr.into(),
                exit_code: outcome.exit_code.into(),
                ..ExecResult::default()
            },
            Err(reason) => ExecResult::err(format!("python3: {reason}\n"), STOPPED),
        })
    }
}

const VERSION: &str = "import sys; print('Python %d.%d.%d' % sys.version_info[:3])";

/// The exit code of a program that was killed.
pub(crate) const STOPPED: i32 = 137;

/// A command that needs what there is not.
pub(crate) struct Unavailable {
    name: &'static str,
    reason: &'static str,
}

impl Unavailable {
    /// What agents try most, and why it cannot work.
    pub(crate) const ALL: [Self; 6] = [
        Self::network("curl"),
        Self::network("wget"),
        Self::network("http"),
        Self::packages("pip"),
        Self::packages("pip3"),
        Self::packages("apt-get"),
    ];

    const fn network(name: &'static str) -> Self {
        let reason = "there is no network in this shell; use the tools for the web";
        Self { name, reason }
    }

    const fn packages(name: &'static str) -> Self {
        let reason = "nothing can be installed; python3 has its standard library";
        Self { name, reason }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

#[async_trait]
impl Builtin for Unavailable {
    async fn execute(&self, _context: BuiltinContext<'_>) -> Result<ExecResult> {
        let Self { name, reason } = self;
        Ok(ExecResult::err(format!("{name}: {reason}\n"), 1))
    }
}
