//! A read-only file that gives out copies of its rows, through a map or by ordinary reads, and notices when it changes.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use memmap2::{Advice, MmapOptions, MmapRaw};

use super::copy::{Grid, Piece, copy_rows};
use super::guard::{Watch, unreadable};
use crate::error::{Error, Result};

/// A whole file, opened, and mapped if asked for.
pub(crate) struct DataFile {
    path: PathBuf,
    file: Arc<File>,
    stamp: Stamp,
    /// Before `memory`: fields are dropped in this order, and what is not mapped must not be watched.
    watch: Option<Watch>,
    /// None where rows are read by calls.
    memory: Option<MmapRaw>,
    /// The same file mapped once more, for rows in no order.
    scattered: OnceLock<Arc<DataFile>>,
}

/// What tells a file that was written to from one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        }
    }

    fn differs(&self, path: &Path, now: &Stamp) -> Error {
        Error::Changed { path: path.to_owned(), expected: self.to_string(), found: now.to_string() }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = self.modified;
        write!(f, "{} bytes modified at {seconds}.{nanos:09}", self.len)
    }
}

impl DataFile {
    /// Opens a regular file for reading; maps nothing yet.
    pub(crate) fn open(path: &Path) -> Result<DataFile> {
        let io = |action| move |source| Error::Io { action, path: path.to_owned(), source };
        // Non-blocking, since opening a FIFO would otherwise wait for its writer.
        let file =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(io("open"))?;
        let meta = file.metadata().map_err(io("inspect"))?;
        let kind = meta.file_type();
        if !kind.is_file() {
            let found = match kind {
                k if k.is_dir() => "a directory",
                k if k.is_fifo() => "a FIFO",
                k if k.is_char_device() || k.is_block_device() => "a device",
                _ => "not a regular file",
            };
            return Err(Error::Format {
                path: path.to_owned(),
                expected: "a regular file".into(),
                found: found.into(),
                help: "only regular files can be mapped".into(),
            });
        }
        Ok(DataFile {
            path: path.to_owned(),
            file: Arc::new(file),
            stamp: Stamp::of(&meta),
            watch: None,
            memory: None,
            scattered: OnceLock::new(),
        })
    }

    /// Maps the opened file, read-only and whole. On a file system that has no maps it stays as it is.
    pub(crate) fn mapped(mut self) -> Result<DataFile> {
        // The system refuses a map of no bytes, and there would be nothing to read.
        if self.stamp.len > 0 {
            let memory = match MmapOptions::new().map_raw_read_only(&*self.file) {
                Err(source) if source.raw_os_error() == Some(libc::ENODEV) => return Ok(self),
                map => map.map_err(|source| self.failed("map", source))?,
            };
            // The map has the file's present length; one that was cut meanwhile is not the file that was opened.
            if memory.len() as u64 != self.stamp.len {
                self.verify()?;
            }
            self.watch = Watch::new(memory.as_ptr(), memory.len());
            self.memory = Some(memory);
        }
        Ok(self)
    }

    /// The same opened file, not mapped.
    pub(crate) fn unmapped(&self) -> DataFile {
        let (path, file, scattered) = (self.path.clone(), self.file.clone(), OnceLock::new());
        DataFile { path, file, stamp: self.stamp, watch: None, memory: None, scattered }
    }

    /// The same file in a map of its own in which a touched page is read alone. The system reads megabytes around a
    /// page otherwise (8 MiB on some disks), which is right in file order and ruinous for scattered rows: a file four
    /// times the memory it may use is then read over and over. Falls back to this map where the system refuses.
    pub(crate) fn scattered(self: &Arc<DataFile>) -> Arc<DataFile> {
        if self.memory.is_none() {
            return self.clone();
        }
        let again = || {
            let map = self.unmapped().mapped().ok()?;
            map.memory.as_ref()?.advise(Advice::Random).ok()?;
            Some(Arc::new(map))
        };
        match self.scattered.get() {
            Some(map) => map.clone(),
            None => match again() {
                Some(map) => self.scattered.get_or_init(|| map).clone(),
                None => self.clone(),
            },
        }
    }

    /// Asks the system to read these bytes now. Advice: what cannot be followed is ignored.
    pub(crate) fn will_need(&self, from: usize, bytes: usize) {
        let len = usize::try_from(self.stamp.len).unwrap_or(usize::MAX);
        let from = from.min(len);
        let bytes = bytes.min(len - from);
        match &self.memory {
            Some(memory) => drop(memory.advise_range(Advice::WillNeed, from, bytes)),
            None => will_read(&self.file, from, bytes),
        }
    }

