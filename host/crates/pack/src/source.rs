//! Where packs and plugins come from: a file, an address, or a registry of the Open Container Initiative, from which a thing is
//! pulled by its digest. What comes is a stranger's until its digest is the one that was asked for: everything has a bound, nothing is
//! kept before it is whole, and no credentials are sent.
//!
//! The client is our own, for what it reads of the distribution's protocol is three requests, and the one that there is reads
//! manifests and tokens of any length.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use reqwest::header::{ACCEPT, WWW_AUTHENTICATE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::contents::sha256;

/// What a registry calls a pack, a plugin, and the signature of a plugin.
pub const PACK_TYPE: &str = "application/vnd.pibench.pack.v1.tar+zstd";
pub const PLUGIN_TYPE: &str = "application/wasm";
pub const SIGNATURE_TYPE: &str = "application/vnd.pibench.signature.v1";

/// Kinds of manifests that are read: one thing by its layers.
const MANIFESTS: [&str; 2] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// Bytes of a manifest: what every registry takes.
const MANIFEST_LIMIT: u64 = 4 << 20;
const TOKEN_LIMIT: u64 = 64 << 10;
const SIGNATURE_LIMIT: u64 = 16 << 10;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two pieces of an answer, and for all of it.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
const TOTAL_TIMEOUT: Duration = Duration::from_mins(30);
const REDIRECTS: usize = 5;

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    File(PathBuf),
    /// `https://...`, or `http://...`.
    Address(Url),
    Registry(Image),
}

/// `oci://HOST[:PORT]/NAME@sha256:HEX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Of the registry, with a path of `/`.
    base: Url,
    name: String,
    /// Of its manifest, hex.
    sha256: String,
}

/// Why something was not fetched. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("read `{shown}`: {reason}")]
    Reference { shown: String, reason: String },
    #[error("fetch {from}: {reason}")]
    Fetch { from: String, reason: String },
    #[error(
        "fetch {from}: what came has SHA-256 {found}, and {wanted} was asked for; it was not kept"
    )]
    Digest {
        from: String,
        found: String,
        wanted: String,
    },
    #[error("write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// What is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What a registry calls it.
    pub media_type: &'a str,
    /// Most bytes.
    pub limit: u64,
    /// SHA-256 that it must have, hex, beside what the reference says.
    pub sha256: Option<&'a str>,
    /// Whether a signature that lies beside it is fetched too.
    pub signature: bool,
}

/// What was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// Hex.
    pub sha256: String,
    /// Armored; of a file or an address what lies at the same place with `.sig` behind.
    pub signature: Option<String>,
}

impl FromStr for Reference {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let refused = |reason: &str| {
            let shown: String = text
                .chars()
                .take(200)
                .flat_map(char::escape_debug)
                .collect();
            Err(SourceError::Reference {
                shown,
                reason: reason.to_owned(),
            })
        };
        if let Some(rest) = text.strip_prefix("oci://") {
            return match Image::parse(rest) {
                Ok(image) => Ok(Self::Registry(image)),
                Err(reason) => refused(&reason),
            };
        }
        if !text.contains("://") {
            if text.contains("@sha256:") && !Path::new(text).exists() {
                return refused("a registry's thing is named with oci:// before its host");
            }
            return Ok(Self::File(PathBuf::from(text)));
        }
        match Url::parse(text) {
            Ok(url) if !matches!(url.scheme(), "https" | "http") => {
                refused("it is neither a file nor an address of https://, http:// or oci://")
            }
            Ok(url) if !url.username().is_empty() || url.password().is_some() => refused(
                "an address with a password in it ends up in logs; fetch the file by other means",
            ),
            Ok(url) => Ok(Self::Address(url)),
            Err(error) => refused(&error.to_string()),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Address(url) => write!(f, "{url}"),
            Self::Registry(Image { base, name, sha256 }) => {
                let port = base.port().map(|port| format!(":{port}"));
                let host = base.host_str().unwrap_or_default();
                let port = port.unwrap_or_default();
                write!(f, "oci://{host}{port}/{name}@sha256:{sha256}")
            }
        }
    }
}

