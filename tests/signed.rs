//! What is signed, and what a signature is good for: runs, plugins and packs, through the program and beside `ssh-keygen`.

use std::path::Path;

use crate::openssh::{keygen, made};
use crate::scene::{Scene, copy, expect, flowed, hostile, stderr};

/// A scene with the keys of two people and the file of who may sign; None where there is no `ssh-keygen`.
fn signing() -> Option<Scene> {
    let scene = Scene::new();
    let mut lines = Vec::new();
    for name in ["ana", "ben"] {
        let (dir, key) = made(&["ed25519"], "")?;
        std::fs::copy(&key, scene.path(name)).unwrap();
        let public = std::fs::read_to_string(dir.path().join("key.pub")).unwrap();
        scene.write(&format!("{name}.pub"), &public);
        lines.push(format!("{name}@lab.example {public}"));
    }
    scene.write("signers", &lines.concat());
    Some(scene)
}

/// Signs a thing with a key of the scene.
fn sign(scene: &Scene, thing: &str, key: &str) {
    expect(&scene.run(&["sign", thing, "--key", key]), 0, &[]);
}

/// What `verify` says of a thing, with its code.
fn verify(scene: &Scene, thing: &str, more: &[&str]) -> (i32, String) {
    let output = scene.run(&[&["verify", thing], more].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    (output.status.code().unwrap(), flowed(&said))
}

fn assert_taken(scene: &Scene, thing: &str, by: &str) {
    let (code, said) = verify(scene, thing, &["--signers", "signers"]);
    assert_eq!(code, 0, "{said}");
    let words = format!("{thing}: signed by {by}@lab.example (SHA256:");
    assert!(said.contains(&words), "{said}");
}

fn assert_refused(scene: &Scene, thing: &str, more: &[&str], words: &str) {
    let (code, said) = verify(scene, thing, more);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains(words), "`{words}` is not in:\n{said}");
}

/// What makes a signature worthless, each refused by name; the same thing, key and signature pass where nothing is wrong.
fn assert_refusals(scene: &Scene, thing: &str, namespace: &str, other: &str) {
    let ana = std::fs::read_to_string(scene.path("ana.pub")).unwrap();
    let with = ["--signers", "signers"];
    assert_taken(scene, thing, "ana");
    let revoked = [&with[..], &["--revoked", "revoked"]].concat();
    scene.write("revoked", &ana);
    assert_refused(scene, thing, &revoked, "is revoked (revoked)");
    scene.write("revoked", "# nobody\n");
    assert_eq!(verify(scene, thing, &revoked).0, 0);
    for (options, words) in [
        ("valid-before=\"20200101Z\"", "it is expired"),
        (
            "valid-after=\"29990101Z\"",
            "from 2999-01-01T00:00:00Z on only",
        ),
        ("namespaces=\"git\"", "for `git` only"),
    ] {
        scene.write("few", &format!("ana@lab.example {options} {ana}"));
        assert_refused(scene, thing, &["--signers", "few"], words);
    }
    scene.write(
        "few",
        &format!("ana@lab.example valid-before=\"29990101Z\",namespaces=\"{namespace}\" {ana}"),
    );
    assert_eq!(verify(scene, thing, &["--signers", "few"]).0, 0);
    let ben = std::fs::read_to_string(scene.path("ben.pub")).unwrap();
    scene.write("few", &format!("ben@lab.example {ben}"));
    assert_refused(
        scene,
        thing,
        &["--signers", "few"],
        "names no one with the key",
    );
    let place = scene.path(other);
    let good = std::fs::read(&place).unwrap();
    std::fs::write(&place, "no signature").unwrap();
    assert_refused(scene, thing, &with, "it is none of OpenSSH");
    std::fs::remove_file(&place).unwrap();
    assert_refused(scene, thing, &with, "nobody signed it");
    std::fs::write(&place, good).unwrap();
    assert_taken(scene, thing, "ana");
}

