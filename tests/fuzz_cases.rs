//! The inputs that fuzzers start from and those that they found, once each through the doors of `pibench_host::fuzz`:
//! what broke once must not break again, and each door takes its good input.

use std::path::Path;

use pibench_host::fuzz;

use crate::scene::{files, root};

type Door = fn(&[u8]);

const DOORS: [(&str, Door); 19] = [
    ("component", fuzz::component),
    ("json", fuzz::json),
    ("task", fuzz::task),
    ("import", fuzz::import),
    ("judge", fuzz::judge),
    ("lock", fuzz::lock),
    ("policy", fuzz::policy),
    ("outputs", fuzz::outputs),
    ("databases", fuzz::databases),
    ("journal", fuzz::journal),
    ("pack", fuzz::pack),
    ("signature", fuzz::signature),
    ("submission", fuzz::submission),
    ("acp", fuzz::acp),
    ("hub", fuzz::hub),
    ("patterns", fuzz::patterns),
    ("reply", fuzz::reply),
    ("schema", fuzz::schema),
    ("vault", fuzz::vault),
];

#[test]
fn seeds_and_findings_of_the_fuzzers_break_nothing() {
    let fuzz = root().join("tests/fuzz");
    for (name, door) in DOORS {
        let seeds = inputs(&fuzz.join("seeds").join(name));
        assert!(!seeds.is_empty(), "{name} has no seeds");
        for (path, bytes) in seeds
            .into_iter()
            .chain(inputs(&fuzz.join("found").join(name)))
        {
            eprintln!("{name}: {path}");
            door(&bytes);
        }
    }
}

fn inputs(folder: &Path) -> Vec<(String, Vec<u8>)> {
    if folder.exists() {
        files(folder)
    } else {
        Vec::new()
    }
}

#[test]
fn every_door_has_a_target_and_every_target_a_door() {
    let targets = files(&root().join("tests/fuzz/fuzz_targets"));
    let targets: Vec<&str> = targets
        .iter()
        .map(|(path, _)| path.trim_end_matches(".rs"))
        .collect();
    let mut doors = DOORS.map(|(name, _)| name);
    doors.sort_unstable();
    assert_eq!(targets, doors);
}
