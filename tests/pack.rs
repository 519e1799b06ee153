//! Packs that travel: made, signed, fetched, installed, compared; and those of strangers, refused whole.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use camino::Utf8Path;
use pibench_pack::{Contents, archive};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::openssh::made;
use crate::scene::{Scene, copy, expect, files, hostile, output, stderr};

const MANIFEST: &str = "version = 1\nname = \"clinic\"\nrelease = \"1.0.0\"\nlicense = \"CC-BY-4.0\"\n\
    authors = [\"Ana <ana@lab.example>\"]\n";

/// A scene with the folder of a pack: two sessions, and a grader that none of them uses.
fn scene() -> Scene {
    let scene = Scene::new();
    for args in [
        &["suite", "new", "mine"][..],
        &["session", "new", "mine/personas/first", "second"],
    ] {
        expect(&scene.run(args), 0, &[]);
    }
    scene.write("mine/pack.toml", MANIFEST);
    scene.write("mine/LICENSE", "Take it, and say whose it is.\n");
    std::fs::create_dir(scene.path("mine/plugins")).unwrap();
    std::fs::copy(hostile("grader"), scene.path("mine/plugins/own.wasm")).unwrap();
    lock(&scene);
    let suite = std::fs::read_to_string(scene.path("mine/suite.toml")).unwrap();
    scene.write(
        "mine/suite.toml",
        &format!("{suite}\n[plugins]\nown = \"plugins/own.wasm\"\n"),
    );
    scene
}

fn lock(scene: &Scene) {
    let locked = scene.run(&["plugin", "lock", "--plugins", "mine/plugins"]);
    expect(&locked, 0, &[]);
}

fn pack(scene: &Scene, out: &str, more: &[&str]) {
    let args = [&["pack", "mine", "--out", out][..], more].concat();
    expect(&scene.run(&args), 0, &[]);
}

fn install(scene: &Scene, reference: &str, more: &[&str]) -> std::process::Output {
    let args = ["pack", "install", reference, "--packs", "packs"];
    scene.run(&[&args[..], more].concat())
}

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(output)
}

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Nothing of a refused pack is there, neither under its name nor beside it.
fn assert_nothing_installed(scene: &Scene) {
    let there = std::fs::read_dir(scene.path("packs")).map(|entries| {
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.collect::<Vec<_>>()
    });
    assert!(there.as_ref().map_or(true, Vec::is_empty), "{there:?}");
}

