//! `zip` and `unzip` on the shell's files. bashkit's own make and take a format that nothing else knows.

use std::path::{Path, PathBuf};

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use crate::limits::DECOMPRESSED;
use crate::zipped::{
    Archive, Entry, Packing, Unpack, Unpacking, fits, listed, pack, parse_unzip, parse_zip,
};

pub(crate) struct Zip;

pub(crate) struct Unzip;

/// What the command says.
#[derive(Default)]
struct Said {
    stdout: Vec<u8>,
    stderr: String,
    code: i32,
}

impl Said {
    fn line(&mut self, text: &str) {
        self.stdout.extend(text.as_bytes());
        self.stdout.push(b'\n');
    }

    /// Something that was left out; Info-ZIP's codes.
    fn lacks(&mut self, text: &str, code: i32) {
        self.stderr.push_str(&format!("{text}\n"));
        self.code = self.code.max(code);
    }

    fn result(self) -> ExecResult {
        ExecResult {
            exit_code: self.code,
            stdout: self.stdout.into(),
            stderr: self.stderr.into(),
            ..ExecResult::default()
        }
    }
}

#[async_trait]
impl Builtin for Zip {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let request = match parse_zip(context.args) {
            Ok(request) => request,
            Err(reason) => return Ok(ExecResult::err(format!("zip: {reason}\n"), 16)),
        };
        let mut said = Said::default();
        let zipped = zip(&context, &request, &mut said).await;
        if let Err(reason) = zipped {
            said.lacks(&format!("zip error: {}: {reason}", request.archive), 12);
        }
        Ok(said.result())
    }
}

async fn zip(
    context: &BuiltinContext<'_>,
    request: &Packing,
    said: &mut Said,
) -> std::result::Result<(), String> {
    let path = context.cwd.join(&request.archive);
    let is_file = request.archive != "-";
    let is_there = context.fs.exists(&path).await;
    let old = if is_file && is_there.map_err(|error| error.to_string())? {
        let old = context.fs.read_file(&path).await;
        Some(old.map_err(|error| error.to_string())?)
    } else {
        None
    };
    let mut before = Vec::new();
    if let Some(old) = &old {
        before = Archive::open(old.clone())?.entries()?;
    }
    let added = gather(context, request, is_file.then_some(&path), said).await?;
    if added.is_empty() {
        return Err("nothing to do".into());
    }
    let packed = pack(old, &added, request.level)?;
    if !request.quiet && is_file {
        for entry in Archive::open(packed.clone())?.entries()? {
            if added.iter().any(|(name, _)| *name == entry.name) {
                said.line(&told(&entry, &before, request.level));
            }
        }
    }
    if is_file {
        let written = context.fs.write_file(&path, &packed).await;
        return written.map_err(|error| error.to_string());
    }
    said.stdout = packed;
    Ok(())
}

/// What is put into an archive, which is not put into itself: names, those of folders ending with `/`, and bytes.
async fn gather(
    context: &BuiltinContext<'_>,
    request: &Packing,
    archive: Option<&PathBuf>,
    said: &mut Said,
) -> std::result::Result<Vec<(String, Vec<u8>)>, String> {
    let named = |file: &String| {
        let name = file.trim_start_matches("./").trim_matches('/');
        (context.cwd.join(file), name.to_owned())
    };
    // Those that come next stand last.
    let mut next: Vec<(PathBuf, String)> = request.files.iter().rev().map(named).collect();
    let mut added = Vec::new();
    let mut bytes = 0_usize;
    while let Some((place, name)) = next.pop() {
        let Ok(stat) = context.fs.stat(&place).await else {
            said.lacks(&format!("zip warning: name not matched: {name}"), 18);
            continue;
        };
        let is_folder = stat.file_type.is_dir();
        let is_left_out = request
            .excluded
            .iter()
            .any(|pattern| fits(pattern, &name) || is_folder && fits(pattern, &format!("{name}/")));
        if is_left_out || archive == Some(&place) {
            continue;
        }
        if is_folder {
            let prefix = match name.as_str() {
                "" | "." => String::new(),
                name => format!("{name}/"),
            };
            if request.recursive {
                let entries = context.fs.read_dir(&place).await;
                let entries = entries.map_err(|error| error.to_string())?;
                let mut names: Vec<String> = entries.into_iter().map(|entry| entry.name).collect();
                names.sort_unstable_by(|a, b| b.cmp(a));
                let within = |name: String| (place.join(&name), format!("{prefix}{name}"));
                next.extend(names.into_iter().map(within));
            }
            if !request.bare && !prefix.is_empty() {
                added.push((prefix, Vec::new()));
            }
            continue;
        }
        bytes = bytes.saturating_add(usize::try_from(stat.size).unwrap_or(usize::MAX));
        if bytes > DECOMPRESSED {
            return Err(format!("more than {DECOMPRESSED} bytes together"));
        }
        let read = context.fs.read_file(&place).await;
        let read = read.map_err(|error| format!("{name}: {error}"))?;
        let name = match name.rsplit_once('/') {
            Some((_, name)) if request.bare => name.to_owned(),
            _ => name,
        };
        added.push((name, read));
    }
    Ok(added)
}