impl Image {
    /// Reads what stands behind `oci://`. The error reads after a colon.
    fn parse(text: &str) -> Result<Self, String> {
        let (place, digest) = text.split_once('@').ok_or(
            "a registry's thing is named by its digest, as in oci://HOST/NAME@sha256:...; a tag may be of another one tomorrow",
        )?;
        let sha256 = digest.strip_prefix("sha256:").unwrap_or_default();
        if !is_sha256(sha256) {
            return Err(format!(
                "`{}` is no sha256: and 64 digits",
                digest.escape_debug()
            ));
        }
        let (host, name) = place
            .split_once('/')
            .ok_or("it has no name behind the registry's host")?;
        // As the distribution's specification has it; nothing in it leads to another path.
        let plain = |part: &str| {
            let alike = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            part.starts_with(alike)
                && part.ends_with(alike)
                && part.chars().all(|c| alike(c) || "._-".contains(c))
                && !part.contains("..")
        };
        if name.len() > 255 || !name.split('/').all(plain) {
            return Err(format!(
                "`{}` is no name in a registry",
                name.escape_debug()
            ));
        }
        let scheme = match Url::parse(&format!("http://{host}/")) {
            Ok(url) if is_here(&url) => "http",
            _ => "https",
        };
        let base = Url::parse(&format!("{scheme}://{host}/")).map_err(|error| error.to_string())?;
        if base.path() != "/" || !base.username().is_empty() || base.password().is_some() {
            return Err(format!("`{}` is no host", host.escape_debug()));
        }
        Ok(Self {
            base,
            name: name.to_owned(),
            sha256: sha256.to_owned(),
        })
    }
}

impl Reference {
    /// The name of what is there, without a file's ending; None where it has none.
    pub fn stem(&self) -> Option<String> {
        let name = match self {
            Self::File(path) => path.file_name()?.to_str()?,
            Self::Address(url) => url.path_segments()?.next_back()?,
            Self::Registry(image) => image.name.rsplit('/').next()?,
        };
        let stem = name.strip_suffix(".wasm").unwrap_or(name);
        (!stem.is_empty()).then(|| stem.to_owned())
    }
}

/// Whether a text is a SHA-256 in lower case hex.
pub fn is_sha256(text: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 64 && text.bytes().all(hex)
}

/// Whether an address is of this machine, by its name alone.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// Fetches something into a new file.
pub async fn fetch(
    reference: &Reference,
    wanted: Wanted<'_>,
    to: &Path,
) -> Result<Fetched, SourceError> {
    let from = reference.to_string();
    let fetched = match reference {
        Reference::File(path) => copy(path, wanted, to)?,
        Reference::Address(url) => {
            let net = Net::new(&from, url)?;
            let sha256 = net
                .save(net.get(url.clone(), &[]).await?, wanted.limit, to)
                .await?;
            let signature = if wanted.signature {
                let mut beside = url.clone();
                beside.set_path(&format!("{}.sig", url.path()));
                net.find(beside).await?
            } else {
                None
            };
            Fetched { sha256, signature }
        }
        Reference::Registry(image) => pull(image, wanted, &from, to).await?,
    };
    match wanted.sha256 {
        Some(sha256) if sha256 != fetched.sha256 => {
            // Nothing is left of what nobody asked for.
            let _ = std::fs::remove_file(to);
            Err(SourceError::Digest {
                from,
                found: fetched.sha256,
                wanted: sha256.to_owned(),
            })
        }
        _ => Ok(fetched),
    }
}

fn copy(path: &Path, wanted: Wanted<'_>, to: &Path) -> Result<Fetched, SourceError> {
    use std::io::{Read, Write};
    let failed = |reason: String| SourceError::Fetch {
        from: path.display().to_string(),
        reason,
    };
    let read = |path: &Path, limit: u64| {
        let file = std::fs::File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("it is no file"));
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read(path, wanted.limit).map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > wanted.limit {
        return Err(failed(more_than(wanted.limit)));
    }
    let written = std::fs::File::create_new(to).and_then(|mut file| file.write_all(&bytes));
    written.map_err(|source| SourceError::Write {
        path: to.to_owned(),
        source,
    })?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".sig");
    let signature = match read(Path::new(&beside), SIGNATURE_LIMIT) {
        Ok(bytes) if wanted.signature => Some(signature_text(bytes).map_err(failed)?),
        _ => None,
    };
    Ok(Fetched {
        sha256: sha256(&bytes),
        signature,
    })
}

fn signature_text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > SIGNATURE_LIMIT {
        return Err(format!("its signature has {}", more_than(SIGNATURE_LIMIT)));
    }
    String::from_utf8(bytes).map_err(|_| "its signature is no text".into())
}

fn more_than(limit: u64) -> String {
    format!("more than {limit} bytes")
}

