//! WASI's file system (and its exit) for Python: the workspace as the one directory that is open, or none. For a program of the
//! shell it can be written, for a rule script it is read-only. The same door, quotas and refusals as everywhere; links are
//! neither made nor followed, and times and modes are not kept.
//!
//! A descriptor is a path: whoever removes a file takes it from those who have it open, too.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::p2::bindings::cli::exit;
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, FsError, FsResult, InputStream, OutputStream, Pollable,
    StreamError, StreamResult,
};

use super::super::state::{ENTRY, HostWork, MOST_NAMES, MOVED, State};
use super::files::require_parent;
use crate::workspace::{EntryKind, View, Workspace, WorkspaceError};
use pibench_core::path::ROOT;
use pibench_core::path::WorkspacePath;
use pibench_core::vocabulary::Grant;
use types::{DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags};

type Descriptor = Resource<types::Descriptor>;
type Listing = Resource<types::DirectoryEntryStream>;

/// Links this file system in place of WASI's own.
pub(in super::super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    preopens::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    types::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    exit::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The most that one stream operation moves, in bytes.
const PIECE: usize = 1 << 20;

/// What stands in the table for a descriptor of the guest.
struct Open {
    path: WorkspacePath,
    directory: bool,
    flags: DescriptorFlags,
}

/// What stands in the table for a listing.
struct Entries {
    left: VecDeque<types::DirectoryEntry>,
    /// Names when it was opened.
    names: usize,
}

impl State {
    fn push_open(&mut self, open: Open) -> wasmtime::Result<Descriptor> {
        let own = self.table_mut().push(open)?;
        Ok(Resource::new_own(own.rep()))
    }

    fn open_descriptor(&mut self, descriptor: &Descriptor) -> FsResult<&Open> {
        let own = Resource::<Open>::new_borrow(descriptor.rep());
        Ok(self.table_mut().get(&own)?)
    }

    /// The file behind a descriptor that may be read, or written.
    fn file(&mut self, descriptor: &Descriptor, need: DescriptorFlags) -> FsResult<WorkspacePath> {
        let open = self.open_descriptor(descriptor)?;
        if open.directory {
            return Err(ErrorCode::IsDirectory.into());
        }
        if !open.flags.contains(need) {
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(open.path.clone())
    }

    /// A path below an open directory. Links do not exist here, so `..` can be taken away before anything is opened.
    fn below(&mut self, descriptor: &Descriptor, path: &str) -> FsResult<WorkspacePath> {
        self.charge_path(path).map_err(FsError::trap)?;
        let open = self.open_descriptor(descriptor)?;
        if !open.directory {
            return Err(ErrorCode::NotDirectory.into());
        }
        if path.starts_with('/') {
            return Err(ErrorCode::NotPermitted.into());
        }
        let mut resolved = open.path.clone();
        for component in path.split('/') {
            resolved = match component {
                "" | "." => continue,
                ".." => resolved.parent().ok_or(ErrorCode::NotPermitted)?,
                name => resolved.join(name).map_err(|_| ErrorCode::NotPermitted)?,
            };
        }
        Ok(resolved)
    }

    /// Changes the workspace, where it can be.
    fn act<T>(
        &mut self,
        bytes: usize,
        act: impl FnOnce(&mut Workspace) -> Result<T, WorkspaceError>,
    ) -> FsResult<T> {
        self.charge(bytes).map_err(FsError::trap)?;
        let workspace = self.files.as_mut().ok_or(ErrorCode::ReadOnly)?;
        act(workspace).map_err(|error| refused(&error))
    }

    /// Reads from the workspace.
    fn see<T>(
        &mut self,
        bytes: usize,
        see: impl FnOnce(&View) -> Result<T, WorkspaceError>,
    ) -> FsResult<T> {
        self.charge(bytes).map_err(FsError::trap)?;
        let view = self.open_view().ok_or(ErrorCode::BadDescriptor)?;
        see(view).map_err(|error| refused(&error))
    }

    /// The workspace that is open here, whatever may be done with it.
    fn open_view(&self) -> Option<&View> {
        let files = self.files.as_ref().map(Workspace::view);
        files.or(self.workspace.as_ref())
    }

    fn metadata(&mut self, path: &WorkspacePath) -> FsResult<DescriptorStat> {
        let found = self.see(0, |view| view.stat(path))?;
        let time = Some(Datetime {
            seconds: self.clocks.moment_since_1970().as_secs(),
            nanoseconds: 0,
        });
        Ok(DescriptorStat {
            type_: kind(found.kind)?,
            link_count: 1,
            size: found.size,
            data_access_timestamp: time,
            data_modification_timestamp: time,
            status_change_timestamp: time,
        })
    }
}

fn kind(kind: EntryKind) -> Result<DescriptorType, ErrorCode> {
    match kind {
        EntryKind::File => Ok(DescriptorType::RegularFile),
        EntryKind::Directory => Ok(DescriptorType::Directory),
        EntryKind::Refused => Err(ErrorCode::NotPermitted),
    }
}

/// What the machine is to blame for ends the call: no guest could make anything of it.
fn refused(error: &WorkspaceError) -> FsError {
    match error.of_the_machine() {
        Some(fault) => FsError::trap(fault),
        None => code(error).into(),
    }
}

fn code(error: &WorkspaceError) -> ErrorCode {
    match error {
        WorkspaceError::NotFound(_) => ErrorCode::NoEntry,
        WorkspaceError::Exists(_) => ErrorCode::Exist,
        WorkspaceError::NotAFile(_) => ErrorCode::IsDirectory,
        WorkspaceError::NotADirectory(_) => ErrorCode::NotDirectory,
        WorkspaceError::NotEmpty(_) => ErrorCode::NotEmpty,
        WorkspaceError::Path { .. } | WorkspaceError::Link(_) | WorkspaceError::Special(_) => {
            ErrorCode::NotPermitted
        }
        WorkspaceError::Quota { .. } => ErrorCode::InsufficientSpace,
        WorkspaceError::Open { .. } | WorkspaceError::Io { .. } => ErrorCode::Io,
    }
}

fn hash(path: &WorkspacePath) -> types::MetadataHashValue {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    types::MetadataHashValue {
        lower: hasher.finish(),
        upper: 0,
    }
}

/// A program that leaves is stopped by an error, as WASI has it; its code is kept.
impl exit::Host for State {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        self.exit_with_code(u8::from(status.is_err()))
    }

    fn exit_with_code(&mut self, status_code: u8) -> wasmtime::Result<()> {
        self.exited = Some(status_code);
        Err(wasmtime_wasi::I32Exit(status_code.into()).into())
    }
}

impl preopens::Host for State {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Descriptor, String)>> {
        if self.open_view().is_none() || !self.may_use(Grant::Workspace) {
            return Ok(Vec::new());
        }
        let mut flags = DescriptorFlags::READ;
        if self.files.is_some() {
            flags |= DescriptorFlags::MUTATE_DIRECTORY;
        }
        let root = self.push_open(Open {
            path: WorkspacePath::ROOT,
            directory: true,
            flags,
        })?;
        Ok(vec![(root, ROOT.to_owned())])
    }
}

