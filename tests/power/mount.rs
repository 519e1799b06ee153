//! A disk as a file system of this machine, by the kernel's own protocol (FUSE, `include/uapi/linux/fuse.h`), of which it speaks what
//! the program asks for. It notes each change, and at one of them the power goes: whoever asks for it is killed.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::disk::{Change, Disk, Place, ROOT};
use crate::scene::Scene;

/// A disk that is mounted, until it is dropped.
pub(super) struct Mount {
    pub(super) path: PathBuf,
    scene: Scene,
    server: Option<JoinHandle<()>>,
    state: Arc<Mutex<State>>,
}

struct State {
    disk: Disk,
    changes: Vec<Change>,
    /// The power goes before the change of this number, 0, 1, ...
    cut: Option<usize>,
    /// The thread that asks.
    asks: u32,
}

impl Mount {
    /// None where this process may not mount. The power goes before a change, if it is to.
    pub(super) fn new(cut: Option<usize>) -> Option<Self> {
        let scene = Scene::new();
        let path = scene.path("disk");
        std::fs::create_dir(&path).unwrap();
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let device = device.ok()?;
        let own = device.try_clone().unwrap();
        // Its own input is the device.
        let options = "fd=0,rootmode=40000,user_id=0,group_id=0";
        let mut mount = scene.started_here("mount");
        mount.args(["-i", "-t", "fuse", "-o", options, "forgetful"]);
        mount.arg(&path).stdin(device).stderr(Stdio::null());
        if !mount.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let state = Arc::new(Mutex::new(State {
            disk: Disk::new(),
            changes: Vec::new(),
            cut,
            asks: 0,
        }));
        let served = Arc::clone(&state);
        Some(Self {
            path,
            scene,
            server: Some(std::thread::spawn(move || serve(own, &served))),
            state,
        })
    }

    /// All changes, in their order.
    pub(super) fn changes(self) -> Vec<Change> {
        std::mem::take(&mut self.state.lock().unwrap().changes)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let mut unmount = self.scene.started_here("umount");
        let ended = unmount.arg("-l").arg(&self.path).status();
        if ended.is_ok_and(|status| status.success())
            && let Some(server) = self.server.take()
        {
            let _ = server.join();
        }
    }
}

/// The most that is written at once.
const MOST: u32 = 128 << 10;

fn serve(mut device: File, state: &Mutex<State>) {
    let mut buffer = vec![0; MOST as usize + 4096];
    loop {
        let length = match device.read(&mut buffer) {
            Ok(length) => length,
            // What was asked for is not waited for any more.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => continue,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            // It is unmounted.
            Err(_) => return,
        };
        let request = Request(&buffer[..length]);
        let Some(answer) = state.lock().unwrap().answer(request) else {
            continue;
        };
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(error) => (-error.raw_os_error(), Vec::new()),
        };
        let length = u32::try_from(16 + body.len()).unwrap();
        let head = Bytes::default().u32(length).i32(error).u64(request.u64(8));
        // Who is killed hears nothing.
        let _ = device.write_all(&[head.0, body].concat());
    }
}

/// What the kernel asks for: a header of 40 bytes, and more by its kind.
#[derive(Clone, Copy)]
struct Request<'a>(&'a [u8]);

const HEAD: usize = 40;

impl Request<'_> {
    fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    fn node(self) -> u64 {
        self.u64(16)
    }

    /// The names behind so many bytes.
    fn names(self, at: usize) -> Vec<String> {
        let texts = self.0[HEAD + at..].split(|byte| *byte == 0);
        texts
            .map(|text| String::from_utf8(text.to_vec()).unwrap())
            .collect()
    }

    /// The name behind so many bytes, in the folder that is asked.
    fn place(self, at: usize) -> Place {
        (self.node(), self.names(at).swap_remove(0))
    }
}