/// A manifest, as far as it is read.
#[derive(Deserialize)]
struct Manifest {
    #[serde(rename = "schemaVersion")]
    schema: u32,
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "mediaType")]
    media_type: String,
    digest: String,
    size: u64,
}

async fn pull(
    image: &Image,
    wanted: Wanted<'_>,
    from: &str,
    to: &Path,
) -> Result<Fetched, SourceError> {
    let mut net = Net::new(from, &image.base)?;
    let failed = |reason: String| SourceError::Fetch {
        from: from.to_owned(),
        reason,
    };
    let url = image.url(&format!("manifests/sha256:{}", image.sha256));
    let answer = net.pull(image, url).await?;
    let bytes = net.read(answer, MANIFEST_LIMIT).await?;
    let found = sha256(&bytes);
    if found != image.sha256 {
        return Err(SourceError::Digest {
            from: from.to_owned(),
            found,
            wanted: image.sha256.clone(),
        });
    }
    let manifest: Manifest = serde_json::from_slice(&bytes)
        .map_err(|error| failed(format!("its manifest is none of one thing: {error}")))?;
    if manifest.schema != 2 {
        let schema = manifest.schema;
        return Err(failed(format!(
            "its manifest has version {schema}, and 2 is read"
        )));
    }
    let layer = |kind: &str| {
        let mut layers = manifest.layers.iter().filter(|one| one.media_type == kind);
        let first = layers.next();
        match layers.next() {
            Some(_) => Err(failed(format!("it has several layers of the type {kind}"))),
            None => Ok(first),
        }
    };
    let thing = layer(wanted.media_type)?.ok_or_else(|| {
        let kinds = manifest
            .layers
            .iter()
            .map(|one| one.media_type.escape_debug().to_string());
        let kinds: Vec<String> = kinds.take(8).collect();
        let has = kinds.join(", ");
        failed(format!(
            "it has no layer of the type {}, but of: {has}",
            wanted.media_type
        ))
    })?;
    let (url, digest) = image.blob(thing, wanted.limit).map_err(failed)?;
    let answer = net.pull(image, url).await?;
    let found = net.save(answer, thing.size, to).await?;
    if found != digest {
        let _ = std::fs::remove_file(to);
        return Err(SourceError::Digest {
            from: from.to_owned(),
            found,
            wanted: digest,
        });
    }
    let signature = match layer(SIGNATURE_TYPE)? {
        Some(layer) if wanted.signature => {
            let (url, digest) = image.blob(layer, SIGNATURE_LIMIT).map_err(failed)?;
            let answer = net.pull(image, url).await?;
            let bytes = net.read(answer, SIGNATURE_LIMIT).await?;
            if sha256(&bytes) != digest {
                return Err(failed("its signature is not that of its manifest".into()));
            }
            Some(signature_text(bytes).map_err(failed)?)
        }
        _ => None,
    };
    Ok(Fetched {
        sha256: found,
        signature,
    })
}

impl Image {
    fn url(&self, rest: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{}/{rest}", self.name));
        url
    }

    /// The address of a layer, and the digest that it must have.
    fn blob(&self, layer: &Layer, limit: u64) -> Result<(Url, String), String> {
        let digest = layer.digest.strip_prefix("sha256:").unwrap_or_default();
        if !is_sha256(digest) {
            let shown: String = layer.digest.chars().take(100).collect();
            return Err(format!(
                "a layer has the digest `{}`, and sha256: is read",
                shown.escape_debug()
            ));
        }
        if layer.size > limit {
            return Err(format!("a layer has {}", more_than(limit)));
        }
        Ok((
            self.url(&format!("blobs/sha256:{digest}")),
            digest.to_owned(),
        ))
    }
}

/// What asks for one thing.
struct Net<'a> {
    from: &'a str,
    client: Client,
    /// For who pulls without a name, as many registries want it.
    token: Option<String>,
}

impl<'a> Net<'a> {
    fn new(from: &'a str, first: &Url) -> Result<Self, SourceError> {
        let mut client = pibench_tls::client();
        // A server of this machine needs no certificates, and slim containers have none.
        if first.scheme() == "http" {
            client = client.tls_certs_only([]);
        }
        let secure = first.scheme() == "https";
        let client = client
            // A digest is of the bytes as they lie there.
            .no_gzip()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .timeout(TOTAL_TIMEOUT)
            .redirect(Policy::custom(move |attempt| follow(attempt, secure)))
            .user_agent(concat!("pibench-host/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| SourceError::Fetch {
            from: from.to_owned(),
            reason: reasons(&error),
        })?;
        Ok(Self {
            from,
            client,
            token: None,
        })
    }

