//! The commands of `gzip` on the shell's files. bashkit's own refuse what shrank to a hundredth, and know no `zcat`.

use std::path::Path;

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use crate::gzip::{Action, HEADING, Request, compress, decompress, listed, parse, stem};
use crate::limits::DECOMPRESSED;

/// `gzip`, `gunzip` or `zcat`.
pub(crate) struct Gzip(pub(crate) &'static str);

/// What the command says.
#[derive(Default)]
struct Said {
    stdout: Vec<u8>,
    stderr: String,
}

#[async_trait]
impl Builtin for Gzip {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let name = self.0;
        let mut request = match parse(name, context.args) {
            Ok(request) => request,
            Err(reason) => return Ok(ExecResult::err(format!("{name}: {reason}\n"), 1)),
        };
        if request.files.is_empty() {
            request.files.push("-".into());
        }
        let mut said = Said::default();
        if request.action == Action::List {
            said.stdout.extend(HEADING.as_bytes());
        }
        for file in &request.files {
            if let Err(reason) = one(&context, &request, file, &mut said).await {
                said.stderr.push_str(&format!("{name}: {file}: {reason}\n"));
            }
        }
        Ok(ExecResult {
            exit_code: i32::from(!said.stderr.is_empty()),
            stdout: said.stdout.into(),
            stderr: said.stderr.into(),
            ..ExecResult::default()
        })
    }
}

async fn one(
    context: &BuiltinContext<'_>,
    request: &Request,
    file: &str,
    said: &mut Said,
) -> std::result::Result<(), String> {
    let path = context.cwd.join(file);
    let content = if file == "-" {
        let stdin = context.stdin.map(|data| data.as_bytes());
        stdin.unwrap_or_default().to_vec()
    } else {
        let read = context.fs.read_file(&path).await;
        read.map_err(|error| error.to_string())?
    };
    let changed = match request.action {
        Action::Compress => compress(&content, request.level).map_err(|error| error.to_string())?,
        Action::Decompress | Action::List | Action::Test => decompress(&content, DECOMPRESSED)?,
    };
    match request.action {
        Action::Test => return Ok(()),
        Action::List => {
            let line = listed(file, content.len(), changed.len());
            said.stdout.extend(line.as_bytes());
            return Ok(());
        }
        Action::Compress | Action::Decompress if file == "-" || request.to_stdout => {
            said.stdout.extend(changed);
            return Ok(());
        }
        Action::Compress | Action::Decompress => {}
    }
    let target = match request.action {
        Action::Compress if stem(file).is_some() && !request.force => {
            return Err("it has the ending already; unchanged".into());
        }
        Action::Compress => format!("{file}.gz"),
        _ => stem(file).ok_or("unknown ending; left as it is")?,
    };
    let target = context.cwd.join(target);
    replace(context, request, &path, &target, &changed)
        .await
        .map_err(|error| error.to_string())
}

/// Writes the new file, and removes the old one.
async fn replace(
    context: &BuiltinContext<'_>,
    request: &Request,
    old: &Path,
    new: &Path,
    content: &[u8],
) -> Result<()> {
    if !request.force && context.fs.exists(new).await? {
        let message = format!("{} is there already", new.display());
        return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, message).into());
    }
    context.fs.write_file(new, content).await?;
    if request.keep {
        return Ok(());
    }
    context.fs.remove(old, false).await
}