/// An answer while it is made.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(self, value: u16) -> Self {
        self.raw(&value.to_le_bytes())
    }

    fn u32(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    fn i32(self, value: i32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.raw(&value.to_le_bytes())
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn zeros(self, count: usize) -> Self {
        self.raw(&vec![0; count])
    }
}

/// None: nobody waits for an answer.
type Answer = Option<Result<Vec<u8>, Errno>>;

impl State {
    fn answer(&mut self, request: Request<'_>) -> Answer {
        let node = request.node();
        self.asks = request.u32(32);
        Some(match request.u32(4) {
            // FORGET, INTERRUPT, BATCH_FORGET
            2 | 36 | 42 => return None,
            // LOOKUP
            1 => self.entry(&request.place(0)),
            // GETATTR
            3 => Ok(self.attributes(node)),
            // SETATTR
            4 => self.set(request),
            // MKDIR
            9 => self.make(&request.place(8), true),
            // UNLINK, RMDIR
            10 | 11 => self.remove(request),
            // RENAME, RENAME2
            12 => self.rename(request, 8, 0),
            45 => self.rename(request, 16, request.u32(HEAD + 8)),
            // LINK
            13 => {
                let (place, node) = (request.place(8), request.u64(HEAD));
                self.change(Change::Link {
                    node,
                    place: place.clone(),
                })
                .and_then(|()| self.entry(&place))
            }
            // OPEN, OPENDIR
            14 | 27 => Ok(opened()),
            // READ
            15 => Ok(self.read(request)),
            // WRITE
            16 => self.write(request),
            // STATFS: room enough.
            17 => Ok(Bytes::default()
                .u64(1 << 30)
                .u64(1 << 30)
                .u64(1 << 30)
                .u64(1 << 20)
                .u64(1 << 20)
                .u32(4096)
                .u32(255)
                .u32(4096)
                .zeros(28)
                .0),
            // RELEASE, FLUSH, RELEASEDIR, DESTROY
            18 | 25 | 29 | 38 => Ok(Vec::new()),
            // FSYNC, FSYNCDIR
            20 | 30 => self.change(Change::Sync(node)).map(|()| Vec::new()),
            // INIT: version 7.31; writes may be large.
            26 => Ok(Bytes::default()
                .u32(7)
                .u32(31)
                .u32(MOST)
                .u32(1 << 5)
                .u16(16)
                .u16(12)
                .u32(MOST)
                .u32(1)
                .u16(32)
                .zeros(34)
                .0),
            // READDIR
            28 => Ok(self.list(request)),
            // CREATE
            35 => self
                .make(&request.place(16), false)
                .map(|entry| [entry, opened()].concat()),
            _ => Err(Errno::NOSYS),
        })
    }

    /// Notes a change, unless the power goes: then who asks is killed.
    fn change(&mut self, change: Change) -> Result<(), Errno> {
        if self.cut.is_some_and(|cut| cut <= self.changes.len()) {
            let asks = i32::try_from(self.asks).ok().and_then(Pid::from_raw);
            asks.map(|asks| kill_process(asks, Signal::KILL));
            return Err(Errno::IO);
        }
        self.disk.does(&change);
        self.changes.push(change);
        Ok(())
    }

    fn make(&mut self, place: &Place, is_dir: bool) -> Result<Vec<u8>, Errno> {
        let last = self.disk.nodes.keys().next_back();
        let node = last.map_or(ROOT, |last| last + 1);
        self.change(Change::Make {
            place: place.clone(),
            node,
            is_dir,
        })?;
        self.entry(place)
    }

    fn remove(&mut self, request: Request<'_>) -> Result<Vec<u8>, Errno> {
        let place = request.place(0);
        let node = self.disk.at(&place).ok_or(Errno::NOENT)?;
        if !self.disk.node(node).names.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        self.change(Change::Remove(place)).map(|()| Vec::new())
    }

    /// The names stand behind so many bytes.
    fn rename(&mut self, request: Request<'_>, at: usize, flags: u32) -> Result<Vec<u8>, Errno> {
        /// `RENAME_NOREPLACE`
        const ONLY_NEW: u32 = 1;
        let mut names = request.names(at).into_iter();
        let from = (request.node(), names.next().unwrap());
        let to = (request.u64(HEAD), names.next().unwrap());
        if let Some(node) = self.disk.at(&to) {
            if flags & ONLY_NEW != 0 {
                return Err(Errno::EXIST);
            }
            if !self.disk.node(node).names.is_empty() {
                return Err(Errno::NOTEMPTY);
            }
        }
        if flags & !ONLY_NEW != 0 {
            return Err(Errno::INVAL);
        }
        self.change(Change::Rename { from, to })
            .map(|()| Vec::new())
    }

    fn set(&mut self, request: Request<'_>) -> Result<Vec<u8>, Errno> {
        /// `FATTR_SIZE`
        const SIZE: u32 = 8;
        let node = request.node();
        if request.u32(HEAD) & SIZE != 0 {
            let length = usize::try_from(request.u64(HEAD + 16)).unwrap();
            self.change(Change::Cut { node, length })?;
        }
        Ok(self.attributes(node))
    }

    fn write(&mut self, request: Request<'_>) -> Result<Vec<u8>, Errno> {
        let at = usize::try_from(request.u64(HEAD + 8)).unwrap();
        let bytes = request.0[HEAD + 40..].to_vec();
        let length = request.u32(HEAD + 16);
        let node = request.node();
        self.change(Change::Write { node, at, bytes })?;
        Ok(Bytes::default().u32(length).u32(0).0)
    }

    fn read(&self, request: Request<'_>) -> Vec<u8> {
        let bytes = &self.disk.node(request.node()).bytes;
        let at = usize::try_from(request.u64(HEAD + 8)).unwrap();
        let at = at.min(bytes.len());
        let end = (at + request.u32(HEAD + 16) as usize).min(bytes.len());
        bytes[at..end].to_vec()
    }

    fn list(&self, request: Request<'_>) -> Vec<u8> {
        let at = usize::try_from(request.u64(HEAD + 8)).unwrap();
        let most = request.u32(HEAD + 16) as usize;
        let mut all = Bytes::default();
        let names = &self.disk.node(request.node()).names;
        for (place, (name, node)) in names.iter().enumerate().skip(at) {
            let padding = name.len().next_multiple_of(8) - name.len();
            if all.0.len() + 24 + name.len() + padding > most {
                break;
            }
            let kind = if self.disk.node(*node).is_dir { 4 } else { 8 };
            let next = u64::try_from(place + 1).unwrap();
            let length = u32::try_from(name.len()).unwrap();
            all = all.u64(*node).u64(next).u32(length).u32(kind);
            all = all.raw(name.as_bytes()).zeros(padding);
        }
        all.0
    }

    fn entry(&self, place: &Place) -> Result<Vec<u8>, Errno> {
        let node = self.disk.at(place).ok_or(Errno::NOENT)?;
        let known = Bytes::default().u64(node).u64(0).u64(LONG).u64(LONG);
        Ok(known.zeros(8).raw(&self.attribute(node)).0)
    }

    fn attributes(&self, node: u64) -> Vec<u8> {
        let known = Bytes::default().u64(LONG).zeros(8);
        known.raw(&self.attribute(node)).0
    }

    fn attribute(&self, number: u64) -> Vec<u8> {
        let node = self.disk.node(number);
        let size = node.bytes.len() as u64;
        let mode = if node.is_dir { 0o40755 } else { 0o100_644 };
        let sizes = Bytes::default()
            .u64(number)
            .u64(size)
            .u64(size.div_ceil(512));
        let times = sizes.zeros(3 * 8 + 3 * 4);
        times.u32(mode).u32(1).zeros(12).u32(4096).u32(0).0
    }
}

/// Seconds for which the kernel may go by what it was told: nobody else changes anything.
const LONG: u64 = 1000;

fn opened() -> Vec<u8> {
    vec![0; 16]
}

/// Whether such a file system can be mounted here; it says so where it cannot.
pub(super) fn mounts() -> bool {
    let mounted = Path::new("/dev/fuse").exists() && Mount::new(None).is_some();
    if !mounted {
        eprintln!("left out: wants root and /dev/fuse");
    }
    mounted
}