impl types::Host for State {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table_mut().get(&error)?;
        Ok(error.downcast_ref::<ErrorCode>().copied())
    }
}

impl types::HostDescriptor for State {
    fn read_via_stream(
        &mut self,
        descriptor: Descriptor,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let path = self.file(&descriptor, DescriptorFlags::READ)?;
        let view = self.open_view().ok_or(ErrorCode::BadDescriptor)?;
        let stream: DynInputStream = Box::new(Reader {
            view: view.clone(),
            path,
            work: self.work.clone(),
            offset,
        });
        Ok(self.table_mut().push(stream)?)
    }

    fn write_via_stream(
        &mut self,
        descriptor: Descriptor,
        offset: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&descriptor, Some(offset))
    }

    fn append_via_stream(&mut self, descriptor: Descriptor) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&descriptor, None)
    }

    async fn advise(
        &mut self,
        descriptor: Descriptor,
        _offset: u64,
        _length: u64,
        _advice: types::Advice,
    ) -> FsResult<()> {
        self.open_descriptor(&descriptor).map(|_| ())
    }

    async fn sync_data(&mut self, descriptor: Descriptor) -> FsResult<()> {
        self.open_descriptor(&descriptor).map(|_| ())
    }

    async fn sync(&mut self, descriptor: Descriptor) -> FsResult<()> {
        self.open_descriptor(&descriptor).map(|_| ())
    }

    async fn get_flags(&mut self, descriptor: Descriptor) -> FsResult<DescriptorFlags> {
        Ok(self.open_descriptor(&descriptor)?.flags)
    }

    async fn get_type(&mut self, descriptor: Descriptor) -> FsResult<DescriptorType> {
        Ok(if self.open_descriptor(&descriptor)?.directory {
            DescriptorType::Directory
        } else {
            DescriptorType::RegularFile
        })
    }

    async fn set_size(&mut self, descriptor: Descriptor, size: u64) -> FsResult<()> {
        let path = self.file(&descriptor, DescriptorFlags::WRITE)?;
        self.act(0, |workspace| workspace.set_size(&path, size))
    }

    async fn set_times(
        &mut self,
        descriptor: Descriptor,
        _access: types::NewTimestamp,
        _modification: types::NewTimestamp,
    ) -> FsResult<()> {
        self.open_descriptor(&descriptor).map(|_| ())
    }

    async fn read(
        &mut self,
        descriptor: Descriptor,
        length: u64,
        offset: u64,
    ) -> FsResult<(Vec<u8>, bool)> {
        let path = self.file(&descriptor, DescriptorFlags::READ)?;
        let length = length.min(PIECE as u64);
        let content = self.see(PIECE, |view| view.read_range(&path, offset, length))?;
        let end = (content.len() as u64) < length;
        Ok((content, end))
    }

    async fn write(
        &mut self,
        descriptor: Descriptor,
        content: Vec<u8>,
        offset: u64,
    ) -> FsResult<u64> {
        let path = self.file(&descriptor, DescriptorFlags::WRITE)?;
        self.act(content.len(), |workspace| {
            workspace.write_at(&path, offset, &content)
        })?;
        Ok(content.len() as u64)
    }

    async fn read_directory(&mut self, descriptor: Descriptor) -> FsResult<Listing> {
        let path = self.below(&descriptor, "")?;
        let entries = self.see(0, |view| view.list(&path, false))?;
        self.charge(entries.len() * ENTRY).map_err(FsError::trap)?;
        let names = entries.len();
        if self.names + names > MOST_NAMES {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let entry = |entry: &crate::workspace::Entry| {
            let type_ = kind(entry.kind).ok()?;
            let (_, name) = entry.path.split_last()?;
            let name = name.to_owned();
            Some(types::DirectoryEntry { type_, name })
        };
        let left = entries.iter().filter_map(entry).collect();
        let own = self.table_mut().push(Entries { left, names })?;
        self.names += names;
        Ok(Resource::new_own(own.rep()))
    }

    async fn create_directory_at(&mut self, descriptor: Descriptor, path: String) -> FsResult<()> {
        let path = self.below(&descriptor, &path)?;
        self.act(0, |workspace| workspace.make_directory(&path))
    }

    async fn stat(&mut self, descriptor: Descriptor) -> FsResult<DescriptorStat> {
        let path = self.open_descriptor(&descriptor)?.path.clone();
        self.metadata(&path)
    }

    async fn stat_at(
        &mut self,
        descriptor: Descriptor,
        _flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let path = self.below(&descriptor, &path)?;
        self.metadata(&path)
    }

    async fn set_times_at(
        &mut self,
        descriptor: Descriptor,
        _flags: PathFlags,
        path: String,
        _access: types::NewTimestamp,
        _modification: types::NewTimestamp,
    ) -> FsResult<()> {
        let path = self.below(&descriptor, &path)?;
        self.metadata(&path).map(|_| ())
    }

    async fn link_at(
        &mut self,
        _descriptor: Descriptor,
        _flags: PathFlags,
        _path: String,
        _other: Descriptor,
        _new_path: String,
    ) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn open_at(
        &mut self,
        descriptor: Descriptor,
        _flags: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Descriptor> {
        let directory_asked = how.contains(OpenFlags::DIRECTORY) || path.ends_with('/');
        let path = self.below(&descriptor, &path)?;
        if flags.contains(DescriptorFlags::WRITE) && self.files.is_none() {
            return Err(ErrorCode::ReadOnly.into());
        }
        let found = match self.see(0, |view| view.stat(&path)) {
            Ok(found) => Some(kind(found.kind)?),
            Err(error) if is_missing(&error) && how.contains(OpenFlags::CREATE) => None,
            Err(error) => return Err(error),
        };
        let directory = found == Some(DescriptorType::Directory);
        match found {
            Some(_) if how.contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) => {
                return Err(ErrorCode::Exist.into());
            }
            Some(DescriptorType::Directory) if flags.contains(DescriptorFlags::WRITE) => {
                return Err(ErrorCode::IsDirectory.into());
            }
            Some(DescriptorType::RegularFile) if directory_asked => {
                return Err(ErrorCode::NotDirectory.into());
            }
            None if directory_asked => return Err(ErrorCode::IsDirectory.into()),
            None => self.act(0, |workspace| {
                require_parent(workspace, &path)?;
                workspace.write(&path, b"")
            })?,
            Some(DescriptorType::RegularFile) if how.contains(OpenFlags::TRUNCATE) => {
                self.act(0, |workspace| workspace.set_size(&path, 0))?;
            }
            Some(_) => {}
        }
        let open = Open {
            path,
            directory,
            flags,
        };
        self.push_open(open).map_err(FsError::trap)
    }

    fn drop(&mut self, descriptor: Descriptor) -> wasmtime::Result<()> {
        let own = Resource::<Open>::new_own(descriptor.rep());
        self.table_mut().delete(own)?;
        Ok(())
    }

    async fn readlink_at(&mut self, descriptor: Descriptor, path: String) -> FsResult<String> {
        let path = self.below(&descriptor, &path)?;
        self.metadata(&path)?;
        Err(ErrorCode::Invalid.into())
    }

    async fn remove_directory_at(&mut self, descriptor: Descriptor, path: String) -> FsResult<()> {
        let path = self.below(&descriptor, &path)?;
        if self.metadata(&path)?.type_ != DescriptorType::Directory {
            return Err(ErrorCode::NotDirectory.into());
        }
        self.act(0, |workspace| workspace.remove(&path))
    }

    async fn rename_at(
        &mut self,
        descriptor: Descriptor,
        path: String,
        other: Descriptor,
        new_path: String,
    ) -> FsResult<()> {
        let from = self.below(&descriptor, &path)?;
        let to = self.below(&other, &new_path)?;
        let moved = self.act(0, |workspace| workspace.rename(&from, &to))?;
        self.charge(moved * MOVED).map_err(FsError::trap)
    }

    async fn symlink_at(
        &mut self,
        _descriptor: Descriptor,
        _target: String,
        _path: String,
    ) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn unlink_file_at(&mut self, descriptor: Descriptor, path: String) -> FsResult<()> {
        let path = self.below(&descriptor, &path)?;
        if self.metadata(&path)?.type_ == DescriptorType::Directory {
            return Err(ErrorCode::IsDirectory.into());
        }
        self.act(0, |workspace| workspace.remove(&path))
    }

    async fn is_same_object(&mut self, a: Descriptor, b: Descriptor) -> wasmtime::Result<bool> {
        let own = |descriptor: Descriptor| Resource::<Open>::new_borrow(descriptor.rep());
        let (a, b) = (own(a), own(b));
        let table = self.table_mut();
        Ok(table.get(&a)?.path == table.get(&b)?.path)
    }

    async fn metadata_hash(
        &mut self,
        descriptor: Descriptor,
    ) -> FsResult<types::MetadataHashValue> {
        Ok(hash(&self.open_descriptor(&descriptor)?.path))
    }

    async fn metadata_hash_at(
        &mut self,
        descriptor: Descriptor,
        _flags: PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        let path = self.below(&descriptor, &path)?;
        self.metadata(&path)?;
        Ok(hash(&path))
    }
}

