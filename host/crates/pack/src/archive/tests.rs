//! Archives that mean no good, each beside one that is taken.

use tar::Header;

use super::*;
use crate::contents::File as Listed;

const PACK: &str = "version = 1\nname = \"clinic\"\nrelease = \"1.0.0\"\nlicense = \"MIT\"\n";

/// A file of an archive, as some writer writes it.
#[derive(Clone)]
struct Raw {
    name: Vec<u8>,
    kind: EntryType,
    bytes: Vec<u8>,
    /// What the header says, where that is another size.
    size: Option<u64>,
}

fn raw(name: &str, bytes: &[u8]) -> Raw {
    Raw {
        name: name.into(),
        kind: EntryType::Regular,
        bytes: bytes.to_vec(),
        size: None,
    }
}

fn listed(path: &str, bytes: &[u8]) -> Listed {
    Listed {
        path: path.into(),
        size: bytes.len() as u64,
        sha256: contents::sha256(bytes),
    }
}

/// A list of these files, however it is.
fn list(files: &[(&str, &[u8])]) -> Contents {
    Contents {
        version: 1,
        name: "clinic".into(),
        release: "1.0.0".into(),
        files: files
            .iter()
            .map(|(path, bytes)| listed(path, bytes))
            .collect(),
    }
}

fn sound() -> (Contents, Vec<Raw>) {
    let files: [(&str, &[u8]); 3] = [
        ("a/b.md", b"one"),
        ("pack.toml", PACK.as_bytes()),
        ("suite.toml", b"version = 1\n"),
    ];
    let contents = list(&files);
    let mut raws = vec![raw(LIST, contents.text().as_bytes())];
    raws.extend(files.iter().map(|(path, bytes)| raw(path, bytes)));
    (contents, raws)
}

fn tar(raws: &[Raw]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for Raw {
        name,
        kind,
        bytes,
        size,
    } in raws
    {
        let mut header = Header::new_ustar();
        // Names that no honest writer writes.
        header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name);
        header.set_size(size.unwrap_or(bytes.len() as u64));
        header.set_mode(0o644);
        header.set_entry_type(*kind);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        tar.append(&header, &bytes[..]).unwrap();
    }
    tar.into_inner().unwrap()
}

fn read(tar: &[u8]) -> Result<Unpacked, String> {
    read_packed(&zstd::encode_all(tar, 1).unwrap())
}

fn read_packed(packed: &[u8]) -> Result<Unpacked, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.pibench");
    fs::write(&file, packed).unwrap();
    let to = dir.path().join("to");
    fs::create_dir(&to).unwrap();
    let read = unpack(&file, &to).map_err(|error| error.to_string());
    // Nothing came to lie beside the folder.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    read
}

fn assert_refused(raws: &[Raw], words: &str) {
    let said = read(&tar(raws)).map(drop).unwrap_err();
    assert!(said.contains(words), "`{words}` is not in: {said}");
}

#[test]
fn an_archive_is_its_list_in_order_and_to_the_byte() {
    let (contents, good) = sound();
    assert_eq!(read(&tar(&good)).unwrap().contents, contents);
    let mut signed = good.clone();
    signed.insert(1, raw(SIGNATURE, b"signature"));
    let unpacked = read(&tar(&signed)).unwrap();
    assert_eq!(unpacked.signature.as_deref(), Some("signature"));
    let changed = |change: &dyn Fn(&mut Vec<Raw>), words: &str| {
        let mut raws = good.clone();
        change(&mut raws);
        assert_refused(&raws, words);
    };
    changed(
        &|raws| drop(raws.remove(0)),
        "does not begin with pack.json",
    );
    changed(&|raws| raws.swap(0, 1), "does not begin with pack.json");
    changed(
        &|raws| raws.swap(1, 2),
        "`pack.toml` stands where its list has `a/b.md`",
    );
    changed(
        &|raws| drop(raws.pop()),
        "`suite.toml` of its list is not in it",
    );
    changed(
        &|raws| raws[1].bytes = b"two".into(),
        "`a/b.md` is not what its list says",
    );
    changed(
        &|raws| raws[1].bytes = b"longer".into(),
        "has 6 bytes, and its list says 3",
    );
    changed(
        &|raws| raws.push(raw("more.md", b"")),
        "`more.md` is not on its list",
    );
    changed(
        &|raws| raws.push(raws[1].clone()),
        "`a/b.md` is not on its list",
    );
    changed(
        &|raws| raws.insert(2, raws[1].clone()),
        "`a/b.md` stands where its list has `pack.toml`",
    );
    changed(
        &|raws| raws.push(raw(SIGNATURE, b"")),
        "`pack.sig` is not on its list",
    );
    changed(
        &|raws| raws[1].name = b"../b.md".into(),
        "`../b.md` stands where",
    );
    changed(
        &|raws| raws[1].name = b"a/\xff.md".into(),
        "stands where its list has `a/b.md`",
    );
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Directory,
        EntryType::Fifo,
        EntryType::Char,
        EntryType::Block,
        EntryType::Continuous,
        EntryType::GNUSparse,
    ] {
        changed(&|raws| raws[1].kind = kind, "`a/b.md` is no plain file");
        changed(&|raws| raws[0].kind = kind, "`pack.json` is no plain file");
    }
}

