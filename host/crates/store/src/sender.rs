//! The way of a run folder's files to a store, in the order that makes its journals true.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::sync::Semaphore;

use crate::remote::{Remote, StoreError, line_path};
use pibench_record::mirror::Mirror;

/// Files that are sent at a time.
const AT_ONCE: usize = 16;

/// What was begun, for all who wait for it.
type Sent = Shared<BoxFuture<'static, Result<(), Arc<StoreError>>>>;

/// Sends files while the run goes on, and lines when all files before them are there.
#[derive(Debug)]
pub(crate) struct Sender {
    remote: Arc<Remote>,
    places: Arc<Semaphore>,
    under_way: Mutex<UnderWay>,
}

#[derive(Debug, Default)]
struct UnderWay {
    /// Blobs that may not be there yet, in any order: none is written twice.
    blobs: Vec<Sent>,
    /// The last of the others, each of which waits for the one before: a file may be written anew.
    last: Option<Sent>,
}

impl Sender {
    pub(crate) fn new(remote: Arc<Remote>) -> Self {
        Self {
            remote,
            places: Arc::new(Semaphore::new(AT_ONCE)),
            under_way: Mutex::default(),
        }
    }

    fn under_way(&self) -> std::sync::MutexGuard<'_, UnderWay> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins, and is heard of by all who wait.
    fn begin(
        &self,
        work: impl Future<Output = Result<(), Arc<StoreError>>> + Send + 'static,
    ) -> Sent {
        let task = self.remote.runtime().spawn(work);
        let sent = async move {
            task.await.unwrap_or_else(|error| {
                let source = io::Error::other(error);
                Err(Arc::new(StoreError::Disk { source }))
            })
        };
        sent.boxed().shared()
    }

    /// Sends after all that was begun in order.
    fn send_next(&self, send: impl Future<Output = Result<(), StoreError>> + Send + 'static) {
        let mut under_way = self.under_way();
        let before = under_way.last.clone();
        under_way.last = Some(self.begin(async move {
            if let Some(before) = before {
                before.await?;
            }
            send.await.map_err(Arc::new)
        }));
    }

    /// Does something in the store when all that was begun is there. The caller may be a thread of another runtime.
    fn wait<T: Send + 'static>(
        &self,
        then: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> io::Result<T> {
        let (blobs, last) = {
            let mut under_way = self.under_way();
            // What failed stays, so that nobody goes on.
            under_way
                .blobs
                .retain(|blob| !matches!(blob.peek(), Some(Ok(()))));
            (under_way.blobs.clone(), under_way.last.clone())
        };
        let (sender, receiver) = mpsc::channel();
        self.remote.runtime().spawn(async move {
            let done = async {
                for sent in blobs.into_iter().chain(last) {
                    sent.await.map_err(io::Error::other)?;
                }
                then.await.map_err(io::Error::other)
            };
            // Nobody listens only when the process ends.
            let _ = sender.send(done.await);
        });
        receiver.recv().map_err(io::Error::other)?
    }
}

fn taken(path: &Path) -> io::Error {
    io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!(
            "{} is another process's, which goes on with this run; this one stops",
            path.display()
        ),
    )
}

impl Mirror for Sender {
    fn put(&self, path: &Path, bytes: Vec<u8>) {
        let (remote, path) = (Arc::clone(&self.remote), path.to_owned());
        let is_blob = path.parent().is_some_and(|dir| dir.ends_with("blobs"));
        if !is_blob {
            self.send_next(async move { remote.write(&path, bytes).await });
            return;
        }
        let places = Arc::clone(&self.places);
        let sent = self.begin(async move {
            // Never closed.
            let _place = places.acquire_owned().await;
            // Whoever has it has the same.
            remote
                .create(&path, bytes)
                .await
                .map(drop)
                .map_err(Arc::new)
        });
        self.under_way().blobs.push(sent);
    }

    fn create(&self, path: &Path, bytes: Vec<u8>) -> io::Result<()> {
        let (remote, key) = (Arc::clone(&self.remote), path.to_owned());
        let made = self.wait(async move { remote.create(&key, bytes).await })?;
        if made { Ok(()) } else { Err(taken(path)) }
    }

    fn add_line(&self, path: &Path, number: u64, line: &[u8]) -> io::Result<()> {
        let path = line_path(path, number);
        self.create(&path, line.to_vec())
    }

    fn remove(&self, path: &Path) {
        let (remote, path) = (Arc::clone(&self.remote), path.to_owned());
        self.send_next(async move { remote.remove(&path).await });
    }

    fn finish(&self) -> io::Result<()> {
        self.wait(async { Ok(()) })
    }

    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let (remote, path) = (Arc::clone(&self.remote), path.to_owned());
        self.wait(async move { remote.read_if_there(&path).await })
    }

    fn read_all(&self, dir: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
        let (remote, dir) = (Arc::clone(&self.remote), dir.to_owned());
        self.wait(async move { remote.read_all(&dir).await })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let (remote, dir) = (Arc::clone(&self.remote), dir.to_owned());
        self.wait(async move { remote.list(&dir).await })
    }
}
