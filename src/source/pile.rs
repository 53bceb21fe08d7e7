//! Many files end to end as one column.
//!
//! Tens of thousands of files are more than a process may have open, so they are kept in a bounded shelf and opened
//! again when needed; a file that changed since it was first seen is refused.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::cells::{Block, Cells, Form, Store};
use crate::data::{Convert, DType};
use crate::digest;
use crate::error::{Error, Result};
use crate::sys::{DataFile, Grid, Process, Stamp, open_files_limit};

/// One file's share of a pile.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) grid: Grid,
    pub(super) form: Arc<Form>,
    /// Read by calls, not through a map.
    pub(super) unmapped: bool,
}

impl Part {
    fn open(&self) -> Result<Arc<DataFile>> {
        let file = DataFile::open(&self.path)?.unchanged_since(&self.stamp)?;
        Ok(Arc::new(if self.unmapped { file } else { file.mapped()? }))
    }
}

/// The open files, oldest first out.
struct Shelf {
    files: Vec<Option<Arc<DataFile>>>,
    ages: VecDeque<usize>,
    room: usize,
}

impl Shelf {
    /// Keeps a file, or drops it for the one that was kept meanwhile.
    fn keep(&mut self, number: usize, file: Arc<DataFile>) -> Arc<DataFile> {
        if let Some(kept) = &self.files[number] {
            return kept.clone();
        }
        if self.ages.len() >= self.room
            && let Some(oldest) = self.ages.pop_front()
        {
            self.files[oldest] = None;
        }
        self.ages.push_back(number);
        self.files[number] = Some(file.clone());
        file
    }
}

pub(super) struct Pile {
    parts: Arc<[Part]>,
    /// First row of each part, and the number of all rows at the end.
    starts: Arc<[u64]>,
    shelf: Arc<Mutex<Shelf>>,
    expression: String,
    notes: Vec<String>,
    scattered: bool,
    home: Process,
}

impl Pile {
    /// A pile of parts with one element type and row shape.
    pub(super) fn new(parts: Vec<Part>, expression: String, notes: Vec<String>) -> Result<Pile> {
        let mut starts = vec![0u64];
        for part in &parts {
            let (first, this) = (&parts[0].form, &part.form);
            if (first.dtype, first.swap, &first.shape) != (this.dtype, this.swap, &this.shape) {
                let words = |part: &Part| format!("{} in {}", part.form, part.path.display());
                let (expected, found) = (words(&parts[0]), words(part));
                return Err(Error::spec("files of one column", expected, found));
            }
            let end = starts[starts.len() - 1].checked_add(part.grid.rows);
            starts.push(end.ok_or_else(|| Error::argument("files", "at most 2^64 rows", "more"))?);
        }
        // A quarter of what the process may open: other columns, and the user, need some too.
        let room = (open_files_limit() / 4).clamp(16, 4096);
        let shelf = Mutex::new(Shelf { files: vec![None; parts.len()], ages: VecDeque::new(), room });
        Ok(Pile {
            parts: parts.into(),
            starts: starts.into(),
            shelf: Arc::new(shelf),
            expression,
            notes,
            scattered: false,
            home: Process::here(),
        })
    }

    fn part_of(&self, row: u64) -> usize {
        // Empty files share their start with the next one: the last part that starts at or before the row holds it.
        self.starts[1..].partition_point(|end| *end <= row).min(self.parts.len().saturating_sub(1))
    }

