//! `pack`: rows of different lengths side by side in blocks of one length.
//!
//! Each row goes into the first open block that has room for it. A block comes out when it is full, or when a row needs a
//! new one and as many as may be are open; those open at the end come oldest first. A position counts blocks that came
//! out; seeking replays. An upstream error passes at once; if it ends the stream, the open blocks come first.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::data::{Batch, CellRef, Collate, ColumnSpec, DType, Length, Ragged, Row, Spec};
use crate::error::{Error, Result};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::stream::Stream;

/// The columns that tell the rows of a block apart.
const SEGMENT: &str = "segment";
const POSITION: &str = "position";

impl<T: Collate> Stream<T> {
    /// Blocks of exactly `tokens` elements, filled with rows of up to that length, first fit, up to `open` blocks being
    /// filled at a time. With one, rows keep their order; with more, less of a block stays empty.
    ///
    /// Every cell of an item has one axis, all of one length: tokens, and what goes with each of them. A block has these
    /// columns, `tokens` elements each, zeros where nothing is, and two `u32` columns for attention: `segment`, which is 1 in
    /// the block's first row of tokens, 2 in the second and 0 where nothing is, and `position`, which counts from 0 in each
    /// row of tokens. Rows without tokens leave no trace.
    ///
    /// **Order:** kept for `open` 1; else rows go back into gaps · **Holds:** `open` blocks · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::Item`] for an item of more than `tokens` tokens, or other columns than the first one's.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let texts = Dataset::from_generator(|_| [vec![7u16, 8, 9], vec![4, 5], vec![6]]);
    /// let blocks: Vec<_> = texts.pack(5, 1).iter()?.collect::<Result<_, _>>()?;
    /// assert_eq!(blocks[0].column::<u16>("0")?, [7, 8, 9, 4, 5]);
    /// assert_eq!(blocks[0].column::<u32>("segment")?, [1, 1, 1, 2, 2]);
    /// assert_eq!(blocks[0].column::<u32>("position")?, [0, 1, 2, 0, 1]);
    /// assert_eq!(blocks[1].column::<u32>("segment")?, [1, 0, 0, 0, 0]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn pack(self, tokens: usize, open: usize) -> Stream<Row> {
        self.then(|upstream| PackStage { upstream, tokens, open })
    }
}

struct PackStage<T> {
    upstream: Upstream<T>,
    tokens: usize,
    open: usize,
}

impl<T: Collate> Stage for PackStage<T> {
    type Item = Row;

    fn outline(&self, run: &Run) -> Result<Outline> {
        if self.tokens == 0 || self.open == 0 {
            let found = format!("pack({}, {})", self.tokens, self.open);
            return Err(Error::argument("pack", "at least one token and one open block", found));
        }
        let upstream = self.upstream.outline(run)?;
        let length = match upstream.length {
            Length::Exact(1..) => Length::Unknown,
            other => other,
        };
        let columns = upstream.spec.as_ref().map(|spec| {
            packed(spec.columns.iter().map(|column| (column.name.as_str(), column.dtype)), self.tokens)
        });
        let spec = columns.transpose()?;
        let bytes = spec.as_ref().map(|spec| spec.row_bytes() as u64);
        let call = format!("pack({}, {})", self.tokens, self.open);
        Ok(upstream.step(call).length(length).columns(spec).sized(bytes).holds(self.open as u64))
    }

    fn open(&self, run: &Run) -> Result<Running<Row>> {
        Ok(Box::new(PackPull {
            upstream: Some(self.upstream.open(run)?),
            tokens: self.tokens,
            most: self.open,
            position: 0,
            item: Ragged::default(),
            spec: None,
            open: VecDeque::new(),
            ready: None,
            broken: None,
        }))
    }

    fn label(&self) -> &'static str {
        "pack"
    }
}

/// The columns of blocks of `tokens` elements.
fn packed<'a>(columns: impl Iterator<Item = (&'a str, DType)>, tokens: usize) -> Result<Arc<Spec>> {
    let own = [(SEGMENT, DType::U32), (POSITION, DType::U32)];
    Spec::new(columns.chain(own).map(|(name, dtype)| ColumnSpec::new(name, dtype, &[tokens])).collect())
}

/// A block being filled.
struct Block {
    batch: Batch,
    filled: usize,
    segments: u32,
}