    fn failed(&self, reason: impl Into<String>) -> SourceError {
        SourceError::Fetch {
            from: self.from.to_owned(),
            reason: reason.into(),
        }
    }

    async fn ask(&self, url: Url, accept: &[&str]) -> Result<Response, SourceError> {
        let mut request = self.client.get(url);
        for kind in accept {
            request = request.header(ACCEPT, *kind);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await;
        answer.map_err(|error| self.failed(reasons(&error)))
    }

    async fn get(&self, url: Url, accept: &[&str]) -> Result<Response, SourceError> {
        let answer = self.ask(url, accept).await?;
        match answer.status() {
            StatusCode::OK => Ok(answer),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.failed(
                "the server wants to know who asks, and things are fetched without a name here; fetch the file by other means",
            )),
            status => Err(self.failed(format!("the server answers {status}"))),
        }
    }

    /// A small text that may not be there.
    async fn find(&self, url: Url) -> Result<Option<String>, SourceError> {
        let answer = self.ask(url, &[]).await?;
        if answer.status() != StatusCode::OK {
            return Ok(None);
        }
        let bytes = self.read(answer, SIGNATURE_LIMIT).await?;
        signature_text(bytes)
            .map(Some)
            .map_err(|said| self.failed(said))
    }

    /// From a registry, which may want a token of who has no name.
    async fn pull(&mut self, image: &Image, url: Url) -> Result<Response, SourceError> {
        let answer = self.ask(url.clone(), &MANIFESTS).await?;
        if answer.status() == StatusCode::UNAUTHORIZED && self.token.is_none() {
            let wanted = answer.headers().get(WWW_AUTHENTICATE);
            let wanted = wanted.and_then(|value| value.to_str().ok());
            let realm = wanted.and_then(|text| realm(text, &image.name));
            if let Some(realm) = realm {
                // Who asks for http on the way to a registry of https asks for more than is given.
                if realm.scheme() != "https" && !(image.base.scheme() == "http" && is_here(&realm))
                {
                    return Err(self.failed("its tokens are given out without TLS"));
                }
                let bytes = self.read(self.get(realm, &[]).await?, TOKEN_LIMIT).await?;
                self.token = Some(token(&bytes).map_err(|said| self.failed(said))?);
                return self.get(url, &MANIFESTS).await;
            }
        }
        match answer.status() {
            StatusCode::OK => Ok(answer),
            StatusCode::NOT_FOUND => {
                Err(self.failed("the registry does not have it, or not for who has no name there"))
            }
            status => Err(self.failed(format!("the registry answers {status}"))),
        }
    }

    async fn read(&self, mut answer: Response, limit: u64) -> Result<Vec<u8>, SourceError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(&mut answer).await? {
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(self.failed(more_than(limit)));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// Writes an answer into a new file; its SHA-256.
    async fn save(
        &self,
        mut answer: Response,
        limit: u64,
        to: &Path,
    ) -> Result<String, SourceError> {
        use std::io::Write;
        let disk = |source| SourceError::Write {
            path: to.to_owned(),
            source,
        };
        if answer.content_length().is_some_and(|length| length > limit) {
            return Err(self.failed(more_than(limit)));
        }
        let mut file = std::fs::File::create_new(to).map_err(disk)?;
        let (mut digest, mut size) = (Sha256::new(), 0);
        while let Some(piece) = self.piece(&mut answer).await? {
            size += piece.len() as u64;
            if size > limit {
                let _ = std::fs::remove_file(to);
                return Err(self.failed(more_than(limit)));
            }
            digest.update(&piece);
            file.write_all(&piece).map_err(disk)?;
        }
        Ok(format!("{:x}", digest.finalize()))
    }

    async fn piece(&self, answer: &mut Response) -> Result<Option<bytes::Bytes>, SourceError> {
        let piece = answer.chunk().await;
        piece.map_err(|error| self.failed(reasons(&error)))
    }
}

/// Follows a few redirects, as registries give them to where their blobs lie; none from TLS to without.
fn follow(attempt: Attempt<'_>, secure: bool) -> reqwest::redirect::Action {
    if attempt.previous().len() > REDIRECTS {
        return attempt.error(format!("more than {REDIRECTS} redirects"));
    }
    if secure && attempt.url().scheme() != "https" {
        return attempt.error("a redirect to an address without TLS");
    }
    attempt.follow()
}

/// Where a registry gives out tokens to who has no name, as its challenge says.
fn realm(challenge: &str, name: &str) -> Option<Url> {
    let rest = challenge.strip_prefix("Bearer ")?;
    let value = |key: &str| {
        let (_, rest) = rest.split_once(&format!("{key}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let mut url = Url::parse(value("realm")?).ok()?;
    if let Some(service) = value("service") {
        url.query_pairs_mut().append_pair("service", service);
    }
    let scope = format!("repository:{name}:pull");
    url.query_pairs_mut().append_pair("scope", &scope);
    Some(url)
}

fn token(bytes: &[u8]) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Given {
        token: Option<String>,
        access_token: Option<String>,
    }
    let given: Given = serde_json::from_slice(bytes)
        .map_err(|error| format!("its token cannot be read: {error}"))?;
    let token = given.token.or(given.access_token);
    token.ok_or_else(|| "it gives no token to who has no name".into())
}

/// An error with its causes: the first alone says little.
fn reasons(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let found = text.parse::<Reference>();
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected),
            (Err(found), Err(expected)) => {
                let said = found.to_string();
                assert!(said.contains(expected), "{said}");
            }
            (found, expected) => panic!("{text}: {found:?} and not {expected:?}"),
        }
    }