/// The real program takes what `--statement` prints and our signature of it; under no other namespace.
fn assert_agreed(scene: &Scene, thing: &str, namespace: &str, signature: &str) {
    let statement = scene.run(&["sign", thing, "--statement"]).stdout;
    let verify = |space: &str, bytes: &[u8]| {
        let arguments = [
            "-Y",
            "verify",
            "-f",
            "signers",
            "-I",
            "ana@lab.example",
            "-n",
            space,
            "-s",
            signature,
        ];
        keygen(scene.dir.path(), &arguments, bytes).unwrap()
    };
    let (good, said) = verify(namespace, &statement);
    assert!(good && said.contains("Good"), "{said}");
    assert!(!verify("git", &statement).0);
    assert!(!verify(namespace, &[&statement[..], b" "].concat()).0);
    // And we take the signature that it makes of it.
    scene.write("statement", &String::from_utf8(statement).unwrap());
    let made = ["-Y", "sign", "-f", "ana", "-n", namespace, "statement"];
    let (good, said) = keygen(scene.dir.path(), &made, b"").unwrap();
    assert!(good, "{said}");
    std::fs::rename(scene.path("statement.sig"), scene.path(signature)).unwrap();
    assert_taken(scene, thing, "ana");
    // A signature over the same bytes as another kind of thing is none over this one.
    let space = if namespace == "pibench-run" {
        "pibench-pack"
    } else {
        "pibench-run"
    };
    let made = ["-Y", "sign", "-f", "ana", "-n", space, "statement"];
    assert!(keygen(scene.dir.path(), &made, b"").unwrap().0);
    let good = std::fs::read(scene.path(signature)).unwrap();
    std::fs::rename(scene.path("statement.sig"), scene.path(signature)).unwrap();
    let words =
        format!("it was made for `{space}`, and what it stands beside is signed as `{namespace}`");
    assert_refused(scene, thing, &["--signers", "signers"], &words);
    std::fs::write(scene.path(signature), good).unwrap();
}

#[test]
fn a_signed_run_is_its_signers_and_one_that_was_changed_is_not_signed() {
    let Some(scene) = signing() else { return };
    scene.play("run", &["--session", "corrie-extension"]);
    scene.play(
        "other",
        &["--session", "corrie-extension", "--agent", "nop"],
    );
    assert_eq!(verify(&scene, "run", &[]).0, 0);
    sign(&scene, "run", "ana");
    sign(&scene, "other", "ana");
    let (code, said) = verify(&scene, "run", &[]);
    assert!(code == 0 && said.contains("run: signed; by whom"), "{said}");
    assert_refusals(&scene, "run", "pibench-run", "run/seal.json.sig");
    assert_agreed(&scene, "run", "pibench-run", "run/seal.json.sig");
    let with = ["--signers", "signers"];
    let theirs = scene.path("other/seal.json.sig");
    std::fs::copy(theirs, scene.path("run/seal.json.sig")).unwrap();
    assert_refused(&scene, "run", &with, "made it over something else");
    sign(&scene, "run", "ana");
    assert_taken(&scene, "run", "ana");
    // The signature still holds for the seal, and the seal no longer for the folder.
    let journal = "run/journal/law_trainee.r1.jsonl";
    let text = std::fs::read_to_string(scene.path(journal)).unwrap();
    std::fs::write(scene.path(journal), format!("{text}\n")).unwrap();
    let (code, said) = verify(&scene, "run", &with);
    assert!(
        code == 3 && said.contains("changed after the run"),
        "{said}"
    );
    let output = scene.run(&["sign", "run", "--key", "ana"]);
    expect(
        &output,
        3,
        &["sign run: run was changed since it was sealed"],
    );
    std::fs::write(scene.path(journal), text).unwrap();
    sign(&scene, "run", "ana");
}

