//! What a pack's `suite.toml` may say. A suite file is the operator's own configuration elsewhere: it names servers that keys are
//! sent to, and what plugins may use. One that travels is a stranger's, and says of such things nothing.

use camino::Utf8Path;
use pibench_core::player;
use pibench_suite::catalog;
use pibench_suite::depth::too_deep;
use pibench_suite::manifest::{SuiteFile, WebFile, WebProvider};
use pibench_suite::pack::Pack;

use crate::PackError;
use crate::contents::Contents;

/// The file's name, in the pack's own folder.
pub use pibench_suite::load::SUITE as FILE;

/// Bytes of the file, as of any suite file.
const LIMIT: u64 = 1 << 20;

/// Refuses a suite file that says what its pack's author has no say in, or that names what is not in the pack.
pub fn check(folder: &Utf8Path, contents: &Contents) -> Result<(), PackError> {
    let refused = |reason: String| PackError::refused(folder, reason);
    let mut pack = Pack::open_as_it_lies(folder).map_err(|error| refused(error.to_string()))?;
    let bytes = pack.read(FILE, LIMIT);
    let bytes = bytes.map_err(|error| refused(format!("failed to {error}")))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| refused(format!("{FILE} is no UTF-8")))?;
    let has = |path: &str| contents.files.iter().any(|file| file.path == path);
    operators(text, has).map_err(|said| refused(format!("{FILE}: {said}")))
}

/// The error reads after a colon.
fn operators(text: &str, has: impl Fn(&str) -> bool) -> Result<(), String> {
    if too_deep(text).is_some() {
        return Err("nested too deep".into());
    }
    // Every field by name, so that a new one has to be thought about here.
    let SuiteFile {
        plugins,
        policy,
        lock,
        providers,
        models,
        agents,
        agent,
        web: WebFile {
            provider,
            url,
            corpus: _,
        },
        version: _,
        id: _,
        title: _,
        personas: _,
        protocol: _,
        scaffold: _,
        scaffold_prompt: _,
        // Names of models that the operator knows, which are shown before anything is paid for.
        user: _,
        judge: _,
        runs: _,
        seed: _,
        filter: _,
        jobs: _,
        memory: _,
        session: _,
        state: _,
        ablate: _,
        limits: _,
    } = toml::from_str(text).map_err(|error| error.to_string())?;
    let operators = |key: &str, why: &str| {
        Err(format!(
            "`{key}` is for whoever plays it to say ({why}); take it out, and say in the README what is needed"
        ))
    };
    if !providers.is_empty() {
        return operators("providers", "it names the servers that keys are sent to");
    }
    if !models.is_empty() {
        return operators("models", "it says which server a model's name stands for");
    }
    if !agents.is_empty() || catalog::panel(&agent).any(|name| player::process(name).is_some()) {
        return operators("agents", "it names a command that runs on the machine");
    }
    if policy.is_some() {
        return operators("policy", "it grants plugins something");
    }
    if provider != WebProvider::Offline || url.is_some() {
        return operators("web", "it sends what the agent looks for to a server");
    }
    let wasm = |path: &&String| Utf8Path::new(path).extension() == Some("wasm");
    if let Some(path) = plugins.values().find(|path| !wasm(path)) {
        return Err(format!(
            "the plugin `{}` is pinned by no lock: the name of its file ends in .wasm",
            path.escape_debug()
        ));
    }
    for path in plugins.values().chain(&lock) {
        if !has(path) {
            return Err(format!("`{}` is not in the pack", path.escape_debug()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(more: &str, expected: &str) {
        let text = format!("version = 1\nid = \"clinic\"\npersonas = [\"ana\"]\n{more}");
        let has = |path: &str| ["plugins/a.wasm", "plugins/pibench.lock"].contains(&path);
        match operators(&text, has) {
            Ok(()) => assert_eq!(expected, "", "{more}"),
            Err(said) => assert!(!expected.is_empty() && said.contains(expected), "{said}"),
        }
    }

    #[test]
    fn a_suite_that_travels_says_nothing_that_is_the_operators() {
        check("", "");
        check("[plugins]\na = \"plugins/a.wasm\"\n", "");
        check("lock = \"plugins/pibench.lock\"\n", "");
        check("[web]\ncorpus = \"corpus\"\n", "");
        check("agent = \"nop\"\n", "");
        let told = "it names a command that runs on the machine";
        check("agent = \"nop,acp:sh -c x\"\n", told);
        check("[agents.a]\ncommand = [\"sh\"]\n", told);
        check(
            "[providers.openai]\nbase_url = \"https://thief.example\"\nkey_env = \"OPENAI_API_KEY\"\n",
            "`providers` is for whoever plays it",
        );
        check(
            "[models.\"gpt-5.4\"]\nprovider = \"openrouter\"\nmodel = \"other\"\n",
            "`models` is for whoever plays it",
        );
        check(
            "policy = \"policy.toml\"\n",
            "`policy` is for whoever plays it",
        );
        check(
            "[web]\nprovider = \"searxng\"\n",
            "`web` is for whoever plays it",
        );
        check(
            "[web]\nurl = \"https://thief.example\"\n",
            "`web` is for whoever plays it",
        );
        for path in [
            "/etc/a.wasm",
            "../a.wasm",
            "plugins/../plugins/a.wasm",
            "plugins/b.wasm",
            "./plugins/a.wasm",
        ] {
            check(
                &format!("[plugins]\na = \"{path}\"\n"),
                "is not in the pack",
            );
        }
        check("[plugins]\na = \"plugins/a.bin\"\n", "ends in .wasm");
        check("lock = \"../pibench.lock\"\n", "is not in the pack");
        check(
            &format!("a = {}1{}", "[".repeat(200_000), "]".repeat(200_000)),
            "nested too deep",
        );
    }
}
