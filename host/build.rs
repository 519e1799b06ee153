//! Puts into the program what it carries and what it says of itself. It starts no other program and changes nothing but an
//! archive that is missing, which it makes empty: so the program is built without one, too.

use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    println!("cargo::rerun-if-env-changed=PIBENCH_ARCHIVE");
    let named = std::env::var_os("PIBENCH_ARCHIVE").map(PathBuf::from);
    let archive = named.unwrap_or_else(|| root.join("target/embedded/archive"));
    if !archive.exists() {
        let _ = std::fs::create_dir_all(archive.parent().unwrap_or(&root));
        let _ = std::fs::write(&archive, "");
    }
    // Whether its bytes changed, the compiler looks: only `main.rs` includes them.
    let archive = archive.canonicalize().unwrap_or(archive);
    println!("cargo::rustc-env=PIBENCH_ARCHIVE={}", archive.display());

    println!("cargo::rerun-if-env-changed=PIBENCH_COMMIT");
    let commit = std::env::var("PIBENCH_COMMIT").ok();
    let commit = commit.or_else(|| head(&root.join(".git")));
    let commit = commit.unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=PIBENCH_COMMIT={commit}");

    let lock = root.join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let engine = std::fs::read_to_string(lock).ok();
    let engine = engine.and_then(|lock| locked(&lock, "wasmtime"));
    let engine = engine.unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env=PIBENCH_ENGINE={engine}");
}

/// The commit that is checked out, as git keeps it in files; None where there is no repository.
fn head(git: &Path) -> Option<String> {
    let read = |path: &Path| {
        println!("cargo::rerun-if-changed={}", path.display());
        std::fs::read_to_string(path).ok()
    };
    let head = git
        .join("HEAD")
        .exists()
        .then(|| read(&git.join("HEAD")))??;
    let Some(name) = head.strip_prefix("ref: ") else {
        return Some(head.trim().to_owned());
    };
    let loose = git.join(name.trim());
    let found = if loose.exists() { read(&loose) } else { None };
    let packed = || {
        let packed = git.join("packed-refs");
        let all = packed.exists().then(|| read(&packed))??;
        let line = all.lines().find(|line| line.ends_with(name.trim()))?;
        line.split(' ').next().map(str::to_owned)
    };
    found.map(|commit| commit.trim().to_owned()).or_else(packed)
}

/// The version of a package in a lock.
fn locked(lock: &str, package: &str) -> Option<String> {
    let (_, entry) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    entry.split('"').next().map(str::to_owned)
}