#[test]
fn a_pack_is_the_same_bytes_each_time_and_plays_where_it_is_installed() {
    let scene = scene();
    pack(&scene, "one.pibench", &[]);
    copy(&scene.path("mine"), &scene.path("elsewhere"));
    // Of what lies in the folder itself, names with a dot are not packed.
    scene.write("elsewhere/.git/config", "");
    let again = ["pack", "elsewhere", "--out", "two.pibench"];
    expect(&scene.run(&again), 0, &[]);
    let read = |name: &str| std::fs::read(scene.path(name)).unwrap();
    assert!(read("one.pibench") == read("two.pibench"));
    let within = scene.run(&["pack", "mine", "--out", "mine/three.pibench"]);
    expect(
        &within,
        2,
        &["mine/three.pibench", "it lies in the folder that is packed"],
    );
    let over = scene.run(&["pack", "mine", "--out", "one.pibench"]);
    expect(&over, 4, &["it is there already"]);
    let output = install(&scene, "one.pibench", &[]);
    expect(&output, 0, &[]);
    assert!(
        said(&output).contains("clinic 1.0.0: unsigned"),
        "{}",
        said(&output)
    );
    let mut installed = files(&scene.path("packs/clinic/1.0.0"));
    let list = installed.iter().position(|(name, _)| name == "pack.json");
    installed.remove(list.unwrap());
    assert!(installed == files(&scene.path("mine")));
    let listed = scene.run(&["pack", "list", "--packs", "packs"]);
    let line = said(&listed);
    assert!(
        line.starts_with("clinic@1.0.0: ") && line.contains("unsigned"),
        "{line}"
    );
    let listed = scene.run(&["pack", "list", "--packs", "packs", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["name"], "clinic");
    let suite = "packs/clinic/1.0.0/suite.toml";
    expect(&scene.run(&["run", suite, "--out", "run"]), 0, &[]);
    // The same one once more changes nothing; another one under its name is refused.
    expect(&install(&scene, "one.pibench", &[]), 0, &[]);
    scene.write("mine/LICENSE", "Mine.\n");
    pack(&scene, "other.pibench", &[]);
    let words = [
        "clinic 1.0.0 is installed with other files",
        "a release does not change",
    ];
    expect(&install(&scene, "other.pibench", &[]), 3, &words);
    scene.replace("mine/pack.toml", "1.0.0", "1.0.1");
    pack(&scene, "next.pibench", &[]);
    expect(&install(&scene, "next.pibench", &[]), 0, &[]);
    let listed = said(&scene.run(&["pack", "list", "--packs", "packs"]));
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

#[test]
fn a_pack_is_installed_by_who_may_sign_it_and_verified_where_it_lies() {
    let Some((keys, key)) = made(&["ed25519"], "") else {
        return;
    };
    let scene = scene();
    let key = key.to_str().unwrap();
    let public = std::fs::read_to_string(keys.path().join("key.pub")).unwrap();
    scene.write(
        "signers",
        &format!("ana@lab.example namespaces=\"pibench-pack\" {public}"),
    );
    scene.write("revoked", &public);
    let with = ["--signers", "signers"];
    pack(&scene, "unsigned.pibench", &[]);
    expect(
        &install(&scene, "unsigned.pibench", &with),
        3,
        &["nobody signed it"],
    );
    assert_nothing_installed(&scene);
    // By `pack --key`, and by `sign` before: the same bytes.
    pack(&scene, "signed.pibench", &["--key", key]);
    expect(&scene.run(&["sign", "mine", "--key", key]), 0, &[]);
    pack(&scene, "again.pibench", &[]);
    let read = |name: &str| std::fs::read(scene.path(name)).unwrap();
    assert!(read("signed.pibench") == read("again.pibench"));
    // And by `sign` afterwards.
    std::fs::copy(scene.path("unsigned.pibench"), scene.path("late.pibench")).unwrap();
    let late = || scene.run(&["verify", "late.pibench", "--signers", "signers"]);
    expect(&late(), 3, &["there is no signature in it"]);
    expect(&scene.run(&["sign", "late.pibench", "--key", key]), 0, &[]);
    expect(&late(), 0, &[]);
    assert!(read("signed.pibench") == read("late.pibench"));
    scene.write("rubbish.pibench", "no archive");
    let rubbish = scene.run(&["sign", "rubbish.pibench", "--key", key]);
    expect(&rubbish, 3, &["it is no whole archive"]);
    assert_eq!(read("rubbish.pibench"), b"no archive");
    let gone = [&with[..], &["--revoked", "revoked"]].concat();
    expect(
        &install(&scene, "signed.pibench", &gone),
        3,
        &["is revoked"],
    );
    scene.write(
        "few",
        &format!("ana@lab.example namespaces=\"pibench-run\" {public}"),
    );
    let few = ["--signers", "few"];
    expect(
        &install(&scene, "signed.pibench", &few),
        3,
        &["for `pibench-run` only"],
    );
    assert_nothing_installed(&scene);
    let output = install(&scene, "signed.pibench", &with);
    expect(&output, 0, &[]);
    assert!(
        said(&output).contains("signed by ana@lab.example (SHA256:"),
        "{}",
        said(&output)
    );
    let folder = "packs/clinic/1.0.0";
    let verify = || scene.run(&["verify", folder, "--signers", "signers"]);
    expect(&verify(), 0, &[]);
    let session = "packs/clinic/1.0.0/personas/first/persona.toml";
    let text = std::fs::read_to_string(scene.path(session)).unwrap();
    scene.write(session, &format!("{text}\n"));
    expect(&verify(), 3, &["made it over something else"]);
    // A signature of before the last change goes into no pack.
    scene.write("mine/LICENSE", "Mine.\n");
    let stale = scene.run(&["pack", "mine", "--out", "stale.pibench"]);
    expect(&stale, 3, &["sign it again by `pibench-host sign mine`"]);
    assert!(!scene.path("stale.pibench").exists());
}

#[test]
fn a_pack_that_was_changed_where_it_lies_is_told_and_not_called_signed() {
    let Some((_keys, key)) = made(&["ed25519"], "") else {
        return;
    };
    let scene = scene();
    pack(&scene, "unsigned.pibench", &[]);
    pack(&scene, "signed.pibench", &["--key", key.to_str().unwrap()]);
    let list = |more: &[&str]| {
        let args = [&["pack", "list", "--packs", "packs"][..], more].concat();
        said(&scene.run(&args))
    };
    let again = || install(&scene, "signed.pibench", &[]);
    let is_sound = || list(&[]).contains(" files, signed, ");
    // A signature that comes later is put to it, and to it alone.
    expect(&install(&scene, "unsigned.pibench", &[]), 0, &[]);
    assert!(!is_sound(), "{}", list(&[]));
    expect(&again(), 0, &[]);
    assert!(is_sound(), "{}", list(&[]));
    let check = |how: &str| {
        let text = list(&[]);
        let told = format!("changed since it was installed ({how})");
        assert!(text.contains(&told) && !text.contains(" signed"), "{text}");
        let listed: Value = serde_json::from_str(&list(&["--json"])).unwrap();
        assert_eq!(listed[0]["signed"], false);
        assert_eq!(listed[0]["changed"], how);
        expect(&again(), 3, &[how, "remove the folder"]);
        let suite = "packs/clinic/1.0.0/suite.toml";
        for command in [
            &["run", suite, "--out", "other"][..],
            &["run", "--resume", "run"],
            &["check", suite],
        ] {
            expect(&scene.run(command), 3, &[how, "install it again"]);
        }
        assert!(!scene.path("other").exists());
    };
    let suite = "packs/clinic/1.0.0/suite.toml";
    expect(&scene.run(&["run", suite, "--out", "run"]), 0, &[]);
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    let session = "personas/first/sessions/first/session.toml";
    let path = format!("packs/clinic/1.0.0/{session}");
    let was = std::fs::read_to_string(scene.path(&path)).unwrap();
    scene.write(&path, &format!("{was}\n"));
    check(&format!("`{session}` is another"));
    std::fs::remove_file(scene.path(&path)).unwrap();
    check(&format!("`{session}` is gone"));
    scene.write(&path, &was);
    assert!(is_sound(), "{}", list(&[]));
    let more = scene.write("packs/clinic/1.0.0/personas/first/more.md", "");
    check("`personas/first/more.md` came to it");
    std::fs::remove_file(more).unwrap();
    // What is no signature of it is mended.
    scene.write("packs/clinic/1.0.0/pack.sig", "nobody's");
    assert!(!is_sound(), "{}", list(&[]));
    expect(&again(), 0, &[]);
    assert!(is_sound(), "{}", list(&[]));
}

#[test]
fn what_is_played_by_a_changed_suite_file_is_played_by_a_copy_that_lies_elsewhere() {
    let scene = scene();
    pack(&scene, "one.pibench", &[]);
    expect(&install(&scene, "one.pibench", &[]), 0, &[]);
    copy(&scene.path("packs/clinic/1.0.0"), &scene.path("copy"));
    for folder in ["packs/clinic/1.0.0", "copy"] {
        let path = format!("{folder}/suite.toml");
        let text = std::fs::read_to_string(scene.path(&path)).unwrap();
        let thief = "[providers.openai]\nbase_url = \"https://thief.example/v1\"\n";
        scene.write(&path, &format!("{text}\n{thief}"));
        let words = ["`suite.toml` is another", "without pack.json and pack.sig"];
        expect(&scene.run(&["run", &path, "--out", "run"]), 3, &words);
    }
    std::fs::remove_file(scene.path("copy/pack.json")).unwrap();
    let run = ["run", "copy/suite.toml", "--out", "run"];
    expect(&scene.run(&run), 0, &[]);
}

#[test]
fn a_signature_that_holds_gives_way_to_none_of_another_key_and_none_that_does_not_hold() {
    let (Some((_ana, ana)), Some((_ben, ben))) = (made(&["ed25519"], ""), made(&["ed25519"], ""))
    else {
        return;
    };
    let scene = scene();
    pack(&scene, "ana.pibench", &["--key", ana.to_str().unwrap()]);
    pack(&scene, "ben.pibench", &["--key", ben.to_str().unwrap()]);
    let folder = scene.path("mine");
    let folder = Utf8Path::from_path(&folder).unwrap();
    let (contents, _) = Contents::of(folder).unwrap();
    let forged = scene.path("forged.pibench");
    archive::write(&forged, folder, &contents, Some("nobody's\n")).unwrap();
    let said = &["install forged.pibench"];
    expect(&install(&scene, "forged.pibench", &[]), 3, said);
    assert_nothing_installed(&scene);
    expect(&install(&scene, "ana.pibench", &[]), 0, &[]);
    let signature = || std::fs::read(scene.path("packs/clinic/1.0.0/pack.sig")).unwrap();
    let was = signature();
    expect(&install(&scene, "forged.pibench", &[]), 3, said);
    let words = ["a signature by the key SHA256:", "remove the folder"];
    expect(&install(&scene, "ben.pibench", &[]), 3, &words);
    expect(&install(&scene, "ana.pibench", &[]), 0, &[]);
    assert_eq!(signature(), was);
    std::fs::remove_dir_all(scene.path("packs")).unwrap();
    expect(&install(&scene, "ben.pibench", &[]), 0, &[]);
    assert_ne!(signature(), was);
}

#[test]
fn everybody_may_read_an_installed_pack_and_its_owner_alone_writes_to_it_whatever_the_umask_lets() {
    let scene = scene();
    pack(&scene, "one.pibench", &[]);
    for umask in ["000", "077"] {
        let packs = format!("packs-{umask}");
        let args = ["pack", "install", "one.pibench", "--packs", &packs];
        let mut command = scene.command_after(&format!("umask {umask}"), &args);
        expect(&output(&mut command), 0, &[]);
        let mut seen = 0;
        let mut open = vec![scene.path(&packs)];
        while let Some(path) = open.pop() {
            let metadata = path.metadata().unwrap();
            let expected = if metadata.is_dir() { 0o755 } else { 0o644 };
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode, expected, "{} under {umask}", path.display());
            if metadata.is_dir() {
                let entries = std::fs::read_dir(path).unwrap();
                open.extend(entries.map(|entry| entry.unwrap().path()));
            }
            seen += 1;
        }
        assert!(seen > 10, "{seen}");
    }
}

#[test]
fn runs_and_hidden_files_stay_out_of_a_pack_and_what_nothing_names_is_told() {
    let scene = scene();
    let packed = |out: &str| {
        let output = scene.run(&["pack", "mine", "--out", out]);
        expect(&output, 0, &[]);
        stderr(&output)
    };
    let told = packed("one.pibench");
    let is_odd = told.contains("left out") || told.contains("names it");
    assert!(!is_odd, "{told}");
    scene.write("mine/.env", "OPENAI_API_KEY=x\n");
    scene.write("mine/personas/first/.env", "OPENAI_API_KEY=x\n");
    let played = ["run", "mine/suite.toml", "--out", "mine/runs/old"];
    expect(&scene.run(&played), 0, &[]);
    let told = packed("two.pibench");
    for line in [
        "left out: .env: its name begins with a dot\n",
        "left out: personas/first/.env: its name begins with a dot\n",
        "left out: runs/old: it is a run\n",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let read = |name: &str| std::fs::read(scene.path(name)).unwrap();
    assert!(read("one.pibench") == read("two.pibench"));
    for number in 0..9 {
        scene.write(&format!("mine/draft-{number}.md"), "");
    }
    scene.write("mine/personas/first/sessions/first/session.toml.bak", "");
    let told = packed("three.pibench");
    let lines = told.matches("packed, though nothing names it: ").count();
    assert!(lines == 8 && told.contains("draft-0.md\n"), "{told}");
    assert!(told.contains("and 2 more\n"), "{told}");
    expect(&install(&scene, "three.pibench", &[]), 0, &[]);
    assert!(scene.path("packs/clinic/1.0.0/draft-8.md").exists());
    // What a session needs is not left out without a word.
    let session = "mine/personas/first/sessions/first";
    scene.write(&format!("{session}/.rooms.md"), "Two.\n");
    let file = format!("{session}/session.toml");
    let text = std::fs::read_to_string(scene.path(&file)).unwrap();
    let staged = "\n[[files]]\nsource = \".rooms.md\"\npath = \"rooms.md\"\n";
    scene.write(&file, &(text + staged));
    let refused = scene.run(&["pack", "mine", "--out", "four.pibench"]);
    let words = "`personas/first/sessions/first/.rooms.md` is named in it and would be left out";
    expect(&refused, 3, &[words]);
    assert!(!scene.path("four.pibench").exists());
}

#[test]
fn check_tells_all_that_pack_would_refuse() {
    let scene = scene();
    let check = || stderr(&scene.run(&["check", "mine"]));
    let is_told = |text: &str| text.contains("pack.toml") || text.contains("wordings.toml");
    assert!(!is_told(&check()), "{}", check());
    let first = "path = \"personas/first/nowhere.md\"\ntext = \"a\"\nother = \"b\"\n";
    let second = "path = \"LICENSE\"\ntext = \"Take\"\nother = \"Have\"\n";
    scene.write(
        "mine/wordings.toml",
        &format!("version = 1\n[[wordings]]\n{first}[[wordings]]\n{second}"),
    );
    scene.replace("mine/pack.toml", "1.0.0", "1.0");
    scene.replace("mine/pack.toml", "CC-BY-4.0", "CC BY");
    let manifest = std::fs::read_to_string(scene.path("mine/pack.toml")).unwrap();
    scene.write("mine/pack.toml", &format!("{manifest}colour = 1\n"));
    let output = scene.run(&["check", "mine"]);
    expect(
        &output,
        3,
        &[
            "pack.toml:3:1: `release` is `1.0`",
            "pack.toml:4:1: `license`: `CC BY` is no SPDX expression",
            "pack.toml:6:1: unknown key `colour`",
            "wordings.toml: wording 1, of `personas/first/nowhere.md`",
            "wordings.toml: wording 2, of `LICENSE`",
        ],
    );
    // With a sound pack.toml, what else is refused.
    scene.write("mine/pack.toml", &format!("{MANIFEST}host = \"99.0.0\"\n"));
    std::fs::remove_file(scene.path("mine/wordings.toml")).unwrap();
    std::fs::remove_file(scene.path("mine/plugins/pibench.lock")).unwrap();
    suite_with(&scene, "[models.m]\nprovider = \"openai\"\nmodel = \"m\"\n");
    let told = check();
    for words in [
        "it needs a pibench-host of 99.0.0",
        "`models` is for whoever plays it to say",
        "pin its plugins by",
    ] {
        assert!(told.contains(words), "`{words}`: {told}");
    }
}

/// Packs a folder without the checks of `pack`, as a stranger may.
fn forge(scene: &Scene, out: &str) {
    let folder = scene.path("mine");
    let folder = Utf8Path::from_path(&folder).unwrap();
    let (contents, _) = Contents::of(folder).unwrap();
    let _ = std::fs::remove_file(scene.path(out));
    archive::write(&scene.path(out), folder, &contents, None).unwrap();
}

/// What its author does not pack is not installed either when a stranger packs it; what it was before is both.
fn assert_neither_packed_nor_installed(change: impl Fn(&Scene), words: &str) {
    let scene = scene();
    change(&scene);
    let made = scene.run(&["pack", "mine", "--out", "a.pibench"]);
    expect(&made, 3, &[words]);
    assert!(!scene.path("a.pibench").exists());
    forge(&scene, "forged.pibench");
    expect(&install(&scene, "forged.pibench", &[]), 3, &[words]);
    assert_nothing_installed(&scene);
}

fn suite_with(scene: &Scene, more: &str) {
    let suite = std::fs::read_to_string(scene.path("mine/suite.toml")).unwrap();
    scene.write("mine/suite.toml", &format!("{suite}\n{more}"));
}

#[test]
fn a_pack_of_a_stranger_says_nothing_that_is_the_operators() {
    for (more, words) in [
        (
            "[providers.openai]\nbase_url = \"https://thief.example\"\nkey_env = \"OPENAI_API_KEY\"\n",
            "`providers` is for whoever plays it to say",
        ),
        (
            "[models.mine]\nprovider = \"openai\"\nmodel = \"a\"\n",
            "`models` is for whoever plays it to say",
        ),
        (
            "[web]\nprovider = \"searxng\"\nurl = \"https://thief.example\"\n",
            "`web` is for whoever",
        ),
    ] {
        assert_neither_packed_nor_installed(|scene| suite_with(scene, more), words);
    }
    let named = |scene: &Scene, place: &str| {
        scene.replace("mine/suite.toml", "\"plugins/own.wasm\"", place);
    };
    assert_neither_packed_nor_installed(
        |scene| named(scene, "\"../../../plugins/gmail.wasm\""),
        "gmail.wasm` is not in the pack",
    );
    assert_neither_packed_nor_installed(
        |scene| {
            let text = format!("{MANIFEST}host = \"99.0.0\"\n");
            scene.write("mine/pack.toml", &text);
        },
        "it needs a pibench-host of 99.0.0",
    );
    assert_neither_packed_nor_installed(
        |scene| {
            scene.replace(
                "mine/personas/first/persona.toml",
                "version = 1",
                "version = 9",
            );
        },
        "the problems above",
    );
}

#[test]
fn a_packs_plugins_are_pinned_and_ones_that_this_host_would_load() {
    let wasm = "mine/plugins/own.wasm";
    assert_neither_packed_nor_installed(
        |scene| std::fs::remove_file(scene.path("mine/plugins/pibench.lock")).unwrap(),
        "pin its plugins by",
    );
    assert_neither_packed_nor_installed(
        |scene| {
            let mut bytes = std::fs::read(scene.path(wasm)).unwrap();
            bytes.extend(b"\x00\x05\x04note");
            std::fs::write(scene.path(wasm), bytes).unwrap();
        },
        "`plugins/own.wasm` is not as",
    );
    assert_neither_packed_nor_installed(
        |scene| {
            let text = "(component (import \"wasi:http/outgoing-handler@0.2.0\" (instance)) (instance $i) \
                (export \"pibench:plugin/grading@0.1.0\" (instance $i)))";
            std::fs::write(scene.path(wasm), wat::parse_str(text).unwrap()).unwrap();
            lock(scene);
        },
        "it imports wasi:http/outgoing-handler@0.2.0, which no plugin gets",
    );
}

#[test]
fn what_is_no_archive_leaves_nothing_behind() {
    let scene = scene();
    pack(&scene, "good.pibench", &[]);
    let good = std::fs::read(scene.path("good.pibench")).unwrap();
    for (bytes, words) in [
        (&b""[..], "the pack bad.pibench"),
        (b"no archive", "bad.pibench"),
        (&good[..good.len() / 2], "it is no whole archive"),
        (&good[..good.len() - 4], "it is no whole archive"),
    ] {
        std::fs::write(scene.path("bad.pibench"), bytes).unwrap();
        let output = install(&scene, "bad.pibench", &[]);
        assert!(
            matches!(output.status.code(), Some(3 | 4)),
            "{}",
            said(&output)
        );
        assert!(
            said(&output).contains(words),
            "`{words}`: {}",
            said(&output)
        );
        assert_nothing_installed(&scene);
    }
    expect(
        &install(&scene, "nowhere.pibench", &[]),
        4,
        &["nowhere.pibench"],
    );
    expect(&install(&scene, "mine", &[]), 3, &["it is no file"]);
    expect(
        &install(&scene, "good.pibench", &["--sha256", &"0".repeat(64)]),
        3,
        &["was asked for"],
    );
    assert_nothing_installed(&scene);
    let digest = sha256(&good);
    expect(
        &install(&scene, "good.pibench", &["--sha256", &digest]),
        0,
        &[],
    );
}

/// What `pack diff` finds between the folder as it was and as it is.
fn diff(scene: &Scene) -> Value {
    let output = scene.run(&["pack", "diff", "before.pibench", "mine", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_diff_names_the_scores_that_can_no_longer_be_compared() {
    let changed = |change: &dyn Fn(&Scene)| {
        let scene = scene();
        pack(&scene, "before.pibench", &[]);
        assert_eq!(diff(&scene)["comparable"], true);
        change(&scene);
        let found = diff(&scene);
        let text = said(&scene.run(&["pack", "diff", "before.pibench", "mine"]));
        let sentence = "every score of one can be held against those of the other";
        assert_eq!(
            found["comparable"] == true,
            text.contains(sentence),
            "{text}"
        );
        found["difference"].clone()
    };
    let both = json!({ "first": ["first", "second"] });
    let found = changed(&|scene| {
        scene.write("mine/README.md", "What it is.\n");
        scene.replace("mine/pack.toml", "1.0.0", "1.1.0");
    });
    assert_eq!(
        (&found["comparable"], &found["changes"]),
        (&both, &json!([]))
    );
    let session = |id: &str| format!("mine/personas/first/sessions/{id}/session.toml");
    let more = |scene: &Scene, path: &str| {
        let text = std::fs::read_to_string(scene.path(path)).unwrap();
        scene.write(path, &format!("# Once more.\n{text}"));
    };
    // What is played before it is as it was.
    let found = changed(&|scene| more(scene, &session("second")));
    assert_eq!(found["comparable"], json!({ "first": ["first"] }));
    assert_eq!(found["incomparable"], json!({ "first": ["second"] }));
    let found = changed(&|scene| more(scene, &session("first")));
    assert_eq!(found["incomparable"], both);
    let found = changed(&|scene| more(scene, "mine/personas/first/persona.toml"));
    assert_eq!(found["incomparable"], both);
    let found = changed(&|scene| suite_with(scene, "[session]\nmax_turns = 3\n"));
    assert_eq!(found["incomparable"], both);
    assert_eq!(found["changes"][0]["what"], "session.max_turns");
    // A session more is another episode.
    let found = changed(&|scene| {
        let args = ["session", "new", "mine/personas/first", "third"];
        expect(&scene.run(&args), 0, &[]);
    });
    assert_eq!(
        (&found["incomparable"], &found["new"]),
        (&both, &json!({ "first": ["third"] }))
    );
}

#[test]
fn a_diff_names_files_and_fields_that_no_score_depends_on() {
    let scene = scene();
    scene.write("mine/NOTICE", "One.\n");
    pack(&scene, "before.pibench", &[]);
    let found = &diff(&scene)["difference"];
    assert_eq!(
        (&found["files"], &found["fields"]),
        (&json!({}), &json!({}))
    );
    scene.replace("mine/pack.toml", "CC-BY-4.0", "MIT");
    scene.write("mine/LICENSE", "Do not take it.\n");
    scene.write("mine/README.txt", "What it is.\n");
    std::fs::remove_file(scene.path("mine/NOTICE")).unwrap();
    let wasm = "mine/plugins/own.wasm";
    let mut bytes = std::fs::read(scene.path(wasm)).unwrap();
    bytes.extend(b"\x00\x05\x04note");
    std::fs::write(scene.path(wasm), bytes).unwrap();
    lock(&scene);
    let found = diff(&scene);
    assert_eq!(found["comparable"], true);
    let files = json!({
        "LICENSE": "changed", "NOTICE": "removed", "README.txt": "added", "plugin own": "changed",
        "plugins/pibench.lock": "changed",
    });
    assert_eq!(found["difference"]["files"], files);
    let fields = json!({ "license": ["CC-BY-4.0", "MIT"] });
    assert_eq!(found["difference"]["fields"], fields);
    let text = said(&scene.run(&["pack", "diff", "before.pibench", "mine"]));
    for part in [
        "changed: `license` of pack.toml: \"CC-BY-4.0\" before, \"MIT\" now\n",
        "changed: LICENSE\n",
        "removed: NOTICE\n",
        "added: README.txt\n",
        "changed: plugin own\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // A session's files are told by what they change.
    let first = "mine/personas/first/sessions/first/session.toml";
    let session = std::fs::read_to_string(scene.path(first)).unwrap();
    scene.write(first, &format!("# Once more.\n{session}"));
    let found = &diff(&scene)["difference"];
    assert_eq!(found["files"], files);
    assert_eq!(found["changes"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn a_grader_moves_the_scores_that_it_gives_and_no_other() {
    let first = "mine/personas/first/sessions/first/session.toml";
    let grade = |scene: &Scene| {
        let rule = "\n[[checklist]]\nid = \"own-rule\"\ncriterion = \"passes\"\n[checklist.rule]\ngrader = \"own\"\n\
            config = { do = \"pass\" }\n";
        let text = std::fs::read_to_string(scene.path(first)).unwrap();
        scene.write(first, &format!("{text}{rule}"));
    };
    let scene = scene();
    grade(&scene);
    pack(&scene, "before.pibench", &[]);
    let wasm = "mine/plugins/own.wasm";
    let mut bytes = std::fs::read(scene.path(wasm)).unwrap();
    bytes.extend(b"\x00\x05\x04note");
    std::fs::write(scene.path(wasm), bytes).unwrap();
    lock(&scene);
    let found = &diff(&scene)["difference"];
    assert_eq!(found["changes"][0]["what"], "plugin own");
    assert_eq!(found["incomparable"], json!({ "first": ["first"] }));
    assert_eq!(found["comparable"], json!({ "first": ["second"] }));
    let gone = scene.run(&["pack", "diff", "clinic@1.0.0", "mine", "--packs", "packs"]);
    expect(&gone, 4, &["clinic/1.0.0"]);
    expect(&install(&scene, "before.pibench", &[]), 0, &[]);
    let there = scene.run(&[
        "pack",
        "diff",
        "clinic@1.0.0",
        "before.pibench",
        "--packs",
        "packs",
    ]);
    assert!(
        said(&there).contains("every score of one"),
        "{}",
        said(&there)
    );
}

/// Runs the program beside a server of the test.
fn beside<T>(run: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(run)
}

async fn serve(server: &MockServer, at: &str, answer: ResponseTemplate) {
    let mock = Mock::given(method("GET"))
        .and(path(at))
        .respond_with(answer);
    mock.mount(server).await;
}

fn bytes(body: &[u8]) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_bytes(body.to_vec())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_comes_from_an_address_by_its_digest() {
    let scene = scene();
    pack(&scene, "good.pibench", &[]);
    let good = std::fs::read(scene.path("good.pibench")).unwrap();
    let server = MockServer::start().await;
    serve(&server, "/good.pibench", bytes(&good)).await;
    serve(&server, "/half.pibench", bytes(&good[..good.len() / 2])).await;
    let moved = ResponseTemplate::new(302).insert_header("location", "/good.pibench");
    serve(&server, "/moved", moved).await;
    let round = ResponseTemplate::new(302).insert_header("location", "/round");
    serve(&server, "/round", round).await;
    serve(&server, "/private", ResponseTemplate::new(401)).await;
    let at = |path: &str| format!("{}{path}", server.uri());
    let digest = sha256(&good);
    beside(|| {
        let get = |path: &str, more: &[&str]| install(&scene, &at(path), more);
        let with = ["--sha256", digest.as_str()];
        expect(&get("/good.pibench", &[]), 2, &["name its --sha256"]);
        expect(
            &get("/good.pibench", &["--sha256", "abc"]),
            2,
            &["no 64 digits"],
        );
        expect(
            &get("/half.pibench", &with),
            3,
            &["was asked for; it was not kept"],
        );
        expect(&get("/nowhere", &with), 4, &["the server answers 404"]);
        expect(&get("/private", &with), 4, &["wants to know who asks"]);
        expect(&get("/round", &with), 4, &["more than 5 redirects"]);
        assert_nothing_installed(&scene);
        expect(&get("/moved", &with), 0, &[]);
        let elsewhere = ["ftp://lab.example/a", "https://me:word@lab.example/a"];
        for place in elsewhere {
            expect(&install(&scene, place, &[]), 2, &["failed to read `"]);
        }
    });
}

/// A registry of one thing: its manifest's digest.
async fn registry(server: &MockServer, name: &str, layers: &[(&str, &[u8])]) -> String {
    let layer = |(kind, bytes): &(&str, &[u8])| json!({ "mediaType": kind, "digest": format!("sha256:{}", sha256(bytes)), "size": bytes.len() });
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": { "mediaType": "application/vnd.oci.empty.v1+json", "digest": "sha256:44136f", "size": 2 },
        "layers": layers.iter().map(layer).collect::<Vec<_>>(),
    });
    let manifest = manifest.to_string();
    let digest = sha256(manifest.as_bytes());
    let place = format!("/v2/{name}/manifests/sha256:{digest}");
    serve(server, &place, bytes(manifest.as_bytes())).await;
    for (_, body) in layers {
        let place = format!("/v2/{name}/blobs/sha256:{}", sha256(body));
        serve(server, &place, bytes(body)).await;
    }
    digest
}

const PACK_TYPE: &str = "application/vnd.pibench.pack.v1.tar+zstd";

/// What registries that lie have, by the digests to ask for: in `liar` another manifest, in `blobs` another blob, in `clinic` a blob
/// that is longer than its manifest says, in `long` a manifest without end.
async fn liars(server: &MockServer, good: &[u8]) -> [String; 4] {
    let zeros = "0".repeat(64);
    let place = format!("/v2/lab/liar/manifests/sha256:{zeros}");
    serve(
        server,
        &place,
        bytes(b"{\"schemaVersion\":2,\"layers\":[]}"),
    )
    .await;
    let lied = json!({ "schemaVersion": 2, "layers": [
        { "mediaType": PACK_TYPE, "digest": format!("sha256:{zeros}"), "size": good.len() },
    ] });
    let lied = lied.to_string();
    let liar = sha256(lied.as_bytes());
    serve(
        server,
        &format!("/v2/lab/blobs/manifests/sha256:{liar}"),
        bytes(lied.as_bytes()),
    )
    .await;
    serve(
        server,
        &format!("/v2/lab/blobs/blobs/sha256:{zeros}"),
        bytes(good),
    )
    .await;
    let small = json!({ "schemaVersion": 2, "layers": [
        { "mediaType": PACK_TYPE, "digest": format!("sha256:{}", sha256(good)), "size": 10 },
    ] });
    let small = small.to_string();
    let short = sha256(small.as_bytes());
    serve(
        server,
        &format!("/v2/lab/clinic/manifests/sha256:{short}"),
        bytes(small.as_bytes()),
    )
    .await;
    let long = vec![b' '; 5 << 20];
    let long_digest = sha256(&long);
    serve(
        server,
        &format!("/v2/lab/long/manifests/sha256:{long_digest}"),
        bytes(&long),
    )
    .await;
    [zeros, liar, short, long_digest]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pack_comes_from_a_registry_by_its_digest_alone() {
    let scene = scene();
    pack(&scene, "good.pibench", &[]);
    let good = std::fs::read(scene.path("good.pibench")).unwrap();
    let server = MockServer::start().await;
    let host = server.address();
    let digest = registry(&server, "lab/clinic", &[(PACK_TYPE, &good)]).await;
    let other = registry(
        &server,
        "lab/image",
        &[("application/vnd.oci.image.layer.v1.tar+gzip", b"x")],
    )
    .await;
    let twice = registry(
        &server,
        "lab/twice",
        &[(PACK_TYPE, &good), (PACK_TYPE, b"y")],
    )
    .await;
    let [zeros, liar, short, long] = liars(&server, &good).await;
    beside(|| {
        let get = |name: &str, digest: &str| {
            install(&scene, &format!("oci://{host}/{name}@sha256:{digest}"), &[])
        };
        let tag = install(&scene, &format!("oci://{host}/lab/clinic:1.0.0"), &[]);
        expect(&tag, 2, &["named by its digest"]);
        expect(
            &get("lab/image", &other),
            4,
            &["it has no layer of the type"],
        );
        expect(&get("lab/twice", &twice), 4, &["several layers"]);
        expect(&get("lab/liar", &zeros), 3, &["was asked for"]);
        expect(&get("lab/blobs", &liar), 3, &["was asked for"]);
        expect(&get("lab/clinic", &short), 4, &["more than 10 bytes"]);
        expect(&get("lab/long", &long), 4, &["more than 4194304 bytes"]);
        expect(
            &get("lab/clinic", &zeros),
            4,
            &["the registry does not have it"],
        );
        assert_nothing_installed(&scene);
        expect(&get("lab/clinic", &digest), 0, &[]);
        assert!(scene.path("packs/clinic/1.0.0/suite.toml").exists());
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_wants_a_token_of_nobody_in_particular_gives_one() {
    let scene = scene();
    pack(&scene, "good.pibench", &[]);
    let good = std::fs::read(scene.path("good.pibench")).unwrap();
    let server = MockServer::start().await;
    let manifest = json!({ "schemaVersion": 2, "layers": [
        { "mediaType": PACK_TYPE, "digest": format!("sha256:{}", sha256(&good)), "size": good.len() },
    ] });
    let manifest = manifest.to_string();
    let digest = sha256(manifest.as_bytes());
    for (place, body) in [
        (format!("manifests/sha256:{digest}"), manifest.as_bytes()),
        (format!("blobs/sha256:{}", sha256(&good)), &good[..]),
    ] {
        let place = format!("/v2/lab/clinic/{place}");
        let open = Mock::given(method("GET"))
            .and(path(place.as_str()))
            .and(header("authorization", "Bearer word"));
        open.respond_with(bytes(body))
            .with_priority(1)
            .mount(&server)
            .await;
        let challenge = format!("Bearer realm=\"{}/token\",service=\"reg\"", server.uri());
        let closed =
            ResponseTemplate::new(401).insert_header("www-authenticate", challenge.as_str());
        serve(&server, &place, closed).await;
    }
    let token = ResponseTemplate::new(200).set_body_json(json!({ "token": "word" }));
    serve(&server, "/token", token).await;
    let reference = format!("oci://{}/lab/clinic@sha256:{digest}", server.address());
    beside(|| expect(&install(&scene, &reference, &[]), 0, &[]));
    let asked = server.received_requests().await.unwrap();
    let asked: Vec<&str> = asked.iter().filter_map(|one| one.url.query()).collect();
    assert_eq!(
        asked,
        ["service=reg&scope=repository%3Alab%2Fclinic%3Apull"]
    );
}

/// What a server was asked: the query, and what was shown to be let in.
async fn asked(server: &MockServer) -> Vec<(String, Option<String>)> {
    let requests = server.received_requests().await.unwrap();
    let shown = |request: &wiremock::Request| {
        let value = request.headers.get("authorization")?;
        Some(value.to_str().unwrap().to_owned())
    };
    let requests = requests.iter();
    requests
        .map(|one| (one.url.query().unwrap_or_default().to_owned(), shown(one)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrys_token_goes_to_that_registry_and_to_no_other_host() {
    let scene = scene();
    pack(&scene, "good.pibench", &[]);
    let good = std::fs::read(scene.path("good.pibench")).unwrap();
    let manifest = json!({ "schemaVersion": 2, "layers": [
        { "mediaType": PACK_TYPE, "digest": format!("sha256:{}", sha256(&good)), "size": good.len() },
    ] });
    let manifest = manifest.to_string();
    let digest = sha256(manifest.as_bytes());
    let (registry, tokens, storage) = (
        MockServer::start().await,
        MockServer::start().await,
        MockServer::start().await,
    );
    let challenge = format!("Bearer realm=\"{}/token\",service=\"reg\"", tokens.uri());
    let closed = ResponseTemplate::new(401).insert_header("www-authenticate", challenge.as_str());
    let elsewhere =
        ResponseTemplate::new(307).insert_header("location", format!("{}/blob", storage.uri()));
    for (place, answer) in [
        (
            format!("manifests/sha256:{digest}"),
            bytes(manifest.as_bytes()),
        ),
        (format!("blobs/sha256:{}", sha256(&good)), elsewhere),
    ] {
        let place = format!("/v2/lab/clinic/{place}");
        let open = Mock::given(method("GET"))
            .and(path(place.as_str()))
            .and(header("authorization", "Bearer word"));
        let open = open.respond_with(answer).with_priority(1);
        open.mount(&registry).await;
    }
    // Also to who shows a token that it gave, of another name.
    let any = Mock::given(method("GET")).respond_with(closed);
    any.mount(&registry).await;
    let token = ResponseTemplate::new(200).set_body_json(json!({ "access_token": "word" }));
    serve(&tokens, "/token", token).await;
    serve(&storage, "/blob", bytes(&good)).await;
    let get = |name: &str| {
        let reference = format!("oci://{}/{name}@sha256:{digest}", registry.address());
        beside(|| install(&scene, &reference, &[]))
    };
    expect(&get("lab/other"), 4, &["wants to know who asks"]);
    assert_nothing_installed(&scene);
    expect(&get("lab/clinic"), 0, &[]);
    // Each is asked for one token, once, and shown none of another's.
    let query = |name: &str| format!("service=reg&scope=repository%3Alab%2F{name}%3Apull");
    let once = [query("other"), query("clinic")].map(|query| (query, None));
    assert_eq!(asked(&tokens).await, once);
    assert_eq!(asked(&storage).await, [(String::new(), None)]);
    let shown = asked(&registry).await.into_iter().map(|(_, shown)| shown);
    let word = || Some("Bearer word".to_owned());
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [None, word(), None, word(), word()]
    );
}

#[test]
fn a_plugin_is_added_to_the_lock_and_the_others_stay_as_they_were_pinned() {
    let scene = Scene::new();
    let grader = hostile("grader");
    let add = |file: &Path, more: &[&str]| {
        let args = ["plugin", "add", file.to_str().unwrap(), "--plugins", "own"];
        scene.run(&[&args[..], more].concat())
    };
    let output = add(&grader, &[]);
    expect(&output, 0, &[]);
    let line = said(&output);
    assert!(
        line.starts_with("own/hostile_grader.wasm: hostile_grader"),
        "{line}"
    );
    assert!(
        line.contains("asks for clock, random, log, workspace; unsigned"),
        "{line}"
    );
    expect(&scene.run(&["check", "own/hostile_grader.wasm"]), 0, &[]);
    expect(&add(&hostile("app"), &["--name", "shop"]), 0, &[]);
    expect(&scene.run(&["check", "own/shop.wasm"]), 0, &[]);
    expect(&scene.run(&["check", "own/hostile_grader.wasm"]), 0, &[]);
    expect(&add(&grader, &[]), 0, &[]);
    expect(
        &add(&grader, &["--name", "shop"]),
        3,
        &["another component is there already"],
    );
    expect(
        &add(&grader, &["--name", "../shop"]),
        2,
        &["name a plugin `../shop`"],
    );
    expect(
        &add(&grader, &["--sha256", &"0".repeat(64)]),
        3,
        &["was asked for"],
    );
    expect(&add(Path::new("nowhere.wasm"), &[]), 4, &["nowhere.wasm"]);
    scene.write("text.wasm", "no component");
    expect(
        &add(&scene.path("text.wasm"), &[]),
        3,
        &["no WebAssembly component"],
    );
}

#[test]
fn what_was_changed_or_never_pinned_is_not_pinned_by_the_way() {
    let scene = Scene::new();
    let grader = hostile("grader");
    let add = |file: &Path, name: &str| {
        let file = file.to_str().unwrap();
        scene.run(&["plugin", "add", file, "--plugins", "own", "--name", name])
    };
    expect(&add(&hostile("app"), "shop"), 0, &[]);
    let mut wasm = std::fs::read(scene.path("own/shop.wasm")).unwrap();
    wasm.extend(b"\x00\x05\x04note");
    std::fs::write(scene.path("own/shop.wasm"), wasm).unwrap();
    expect(&add(&grader, "third"), 0, &[]);
    expect(
        &scene.run(&["check", "own/shop.wasm"]),
        3,
        &["pins the size"],
    );
    let left: Vec<String> = files(&scene.path("own"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(left, ["pibench.lock", "shop.wasm", "third.wasm"]);
    // A folder that nobody pinned is not pinned by halves.
    std::fs::create_dir(scene.path("loose")).unwrap();
    std::fs::copy(&grader, scene.path("loose/mine.wasm")).unwrap();
    let args = [
        "plugin",
        "add",
        grader.to_str().unwrap(),
        "--plugins",
        "loose",
    ];
    expect(
        &scene.run(&args),
        3,
        &["it is not pinned", "plugin lock --plugins loose"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_comes_from_a_registry_with_the_signature_of_its_author() {
    let Some((keys, key)) = made(&["ed25519"], "") else {
        return;
    };
    let scene = Scene::new();
    let wasm = std::fs::read(hostile("grader")).unwrap();
    std::fs::write(scene.path("clinic_rules.wasm"), &wasm).unwrap();
    let signed = scene.run(&["sign", "clinic_rules.wasm", "--key", key.to_str().unwrap()]);
    expect(&signed, 0, &[]);
    let signature = std::fs::read(scene.path("clinic_rules.wasm.sig")).unwrap();
    let public = std::fs::read_to_string(keys.path().join("key.pub")).unwrap();
    scene.write("signers", &format!("ana@lab.example {public}"));
    let server = MockServer::start().await;
    let layers = [
        ("application/wasm", &wasm[..]),
        ("application/vnd.pibench.signature.v1", &signature[..]),
    ];
    let digest = registry(&server, "lab/clinic_rules", &layers).await;
    let bare = registry(&server, "lab/bare", &layers[..1]).await;
    let host = server.address();
    beside(|| {
        let add = |name: &str, digest: &str, more: &[&str]| {
            let reference = format!("oci://{host}/lab/{name}@sha256:{digest}");
            let args = [
                "plugin",
                "add",
                &reference,
                "--plugins",
                "own",
                "--signers",
                "signers",
            ];
            scene.run(&[&args[..], more].concat())
        };
        let unsigned = add("bare", &bare, &[]);
        let named = format!("verify oci://{host}/lab/bare@sha256:{bare}: nobody signed it");
        expect(&unsigned, 3, &[&named]);
        assert!(!stderr(&unsigned).contains(".new-plugin-"));
        // It was signed under its own name.
        let renamed = add("clinic_rules", &digest, &["--name", "rules"]);
        expect(&renamed, 3, &["made it over something else"]);
        assert!(files(&scene.path("own")).is_empty());
        let output = add("clinic_rules", &digest, &[]);
        expect(&output, 0, &[]);
        assert!(
            said(&output).contains("signed by ana@lab.example"),
            "{}",
            said(&output)
        );
    });
    let verified = scene.run(&["verify", "own/clinic_rules.wasm", "--signers", "signers"]);
    expect(&verified, 0, &[]);
    expect(&scene.run(&["check", "own/clinic_rules.wasm"]), 0, &[]);
}
