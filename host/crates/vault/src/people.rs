//! People's keys: to whom something is encrypted, and by which it is opened. Age's own (X25519) and OpenSSH's of Ed25519.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use age::secrecy::SecretString;
use age::ssh::EncryptedKey;
use age::{DecryptError, Decryptor, Encryptor};
use ssh_key::Kdf;

use crate::VaultError;

/// Bytes of a file of keys.
const KEYS_LIMIT: u64 = 64 << 10;

/// Recipients of one pack: each costs an attempt to whoever opens it.
const RECIPIENTS_LIMIT: usize = 1_000;

/// Bytes of an encrypted file's list of recipients, which is read before anything is decrypted.
const HEADER_LIMIT: usize = RECIPIENTS_LIMIT * 300;

/// Entries of that list: one for each recipient, and one of no meaning that age puts to them.
const ENTRIES_LIMIT: usize = RECIPIENTS_LIMIT + 1;

/// How often a passphrase is hashed at most, each a thousandth of a second or more: `ssh-keygen -a` says how often, 16 or 24 times
/// where it is not asked to, and a key's file may say four thousand million.
const ROUNDS_LIMIT: u32 = 10_000;

/// Somebody to whom something is encrypted.
#[derive(Clone)]
pub struct Recipient {
    /// As it was given, without a comment: `age1...` or `ssh-ed25519 AAAA...`.
    pub text: String,
    /// The comment of an OpenSSH key, such as `ana@lab.example`; else empty.
    pub comment: String,
    key: PublicKey,
}

#[derive(Clone)]
enum PublicKey {
    Age(age::x25519::Recipient),
    Ssh(age::ssh::Recipient),
}

impl std::fmt::Debug for Recipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Recipient").field(&self.text).finish()
    }
}

impl Recipient {
    /// Reads a public key, or all those of a file of that name: one a line, `#` begins a comment.
    pub fn read(named: &str) -> Result<Vec<Self>, VaultError> {
        if named.starts_with("age1") || named.starts_with("ssh-") {
            return Ok(vec![Self::parse(named)?]);
        }
        let text = read_keys(Path::new(named)).map_err(|error| VaultError::Recipient {
            text: named.to_owned(),
            reason: error.to_string(),
        })?;
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let found = lines.map(Self::parse).collect::<Result<Vec<_>, _>>()?;
        if found.is_empty() {
            return Err(VaultError::Recipient {
                text: named.to_owned(),
                reason: "no key is in it".into(),
            });
        }
        Ok(found)
    }

    fn parse(line: &str) -> Result<Self, VaultError> {
        let refused = |reason: &str| VaultError::Recipient {
            text: line.chars().take(60).collect(),
            reason: reason.to_owned(),
        };
        if line.contains("AGE-SECRET-KEY-") || line.contains("PRIVATE KEY") {
            // Not shown: it is a secret.
            return Err(VaultError::Recipient {
                text: "...".into(),
                reason: "it is a private key, and a recipient is a public one".into(),
            });
        }
        if line.starts_with("age1") {
            let key = line.parse().map_err(refused)?;
            return Ok(Self {
                text: line.to_owned(),
                comment: String::new(),
                key: PublicKey::Age(key),
            });
        }
        if !line.starts_with("ssh-ed25519 ") {
            return Err(refused("it is a key of another kind"));
        }
        let key: age::ssh::Recipient = line
            .parse()
            .map_err(|_| refused("it is no public key of OpenSSH"))?;
        let mut words = line.split_whitespace();
        let text = words.by_ref().take(2).collect::<Vec<_>>().join(" ");
        Ok(Self {
            text,
            comment: words.collect::<Vec<_>>().join(" "),
            key: PublicKey::Ssh(key),
        })
    }

    fn key(&self) -> &dyn age::Recipient {
        match &self.key {
            PublicKey::Age(key) => key,
            PublicKey::Ssh(key) => key,
        }
    }
}

/// Encrypts to people, in age's format.
pub fn encrypt(bytes: &[u8], to: &[Recipient]) -> Result<Vec<u8>, VaultError> {
    let failed = |reason: String| VaultError::Encrypt(reason);
    if to.len() > RECIPIENTS_LIMIT {
        return Err(failed(format!("more than {RECIPIENTS_LIMIT} recipients")));
    }
    let encryptor = Encryptor::with_recipients(to.iter().map(Recipient::key));
    let encryptor = encryptor.map_err(|error| failed(error.to_string()))?;
    let mut encrypted = Vec::new();
    let written = || -> io::Result<()> {
        let mut writer = encryptor.wrap_output(&mut encrypted)?;
        writer.write_all(bytes)?;
        writer.finish().map(drop)
    };
    written().map_err(|error| failed(error.to_string()))?;
    Ok(encrypted)
}

