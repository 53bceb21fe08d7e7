//! A read-only file map that gives out copies, and notices when its file changes.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use memmap2::{Advice, MmapOptions, MmapRaw};

use super::copy::{Grid, Piece, copy_rows};
use super::guard::{Watch, unreadable};
use crate::error::{Error, Result};

/// A whole file, mapped.
pub(crate) struct Map {
    path: PathBuf,
    file: Arc<File>,
    stamp: Stamp,
    /// Before `memory`: fields are dropped in this order, and what is not mapped must not be watched.
    watch: Option<Watch>,
    memory: Option<MmapRaw>,
    /// The same file mapped once more, for rows in no order.
    scattered: OnceLock<Arc<Map>>,
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

impl Map {
    /// Opens a regular file for reading; maps nothing yet.
    pub(crate) fn open(path: &Path) -> Result<Map> {
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
        Ok(Map {
            path: path.to_owned(),
            file: Arc::new(file),
            stamp: Stamp::of(&meta),
            watch: None,
            memory: None,
            scattered: OnceLock::new(),
        })
    }

    /// Maps the opened file, read-only and whole.
    pub(crate) fn mapped(mut self) -> Result<Map> {
        // The system refuses a map of no bytes, and there would be nothing to read.
        if self.stamp.len > 0 {
            let map = MmapOptions::new().map_raw_read_only(&*self.file);
            let io = |source| Error::Io { action: "map", path: self.path.clone(), source };
            let memory = map.map_err(io)?;
            // The map has the file's present length; one that was cut meanwhile is not the file that was opened.
            if memory.len() as u64 != self.stamp.len {
                self.verify()?;
            }
            self.watch = Watch::new(memory.as_ptr(), memory.len());
            self.memory = Some(memory);
        }
        Ok(self)
    }

    /// The same file in a map of its own in which a touched page is read alone. The system reads megabytes around a
    /// page otherwise (8 MiB on some disks), which is right in file order and ruinous for scattered rows: a file four
    /// times the memory it may use is then read over and over. Falls back to this map where the system refuses.
    pub(crate) fn scattered(self: &Arc<Map>) -> Arc<Map> {
        let again = || {
            let unmapped = Map {
                path: self.path.clone(),
                file: self.file.clone(),
                stamp: self.stamp,
                watch: None,
                memory: None,
                scattered: OnceLock::new(),
            };
            let map = unmapped.mapped().ok()?;
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
        if let Some(memory) = &self.memory {
            let from = from.min(memory.len());
            let _ = memory.advise_range(Advice::WillNeed, from, bytes.min(memory.len() - from));
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
        let (block, len) = self.memory.as_ref().map_or((std::ptr::null(), 0), |m| (m.as_ptr(), m.len()));
        // SAFETY: the map is `len` bytes long, readable, and lives as long as `self`. Pages that another process cut
        // off, or that the disk cannot give, are the guard's matter.
        let copied = unsafe { copy_rows(block, len, grid, rows, into, place) };
        match copied {
            true => Ok(()),
            false => {
                self.verify()?;
                Err(Error::Row { row: rows.iter().copied().max().unwrap_or(0), rows: grid.rows })
            }
        }
    }

    /// Row `row` of `grid`, to be read where it lies.
    pub(crate) fn row(&self, grid: &Grid, row: u64) -> Result<Piece<'_>> {
        let (block, len) = self.memory.as_ref().map_or((std::ptr::null(), 0), |m| (m.as_ptr(), m.len()));
        // SAFETY: as in `copy`; the piece borrows self.
        match unsafe { Piece::of_row(block, len, grid, row) } {
            Some(piece) => Ok(piece),
            None => {
                self.verify()?;
                Err(Error::Row { row, rows: grid.rows })
            }
        }
    }

    /// Compares the file with what it was when opened. The change time is left out: a rename or a new link touches it,
    /// and the bytes are what counts.
    pub(crate) fn verify(&self) -> Result<()> {
        let io = |source| Error::Io { action: "inspect", path: self.path.clone(), source };
        let now = Stamp::of(&self.file.metadata().map_err(io)?);
        if now != self.stamp {
            return Err(self.stamp.differs(&self.path, &now));
        }
        match self.watch.as_ref().is_some_and(Watch::faulted) {
            true => Err(Error::Io { action: "read", path: self.path.clone(), source: unreadable() }),
            false => Ok(()),
        }
    }

    /// What the file was when it was opened.
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// This map, if its file is still the one that was seen before.
    pub(crate) fn unchanged_since(self, before: &Stamp) -> Result<Map> {
        match self.stamp == *before {
            true => Ok(self),
            false => Err(before.differs(&self.path, &self.stamp)),
        }
    }
}

/// Pages that this thread has had to wait for the disk to read, so far.
pub(crate) fn major_faults() -> i64 {
    // SAFETY: all bytes zero is a valid rusage, being plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a live rusage for the call to write to.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_majflt
}

/// Files this process may have open at a time.
pub(crate) fn open_files_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live rlimit for the call to write to.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    if known { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { 256 }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map({:?}, {})", self.path, self.stamp)
    }
}
