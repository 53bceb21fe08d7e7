//! Batches into shards.
//!
//! Rows go straight from the batch to the files: what is held is a small buffer for each column. A finished shard is on
//! the disk before it is listed.

use std::sync::Arc;

use super::column::ColumnFile;
use super::folder::{Folder, Target};
use super::manifest::{Cursor, FINISHED, Manifest, Origin, Shard, UNFINISHED, file_name};
use crate::data::{Batch, Spec};
use crate::error::{Error, Result};
use crate::source::Npy;

/// About this many bytes go into a shard whose rows are not limited.
const SHARD_BYTES: u64 = 256 << 20;

/// What a user may say about a resumable folder.
pub(super) struct How {
    pub(super) shard_rows: Option<u64>,
    /// Without what an earlier run left.
    pub(super) afresh: bool,
}

/// Writes one folder.
pub(crate) struct Writer {
    folder: Folder,
    manifest: Manifest,
    /// Whether a later run goes on after the finished shards.
    resumable: bool,
    shard_rows: Option<u64>,
    next: Cursor,
    files: Vec<ColumnFile>,
    /// Rows in the open shard.
    rows: u64,
}

impl Writer {
    /// A writer that leaves a complete folder or nothing.
    pub(crate) fn fresh(target: &Target, origin: Origin, spec: Option<Arc<Spec>>) -> Result<Writer> {
        Ok(Writer::new(Folder::own(target)?, Manifest::new(origin, spec), None))
    }

    /// A writer that goes on after the shards that an earlier one finished, if the same pipeline made them; `None` while
    /// another one is at it.
    pub(super) fn resumed(
        target: &Target,
        origin: Origin,
        spec: Option<Arc<Spec>>,
        how: How,
    ) -> Result<Option<Writer>> {
        let Some(folder) = Folder::shared(target)? else { return Ok(None) };
        // An unreadable or foreign list is worth no more than none.
        let before = Manifest::read(folder.path(), UNFINISHED).ok().flatten();
        let before =
            before.filter(|b| !how.afresh && b.compare(folder.path(), &origin, spec.as_ref()).is_ok());
        let mut writer = Writer::new(folder, before.unwrap_or(Manifest::new(origin, spec)), how.shard_rows);
        writer.resumable = true;
        let whole = writer.whole_shards();
        writer.next = writer.manifest.cut(whole);
        writer.folder.keep(whole > 0);
        let names: Vec<String> = (0..whole).flat_map(|shard| writer.names(shard)).collect();
        let wanted = |name: &str| name == UNFINISHED && whole > 0 || names.iter().any(|n| n == name);
        writer.folder.tidy(|name| name.to_str().is_some_and(wanted))?;
        Ok(Some(writer))
    }

    fn new(folder: Folder, manifest: Manifest, shard_rows: Option<u64>) -> Writer {
        let (next, files) = (Cursor::default(), Vec::new());
        Writer { folder, manifest, resumable: false, shard_rows, next, files, rows: 0 }
    }

    /// Where the first row stands that is not written.
    pub(super) fn next(&self) -> Cursor {
        self.next
    }

    /// Rows and shards so far.
    pub(super) fn done(&self) -> (u64, u64) {
        (self.manifest.rows() + self.rows, self.manifest.shards.len() as u64)
    }

    /// Appends the next batch, from the row on that is next in it.
    pub(crate) fn write(&mut self, verb: &'static str, batch: &Batch) -> Result<()> {
        let position = self.next.item;
        let spec = self.manifest.spec.get_or_insert_with(|| Spec::clone(batch.spec())).clone();
        if spec != **batch.spec() {
            let (expected, found) = (spec.to_string(), batch.spec().to_string());
            return Err(Error::Item { stage: verb, position, expected, found });
        }
        let rows = batch.rows() as u64;
        let most = self.shard_rows.unwrap_or_else(|| (SHARD_BYTES / (spec.row_bytes() as u64).max(1)).max(1));
        self.manifest.push(rows);
        while self.next.row < rows {
            if self.rows == 0 {
                self.start(&spec)?;
            }
            let count = (rows - self.next.row).min(most - self.rows);
            let (from, to) = (self.next.row as usize, (self.next.row + count) as usize);
            for (file, array) in self.files.iter_mut().zip(batch.arrays()) {
                let row = array.bytes().len() / batch.rows();
                file.append(&array.bytes()[from * row..to * row], count)?;
            }
            self.rows += count;
            self.next.row += count;
            if self.next.row == rows {
                self.next = Cursor { item: position + 1, row: 0 };
            }
            if self.rows == most {
                self.finish_shard()?;
            }
            if self.next.item > position {
                return Ok(());
            }
        }
        self.next = Cursor { item: position + 1, row: 0 };
        Ok(())
    }

    /// Completes the folder and gives it its name; false when another one has that name already.
    pub(crate) fn finish(mut self) -> Result<bool> {
        if self.rows > 0 {
            self.finish_shard()?;
        }
        self.folder.put(FINISHED, &self.manifest.to_json()?)?;
        self.folder.tidy(|name| name != UNFINISHED)?;
        self.folder.publish()
    }

    fn start(&mut self, spec: &Spec) -> Result<()> {
        let names = self.names(self.manifest.shards.len());
        let create = |(name, column)| ColumnFile::create(self.folder.path().join(name), column);
        let files: Result<Vec<ColumnFile>> = names.iter().zip(&spec.columns).map(create).collect();
        self.files = files?;
        Ok(())
    }

    fn finish_shard(&mut self) -> Result<()> {
        self.files.iter_mut().try_for_each(ColumnFile::finish)?;
        self.files.drain(..).for_each(ColumnFile::keep);
        self.manifest.shards.push(Shard { rows: std::mem::take(&mut self.rows), next: self.next });
        if self.resumable {
            self.folder.put(UNFINISHED, &self.manifest.to_json()?)?;
            self.folder.keep(true);
        }
        Ok(())
    }

    fn names(&self, shard: usize) -> Vec<String> {
        let columns = self.manifest.spec.iter().flat_map(|spec| spec.columns.iter().enumerate());
        columns.map(|(place, column)| file_name(shard, place, &column.name)).collect()
    }

    /// How many listed shards are there in full, from the first on.
    fn whole_shards(&self) -> usize {
        let whole = |shard: usize, rows: u64| {
            self.names(shard).iter().all(|name| {
                let file = Npy::open(self.folder.path().join(name));
                file.and_then(crate::source::IntoColumn::into_column)
                    .is_ok_and(|column| column.rows() == rows)
            })
        };
        let mut shards = self.manifest.shards.iter().enumerate();
        shards.position(|(i, shard)| !whole(i, shard.rows)).unwrap_or(self.manifest.shards.len())
    }
}