struct PackPull<T> {
    upstream: Option<Running<T>>,
    tokens: usize,
    most: usize,
    position: u64,
    /// The item that came last; the first one fixes the columns.
    item: Ragged,
    /// The columns of a block, once known.
    spec: Option<Arc<Spec>>,
    /// Oldest first.
    open: VecDeque<Block>,
    /// A block that became full by the item that made another come out.
    ready: Option<Row>,
    broken: Option<Error>,
}

impl<T: Collate> PackPull<T> {
    /// Puts item `position` into a block; gives one that comes out.
    fn put(&mut self, item: &T, position: u64) -> Result<Option<Row>> {
        let tokens = self.tokens;
        let mut first = None;
        let check = |cell: &CellRef<'_>| {
            let [length] = *cell.shape else {
                let expected = format!("one axis in column {:?}", cell.name);
                return Err(Error::spec("item", expected, cell.shape.len()));
            };
            let expected = *first.get_or_insert(length);
            match length {
                _ if length > tokens => Err(Error::spec("item", format!("at most {tokens} tokens"), length)),
                _ if length != expected => {
                    let what = format!("{expected} elements in column {:?}, as in the first", cell.name);
                    Err(Error::spec("item", what, length))
                }
                _ => Ok(()),
            }
        };
        self.item.clear();
        self.item.push(("pack", position), item, check)?;
        let Some(length) = first.filter(|length| *length > 0) else { return Ok(None) };
        let mut out = None;
        let at = match self.open.iter().position(|block| block.filled <= tokens - length) {
            Some(at) => at,
            None => {
                let block = Block { batch: self.empty()?, filled: 0, segments: 0 };
                if self.open.len() >= self.most {
                    out = self.open.pop_front();
                }
                self.open.push_back(block);
                self.open.len() - 1
            }
        };
        self.open[at].fill(length, self.item.bytes())?;
        if self.open[at].filled == tokens
            && let Some(full) = self.open.remove(at)
        {
            match out {
                None => out = Some(full),
                Some(_) => self.ready = full.batch.row(0),
            }
        }
        Ok(out.and_then(|block| block.batch.row(0)))
    }

    /// A block without tokens, for items like the one that came last.
    fn empty(&mut self) -> Result<Batch> {
        let spec = match &self.spec {
            Some(spec) => spec,
            None => {
                let columns = self.item.columns().map(|(name, dtype, _)| (name, dtype));
                self.spec.insert(packed(columns, self.tokens)?)
            }
        };
        Batch::zeroed(spec, 1)
    }
}

impl Block {
    /// Adds a row of `length` tokens.
    fn fill<'a>(&mut self, length: usize, cells: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let tokens = self.filled..self.filled + length;
        let mut slots = self.batch.slots()?;
        for (slot, cell) in slots.iter_mut().zip(cells) {
            let size = slot.spec().dtype.bytes();
            slot.bytes()[tokens.start * size..tokens.end * size].copy_from_slice(cell);
        }
        self.segments += 1;
        self.filled = tokens.end;
        if let [.., segments, positions] = &mut slots[..] {
            segments.elements::<u32>()?[tokens.clone()].fill(self.segments);
            let positions = &mut positions.elements::<u32>()?[tokens];
            positions.iter_mut().zip(0..).for_each(|(position, number)| *position = number);
        }
        Ok(())
    }
}

impl<T: Collate> Pull for PackPull<T> {
    type Item = Row;

    fn pull(&mut self) -> Result<Option<Row>> {
        if let Some(row) = self.ready.take() {
            return Ok(Some(row));
        }
        while let Some(upstream) = &mut self.upstream {
            let position = self.position;
            self.position += 1;
            let block = match upstream.pull() {
                Ok(Some(item)) => self.put(&item, position),
                Ok(None) => {
                    self.upstream = None;
                    continue;
                }
                Err(error) => Err(error),
            };
            match block {
                Ok(None) => {}
                Err(error) if error.is_fatal() => {
                    self.upstream = None;
                    self.broken = Some(error);
                }
                other => return other,
            }
        }
        match self.open.pop_front() {
            Some(block) => Ok(block.batch.row(0)),
            None => self.broken.take().map_or(Ok(None), Err),
        }
    }
}