    #[test]
    fn a_reference_is_a_file_an_address_or_a_registrys_thing_by_its_digest() {
        let digest = "a".repeat(64);
        let image = format!("oci://ghcr.io/lab/clinic@sha256:{digest}");
        check(&image, Ok(&image));
        let local = format!("oci://127.0.0.1:5000/clinic@sha256:{digest}");
        check(&local, Ok(&local));
        check("packs/clinic.pibench", Ok("packs/clinic.pibench"));
        check(
            "https://lab.example/a.pibench",
            Ok("https://lab.example/a.pibench"),
        );
        check("oci://ghcr.io/lab/clinic:1.0.0", Err("named by its digest"));
        check(
            &format!("ghcr.io/lab/clinic@sha256:{digest}"),
            Err("with oci:// before its host"),
        );
        check("oci://ghcr.io/lab/clinic@sha256:abc", Err("is no sha256:"));
        check(
            &format!("oci://ghcr.io/../x@sha256:{digest}"),
            Err("is no name in a registry"),
        );
        check(
            &format!("oci://ghcr.io/a/../x@sha256:{digest}"),
            Err("is no name in a registry"),
        );
        check(
            &format!("oci://ghcr.io/A@sha256:{digest}"),
            Err("is no name in a registry"),
        );
        check(
            &format!("oci://me:word@ghcr.io/a@sha256:{digest}"),
            Err("is no sha256:"),
        );
        check(
            &format!("oci://ghcr.io@sha256:{digest}"),
            Err("no name behind"),
        );
        check("ftp://lab.example/a", Err("neither a file nor an address"));
        check("https://me:word@lab.example/a", Err("password"));
        check("https://", Err("empty host"));
    }

    #[test]
    fn a_registry_on_another_machine_is_asked_by_tls() {
        let scheme = |host: &str| {
            let text = format!("{host}/a@sha256:{}", "a".repeat(64));
            Image::parse(&text).unwrap().base.scheme().to_owned()
        };
        for host in ["localhost:5000", "127.0.0.1", "[::1]:5000"] {
            assert_eq!(scheme(host), "http", "{host}");
        }
        for host in [
            "ghcr.io",
            "10.0.0.1",
            "localhost.lab.example",
            "127.0.0.1.lab.example",
        ] {
            assert_eq!(scheme(host), "https", "{host}");
        }
    }

    #[test]
    fn a_challenge_says_where_tokens_are_given() {
        let found = realm(
            "Bearer realm=\"https://auth.example/token\",service=\"reg.example\",scope=\"repository:x:push\"",
            "lab/clinic",
        );
        let expected =
            "https://auth.example/token?service=reg.example&scope=repository%3Alab%2Fclinic%3Apull";
        assert_eq!(found.unwrap().as_str(), expected);
        assert_eq!(realm("Basic realm=\"x\"", "a"), None);
        assert_eq!(realm("Bearer realm=\"nowhere\"", "a"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_readers(text: String) {
            let _ = text.parse::<Reference>();
            let _ = format!("oci://{text}").parse::<Reference>();
            let _ = realm(&format!("Bearer {text}"), "a");
            let _ = token(text.as_bytes());
        }
    }
}
