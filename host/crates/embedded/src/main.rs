//! Packs what the program carries; called by the build between the plugins and the program. A file that would be the same is
//! left alone, so that nothing is built again for it.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [plugins, suite, out] = &args[..] else {
        eprintln!("usage: pibench-embed PLUGINS SUITE OUT");
        return ExitCode::from(2);
    };
    match pack(Path::new(plugins), Path::new(suite), Path::new(out)) {
        Ok(size) => {
            println!("{out}/archive: {size} bytes");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: failed to pack {plugins} and {suite} into {out}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pack(plugins: &Path, suite: &Path, out: &Path) -> std::io::Result<usize> {
    let folders = [("plugins", plugins), ("suite", suite)];
    let bytes = pibench_embedded::pack(&folders, &out.join("frames"))?;
    let file = out.join("archive");
    if std::fs::read(&file).ok().as_ref() != Some(&bytes) {
        std::fs::write(&file, &bytes)?;
    }
    Ok(bytes.len())
}