/// Private keys.
#[derive(Default)]
pub struct Identities {
    keys: Vec<PrivateKey>,
    files: Vec<PathBuf>,
}

enum PrivateKey {
    Age(age::x25519::Identity),
    Ssh(age::ssh::Identity),
    Closed(Box<ClosedKey>),
}

impl PrivateKey {
    /// None where a passphrase does not open it.
    fn identity(&self) -> Option<&dyn age::Identity> {
        match self {
            Self::Age(key) => Some(key),
            Self::Ssh(key) => Some(key),
            Self::Closed(key) => key.open().map(|key| key as &dyn age::Identity),
        }
    }
}

/// A key with a passphrase.
struct ClosedKey {
    encrypted: EncryptedKey,
    passphrase: SecretString,
    opened: OnceLock<Option<age::ssh::Identity>>,
}

impl ClosedKey {
    /// Once, when it is first asked for: hashing a passphrase is meant to take long, and age would do it anew for each entry of a
    /// list of recipients, which is a stranger's.
    fn open(&self) -> Option<&age::ssh::Identity> {
        let opened = self.opened.get_or_init(|| {
            let opened = self.encrypted.decrypt(self.passphrase.clone());
            opened.ok().map(age::ssh::Identity::from)
        });
        opened.as_ref()
    }
}

impl std::fmt::Debug for Identities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identities({})", self.keys.len())
    }
}

impl Identities {
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The files of the keys, as they were named.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Adds the private keys of a file: age's, or one of OpenSSH, whose passphrase is told where it has one.
    pub fn add(&mut self, path: &Path, passphrase: Option<String>) -> Result<(), VaultError> {
        let refused = |reason: String| VaultError::Identity {
            path: path.display().to_string(),
            reason,
        };
        let text = read_keys(path).map_err(|error| refused(error.to_string()))?;
        if text.starts_with("ssh-") {
            return Err(refused("it is a public key; name the private one".into()));
        }
        let mode = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
        let mode = mode.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let path = path.display();
            return Err(refused(format!(
                "others may read it (mode {mode:o}); `chmod 600 {path}`"
            )));
        }
        self.files.push(path.to_owned());
        if text.trim_start().starts_with("-----BEGIN") {
            let shown = Some(path.display().to_string());
            let key = age::ssh::Identity::from_buffer(text.as_bytes(), shown);
            let key = key.map_err(|error| refused(error.to_string()))?;
            self.keys.push(match key {
                age::ssh::Identity::Unencrypted(_) => PrivateKey::Ssh(key),
                age::ssh::Identity::Encrypted(encrypted) => {
                    let passphrase = passphrase.ok_or_else(|| {
                        refused("it has a passphrase; set PIBENCH_KEY_PASSPHRASE".into())
                    })?;
                    let rounds = rounds(&text).map_err(refused)?;
                    if rounds > ROUNDS_LIMIT {
                        return Err(refused(format!(
                            "its passphrase is hashed {rounds} times, and more than {ROUNDS_LIMIT} times takes too long; \
                             `ssh-keygen -p -a 100` changes that"
                        )));
                    }
                    PrivateKey::Closed(Box::new(ClosedKey {
                        encrypted,
                        passphrase: passphrase.into(),
                        opened: OnceLock::new(),
                    }))
                }
                age::ssh::Identity::Unsupported(_) => {
                    return Err(refused(
                        "it is of a kind that encrypts nothing; `ssh-keygen -t ed25519` makes one that does".into(),
                    ));
                }
            });
            return Ok(());
        }
        let before = self.keys.len();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let key = line.parse().map_err(|_| {
                refused("it holds neither age's private keys nor one of OpenSSH".into())
            })?;
            self.keys.push(PrivateKey::Age(key));
        }
        if self.keys.len() == before {
            return Err(refused("no private key is in it".into()));
        }
        Ok(())
    }

    /// Decrypts what was encrypted to one of them, up to a size. The error reads after a colon.
    pub fn decrypt(&self, bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
        if self.keys.is_empty() {
            return Err(
                "it takes the private key of a recipient; name its file by --identity".into(),
            );
        }
        header(bytes)?;
        let is_closed = Cell::new(false);
        let unread = |error: DecryptError| match error {
            DecryptError::NoMatchingKeys if is_closed.get() => {
                "PIBENCH_KEY_PASSPHRASE is not the key's passphrase".to_owned()
            }
            DecryptError::NoMatchingKeys => {
                "none of the keys is a recipient's; name another one by --identity".into()
            }
            error => format!("it is not encrypted as age does it ({error})"),
        };
        // Line by line; else the list is parsed from its beginning for every few bytes of it.
        let decryptor = Decryptor::new_buffered(bytes).map_err(unread)?;
        if decryptor.is_scrypt() {
            return Err("it is encrypted to a passphrase and not to recipients".into());
        }
        // One after the other, until one opens it.
        let keys = self.keys.iter().filter_map(|key| {
            let opened = key.identity();
            is_closed.set(is_closed.get() || opened.is_none());
            opened
        });
        let mut plain = Vec::new();
        let reader = decryptor.decrypt(keys).map_err(unread)?;
        let read = reader.take(limit + 1).read_to_end(&mut plain);
        read.map_err(|error| format!("it was changed or cut ({error})"))?;
        if plain.len() as u64 > limit {
            return Err(format!("it has more than {limit} bytes"));
        }
        Ok(plain)
    }
}

