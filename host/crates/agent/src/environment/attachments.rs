//! Files of the file system app that a call of another app names. Apps do not see each other: the host reads each file as
//! the agent could, by a call of the file system app with the token that the call brings, and hands it over. A tool asks
//! by its schema (`"x-files-of": "file_system"` at the argument with the paths), an app's policy grants it.

use pibench_sandbox::App;
use serde_json::{Value, json};

use super::{Environment, Ran, guest_fault};

/// Where the app finds the files, each with `path` and `content`. No schema has it, so no agent's call gets through with it.
pub(crate) const ARGUMENT: &str = "attached_files";

/// The note in a schema.
const NOTE: &str = "x-files-of";
/// The tool of the other app, which is none of the agent's.
const READ: &str = "show_file";
/// The argument with the other app's token.
const TOKEN: &str = "file_system_access_token";
/// The most files of a call: each has at most 64 KiB of characters.
const MOST: usize = 20;

/// The files that a call names: none where it names none, brings no token, or the app is not given any. The app then says
/// so itself. A file that cannot be read is the whole call's refusal.
pub(crate) async fn read(
    environment: &mut Environment,
    app: &str,
    tool: &str,
    arguments: &Value,
) -> Result<Vec<Value>, Ran> {
    let Some((other, paths)) = named(environment, app, tool, arguments) else {
        return Ok(Vec::new());
    };
    let granted = environment.apps.get(app).is_some_and(App::attaches);
    let now = environment.clock.now();
    let (true, Value::String(token), Some(files)) =
        (granted, &arguments[TOKEN], environment.apps.get_mut(&other))
    else {
        return Ok(Vec::new());
    };
    if paths.len() > MOST {
        return Err(Ran::Refused {
            code: 422,
            message: format!(
                "{} files are too many: at most {MOST} can be attached.",
                paths.len()
            ),
        });
    }
    let mut read = Vec::with_capacity(paths.len());
    for path in paths {
        let asked = json!({"file_path": path, "access_token": token});
        match files.call(READ, &asked, now).await {
            Ok(Ok(file)) => read.push(file),
            Ok(Err(refusal)) => {
                return Err(Ran::Refused {
                    code: refusal.status,
                    message: format!("{path} cannot be attached: {}", refusal.message),
                });
            }
            Err(fault) => return Err(Ran::Broke(guest_fault(&other, &fault))),
        }
    }
    Ok(read)
}

/// The app whose files a call names, and their paths.
fn named(
    environment: &Environment,
    app: &str,
    tool: &str,
    arguments: &Value,
) -> Option<(String, Vec<String>)> {
    let name = format!("{app}__{tool}");
    let mut specs = environment.toolbox.specs().iter();
    let spec = specs.find(|spec| spec.name == name)?;
    let mut properties = spec.parameters["properties"].as_object()?.iter();
    let (argument, other) =
        properties.find_map(|(argument, schema)| Some((argument, schema[NOTE].as_str()?)))?;
    let paths = match &arguments[argument] {
        Value::String(path) => vec![path.clone()],
        Value::Array(paths) => {
            let paths = paths.iter().map(|path| path.as_str().map(str::to_owned));
            paths.collect::<Option<Vec<String>>>()?
        }
        _ => return None,
    };
    (!paths.is_empty()).then(|| (other.to_owned(), paths))
}