#[test]
fn a_list_names_files_of_a_pack_and_each_of_them_once() {
    let check = |files: &[(&str, &[u8])], words: &str| {
        let contents = list(files);
        let mut raws = vec![raw(LIST, contents.text().as_bytes())];
        // Long names are told apart before they are looked for.
        raws.extend(
            files
                .iter()
                .filter(|(path, _)| path.len() < 100)
                .map(|(path, bytes)| raw(path, bytes)),
        );
        assert_refused(&raws, words);
    };
    let pack = ("pack.toml", PACK.as_bytes());
    for path in [
        "../out",
        "/etc/out",
        "a/../../out",
        "a//b",
        "./a",
        "a/.",
        "a/",
        "",
        "a\\b",
        "C:/a",
        "https://lab.example/a",
        "a\u{202e}txt.exe",
        "a/\u{ff0e}\u{ff0e}/b",
        "a\nb",
        &"a/".repeat(200),
    ] {
        let mut files = [(path, &b""[..]), pack];
        files.sort_unstable();
        check(&files, "`");
    }
    let long = "a".repeat(256);
    check(&[(&long, b""), pack], "more than 255 bytes");
    check(&[pack, pack], "each once");
    check(&[pack, ("a.md", b"")], "in the order of their names");
    check(
        &[("A.md", b""), ("a.md", b""), pack],
        "are one name to a reader",
    );
    check(
        &[("Dir/a", b""), ("dir/b", b""), pack],
        "are one name to a reader",
    );
    check(
        &[("a.md", b""), pack, ("\u{430}.md", b"")],
        "are one name to a reader",
    );
    check(
        &[("e\u{301}", b""), pack, ("\u{e9}", b"")],
        "are one name to a reader",
    );
    check(
        &[("a", b""), ("a\u{200b}", b""), pack],
        "are one name to a reader",
    );
    check(&[("a", b""), ("a/b", b""), pack], "is a file and a folder");
    check(&[("PACK.json", b""), pack], "the name is the archive's own");
    check(&[pack, ("pack.sig", b"")], "the name is the archive's own");
    check(&[("a", b"")], "it has no pack.toml");
    // Of one alphabet, letters that look alike are two: these are no look-alikes.
    let files: [(&str, &[u8]); 3] = [("a1.md", b""), ("al.md", b""), pack];
    let contents = list(&files);
    let mut raws = vec![raw(LIST, contents.text().as_bytes())];
    raws.extend(files.iter().map(|(path, bytes)| raw(path, bytes)));
    assert_eq!(read(&tar(&raws)).unwrap().contents, contents);
}

#[test]
fn a_list_is_written_in_one_way() {
    let (contents, good) = sound();
    let with = |text: String, words: &str| {
        let mut raws = good.clone();
        raws[0].bytes = text.into_bytes();
        assert_refused(&raws, words);
    };
    let text = contents.text();
    with(format!("{text} "), "in another way than packs are");
    with(
        text.replacen("clinic", "clin\\u0069c", 1),
        "in another way than packs are",
    );
    with(
        text.replacen("\"version\": 1", "\"version\": 2", 1),
        "version 2 is not known",
    );
    with(
        text.replacen("clinic", "../clinic", 1),
        "is no name of a pack",
    );
    with(text.replacen("1.0.0", "../..", 1), "three numbers");
    with(
        text.replacen("\"name\"", "\"more\": 1, \"name\"", 1),
        "unknown field",
    );
    with(
        text.replacen("\"size\": 3", "\"size\": 268435457", 1),
        "more than the limit",
    );
    with("[".repeat(1_000_000), "pack.json");
    with(String::new(), "pack.json");
}