/// How often the passphrase of a key of OpenSSH is hashed before it opens it; age does not say.
fn rounds(text: &str) -> Result<u32, String> {
    let key = ssh_key::PrivateKey::from_openssh(text)
        .map_err(|error| format!("it is no private key of OpenSSH ({error})"))?;
    Ok(match key.kdf() {
        Kdf::Bcrypt { rounds, .. } => *rounds,
        _ => 0,
    })
}

/// Refuses an encrypted file whose list of recipients has no end, or more of them than there can be: it is a stranger's until it is
/// decrypted.
fn header(bytes: &[u8]) -> Result<(), String> {
    let start = &bytes[..bytes.len().min(HEADER_LIMIT)];
    let mut entries = 0;
    for line in start.split(|&byte| byte == b'\n') {
        if line.starts_with(b"--- ") {
            return Ok(());
        }
        entries += usize::from(line.starts_with(b"-> "));
        if entries > ENTRIES_LIMIT {
            return Err(format!(
                "it is encrypted to more than {RECIPIENTS_LIMIT} recipients"
            ));
        }
    }
    Err("it is not encrypted as age does it (its header has no end)".into())
}

/// The text of a file of keys.
fn read_keys(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = std::fs::File::open(path)?
        .take(KEYS_LIMIT + 1)
        .read_to_string(&mut text)?;
    if read as u64 > KEYS_LIMIT {
        return Err(io::Error::other(format!(
            "it has more than {KEYS_LIMIT} bytes"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age_pair() -> (String, String) {
        use age::secrecy::ExposeSecret;
        let key = age::x25519::Identity::generate();
        let public = key.to_public().to_string();
        (key.to_string().expose_secret().to_owned(), public)
    }

    fn identities(text: &str) -> Result<Identities, VaultError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut identities = Identities::default();
        identities.add(&path, None)?;
        Ok(identities)
    }

    #[test]
    fn what_is_encrypted_to_two_opens_by_either_and_by_no_third() {
        let [ana, bo, eve] = std::array::from_fn(|_| age_pair());
        let to: Vec<_> = [&ana.1, &bo.1]
            .into_iter()
            .flat_map(|key| Recipient::read(key).unwrap())
            .collect();
        let kept = encrypt(b"secret", &to).unwrap();
        for key in [&ana.0, &bo.0] {
            let identities = identities(&format!("# a comment\n{key}\n")).unwrap();
            assert_eq!(identities.decrypt(&kept, 6).unwrap(), b"secret");
            let said = identities.decrypt(&kept, 5).unwrap_err();
            assert!(said.contains("more than 5 bytes"), "{said}");
            for cut in [0, 20, kept.len() - 1] {
                assert!(identities.decrypt(&kept[..cut], 6).is_err(), "{cut}");
            }
        }
        let said = identities(&eve.0).unwrap().decrypt(&kept, 6).unwrap_err();
        assert!(said.contains("none of the keys is a recipient's"), "{said}");
        let said = Identities::default().decrypt(&kept, 6).unwrap_err();
        assert!(said.contains("--identity"), "{said}");
    }

    #[test]
    fn a_private_key_is_no_recipient_and_is_not_shown() {
        let (private, _) = age_pair();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, &private).unwrap();
        let said = Recipient::read(path.to_str().unwrap())
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("a private key") && !said.contains(&private),
            "{said}"
        );
    }

    #[test]
    fn rubbish_is_refused_by_what_it_is() {
        for text in [
            "age1rubbish",
            "ssh-rsa AAAA",
            "ssh-ed25519 AAAA",
            "/nowhere",
        ] {
            assert!(Recipient::read(text).is_err(), "{text}");
        }
        for text in [
            "",
            "# nothing",
            "rubbish",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n",
        ] {
            assert!(identities(text).is_err(), "{text}");
        }
    }

    /// A key with a passphrase that says of itself that it is hashed so many times.
    fn encrypted(rounds: u32) -> String {
        use ssh_key::private::{Ed25519Keypair, KeypairData};
        let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[1; 32]));
        let key = ssh_key::PrivateKey::new(pair, "").unwrap();
        let kdf = Kdf::Bcrypt {
            salt: vec![1; 16],
            rounds: 16,
        };
        let cipher = ssh_key::Cipher::Aes256Ctr;
        let key = key.encrypt_with(cipher, kdf, 1, "passphrase").unwrap();
        let mut bytes = key.to_bytes().unwrap().to_vec();
        let at = bytes.windows(4).position(|four| four == [0, 0, 0, 16]);
        // The salt's length stands before it, and is the same number.
        let at = at.unwrap() + 4 + 16;
        bytes[at..at + 4].copy_from_slice(&rounds.to_be_bytes());
        let key = ssh_key::PrivateKey::from_bytes(&bytes).unwrap();
        key.to_openssh(ssh_key::LineEnding::LF).unwrap().to_string()
    }

    #[test]
    fn a_key_whose_passphrase_takes_forever_is_refused_and_one_of_common_cost_is_not() {
        let add = |rounds: u32| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("key");
            std::fs::write(&path, encrypted(rounds)).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            let mut identities = Identities::default();
            let added = identities.add(&path, Some("passphrase".into()));
            added.map_err(|error| error.to_string())
        };
        add(100).unwrap();
        let said = add(u32::MAX).unwrap_err();
        assert!(said.contains("hashed 4294967295 times"), "{said}");
    }

    #[test]
    fn a_key_with_a_passphrase_is_opened_once_and_by_no_other_passphrase() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, encrypted(16)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let read = |passphrase: &str| {
            let mut identities = Identities::default();
            identities.add(&path, Some(passphrase.to_owned())).unwrap();
            identities
        };
        let key = ssh_key::PrivateKey::from_openssh(encrypted(16)).unwrap();
        let public = key.public_key().to_openssh().unwrap();
        let kept = encrypt(b"secret", &Recipient::read(&public).unwrap()).unwrap();
        let said = read("another").decrypt(&kept, 6).unwrap_err();
        assert!(said.contains("is not the key's passphrase"), "{said}");
        let mut identities = read("passphrase");
        assert_eq!(identities.decrypt(&kept, 6).unwrap(), b"secret");
        // It would take the passphrase to open it again.
        let [PrivateKey::Closed(key)] = identities.keys.as_mut_slice() else {
            panic!("a key without a passphrase");
        };
        key.passphrase = SecretString::from("gone".to_owned());
        assert_eq!(identities.decrypt(&kept, 6).unwrap(), b"secret");
    }

    #[test]
    fn a_list_of_more_recipients_than_there_can_be_is_refused_before_one_is_tried() {
        let list = |entries: usize| {
            let entries = "-> a\n\n".repeat(entries);
            header(format!("age-encryption.org/v1\n{entries}--- a\n").as_bytes())
        };
        list(ENTRIES_LIMIT).unwrap();
        let said = list(ENTRIES_LIMIT + 1).unwrap_err();
        assert!(said.contains("more than 1000 recipients"), "{said}");
        // Many are written, and read again.
        let (private, public) = age_pair();
        let one = Recipient::read(&public).unwrap().remove(0);
        let to = vec![one; RECIPIENTS_LIMIT];
        let kept = encrypt(b"secret", &to).unwrap();
        let identities = identities(&private).unwrap();
        assert_eq!(identities.decrypt(&kept, 6).unwrap(), b"secret");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes: Vec<u8>) {
            let (private, _) = age_pair();
            let identities = identities(&private).unwrap();
            let _ = identities.decrypt(&bytes, 100);
            let _ = identities.decrypt(&[b"age-encryption.org/v1\n", bytes.as_slice(), b"\n--- "].concat(), 100);
        }
    }
}
