//! The way of a run folder's files to a store, in the order that makes its journals true.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::sync::Semaphore;

use crate::remote::{Remote, StoreError, line_path};
use pibench_record::mirror::Mirror;

/// Files that are sent at a time.
const AT_ONCE: usize = 16;

/// Bytes that wait for the store, but for one file that has more. Whoever brings more waits too.
const WAITING: usize = 64 << 20;

/// Blobs that are known as begun before those that are there are forgotten.
const BEGUN: usize = 1024;

/// What was begun, for all who wait for it.
type Sent = Shared<BoxFuture<'static, Result<(), Arc<StoreError>>>>;

/// Sends files while the run goes on, and lines when all files before them are there.
#[derive(Debug)]
pub(crate) struct Sender {
    remote: Arc<Remote>,
    places: Arc<Semaphore>,
    room: Arc<Room>,
    under_way: Mutex<UnderWay>,
}

/// How much may wait.
#[derive(Debug)]
struct Room {
    limit: usize,
    used: Mutex<usize>,
    freed: Condvar,
}

impl Room {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            used: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// Waits until so many bytes fit, or there are none.
    fn take(self: &Arc<Self>, bytes: usize) -> Taken {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |used: &mut usize| *used > 0 && *used + bytes > self.limit;
        let used = self.freed.wait_while(used, is_full);
        *used.unwrap_or_else(PoisonError::into_inner) += bytes;
        Taken {
            room: Arc::clone(self),
            bytes,
        }
    }
}

/// What of it one file has until it is sent.
#[derive(Debug)]
struct Taken {
    room: Arc<Room>,
    bytes: usize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut used = (self.room.used.lock()).unwrap_or_else(PoisonError::into_inner);
        *used -= self.bytes;
        self.room.freed.notify_all();
    }
}

#[derive(Debug, Default)]
struct UnderWay {
    /// Blobs that may not be there yet, in any order: none is written twice.
    blobs: Vec<Sent>,
    /// The last of the others, each of which waits for the one before: a file may be written anew.
    last: Option<Sent>,
}

impl UnderWay {
    /// Forgets blobs that are there. What failed stays, so that nobody goes on.
    fn forget_sent(&mut self) {
        self.blobs
            .retain(|blob| !matches!(blob.clone().now_or_never(), Some(Ok(()))));
    }
}

impl Sender {
    pub(crate) fn new(remote: Arc<Remote>) -> Self {
        Self {
            remote,
            places: Arc::new(Semaphore::new(AT_ONCE)),
            room: Arc::new(Room::new(WAITING)),
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
            under_way.forget_sent();
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
        let taken = self.room.take(bytes.len());
        let is_blob = path.parent().is_some_and(|dir| dir.ends_with("blobs"));
        if !is_blob {
            self.send_next(async move {
                let _taken = taken;
                remote.write(&path, bytes).await
            });
            return;
        }
        let places = Arc::clone(&self.places);
        let sent = self.begin(async move {
            let _taken = taken;
            // Never closed.
            let _place = places.acquire_owned().await;
            // Whoever has it has the same.
            remote
                .create(&path, bytes)
                .await
                .map(drop)
                .map_err(Arc::new)
        });
        let mut under_way = self.under_way();
        under_way.blobs.push(sent);
        if under_way.blobs.len().is_multiple_of(BEGUN) {
            under_way.forget_sent();
        }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn who_brings_more_than_may_wait_waits_and_one_large_file_passes_alone() {
        let room = Arc::new(Room::new(10));
        // Larger than all of it.
        drop(room.take(100));
        let (most, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let taken = room.take(4);
                        let now = at_once.fetch_add(4, Ordering::SeqCst) + 4;
                        most.fetch_max(now, Ordering::SeqCst);
                        thread::yield_now();
                        at_once.fetch_sub(4, Ordering::SeqCst);
                        drop(taken);
                    }
                });
            }
        });
        assert_eq!(*room.used.lock().unwrap(), 0);
        assert_eq!(most.into_inner(), 8);
    }
}
