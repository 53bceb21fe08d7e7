//! `save`: a stream's batches as a folder of `.npy` columns.
//!
//! Holds one batch and a small buffer for each column. Any error ends it: a folder with a hole would be worse than
//! none. The shards finished so far stay for the next run, which seeks to the row after them.

use std::fmt;
use std::path::{Path, PathBuf};

use super::folder::Target;
use super::manifest::Origin;
use super::writer::{How, Writer};
use crate::data::{Batch, Length};
use crate::dataset::Dataset;
use crate::error::{Error, Result, caught};
use crate::state::Position;
use crate::stream::Stream;

impl Stream<Batch> {
    /// Writes the batches of an epoch to a folder of `.npy` columns in shards, and opens it as a dataset, as
    /// [`Dataset::load`] will.
    ///
    /// Takes a path, or a [`Save`] that says more. The folder is written aside, in the same parent, and gets its name
    /// when it is complete and on the disk. A run that fails or is killed leaves its finished shards, and the next
    /// one to the same folder goes on after them, seeking in the stream, if the same pipeline wrote them: the same
    /// expression, columns and epoch, over files that did not change. What a closure does cannot be compared: after
    /// changing one, use [`afresh`](Save::afresh).
    ///
    /// **Order:** kept · **Holds:** one batch · **Threads:** none of its own
    ///
    /// # Errors
    /// The first error of the stream; [`Error::Item`] for a batch whose columns differ from those of the first;
    /// [`Error::Argument`] when something is there already, somebody else is writing it, or the stream never ends;
    /// [`Error::Io`].
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Save};
    ///
    /// # let parent = tempfile::tempdir().expect("a folder");
    /// # let dir = parent.path().join("halves");
    /// let halves = Dataset::from_generator(|_| (0..10).map(|n| n as f32 / 2.0)).batch(4);
    /// let rows = halves.save(Save::to(&dir).shard_rows(6).progress(|so_far| println!("{so_far}")))?;
    /// assert_eq!((rows.len(), rows.spec().to_string()), (10, "(0: f32)".into()));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn save<'a>(&self, to: impl Into<Save<'a>>) -> Result<Dataset> {
        let mut save = to.into();
        let outline = self.outline()?;
        let length = outline.length;
        let target = save.check(length)?;
        let origin = Origin::new(&outline, save.epoch);
        let how = How { shard_rows: save.shard_rows, afresh: save.afresh };
        let found = || format!("{:?}, which another writer is saving to", save.dir);
        let writer = Writer::resumed(&target, origin, outline.spec, how)?;
        let mut writer = writer.ok_or_else(|| Error::argument("save", "a folder of its own", found()))?;
        let start = Position { epoch: save.epoch, item: writer.next().item };
        for (item, batch) in (start.item..).zip(self.seek(start)?) {
            writer.write("save", &batch?)?;
            let (rows, shards) = writer.done();
            if let Some(progress) = &mut save.progress {
                let so_far = Progress { items: item + 1, length, rows, shards };
                caught("save", item, || {
                    progress(so_far);
                    Ok(())
                })?;
            }
        }
        match writer.finish()? {
            true => Dataset::load(&save.dir),
            false => Err(save.occupied()),
        }
    }
}

/// Where and how [`Stream::save`] writes. A plain path will do for most.
pub struct Save<'a> {
    dir: PathBuf,
    epoch: u64,
    shard_rows: Option<u64>,
    afresh: bool,
    progress: Option<Box<dyn FnMut(Progress) + 'a>>,
}

impl<'a> Save<'a> {
    /// To a folder that is not there yet, or is empty. Its parents are made.
    pub fn to(dir: impl AsRef<Path>) -> Save<'a> {
        Save { dir: dir.as_ref().to_owned(), epoch: 0, shard_rows: None, afresh: false, progress: None }
    }

    /// At most `rows` rows in a shard. Without this, about 256 MiB.
    pub fn shard_rows(mut self, rows: u64) -> Save<'a> {
        self.shard_rows = Some(rows);
        self
    }

    /// Epoch `epoch` of the stream instead of epoch 0.
    pub fn epoch(mut self, epoch: u64) -> Save<'a> {
        self.epoch = epoch;
        self
    }

    /// Without the shards that an earlier run left.
    pub fn afresh(mut self) -> Save<'a> {
        self.afresh = true;
        self
    }

    /// Calls `progress` after every batch.
    pub fn progress(mut self, progress: impl FnMut(Progress) + 'a) -> Save<'a> {
        self.progress = Some(Box::new(progress));
        self
    }

    fn check(&self, length: Length) -> Result<Target> {
        if self.shard_rows == Some(0) {
            return Err(Error::argument("save", "shards of at least one row", 0));
        }
        if length == Length::Infinite {
            return Err(Error::argument("save", "a stream that ends", "one that does not; add .take(n)"));
        }
        let target = Target::new("save", &self.dir)?;
        match target.is_vacant()? {
            true => Ok(target),
            false => Err(self.occupied()),
        }
    }

    fn occupied(&self) -> Error {
        let found = format!("{:?}, where something is; remove it or name another", self.dir);
        Error::argument("save", "a folder that is not there yet", found)
    }
}

impl<P: AsRef<Path>> From<P> for Save<'_> {
    fn from(dir: P) -> Self {
        Save::to(dir)
    }
}

impl fmt::Debug for Save<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Save({:?}, epoch {})", self.dir, self.epoch)
    }
}

/// How far a [`Stream::save`] has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Batches written, those of earlier runs too.
    pub items: u64,
    /// Batches there are, where that is known.
    pub length: Length,
    /// Rows written.
    pub rows: u64,
    /// Shards finished.
    pub shards: u64,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { items, length, rows, shards } = self;
        write!(f, "{items} of {length} batches, {rows} rows in {shards} finished shards")
    }
}
