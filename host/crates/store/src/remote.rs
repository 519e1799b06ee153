//! A place in a store: what is there, and the ways to read and write it. What the network does is waited out.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    Error, ObjectMeta, ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutMode, PutOptions,
    RetryConfig,
};
use tempfile::NamedTempFile;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use url::Url;

use super::{COPIES, Wanted};

/// Requests at a time.
const AT_ONCE: usize = 32;

/// Objects of a listing that are held at a time: a few requests, each of which is told of a thousand.
const PAGE: usize = 4000;

/// How long a store that does not answer is asked again, once it has answered before. Longer, and whoever started this
/// process should start it again.
const PATIENCE: Duration = Duration::from_mins(10);

/// How long before it has.
const FIRST_PATIENCE: Duration = Duration::from_secs(20);

/// Between two attempts, at most.
const PAUSE: Duration = Duration::from_secs(15);

/// The bytes of one object that are read: a journal's line with all its calls is far below.
const LARGEST: u32 = 256 << 20;

/// The bytes up to which an object may have grown since it was listed, or its listing lie.
const GROWN: u32 = 16 << 20;

/// The bytes of all objects that are read at a time.
const HELD: usize = AT_ONCE * GROWN as usize;

/// The bytes of a journal, as of one in a folder (see `pibench_record::foreign`).
const JOURNAL: u64 = 4 << 30;

/// The bytes of all that is fetched of a place: runs of thousands of episodes stay far below.
const PLACE: u64 = 256 << 30;

/// The objects of a place whose store lists them in no order: they are held all at a time.
const UNORDERED: usize = 2_000_000;

/// Digits of a line's number in its name, so that they sort.
const DIGITS: usize = 8;

/// Why a place cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("open {url}: {reason}")]
    Address { url: String, reason: String },
    #[error("{doing} {url}{hint}: {source}", hint = hint(url, source))]
    Store {
        doing: &'static str,
        url: String,
        source: Box<Error>,
    },
    #[error("read {key}: {reason}")]
    Content { key: String, reason: String },
    #[error(
        "write to {url}: its store makes an object that is there already a second time (it does not heed `If-None-Match: *`), so that \
         two processes could play one part; take a store that heeds it, as S3, Google Cloud Storage and Azure Blob Storage do, let \
         a proxy before it pass that header on, or take a folder that all machines share"
    )]
    Unconditional { url: String },
    #[error("write the copy of a stored run: {source}")]
    Disk { source: io::Error },
}

impl StoreError {
    /// Whether the same is said as long as the operator mends nothing.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::Address { .. } | Self::Unconditional { .. } | Self::Content { .. } => true,
            Self::Store { source, .. } => !can_pass(source),
            Self::Disk { .. } => false,
        }
    }

    /// The error of a store that another one has for its cause.
    pub fn below<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            let inner = error
                .downcast_ref::<io::Error>()
                .and_then(io::Error::get_ref);
            let inner = inner.map(|inner| inner as &(dyn std::error::Error + 'static));
            for error in std::iter::once(error).chain(inner) {
                let shared = error.downcast_ref::<Arc<Self>>().map(|shared| &**shared);
                if let Some(found) = error.downcast_ref::<Self>().or(shared) {
                    return Some(found);
                }
            }
            // What an error of the system holds is passed over by it.
            next = inner.or_else(|| error.source());
        }
        None
    }
}

/// What is fetched of the objects of one listing.
#[derive(Debug, Clone, Copy)]
enum Pass {
    Lines,
    /// All but lines.
    Files,
    /// All but blobs.
    LinesAndSmallFiles,
}

/// An object of a listing.
#[derive(Debug)]
struct Listed {
    key: Key,
    size: u32,
}

impl Listed {
    /// The bytes that are read of it: it may have been written anew.
    fn most(&self) -> u32 {
        self.size.saturating_add(GROWN)
    }
}