    /// The shelf; none in a forked child while a thread of the parent held it as it forked, for it is never given back.
    fn shelf(&self) -> Option<MutexGuard<'_, Shelf>> {
        if self.home.is_here() {
            return Some(self.shelf.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.shelf.try_lock() {
            Ok(shelf) => Some(shelf),
            Err(TryLockError::Poisoned(shelf)) => Some(shelf.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn block(&self, number: usize) -> Result<Block> {
        let part = &self.parts[number];
        let kept = self.shelf().and_then(|shelf| shelf.files[number].clone());
        let file = match kept {
            Some(file) => file,
            None => {
                // Outside the lock: a slow disk holds up only who needs this very file.
                let file = part.open()?;
                match self.shelf() {
                    Some(mut shelf) => shelf.keep(number, file),
                    None => file,
                }
            }
        };
        let file = if self.scattered { file.scattered() } else { file };
        Ok(Block { store: Store::File(file), grid: part.grid, form: part.form.clone() })
    }
}

impl Cells for Pile {
    fn dtype(&self) -> DType {
        self.parts[0].form.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.parts[0].form.shape
    }

    fn rows(&self) -> u64 {
        self.starts[self.parts.len()]
    }

    fn gather(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()> {
        if let Some(row) = rows.iter().find(|row| **row >= self.rows()) {
            return Err(Error::Row { row: *row, rows: self.rows() });
        }
        let row_bytes = self.shape().iter().product::<usize>() * convert.ratio().1;
        let mut rest = rows;
        let mut done = 0;
        let mut local = Vec::new();
        while let Some(first) = rest.first() {
            let number = self.part_of(*first);
            let range = self.starts[number]..self.starts[number + 1];
            let run = rest.iter().position(|row| !range.contains(row)).unwrap_or(rest.len());
            local.clear();
            local.extend(rest[..run].iter().map(|row| row - range.start));
            let block = self.block(number)?;
            block.gather(&local, &mut into[done..done + run * row_bytes], convert)?;
            // At once, while it is known which file it was.
            block.confirm()?;
            done += run * row_bytes;
            rest = &rest[run..];
        }
        Ok(())
    }

    fn scattered(&self) -> Option<Arc<dyn Cells>> {
        Some(Arc::new(Pile {
            parts: self.parts.clone(),
            starts: self.starts.clone(),
            shelf: self.shelf.clone(),
            expression: self.expression.clone(),
            notes: self.notes.clone(),
            scattered: true,
            home: self.home,
        }))
    }

    fn ahead(&self, rows: Range<u64>) {
        let (mut from, end) = (rows.start, rows.end.min(self.rows()));
        while from < end {
            let number = self.part_of(from);
            let (first, next) = (self.starts[number], self.starts[number + 1]);
            // Advice: a file that cannot be opened is told of when its rows are gathered.
            if let Ok(block) = self.block(number) {
                block.ahead(from - first..end.min(next) - first);
            }
            from = next;
        }
    }

    fn swapped(&self) -> bool {
        self.parts[0].form.swap
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.expression)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn stamp(&self) -> Option<String> {
        // Thousands of files' lengths and times in one number.
        let texts = self.parts.iter().map(|part| format!("{:?}: {}\n", part.path, part.stamp));
        let digest = digest::of_bytes(texts.flat_map(String::into_bytes));
        Some(format!("{}: {} files with digest {digest:016x}", self.expression, self.parts.len()))
    }
}

/// Many files for an expression: the first, the last, how many, and a digest of all names in order.
pub(super) fn listed(paths: &[PathBuf]) -> String {
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else { return "[]".into() };
    let names = paths.iter().map(|path| path.file_name().unwrap_or_default().as_encoded_bytes());
    let digest = digest::of_list(names.map(|name| digest::of_bytes(name.iter().copied())));
    format!("[{first:?} .. {last:?}; {} files #{digest}]", paths.len())
}

/// The files that match `pattern`, in the order of their names.
pub(super) fn glob(verb: &'static str, pattern: &str) -> Result<Vec<PathBuf>> {
    let found = glob::glob(pattern)
        .map_err(|e| Error::argument(verb, "a glob pattern", format!("{pattern:?}: {e}")))?;
    let mut paths = Vec::new();
    for entry in found {
        paths.push(entry.map_err(|e| {
            let path = e.path().to_owned();
            Error::Io { action: "list", path, source: e.into() }
        })?);
    }
    paths.sort();
    match paths.is_empty() {
        true => Err(Error::argument(
            verb,
            "a pattern that matches files",
            format!("{pattern:?}, which matches none"),
        )),
        false => Ok(paths),
    }
}