#[test]
fn bombs_are_not_unpacked() {
    let (_, good) = sound();
    let repeated = |raws: &[Raw], size: u64| {
        let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
        let mut head = tar(raws);
        // Without the end of the archive.
        head.truncate(head.len() - 1024);
        packed.write_all(&head).unwrap();
        io::copy(&mut io::repeat(0).take(size), &mut packed).unwrap();
        packed.finish().unwrap()
    };
    let refused = |packed: &[u8], words: &str| {
        assert!(packed.len() < 2 << 20, "{}", packed.len());
        let said = read_packed(packed).map(drop).unwrap_err();
        assert!(said.contains(words), "{said}");
    };
    // A list, and a file, of far more than their limits.
    let mut large = vec![raw(LIST, b"")];
    large[0].size = Some(1 << 33);
    refused(&repeated(&large, 1 << 26), "more than the limit");
    let mut more = good.clone();
    more[1].size = Some(1 << 33);
    more.truncate(2);
    more[1].bytes.clear();
    refused(&repeated(&more, 1 << 26), "and its list says 3");
    // A name of any length in an extension of the format, which readers keep in memory.
    for kind in [
        EntryType::GNULongName,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
    ] {
        let mut long = vec![raw("././@LongLink", b"")];
        long[0].kind = kind;
        long[0].size = Some(1 << 33);
        refused(&repeated(&long, 1 << 26), "does not begin with pack.json");
    }
    // Nothing, behind the end, for longer than any pack is.
    refused(&repeated(&good, 3 << 30), "unpacked it has more than");
    // A window that takes 2 GiB.
    let mut wide = zstd::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(31).unwrap();
    wide.write_all(&tar(&good)).unwrap();
    let said = read_packed(&wide.finish().unwrap()).map(drop).unwrap_err();
    assert!(said.contains("too much memory"), "{said}");
}

#[test]
fn nothing_stands_behind_the_end() {
    let (_, good) = sound();
    let whole = tar(&good);
    assert!(read(&[&whole[..], &[0; 4096]].concat()).is_ok());
    let said = read(&[&whole[..], &whole[..]].concat())
        .map(drop)
        .unwrap_err();
    assert!(said.contains("something stands behind its end"), "{said}");
    let packed = zstd::encode_all(&whole[..], 1).unwrap();
    let said = read_packed(&packed[..packed.len() - 9])
        .map(drop)
        .unwrap_err();
    assert!(said.contains("it is no whole archive"), "{said}");
    let said = read_packed(&[&packed[..], b"more"].concat())
        .map(drop)
        .unwrap_err();
    assert!(said.contains("it is no whole archive"), "{said}");
    assert!(read_packed(b"").is_err());
    assert!(read(b"").is_err());
}

/// A folder with a pack in it.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("a")).unwrap();
    fs::write(dir.path().join("a/b.md"), "one").unwrap();
    fs::write(dir.path().join("pack.toml"), PACK).unwrap();
    fs::write(dir.path().join("suite.toml"), "version = 1\n").unwrap();
    dir
}

#[test]
fn the_same_files_make_the_same_bytes_and_come_back_as_they_were() {
    let (one, other) = (folder(), folder());
    // Neither times nor modes are in it.
    let file = other.path().join("suite.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let out = tempfile::tempdir().unwrap();
    let pack = |dir: &tempfile::TempDir, name: &str| {
        let folder = Utf8Path::from_path(dir.path()).unwrap();
        let (contents, _) = Contents::of(folder).unwrap();
        let path = out.path().join(name);
        write(&path, folder, &contents, Some("signature")).unwrap();
        (contents, fs::read(path).unwrap())
    };
    let (contents, bytes) = pack(&one, "one.pibench");
    assert!(bytes == pack(&other, "other.pibench").1);
    let to = out.path().join("to");
    fs::create_dir(&to).unwrap();
    let unpacked = unpack(&out.path().join("one.pibench"), &to).unwrap();
    assert_eq!(unpacked.contents, contents);
    assert_eq!(unpacked.signature.as_deref(), Some("signature"));
    let again = Contents::of(Utf8Path::from_path(&to).unwrap()).unwrap().0;
    assert_eq!(again, contents);
    let folder = Utf8Path::from_path(one.path()).unwrap();
    let there = write(&out.path().join("one.pibench"), folder, &contents, None);
    assert!(there.is_err(), "another file was written over");
    fs::write(one.path().join("suite.toml"), "changed").unwrap();
    let changed = write(&out.path().join("new.pibench"), folder, &contents, None);
    assert!(
        changed
            .unwrap_err()
            .to_string()
            .contains("was changed just now")
    );
    assert!(
        !out.path().join("new.pibench").exists(),
        "half of it is there"
    );
}

proptest::proptest! {
    #[test]
    fn no_changed_byte_does_more_than_to_be_refused(at in 0usize..6000, byte in 0u8..) {
        let mut whole = tar(&sound().1);
        let at = at % whole.len();
        whole[at] = byte;
        let _ = read(&whole);
        let mut packed = zstd::encode_all(&whole[..], 1).unwrap();
        let at = at % packed.len();
        packed[at] = byte;
        let _ = read_packed(&packed);
    }
}