#[test]
fn a_run_of_which_a_blob_is_gone_or_changed_is_not_signed() {
    let Some(scene) = signing() else { return };
    scene.play("run", &["--session", "corrie-extension"]);
    let blobs = std::fs::read_dir(scene.path("run/blobs")).unwrap();
    let blob = blobs.map(|entry| entry.unwrap().path()).next().unwrap();
    let was = std::fs::read(&blob).unwrap();
    let refused = |what: &str| {
        let output = scene.run(&["sign", "run", "--key", "ana"]);
        let told = "sign run: run was changed since it was sealed (blobs/";
        expect(&output, 3, &[told, what]);
        assert!(!scene.path("run/seal.json.sig").exists(), "{what}");
    };
    std::fs::write(&blob, [&was[..], b" "].concat()).unwrap();
    refused("it is not what its name says");
    std::fs::remove_file(&blob).unwrap();
    refused("it is gone");
    std::fs::write(scene.path("elsewhere"), &was).unwrap();
    std::os::unix::fs::symlink(scene.path("elsewhere"), &blob).unwrap();
    refused("not a regular file");
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(&blob, was).unwrap();
    sign(&scene, "run", "ana");
    assert_taken(&scene, "run", "ana");
}

#[test]
fn a_run_that_is_gone_on_with_is_signed_by_nobody() {
    let Some(scene) = signing() else { return };
    scene.play("run", &["--session", "corrie-extension"]);
    sign(&scene, "run", "ana");
    // A whole run has nothing to go on with.
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    assert_taken(&scene, "run", "ana");
    let journal = scene.path("run/journal/law_trainee.r1.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let first = text.find('\n').unwrap() + 1;
    std::fs::write(&journal, &text[..first]).unwrap();
    expect(&scene.run(&["run", "--resume", "run"]), 0, &[]);
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), text);
    assert_eq!(verify(&scene, "run", &[]).0, 0);
    assert_refused(&scene, "run", &["--signers", "signers"], "nobody signed it");
}

/// A folder with the hostile grader in it.
fn plugin(scene: &Scene) -> &'static str {
    std::fs::create_dir_all(scene.path("pack")).unwrap();
    std::fs::copy(hostile("grader"), scene.path("pack/grader.wasm")).unwrap();
    "pack/grader.wasm"
}

#[test]
fn a_signed_plugin_is_its_signers_under_its_name_and_to_the_byte() {
    let Some(scene) = signing() else { return };
    let file = plugin(&scene);
    sign(&scene, file, "ana");
    let statement = scene.run(&["sign", file, "--statement"]).stdout;
    let statement: serde_json::Value = serde_json::from_slice(&statement).unwrap();
    assert_eq!(statement["plugin"], "grader");
    assert_eq!(
        statement["asks_for"],
        serde_json::json!(["clock", "random", "log", "workspace"])
    );
    assert_refusals(&scene, file, "pibench-plugin", "pack/grader.wasm.sig");
    assert_agreed(&scene, file, "pibench-plugin", "pack/grader.wasm.sig");
    expect(
        &scene.run(&["verify", file]),
        2,
        &["name who may sign it by --signers"],
    );
    expect(
        &scene.run(&["verify", "signers"]),
        3,
        &["find what signers is: a plugin is a file NAME.wasm"],
    );
    // The same bytes under another name are another plugin to a policy.
    let with = ["--signers", "signers"];
    for end in ["", ".sig"] {
        let (from, to) = (format!("{file}{end}"), format!("pack/rules.wasm{end}"));
        std::fs::copy(scene.path(&from), scene.path(&to)).unwrap();
    }
    assert_refused(
        &scene,
        "pack/rules.wasm",
        &with,
        "made it over something else",
    );
    let mut wasm = std::fs::read(scene.path(file)).unwrap();
    wasm.extend(b"\x00\x05\x04note");
    std::fs::write(scene.path(file), wasm).unwrap();
    assert_refused(&scene, file, &with, "made it over something else");
}