/// What bounds the fetching of a place, whatever its listing says.
struct Bounds {
    /// The bytes of all that is fetched.
    place: u64,
    /// Those of one journal.
    journal: u64,
    /// What of the first may still come.
    left: Cell<u64>,
    /// Room for what is held until it is written.
    room: Semaphore,
}

impl Bounds {
    fn new(place: u64, journal: u64) -> Self {
        Self {
            place,
            journal,
            left: Cell::new(place),
            room: Semaphore::new(HELD),
        }
    }
}

/// A place in a store.
#[derive(Debug)]
pub struct Remote {
    store: Box<dyn ObjectStore>,
    prefix: Key,
    url: String,
    runtime: Runtime,
}

impl Remote {
    /// The place of an address, `s3://BUCKET/PATH` and the like, by the variables that the store's own tools read
    /// (`AWS_ACCESS_KEY_ID`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_KEY`, ...). Nothing is asked of the store yet.
    pub fn open(
        url: &str,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, StoreError> {
        let refused = |reason: String| StoreError::Address {
            url: url.to_owned(),
            reason,
        };
        let address = Url::parse(url).map_err(|error| refused(error.to_string()))?;
        let (scheme, path) =
            ObjectStoreScheme::parse(&address).map_err(|error| refused(error.to_string()))?;
        // A pause is taken here, where it can be told how long it lasts in all.
        let retry = RetryConfig {
            max_retries: 2,
            retry_timeout: Duration::from_secs(10),
            ..RetryConfig::default()
        };
        /// A builder with what of the environment it knows.
        macro_rules! build {
            ($builder:ty) => {
                environment
                    .into_iter()
                    .fold(
                        <$builder>::new().with_url(url),
                        |builder, (key, value)| match key.to_ascii_lowercase().parse() {
                            Ok(key) => builder.with_config(key, value),
                            Err(_) => builder,
                        },
                    )
                    .with_retry(retry)
                    .build()
                    .map(|store| Box::new(store) as Box<dyn ObjectStore>)
            };
        }
        pibench_tls::prepare();
        let store = match scheme {
            ObjectStoreScheme::AmazonS3 => build!(AmazonS3Builder),
            ObjectStoreScheme::GoogleCloudStorage => build!(GoogleCloudStorageBuilder),
            ObjectStoreScheme::MicrosoftAzure => build!(MicrosoftAzureBuilder),
            _ => return Err(refused("want s3://, gs:// or az://".into())),
        };
        let store = store.map_err(|error| refused(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|source| StoreError::Disk { source })?;
        Ok(Self {
            store,
            prefix: path,
            url: url.to_owned(),
            runtime,
        })
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Makes a folder hold what is wanted of the place. What is there already and cannot have changed is not fetched again.
    pub fn fetch(&self, dir: &Path, wanted: &Wanted) -> Result<(), StoreError> {
        self.fetch_within(dir, wanted, &Bounds::new(PLACE, JOURNAL))
    }

    fn fetch_within(&self, dir: &Path, wanted: &Wanted, bounds: &Bounds) -> Result<(), StoreError> {
        let below = wanted.part.as_ref().map_or_else(
            || self.prefix.clone(),
            |part| self.prefix.clone().join(part.as_str()),
        );
        // A blob is there before the line that names it. So lines are looked for first, while somebody may write.
        let passes: &[Pass] = if wanted.blobs {
            &[Pass::Lines, Pass::Files]
        } else {
            &[Pass::LinesAndSmallFiles]
        };
        self.runtime.block_on(async {
            for pass in passes {
                self.fetch_pages(dir, &below, *pass, bounds).await?;
            }
            Ok::<_, StoreError>(())
        })?;
        let _kept = COPIES.read().unwrap_or_else(PoisonError::into_inner);
        make_folders(dir, 3).map_err(|source| StoreError::Disk { source })
    }

    /// Fetches what a pass is for, a page of the listing after the other.
    async fn fetch_pages(
        &self,
        dir: &Path,
        below: &Key,
        pass: Pass,
        bounds: &Bounds,
    ) -> Result<(), StoreError> {
        let (mut after, mut patience) = (None, FIRST_PATIENCE);
        loop {
            let page = self.list_some(below, after.as_ref(), PAGE, patience);
            let page = page.await?;
            if !is_in_order(after.as_ref(), &page) {
                // As directory buckets of S3 are listed: by pages some would be passed over.
                let all = self.list_some(below, None, UNORDERED + 1, PATIENCE).await?;
                if all.len() > UNORDERED {
                    let reason =
                        format!("its store lists more than {UNORDERED} objects, and in no order");
                    return Err(unfit(below, reason));
                }
                return self.fetch_page(dir, all, pass, bounds).await;
            }
            let is_last = page.len() < PAGE;
            after = page.last().map(|object| object.location.clone());
            patience = PATIENCE;
            self.fetch_page(dir, page, pass, bounds).await?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// At most so many objects below a path, those whose names come after one.
    async fn list_some(
        &self,
        below: &Key,
        after: Option<&Key>,
        most: usize,
        patience: Duration,
    ) -> Result<Vec<ObjectMeta>, StoreError> {
        self.retried("list", patience, || async {
            let all = match after {
                Some(after) => self.store.list_with_offset(Some(below), after),
                None => self.store.list(Some(below)),
            };
            all.take(most).try_collect().await
        })
        .await
    }

    /// Fetches those of some objects that a pass is for.
    async fn fetch_page(
        &self,
        dir: &Path,
        page: Vec<ObjectMeta>,
        pass: Pass,
        bounds: &Bounds,
    ) -> Result<(), StoreError> {
        let mut files = Vec::new();
        let mut lines: BTreeMap<PathBuf, BTreeMap<u64, Listed>> = BTreeMap::new();
        for object in page {
            let path = self.path_of(&object.location)?;
            let line = line_of(&path);
            let is_wanted = match pass {
                Pass::Lines => line.is_some(),
                Pass::Files => line.is_none(),
                Pass::LinesAndSmallFiles => !in_folder(&path, "blobs"),
            };
            if !is_wanted {
                continue;
            }
            self.spend(bounds, object.size)?;
            if is_kept(&dir.join(&path), &path, object.size) {
                continue;
            }
            let size = u32::try_from(object.size).ok();
            let Some(size) = size.filter(|size| *size <= LARGEST) else {
                let reason = format!("it has {} bytes, more than any file of a run", object.size);
                return Err(unfit(&object.location, reason));
            };
            let key = object.location;
            match line {
                Some((journal, number)) => {
                    let lines = lines.entry(journal).or_default();
                    lines.insert(number, Listed { key, size });
                }
                None => files.push((path, Listed { key, size })),
            }
        }
        let fetched = stream::iter(files).map(|(path, listed)| async move {
            let _room = bounds.room.acquire_many(listed.most()).await;
            let bytes = self.read_listed(&listed, bounds).await?;
            write(&dir.join(path), &bytes)
        });
        fetched
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<()>>()
            .await?;
        for (journal, lines) in lines {
            self.add_lines(&dir.join(&journal), lines, bounds).await?;
        }
        Ok(())
    }

    /// Adds to a journal the lines that it does not have yet, as they come; up to the first that is missing.
    async fn add_lines(
        &self,
        path: &Path,
        lines: BTreeMap<u64, Listed>,
        bounds: &Bounds,
    ) -> Result<(), StoreError> {
        let disk = |source| StoreError::Disk { source };
        let known = count_lines(path).map_err(disk)?;
        let first = known.unwrap_or_default() + 1;
        if known.is_some() && !lines.contains_key(&first) {
            return Ok(());
        }
        let mut file = begin(path).map_err(disk)?;
        let mut length = 0;
        if known.is_some() {
            let mut before = File::open(path).map_err(disk)?;
            length = io::copy(&mut before, &mut file).map_err(disk)?;
        }
        let wanted = (first..).map_while(|number| lines.get(&number));
        // Room is given in their order: the first of them never waits for one behind it.
        let roomy = stream::iter(wanted).then(|listed| async move {
            let room = bounds.room.acquire_many(listed.most()).await;
            (listed, room)
        });
        let read = roomy.map(|(listed, room)| async move {
            let bytes = self.read_listed(listed, bounds).await?;
            Ok::<_, StoreError>((listed, bytes, room))
        });
        let mut read = pin!(read.buffered(AT_ONCE));
        while let Some((listed, bytes, _room)) = read.try_next().await? {
            length += bytes.len() as u64;
            if length > bounds.journal {
                let most = bounds.journal;
                let reason = format!("with it the journal has more than its limit of {most} bytes");
                return Err(unfit(&listed.key, reason));
            }
            file.write_all(&bytes).map_err(disk)?;
        }
        finish(file, path).map_err(disk)
    }

    /// Takes so many bytes from those that may still come.
    fn spend(&self, bounds: &Bounds, bytes: u64) -> Result<(), StoreError> {
        let left = bounds.left.get().checked_sub(bytes);
        let left = left.ok_or_else(|| StoreError::Content {
            key: self.url.clone(),
            reason: format!(
                "its files have more than {} bytes, the limit of what is fetched of a place",
                bounds.place
            ),
        })?;
        bounds.left.set(left);
        Ok(())
    }

    /// The bytes of a listed object. What it has beyond its listing counts, too.
    async fn read_listed(&self, listed: &Listed, bounds: &Bounds) -> Result<Vec<u8>, StoreError> {
        let bytes = self.read(&listed.key, listed.most()).await?;
        let more = (bytes.len() as u64).saturating_sub(listed.size.into());
        self.spend(bounds, more)?;
        Ok(bytes)
    }

    /// The bytes of an object that has at most so many.
    async fn read(&self, key: &Key, most: u32) -> Result<Vec<u8>, StoreError> {
        let read = self.retried("read", PATIENCE, || async {
            let mut pieces = self.store.get(key).await?.into_stream();
            let mut bytes = Vec::new();
            while let Some(piece) = pieces.try_next().await? {
                if bytes.len() + piece.len() > most as usize {
                    return Ok(None);
                }
                bytes.extend_from_slice(&piece);
            }
            Ok::<_, Error>(Some(bytes))
        });
        read.await?.ok_or_else(|| {
            let reason = if most < LARGEST {
                format!("it has more than {most} bytes, more than its store lists: read it again")
            } else {
                format!("it has more than {most} bytes, more than any file of a run")
            };
            unfit(key, reason)
        })
    }

    /// Writes an object, whatever was there.
    pub(crate) async fn write(&self, path: &Path, bytes: Vec<u8>) -> Result<(), StoreError> {
        let key = self.key_of(path)?;
        let written = self.retried("write to", PATIENCE, || async {
            self.store.put(&key, bytes.clone().into()).await
        });
        written.await.map(drop)
    }

    /// Makes an object that is not there. False if another one is: the same bytes are this process's own, of which it did not
    /// hear that they had arrived.
    pub(crate) async fn create(&self, path: &Path, bytes: Vec<u8>) -> Result<bool, StoreError> {
        let key = self.key_of(path)?;
        let made = self.retried("write to", PATIENCE, || async {
            let only_new = PutOptions::from(PutMode::Create);
            let put = self.store.put_opts(&key, bytes.clone().into(), only_new);
            match put.await {
                Ok(_) => Ok(true),
                Err(Error::AlreadyExists { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        });
        if made.await? {
            return Ok(true);
        }
        Ok(self.read(&key, LARGEST).await? == bytes)
    }

    /// Finds out whether an object that is there is not made again, on which the claim on a part rests.
    pub(crate) fn try_conditions(&self, own: &Path) -> Result<(), StoreError> {
        let name = own.join(".probe");
        let made_twice = self.runtime.block_on(async {
            self.create(&name, b"once".to_vec()).await?;
            let again = self.create(&name, b"twice".to_vec()).await?;
            // Who may not take anything away may play all the same.
            let _ = self.remove(&name).await;
            Ok(again)
        });
        if made_twice? {
            return Err(StoreError::Unconditional {
                url: self.url.clone(),
            });
        }
        Ok(())
    }

    pub(crate) async fn remove(&self, path: &Path) -> Result<(), StoreError> {
        let key = self.key_of(path)?;
        let removed = self.retried("take away from", PATIENCE, || async {
            match self.store.delete(&key).await {
                Err(Error::NotFound { .. }) => Ok(()),
                done => done,
            }
        });
        removed.await
    }

    /// An object; None without one.
    pub(crate) async fn read_if_there(&self, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        match self.read(&self.key_of(path)?, LARGEST).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::Store { source, .. }) if matches!(*source, Error::NotFound { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The objects right below a path.
    pub(crate) async fn read_all(&self, dir: &Path) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let key = self.key_of(dir)?;
        let listed = self.retried("list", PATIENCE, || {
            self.store.list_with_delimiter(Some(&key))
        });
        let objects = listed.await?.objects;
        let read = stream::iter(objects).map(|object| async move {
            let name = object.location.filename().unwrap_or_default().to_owned();
            Ok((name, self.read(&object.location, GROWN).await?))
        });
        read.buffered(AT_ONCE).try_collect().await
    }

    /// The paths of all objects below one.
    pub(crate) async fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let key = self.key_of(dir)?;
        let listed = self.retried("list", PATIENCE, || async {
            self.store.list(Some(&key)).try_collect::<Vec<_>>().await
        });
        let listed = listed.await?;
        let paths = listed.iter().map(|object| self.path_of(&object.location));
        paths.collect()
    }

    /// The address of the run folder that this place is, or lies in. Where nobody may look there is none.
    pub(crate) fn run_around(&self) -> Result<Option<String>, StoreError> {
        let parts: Vec<_> = self.prefix.parts().collect();
        let mut url = self.url.as_str();
        self.runtime.block_on(async {
            for length in (1..=parts.len()).rev() {
                let place = parts[..length].iter().cloned().collect();
                if self.is_run(place).await? {
                    return Ok(Some(url.to_owned()));
                }
                url = url.rsplit_once('/').map_or(url, |(above, _)| above);
            }
            Ok::<_, StoreError>(None)
        })
    }

    /// Whether a manifest and a journal lie in a place, as in a run folder.
    async fn is_run(&self, place: Key) -> Result<bool, StoreError> {
        let manifest = place.clone().join("manifest.json");
        let found = self.retried("read", PATIENCE, || async {
            self.store.get(&manifest).await.map(drop)
        });
        match found.await {
            Ok(()) => {}
            Err(StoreError::Store { source, .. }) if !can_pass(&source) => return Ok(false),
            Err(error) => return Err(error),
        }
        let journal = place.join("journal");
        let lines = self.list_some(&journal, None, 1, PATIENCE).await?;
        Ok(!lines.is_empty())
    }

    /// Asks again, as long as what went wrong can pass.
    async fn retried<T, F: Future<Output = Result<T, Error>>>(
        &self,
        doing: &'static str,
        patience: Duration,
        ask: impl Fn() -> F,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let mut pause = Duration::from_millis(500);
        loop {
            let error = match ask().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if !can_pass(&error) || start.elapsed() + pause > patience {
                return Err(StoreError::Store {
                    doing,
                    url: self.url.clone(),
                    source: Box::new(error),
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE);
        }
    }

    fn key_of(&self, path: &Path) -> Result<Key, StoreError> {
        let mut key = self.prefix.clone();
        for part in path {
            let part = part.to_str().ok_or_else(|| StoreError::Content {
                key: path.display().to_string(),
                reason: "its name is no Unicode".into(),
            })?;
            key = key.join(part);
        }
        Ok(key)
    }

    /// Where an object belongs in the folder: a store is as foreign as any pack, and no name in it leads out of the folder.
    fn path_of(&self, key: &Key) -> Result<PathBuf, StoreError> {
        let odd = || StoreError::Content {
            key: key.to_string(),
            reason: "it is no name of a file".into(),
        };
        let parts = key.prefix_match(&self.prefix).ok_or_else(odd)?;
        let mut path = PathBuf::new();
        for part in parts {
            let name = percent_encoding::percent_decode_str(part.as_ref());
            let name = name.decode_utf8().map_err(|_| odd())?;
            if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
                return Err(odd());
            }
            path.push(&*name);
        }
        Ok(path)
    }
}

/// Whether the same may be answered otherwise in a while: no connection, a server that is busy or broken, two writers at once
/// (409). Everything else that a server refuses stays so.
fn can_pass(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else {
        return matches!(error, Error::JoinError { .. });
    };
    // The crate keeps its errors of transport to itself.
    let said = source.to_string();
    if said.contains(NO_REQUEST) {
        return false;
    }
    let status = said.split("status code: ").nth(1);
    let status = status.and_then(|rest| rest.get(..3)?.parse::<u16>().ok());
    status.is_none_or(|status| status >= 500 || [408, 409, 429].contains(&status))
}

/// What is said of a request that cannot be made at all: its address is plain `http://`, mostly.
const NO_REQUEST: &str = "builder error";

/// What a store of that kind is opened by, where that may be what is wrong.
fn hint(url: &str, error: &Error) -> &'static str {
    if let Error::NotFound { .. } = error {
        return " (is there such a bucket?)";
    }
    if let Error::Generic { source, .. } = error
        && source.to_string().contains(NO_REQUEST)
    {
        return match url.split_once("://").map(|(scheme, _)| scheme) {
            Some("s3") => " (an address that begins with http:// wants AWS_ALLOW_HTTP=true)",
            Some("gs") => " (an address that begins with http:// wants GOOGLE_ALLOW_HTTP=true)",
            _ => " (an address that begins with http:// wants AZURE_ALLOW_HTTP=true)",
        };
    }
    if !matches!(
        error,
        Error::Generic { .. } | Error::PermissionDenied { .. } | Error::Unauthenticated { .. }
    ) {
        return "";
    }
    match url.split_once("://").map(|(scheme, _)| scheme) {
        Some("s3") => {
            " (by AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, and AWS_ENDPOINT for another server than Amazon's)"
        }
        Some("gs") => " (by GOOGLE_SERVICE_ACCOUNT, the file of a service account's key)",
        _ => " (by AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY)",
    }
}

/// Whether objects are listed by their names, all of them after one.
fn is_in_order(after: Option<&Key>, page: &[ObjectMeta]) -> bool {
    let first = page.first().map(|object| &object.location);
    let follows = after.is_none_or(|after| first.is_none_or(|first| after < first));
    follows && page.is_sorted_by(|one, next| one.location < next.location)
}

/// Of `journal/p.r1.jsonl/00000007` the journal and 7.
fn line_of(path: &Path) -> Option<(PathBuf, u64)> {
    let journal = path.parent()?;
    let is_journal = journal.extension().is_some_and(|end| end == "jsonl");
    let name = path.file_name()?.to_str()?;
    let is_number = name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_digit());
    let number = name.parse().ok()?;
    (is_journal && is_number && in_folder(journal, "journal")).then(|| (journal.to_owned(), number))
}

/// The name of a line's object.
pub(crate) fn line_path(journal: &Path, number: u64) -> PathBuf {
    journal.join(format!("{number:0DIGITS$}"))
}

fn in_folder(path: &Path, name: &str) -> bool {
    let parent = path.parent().and_then(Path::file_name);
    parent.is_some_and(|parent| parent == name)
}

/// Whether a file that is here is that of the store: a blob is named by what it holds.
fn is_kept(file: &Path, path: &Path, size: u64) -> bool {
    in_folder(path, "blobs") && fs::metadata(file).is_ok_and(|data| data.len() == size)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let written = || {
        let mut file = begin(path)?;
        file.write_all(bytes)?;
        finish(file, path)
    };
    written().map_err(|source| StoreError::Disk { source })
}

/// A file that will stand at a path: others may look at the folder while it is brought up to date.
fn begin(path: &Path) -> io::Result<NamedTempFile> {
    let _kept = COPIES.read().unwrap_or_else(PoisonError::into_inner);
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    NamedTempFile::new_in(dir)
}

fn finish(file: NamedTempFile, path: &Path) -> io::Result<()> {
    let _kept = COPIES.read().unwrap_or_else(PoisonError::into_inner);
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// The lines of a journal that is here; None without one.
fn count_lines(path: &Path) -> io::Result<Option<u64>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let (mut reader, mut lines) = (BufReader::new(file), 0);
    loop {
        let piece = reader.fill_buf()?;
        let length = piece.len();
        if length == 0 {
            return Ok(Some(lines));
        }
        lines += piece.split(|byte| *byte == b'\n').count() as u64 - 1;
        reader.consume(length);
    }
}

/// What of a place is no run's.
fn unfit(key: &Key, reason: String) -> StoreError {
    StoreError::Content {
        key: key.to_string(),
        reason,
    }
}

/// A store has no empty folders; a run folder has four from its beginning. Runs lie at most `deep` folders down.
fn make_folders(dir: &Path, deep: usize) -> io::Result<()> {
    if dir.join("manifest.json").exists() {
        for name in ["journal", "blobs", "workspaces", "trajectories"] {
            fs::create_dir_all(dir.join(name))?;
        }
        for journal in fs::read_dir(dir.join("journal"))? {
            let journal = PathBuf::from(journal?.file_name());
            if let Some(episode) = journal.file_stem() {
                fs::create_dir_all(dir.join("workspaces").join(episode))?;
            }
        }
        return Ok(());
    }
    if deep == 0 {
        return Ok(());
    }
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_folders(&entry.path(), deep - 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    fn remote(place: &str) -> Remote {
        Remote {
            store: Box::new(InMemory::new()),
            prefix: Key::from(place),
            url: format!("memory://box/{place}"),
            runtime: Runtime::new().unwrap(),
        }
    }

    #[test]
    fn a_place_in_a_run_is_told_from_one_beside_it() {
        let mut remote = remote("spring");
        remote.runtime.block_on(async {
            for path in [
                "run/manifest.json",
                "run/journal/p.r1.jsonl/00000001",
                "app/manifest.json",
            ] {
                let written = remote.write(Path::new(path), b"{}".to_vec());
                written.await.unwrap();
            }
        });
        for (place, run) in [
            ("spring", None),
            ("spring/run", Some("spring/run")),
            ("spring/run/workspaces/a", Some("spring/run")),
            ("spring/runs/a", None),
            // A manifest of something else.
            ("spring/app/a", None),
        ] {
            remote.prefix = Key::from(place);
            remote.url = format!("memory://box/{place}");
            let run = run.map(|run| format!("memory://box/{run}"));
            assert_eq!(remote.run_around().unwrap(), run, "{place}");
        }
    }

    #[test]
    fn more_than_one_page_is_fetched_whole_and_lines_only_as_far_as_they_go() {
        let remote = remote("spring");
        let journal = Path::new("part-1/journal/p.r1.jsonl");
        let lines = (1..=PAGE as u64 + 9).filter(|number| *number != PAGE as u64 + 5);
        let line = |number| (line_path(journal, number), format!("{number}\n"));
        let blob = |number: usize| {
            let name = PathBuf::from(format!("part-1/blobs/{number}"));
            (name, number.to_string())
        };
        let mut files: Vec<_> = lines.map(line).chain((0..2 * PAGE).map(blob)).collect();
        files.push((PathBuf::from("part-1/manifest.json"), "{}".to_owned()));
        remote.runtime.block_on(async {
            for (path, text) in files {
                remote.write(&path, text.into_bytes()).await.unwrap();
            }
        });
        for blobs in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let wanted = Wanted { part: None, blobs };
            remote.fetch(dir.path(), &wanted).unwrap();
            let text = fs::read_to_string(dir.path().join(journal)).unwrap();
            assert_eq!(text.lines().count(), PAGE + 4);
            assert!(
                text.lines()
                    .zip(1..)
                    .all(|(line, number)| line == number.to_string())
            );
            let of = fs::read_dir(dir.path().join("part-1/blobs"))
                .unwrap()
                .count();
            assert_eq!(of, if blobs { 2 * PAGE } else { 0 });
        }
    }

    #[test]
    fn a_place_and_its_journals_have_limits_and_what_is_within_them_is_fetched() {
        let remote = remote("spring");
        let journal = Path::new("journal/p.r1.jsonl");
        remote.runtime.block_on(async {
            for number in 1..=3 {
                let path = line_path(journal, number);
                let written = remote.write(&path, b"ten bytes\n".to_vec());
                written.await.unwrap();
            }
            let manifest = remote.write(Path::new("manifest.json"), b"{}".to_vec());
            manifest.await.unwrap();
        });
        let fetch = |place, journal| {
            let dir = tempfile::tempdir().unwrap();
            let (part, blobs) = (None, true);
            let bounds = Bounds::new(place, journal);
            let done = remote.fetch_within(dir.path(), &Wanted { part, blobs }, &bounds);
            done.map(|()| dir).map_err(|error| error.to_string())
        };
        let dir = fetch(32, 30).unwrap();
        let text = fs::read_to_string(dir.path().join(journal)).unwrap();
        assert_eq!(text, "ten bytes\n".repeat(3));
        let told = fetch(32, 29).unwrap_err();
        let line = "read spring/journal/p.r1.jsonl/00000003: with it the journal has more than its limit of 29";
        assert!(told.contains(line), "{told}");
        let told = fetch(31, 30).unwrap_err();
        let place = "read memory://box/spring: its files have more than 31 bytes";
        assert!(told.contains(place), "{told}");
    }

    #[test]
    fn an_object_is_read_to_its_limit_whatever_its_store_lists() {
        let remote = remote("spring");
        let large = vec![b'x'; GROWN as usize + 2];
        let listed = |name: &str, size| Listed {
            key: Key::from(format!("spring/{name}")),
            size,
        };
        remote.runtime.block_on(async {
            remote.write(Path::new("large"), large).await.unwrap();
            let small = remote.write(Path::new("small"), b"ten bytes\n".to_vec());
            small.await.unwrap();
            let bounds = Bounds::new(5, JOURNAL);
            let read = async |name: &str, size| {
                let read = remote.read_listed(&listed(name, size), &bounds).await;
                read.map_err(|error| error.to_string())
            };
            let told = read("large", 1).await.unwrap_err();
            assert!(
                told.contains("read spring/large: it has more than"),
                "{told}"
            );
            let whole = read("large", GROWN + 2).await.unwrap();
            assert_eq!(whole.len(), GROWN as usize + 2);
            // What is beyond the listing counts.
            assert_eq!(read("small", 5).await.unwrap(), b"ten bytes\n");
            let told = read("small", 9).await.unwrap_err();
            assert!(told.contains("limit of what is fetched"), "{told}");
        });
    }

    #[test]
    fn a_listing_that_is_no_page_in_order_is_told() {
        let object = |name: &str| ObjectMeta {
            location: Key::from(name),
            last_modified: std::time::SystemTime::UNIX_EPOCH.into(),
            size: 0,
            e_tag: None,
            version: None,
        };
        let (after, page) = (Key::from("b"), [object("c"), object("d")]);
        assert!(is_in_order(None, &page) && is_in_order(Some(&after), &page));
        assert!(is_in_order(Some(&after), &[]));
        // It begins anew, or knows no order.
        assert!(!is_in_order(Some(&Key::from("c")), &page));
        assert!(!is_in_order(None, &[object("d"), object("c")]));
    }
}