    /// Bytes of the file when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.stamp.len
    }

    /// The file's first bytes, by ordinary reads.
    pub(crate) fn reader(&self) -> impl Read + '_ {
        &*self.file
    }

    /// Copies `rows` of `grid` to `into`, row `i` to `into[at + i * step ..]`.
    pub(crate) fn copy(
        &self,
        grid: &Grid,
        rows: &[u64],
        into: &mut [u8],
        place: (usize, usize),
    ) -> Result<()> {
        let copied = match &self.memory {
            // SAFETY: the map is so many bytes long, readable, and lives as long as `self`. Pages that another process
            // cut off, or that the disk cannot give, are the guard's matter.
            Some(map) => unsafe { copy_rows(map.as_ptr(), map.len(), grid, rows, into, place) },
            None => self.read(grid, rows, into, place)?,
        };
        match copied {
            true => Ok(()),
            false => {
                self.verify()?;
                Err(Error::Row { row: rows.iter().copied().max().unwrap_or(0), rows: grid.rows })
            }
        }
    }

    /// As [`copy`](DataFile::copy), by a call for each run of rows that follow one another. False, having read nothing, when a row
    /// or a place for it would lie outside.
    fn read(&self, grid: &Grid, rows: &[u64], into: &mut [u8], (at, step): (usize, usize)) -> Result<bool> {
        let len = usize::try_from(self.stamp.len).unwrap_or(usize::MAX);
        if grid.checked(len, rows, into.len(), (at, step)).is_none() {
            return Ok(false);
        }
        let together = grid.stride == grid.bytes && step == grid.bytes;
        let mut at = at;
        for run in rows.chunk_by(|row, next| together && row + 1 == *next) {
            let from = (grid.base + run[0] as usize * grid.stride) as u64;
            let bytes = run.len() * grid.bytes;
            // It goes on after short reads and interruptions.
            let read = self.file.read_exact_at(&mut into[at..at + bytes], from);
            read.map_err(|source| self.unread(from, source))?;
            at += run.len() * step;
        }
        Ok(true)
    }

    /// Row `row` of `grid`, to be read where it lies; `None` where it lies in no map.
    pub(crate) fn row(&self, grid: &Grid, row: u64) -> Result<Option<Piece<'_>>> {
        let Some(map) = &self.memory else { return Ok(None) };
        // SAFETY: as in `copy`; the piece borrows self.
        match unsafe { Piece::of_row(map.as_ptr(), map.len(), grid, row) } {
            Some(piece) => Ok(Some(piece)),
            None => {
                self.verify()?;
                Err(Error::Row { row, rows: grid.rows })
            }
        }
    }

    /// A read at byte `from` that failed: the file was changed, or the disk does not give it.
    fn unread(&self, from: u64, source: io::Error) -> Error {
        let told = || io::Error::new(source.kind(), format!("at byte {from}: {source}"));
        self.verify().err().unwrap_or_else(|| self.failed("read", told()))
    }

    /// An error of the system, which may mean that a server has another file now.
    fn failed(&self, action: &'static str, source: io::Error) -> Error {
        match source.kind() {
            io::ErrorKind::StaleNetworkFileHandle => Error::Changed {
                path: self.path.clone(),
                expected: self.stamp.to_string(),
                found: format!("a file that its server does not know any more ({source})"),
            },
            _ => Error::Io { action, path: self.path.clone(), source },
        }
    }

    /// Compares the file with what it was when opened. The change time is left out: a rename or a new link touches it,
    /// and the bytes are what counts.
    pub(crate) fn verify(&self) -> Result<()> {
        let now = Stamp::of(&self.file.metadata().map_err(|source| self.failed("inspect", source))?);
        if now != self.stamp {
            return Err(self.stamp.differs(&self.path, &now));
        }
        match self.watch.as_ref().is_some_and(Watch::faulted) {
            true => Err(Error::Io { action: "read", path: self.path.clone(), source: unreadable() }),
            false => Ok(()),
        }
    }

    /// Whether rows are read by calls, not through a map.
    pub(crate) fn is_read(&self) -> bool {
        self.memory.is_none() && self.stamp.len > 0
    }

    /// What the file was when it was opened.
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// This map, if its file is still the one that was seen before.
    pub(crate) fn unchanged_since(self, before: &Stamp) -> Result<DataFile> {
        match self.stamp == *before {
            true => Ok(self),
            false => Err(before.differs(&self.path, &self.stamp)),
        }
    }
}

/// Asks the system to read these bytes into its cache now.
fn will_read(file: &File, from: usize, bytes: usize) {
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is handed over.
    unsafe {
        libc::posix_fadvise(
            file.as_raw_fd(),
            from as libc::off_t,
            bytes as libc::off_t,
            libc::POSIX_FADV_WILLNEED,
        );
    }
}

/// A number that grows whenever this thread has had to wait for the disk: pages that were missing from a map, and blocks read.
pub(crate) fn disk_waits() -> i64 {
    // SAFETY: all bytes zero is a valid rusage, being plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a live rusage for the call to write to.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_majflt + usage.ru_inblock
}

/// Files this process may have open at a time.
pub(crate) fn open_files_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live rlimit for the call to write to.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    if known { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { 256 }
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DataFile({:?}, {})", self.path, self.stamp)
    }
}