/// What `check` says that the plugin is granted, or why it is not taken.
fn granted(scene: &Scene, policy: &str) -> String {
    scene.write("policy.toml", &format!("version = 1\n{policy}"));
    let output = scene.run(&["check", "pack/grader.wasm", "--policy", "policy.toml"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    let granted = said.split_once("is granted ");
    let granted = granted.and_then(|(_, granted)| granted.lines().next());
    let code = if granted.is_some() { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(code), "{said}");
    granted.map_or_else(|| said.clone(), str::to_owned)
}

#[test]
fn a_policy_says_who_may_sign_what_and_what_that_grants() {
    let Some(scene) = signing() else { return };
    let file = plugin(&scene);
    let by = |name: &str, plugins: &str, more: &str| {
        format!(
            "allowed_signers = \"signers\"\n{more}[signers.\"{name}@lab.example\"]\nplugins = [{plugins}]\n\
             grants = [\"workspace\", \"attachments\"]\n"
        )
    };
    let ana = by("ana", "\"grader\"", "");
    assert_eq!(granted(&scene, &ana), "nothing", "nobody signed it yet");
    let required = by("ana", "\"grader\"", "require_signed = true\n");
    let said = granted(&scene, &required);
    assert!(said.contains("there is no pack/grader.wasm.sig"), "{said}");
    sign(&scene, file, "ana");
    assert_eq!(granted(&scene, &required), "workspace");
    assert_eq!(granted(&scene, &ana), "workspace");
    assert_eq!(granted(&scene, &by("ana", "\"*\"", "")), "workspace");
    // What the policy says of the plugin itself goes before.
    let own = format!("{ana}[plugins.grader]\ngrants = [\"log\"]\n");
    assert_eq!(granted(&scene, &own), "log");
    let required_of = |plugins: &str| by("ana", plugins, "require_signed = true\n");
    for plugins in ["", "\"rules\"", "\"grade\""] {
        let said = granted(&scene, &required_of(plugins));
        assert!(said.contains("ana@lab.example signed it"), "{said}");
        assert_eq!(granted(&scene, &by("ana", plugins, "")), "nothing");
    }
    let said = granted(&scene, &by("ben", "\"grader\"", "require_signed = true\n"));
    assert!(said.contains("ana@lab.example signed it"), "{said}");
    // A grant of the plugin's own does not stand in for a signature that is wanted.
    std::fs::remove_file(scene.path("pack/grader.wasm.sig")).unwrap();
    let both = format!("{required}[plugins.grader]\ngrants = [\"log\"]\n");
    assert!(granted(&scene, &both).contains("there is no pack/grader.wasm.sig"));
    sign(&scene, file, "ana");
    assert_eq!(granted(&scene, &both), "log");
    let public = std::fs::read_to_string(scene.path("ana.pub")).unwrap();
    scene.write("gone", &public);
    let revoked = by("ana", "\"grader\"", "revoked_keys = \"gone\"\n");
    let said = granted(&scene, &revoked);
    assert!(said.contains("is revoked"), "{said}");
    scene.write(
        "signers",
        &format!("ana@lab.example valid-before=\"20200101Z\" {public}"),
    );
    let said = granted(&scene, &ana);
    assert!(said.contains("it is expired"), "{said}");
}

#[test]
fn what_a_policy_says_of_signers_without_their_keys_is_refused() {
    let scene = Scene::new();
    plugin(&scene);
    for (policy, words) in [
        (
            "require_signed = true\n",
            "`require_signed` says nothing without `allowed_signers`",
        ),
        (
            "[signers.a]\nplugins = []\n",
            "`signers` says nothing without `allowed_signers`",
        ),
        (
            "revoked_keys = \"a\"\n",
            "`revoked_keys` says nothing without `allowed_signers`",
        ),
        (
            "allowed_signers = \"a\"\n",
            "`allowed_signers` says nothing without `signers`",
        ),
        (
            "allowed_signers = \"gone\"\n[signers.a]\nplugins = []\n",
            "read gone: No such file",
        ),
        (
            "allowed_signers = \"a\"\n[signers.a]\nplugin = []\n",
            "unknown key `plugin`",
        ),
    ] {
        let said = granted(&scene, policy);
        assert!(said.contains(words), "`{words}` is not in:\n{said}");
    }
}

#[test]
fn a_run_says_who_signed_its_plugins_and_plays_on_what_that_grants() {
    let Some(scene) = signing() else { return };
    let scene = scene.with_short();
    let path = "tasks/personas/law_trainee/sessions/corrie-extension/session.toml";
    scene.replace(path, "grader = \"rules\"", "grader = \"mine\"");
    let rules = crate::scene::root().join("target/plugins/rules.wasm");
    std::fs::copy(rules, scene.path("tasks/mine.wasm")).unwrap();
    let suite = std::fs::read_to_string(scene.path("tasks/suite.toml")).unwrap();
    let suite = format!("{suite}\n[plugins]\nmine = \"mine.wasm\"\n");
    scene.write("tasks/suite.toml", &suite);
    scene.write(
        "policy.toml",
        "version = 1\nallowed_signers = \"signers\"\nrequire_signed = true\n\
         [signers.\"ana@lab.example\"]\nplugins = [\"mine\"]\ngrants = [\"log\", \"workspace\"]\n",
    );
    let run = [
        "run",
        "tasks/suite.toml",
        "--policy",
        "policy.toml",
        "--out",
        "run",
    ];
    expect(
        &scene.run(&run),
        3,
        &["plugin `mine`", "there is no", "require_signed"],
    );
    assert!(!scene.path("run").exists(), "something was played");
    sign(&scene, "tasks/mine.wasm", "ben");
    expect(&scene.run(&run), 3, &["ben@lab.example signed it"]);
    std::fs::remove_file(scene.path("tasks/mine.wasm.sig")).unwrap();
    sign(&scene, "tasks/mine.wasm", "ana");
    expect(&scene.run(&run), 0, &[]);
    let manifest = std::fs::read(scene.path("run/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let mark = &manifest["plugins"]["mine"];
    assert_eq!(mark["signed"]["by"], "ana@lab.example");
    assert!(
        mark["signed"]["key"]
            .as_str()
            .unwrap()
            .starts_with("SHA256:")
    );
    assert_eq!(mark["grants"], serde_json::json!(["log", "workspace"]));
    assert!(manifest["plugins"]["shell"]["signed"].is_null());
    assert_eq!(verify(&scene, "run", &[]).0, 0);
}

/// A pack as far as its list goes.
fn pack(scene: &Scene, folder: &str) {
    scene.write(
        &format!("{folder}/pack.toml"),
        "version = 1\nname = \"clinic\"\nrelease = \"1.0.0\"\nlicense = \"MIT\"\nauthors = [\"Ana <ana@lab.example>\"]\n",
    );
    scene.write(&format!("{folder}/suite.toml"), "version = 1\n");
    scene.write(
        &format!("{folder}/people/ana/persona.toml"),
        "version = 1\n",
    );
    scene.write(&format!("{folder}/.git/config"), "never packed\n");
}

#[test]
fn a_signed_pack_is_its_signers_to_the_last_file() {
    let Some(scene) = signing() else { return };
    pack(&scene, "clinic");
    sign(&scene, "clinic", "ana");
    assert_refusals(&scene, "clinic", "pibench-pack", "clinic/pack.sig");
    assert_agreed(&scene, "clinic", "pibench-pack", "clinic/pack.sig");
    let with = ["--signers", "signers"];
    let changed = |change: &dyn Fn(&Path)| {
        let _ = std::fs::remove_dir_all(scene.path("copy"));
        copy(&scene.path("clinic"), &scene.path("copy"));
        change(&scene.path("copy"));
        assert_refused(&scene, "copy", &with, "made it over something else");
    };
    changed(&|dir| std::fs::write(dir.join("people/ana/persona.toml"), "version = 2\n").unwrap());
    changed(&|dir| std::fs::write(dir.join("people/more.md"), "").unwrap());
    changed(&|dir| std::fs::remove_file(dir.join("suite.toml")).unwrap());
    changed(&|dir| std::fs::rename(dir.join("people"), dir.join("persons")).unwrap());
    // What is no part of a pack may come and go.
    let _ = std::fs::remove_dir_all(scene.path("copy"));
    copy(&scene.path("clinic"), &scene.path("copy"));
    std::fs::remove_dir_all(scene.path("copy/.git")).unwrap();
    assert_taken(&scene, "copy", "ana");
}

#[test]
fn the_signature_of_another_is_not_replaced_and_ones_own_is() {
    let Some(scene) = signing() else { return };
    pack(&scene, "clinic");
    let place = scene.path("clinic/pack.sig");
    sign(&scene, "clinic", "ana");
    let anas = std::fs::read(&place).unwrap();
    let bens = scene.run(&["sign", "clinic", "--key", "ben"]);
    let words = ["sign clinic: the key SHA256:", "remove clinic/pack.sig"];
    expect(&bens, 3, &words);
    assert_eq!(std::fs::read(&place).unwrap(), anas);
    sign(&scene, "clinic", "ana");
    // Nor where it no longer holds; what is no signature is nobody's.
    scene.write("clinic/people/more.md", "");
    expect(&scene.run(&["sign", "clinic", "--key", "ben"]), 3, &words);
    sign(&scene, "clinic", "ana");
    std::fs::write(&place, "no signature").unwrap();
    sign(&scene, "clinic", "ben");
    assert_taken(&scene, "clinic", "ben");
}

#[test]
fn what_cannot_be_signed_is_told_with_a_reason() {
    let Some(scene) = signing() else { return };
    let sign = |thing: &str, key: &str| scene.run(&["sign", thing, "--key", key]);
    expect(&sign("nowhere", "ana"), 3, &["find what nowhere is"]);
    scene.write("a.wasm", "no component");
    expect(
        &sign("a.wasm", "ana"),
        3,
        &["it is no WebAssembly component"],
    );
    scene.write(
        "bad/pack.toml",
        "version = 1\nname = \"A b\"\nrelease = \"1.0.0\"\nlicense = \"MIT\"\n",
    );
    expect(&sign("bad", "ana"), 3, &["`A b` is no name of a pack"]);
    pack(&scene, "clinic");
    std::os::unix::fs::symlink("/etc/hostname", scene.path("clinic/people/link")).unwrap();
    expect(&sign("clinic", "ana"), 3, &["`people/link` is a link"]);
    std::fs::remove_file(scene.path("clinic/people/link")).unwrap();
    for (one, other) in [
        ("a.md", "A.md"),
        ("a.md", "\u{430}.md"),
        ("\u{e9}", "e\u{301}"),
    ] {
        scene.write(&format!("clinic/{one}"), "");
        scene.write(&format!("clinic/{other}"), "");
        expect(
            &sign("clinic", "ana"),
            3,
            &["are one name to a reader or a file system"],
        );
        std::fs::remove_file(scene.path(&format!("clinic/{other}"))).unwrap();
        expect(&sign("clinic", "ana"), 0, &[]);
        std::fs::remove_file(scene.path(&format!("clinic/{one}"))).unwrap();
    }
    expect(&sign("clinic", "ana.pub"), 3, &["it is a public key"]);
    expect(&sign("clinic", "nowhere"), 3, &["the key nowhere"]);
    let (dir, _) = made(&["ed25519"], "open up").unwrap();
    let key = dir.path().join("key");
    let key = key.to_str().unwrap();
    expect(&sign("clinic", key), 3, &["set PIBENCH_KEY_PASSPHRASE"]);
    let with = |word: &str| {
        let variables = [("PIBENCH_KEY_PASSPHRASE", word)];
        scene.run_with(&["sign", "clinic", "--key", key], &variables)
    };
    expect(&with("open"), 3, &["the passphrase does not open it"]);
    std::fs::remove_file(scene.path("clinic/pack.sig")).unwrap();
    expect(&with("open up"), 0, &[]);
}
