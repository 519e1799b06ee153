//! The public format's sample, read where it lies beside the project; without it these tests say so and pass.

use std::path::PathBuf;

use crate::scene::{Scene, expect, root};

fn sample() -> Option<PathBuf> {
    let path = root().join("../shared/pi-bench-sample");
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn the_sample_is_imported_and_runs() {
    let Some(sample) = sample() else { return };
    let scene = Scene::new();
    let output = scene.run(&[
        "import",
        "pi-bench",
        sample.to_str().unwrap(),
        "--out",
        "imported",
    ]);
    // The sample names rule scripts that are not in it.
    expect(&output, 3, &["left out", ".py"]);
    let output = scene.run(&[
        "run",
        "imported/suite.toml",
        "--agent",
        "nop",
        "--out",
        "run",
        "--json",
    ]);
    let missing = String::from_utf8_lossy(&output.stderr).contains("find plugin");
    if missing {
        // Its tools are those of apps that are not built yet.
        expect(&output, 3, &["find plugin"]);
        return;
    }
    expect(&output, 0, &[]);
}

#[test]
fn an_import_never_writes_over_something() {
    let Some(sample) = sample() else { return };
    let scene = Scene::new();
    scene.write("there/file", "");
    expect(
        &scene.run(&[
            "import",
            "pi-bench",
            sample.to_str().unwrap(),
            "--out",
            "there",
        ]),
        4,
        &["exists"],
    );
}