/// The line for an entry that was put into an archive.
fn told(entry: &Entry, before: &[Entry], level: i64) -> String {
    let was_there = before.iter().any(|old| old.name == entry.name);
    let how = if was_there { "updating" } else { "  adding" };
    let name = &entry.name;
    if level == 0 || entry.is_folder() || entry.packed >= entry.size {
        return format!("{how}: {name} (stored 0%)");
    }
    format!("{how}: {name} (deflated {}%)", entry.saved())
}

#[async_trait]
impl Builtin for Unzip {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let request = match parse_unzip(context.args) {
            Ok(request) => request,
            Err(reason) => return Ok(ExecResult::err(format!("unzip: {reason}\n"), 10)),
        };
        let mut said = Said::default();
        let unzipped = unzip(&context, &request, &mut said).await;
        if let Err(reason) = unzipped {
            said.lacks(&format!("unzip: {}: {reason}", request.archive), 9);
        }
        Ok(said.result())
    }
}

async fn unzip(
    context: &BuiltinContext<'_>,
    request: &Unpacking,
    said: &mut Said,
) -> std::result::Result<(), String> {
    let mut path = context.cwd.join(&request.archive);
    let is_there = context.fs.exists(&path).await;
    if !is_there.map_err(|error| error.to_string())? {
        path = context.cwd.join(format!("{}.zip", request.archive));
    }
    let content = context.fs.read_file(&path).await;
    let mut archive = Archive::open(content.map_err(|error| error.to_string())?)?;
    let entries = archive.entries()?;
    let chosen = entries.iter().enumerate();
    let chosen: Vec<(usize, &Entry)> = chosen
        .filter(|(_, entry)| request.wants(&entry.name))
        .collect();
    for pattern in &request.wanted {
        if !entries.iter().any(|entry| fits(pattern, &entry.name)) {
            said.lacks(&format!("caution: filename not matched:  {pattern}"), 11);
        }
    }
    match request.action {
        Unpack::List => {
            let chosen: Vec<&Entry> = chosen.iter().map(|(_, entry)| *entry).collect();
            said.stdout
                .extend(listed(&request.archive, &chosen).as_bytes());
            return Ok(());
        }
        Unpack::Names => {
            chosen.iter().for_each(|(_, entry)| said.line(&entry.name));
            return Ok(());
        }
        Unpack::Extract | Unpack::Print | Unpack::Test => {}
    }
    if !request.quiet && request.action != Unpack::Print {
        said.line(&format!("Archive:  {}", request.archive));
    }
    let target = context
        .cwd
        .join(request.target.as_deref().unwrap_or_default());
    // What is printed is there at once; what is extracted is not.
    let mut left = DECOMPRESSED;
    for (at, entry) in chosen {
        let content = match archive.read(at, left) {
            Ok(content) => content,
            Err(reason) => {
                said.lacks(&format!("{}: {reason}", entry.name), 3);
                continue;
            }
        };
        match request.action {
            Unpack::Print => {
                left -= content.len();
                said.stdout.extend(content);
            }
            Unpack::Test if !request.quiet => {
                said.line(&format!("    testing: {:<23}OK", entry.name))
            }
            Unpack::Extract => extract(context, request, &target, (entry, content), said).await?,
            _ => {}
        }
    }
    if request.action == Unpack::Test && said.code == 0 {
        said.line(&format!(
            "No errors detected in compressed data of {}.",
            request.archive
        ));
    }
    Ok(())
}

/// Writes one entry below the target.
async fn extract(
    context: &BuiltinContext<'_>,
    request: &Unpacking,
    target: &Path,
    (entry, content): (&Entry, Vec<u8>),
    said: &mut Said,
) -> std::result::Result<(), String> {
    let failed = |error: bashkit::Error| error.to_string();
    let Some(path) = &entry.path else {
        said.lacks(
            &format!("{}: it leads elsewhere, and is left out", entry.name),
            1,
        );
        return Ok(());
    };
    let name = Path::new(path).file_name();
    let place: PathBuf = match name {
        Some(name) if request.bare => target.join(name),
        _ => target.join(path),
    };
    let shown = |place: &Path| {
        place
            .strip_prefix(&*context.cwd)
            .unwrap_or(place)
            .display()
            .to_string()
    };
    if entry.is_folder() {
        if !request.bare && !context.fs.exists(&place).await.map_err(failed)? {
            context.fs.mkdir(&place, true).await.map_err(failed)?;
            if !request.quiet {
                said.line(&format!("   creating: {}/", shown(&place)));
            }
        }
        return Ok(());
    }
    if request.overwrite != Some(true) && context.fs.exists(&place).await.map_err(failed)? {
        if request.overwrite.is_none() {
            said.lacks(
                &format!(
                    "{} is there already: unchanged (-o overwrites)",
                    shown(&place)
                ),
                1,
            );
        }
        return Ok(());
    }
    if let Some(above) = place.parent() {
        context.fs.mkdir(above, true).await.map_err(failed)?;
    }
    context
        .fs
        .write_file(&place, &content)
        .await
        .map_err(failed)?;
    if !request.quiet {
        let how = if entry.packed < entry.size {
            "  inflating"
        } else {
            " extracting"
        };
        said.line(&format!("{how}: {}", shown(&place)));
    }
    Ok(())
}