fn is_missing(error: &FsError) -> bool {
    error.downcast_ref() == Some(&ErrorCode::NoEntry)
}

impl types::HostDirectoryEntryStream for State {
    async fn read_directory_entry(
        &mut self,
        listing: Listing,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        let own = Resource::<Entries>::new_borrow(listing.rep());
        Ok(self.table_mut().get_mut(&own)?.left.pop_front())
    }

    fn drop(&mut self, listing: Listing) -> wasmtime::Result<()> {
        let own = Resource::<Entries>::new_own(listing.rep());
        let closed = self.table_mut().delete(own)?;
        self.names = self.names.saturating_sub(closed.names);
        Ok(())
    }
}

impl State {
    fn writer(
        &mut self,
        descriptor: &Descriptor,
        offset: Option<u64>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let path = self.file(descriptor, DescriptorFlags::WRITE)?;
        let workspace = self.files.as_ref().ok_or(ErrorCode::ReadOnly)?;
        let stream: DynOutputStream = Box::new(Writer {
            workspace: workspace.share(),
            path,
            work: self.work.clone(),
            offset,
        });
        Ok(self.table_mut().push(stream)?)
    }
}

/// A file of the workspace, apart from the store that opened it.
struct Reader {
    view: View,
    path: WorkspacePath,
    work: HostWork,
    offset: u64,
}

impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        let length = size.min(PIECE) as u64;
        let content = self.view.read_range(&self.path, self.offset, length);
        let content = content.map_err(|error| failed(&error))?;
        self.work.charge(content.len()).map_err(StreamError::Trap)?;
        if content.is_empty() {
            return Err(StreamError::Closed);
        }
        self.offset += content.len() as u64;
        Ok(content.into())
    }
}

#[async_trait::async_trait]
impl Pollable for Reader {
    async fn ready(&mut self) {}
}

struct Writer {
    workspace: Workspace,
    path: WorkspacePath,
    work: HostWork,
    /// None: at the end, wherever it is.
    offset: Option<u64>,
}

impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let Self {
            workspace,
            path,
            work,
            offset,
        } = self;
        work.charge(bytes.len()).map_err(StreamError::Trap)?;
        match offset {
            None => workspace.append(path, &bytes),
            Some(offset) => {
                let at = *offset;
                *offset += bytes.len() as u64;
                workspace.write_at(path, at, &bytes)
            }
        }
        .map_err(|error| failed(&error))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PIECE)
    }
}

#[async_trait::async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {}
}

fn failed(error: &WorkspaceError) -> StreamError {
    match error.of_the_machine() {
        Some(fault) => StreamError::Trap(wasmtime::Error::new(fault)),
        None => StreamError::LastOperationFailed(code(error).into()),
    }
}
