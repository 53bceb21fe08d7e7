//! The cells of one column in a block of memory or of a file, and how they get into a batch.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::data::{Convert, DType};
use crate::error::{Error, Result};
use crate::sys::{DataFile, Grid, Piece, copy_from_slice, goes_past_caches};

/// One column's rows, wherever they are.
pub(crate) trait Cells: Send + Sync {
    fn dtype(&self) -> DType;

    fn shape(&self) -> &[usize];

    fn rows(&self) -> u64;

    /// Copies `rows` to `into`, as elements of the type that `convert` leads to.
    fn gather(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()>;

    /// Compares the file with what it was when opened, for all that was gathered before.
    fn confirm(&self) -> Result<()> {
        Ok(())
    }

    /// These cells made ready for rows that come in no order.
    fn scattered(&self) -> Option<Arc<dyn Cells>> {
        None
    }

    /// Starts reading these rows without waiting for them.
    fn ahead(&self, rows: Range<u64>) {
        let _ = rows;
    }

    /// Whether stored elements are in the other byte order than the machine's.
    fn swapped(&self) -> bool {
        false
    }

    /// Cells whose row `i` is `context` rows of these from `first + i * stride` on, where they stand side by side.
    fn windows(&self, first: u64, context: usize, stride: u64) -> Option<Arc<dyn Cells>> {
        let _ = (first, context, stride);
        None
    }

    /// Writes the expression that made the column.
    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Length and time of its file, or a digest of those of many.
    fn stamp(&self) -> Option<String> {
        None
    }
}

/// Where a block's bytes are.
#[derive(Clone)]
pub(crate) enum Store {
    File(Arc<DataFile>),
    Memory(Arc<dyn Memory>),
}

/// Bytes of ours that stay as they are while they are shared.
pub(crate) trait Memory: Send + Sync {
    fn bytes(&self) -> &[u8];
}

impl Store {
    /// Row `row` where it lies, if it lies in memory or in a map.
    fn row(&self, grid: &Grid, row: u64) -> Result<Option<Piece<'_>>> {
        match self {
            Store::File(file) => file.row(grid, row),
            Store::Memory(memory) => {
                let refused = || Error::Row { row, rows: grid.rows };
                let start = usize::try_from(row)
                    .ok()
                    .and_then(|row| row.checked_mul(grid.stride)?.checked_add(grid.base));
                let bytes = start.and_then(|start| memory.bytes().get(start..start.checked_add(grid.bytes)?));
                bytes.map(|bytes| Some(Piece::of(bytes))).ok_or_else(refused)
            }
        }
    }

    fn copy(&self, grid: &Grid, rows: &[u64], into: &mut [u8], place: (usize, usize)) -> Result<()> {
        match self {
            Store::File(file) => file.copy(grid, rows, into, place),
            Store::Memory(memory) => match copy_from_slice(memory.bytes(), grid, rows, into, place) {
                true => Ok(()),
                false => Err(Error::Row { row: rows.iter().copied().max().unwrap_or(0), rows: grid.rows }),
            },
        }
    }
}

/// How one row's elements lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Form {
    pub(crate) dtype: DType,
    pub(crate) swap: bool,
    pub(crate) shape: Vec<usize>,
    /// Bytes from one element to the next, by axis of `shape`; empty when they stand side by side in C order.
    pub(crate) strides: Vec<usize>,
}

impl Form {
    pub(crate) fn row_bytes(&self) -> usize {
        self.shape.iter().product::<usize>().saturating_mul(self.dtype.bytes())
    }

    /// Calls `each` with the byte offset of every element of a row, in C order.
    fn offsets(&self, mut each: impl FnMut(usize) -> Result<()>) -> Result<()> {
        let mut index = vec![0; self.shape.len()];
        if self.shape.contains(&0) {
            return Ok(());
        }
        loop {
            each(index.iter().zip(&self.strides).map(|(i, stride)| i * stride).sum())?;
            // The next index, last axis fastest.
            let Some(axis) = (0..index.len()).rev().find(|axis| index[*axis] + 1 < self.shape[*axis]) else {
                return Ok(());
            };
            index[axis] += 1;
            index[axis + 1..].fill(0);
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.swap { "byte-swapped " } else { "" };
        write!(f, "{order}{}{:?}", self.dtype, self.shape)
    }
}

/// Rows at even distances in one block of bytes.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) store: Store,
    pub(crate) grid: Grid,
    pub(crate) form: Arc<Form>,
}

/// Fewer bytes than this are not read ahead.
const NARROW: usize = 64;

/// Bytes converted at a time: a fraction of the first-level cache, so that the second pass finds them there.
const CHUNK: usize = 16 << 10;

#[repr(C, align(64))]
struct Scratch([u8; CHUNK]);

impl Block {
    pub(crate) fn gather(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()> {
        // Elements that do not fit the scratch (very long strings) go through a larger one, whole rows at a time.
        let wide = self.form.row_bytes() > CHUNK && convert.ratio().0 <= CHUNK;
        match (convert.is_identity(), self.form.strides.is_empty()) {
            (true, true) => self.store.copy(&self.grid, rows, into, (0, self.grid.bytes)),
            (true, false) => self.copy_strided(rows, into),
            (false, _) if self.form.row_bytes() == 0 => Ok(()),
            (false, true) if wide => self.convert_wide(rows, into, convert),
            (false, _) => self.convert_rows(rows, into, convert),
        }
    }

    /// Compares the file with what it was when opened.
    pub(crate) fn confirm(&self) -> Result<()> {
        match &self.store {
            Store::File(file) => file.verify(),
            Store::Memory(_) => Ok(()),
        }
    }

    /// Starts reading these rows without waiting for them.
    pub(crate) fn ahead(&self, rows: Range<u64>) {
        let (grid, Store::File(file)) = (&self.grid, &self.store) else { return };
        let (from, to) = (rows.start as usize, rows.end.min(grid.rows) as usize);
        let bytes = to.saturating_sub(from) * grid.stride;
        // A narrow row shares its page with hundreds of others: those are in memory soon, and advice costs a call each.
        if bytes >= NARROW && self.form.strides.is_empty() {
            file.will_need(grid.base + from * grid.stride, bytes);
        }
    }

    /// Element by element, each for all rows: in a file in Fortran order, an element's column is what lies together.
    fn copy_strided(&self, rows: &[u64], into: &mut [u8]) -> Result<()> {
        let (size, step) = (self.form.dtype.bytes(), self.form.row_bytes());
        let mut at = 0;
        self.form.offsets(|offset| {
            self.store.copy(&self.grid.element(offset, size), rows, into, (at, step))?;
            at += size;
            Ok(())
        })
    }

    /// Several rows at a time through the scratch.
    fn convert_rows(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()> {
        let row = self.form.row_bytes();
        let mut near = Scratch([0; CHUNK]);
        let mut far =
            if row > CHUNK { crate::sys::Buffer::zeroed(row)? } else { crate::sys::Buffer::default() };
        let scratch = if row > CHUNK { far.as_mut_slice() } else { &mut near.0[..] };
        let at_once = (scratch.len() / row).max(1);
        let (from_size, to_size) = convert.ratio();
        let into_row = row / from_size * to_size;
        for (rows, into) in rows.chunks(at_once).zip(into.chunks_mut(at_once * into_row)) {
            let scratch = &mut scratch[..rows.len() * row];
            match self.form.strides.is_empty() {
                true => self.store.copy(&self.grid, rows, scratch, (0, row))?,
                false => self.copy_strided(rows, scratch)?,
            }
            convert.run(scratch, into);
        }
        Ok(())
    }

    /// Row by row: read where it lies, so that a wide row goes through the caches once, or in pieces through the scratch.
    fn convert_wide(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()> {
        let row_bytes = self.form.row_bytes();
        let mut scratch = Scratch([0; CHUNK]);
        let (from_size, to_size) = convert.ratio();
        let piece = CHUNK / from_size * from_size;
        let into_row = row_bytes / from_size * to_size;
        let past_caches = goes_past_caches(into_row, into.len());
        for (row, into) in rows.iter().zip(into.chunks_mut(into_row)) {
            let here = self.store.row(&self.grid, *row)?;
            if let Some(piece) = here.map(|piece| if past_caches { piece.past_caches() } else { piece })
                && convert.in_one_pass(&piece, into)
            {
                continue;
            }
            for (start, into) in
                (0..row_bytes).step_by(piece).zip(into.chunks_mut(piece / from_size * to_size))
            {
                let bytes = piece.min(row_bytes - start);
                let scratch = &mut scratch.0[..bytes];
                self.store.copy(&self.grid.element(start, bytes), &[*row], scratch, (0, bytes))?;
                convert.run(scratch, into);
            }
        }
        Ok(())
    }
}

/// What the plan says of a column whose files are not mapped.
pub(super) fn read_note(expression: &str) -> String {
    format!("{expression} is not mapped but read by calls, one for each run of neighbouring rows")
}

/// A column in a single block.
pub(crate) struct One {
    pub(crate) block: Block,
    pub(crate) expression: String,
    pub(crate) notes: Vec<String>,
}

impl Cells for One {
    fn dtype(&self) -> DType {
        self.block.form.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.block.form.shape
    }

    fn rows(&self) -> u64 {
        self.block.grid.rows
    }

    fn gather(&self, rows: &[u64], into: &mut [u8], convert: &Convert) -> Result<()> {
        self.block.gather(rows, into, convert)
    }

    fn confirm(&self) -> Result<()> {
        self.block.confirm()
    }

    fn scattered(&self) -> Option<Arc<dyn Cells>> {
        let Store::File(file) = &self.block.store else { return None };
        let block = Block { store: Store::File(file.scattered()), ..self.block.clone() };
        Some(Arc::new(One { block, expression: self.expression.clone(), notes: self.notes.clone() }))
    }

    fn ahead(&self, rows: Range<u64>) {
        self.block.ahead(rows);
    }

    fn swapped(&self) -> bool {
        self.block.form.swap
    }

    fn windows(&self, first: u64, context: usize, stride: u64) -> Option<Arc<dyn Cells>> {
        let Block { store, grid, form } = &self.block;
        if !form.strides.is_empty() || grid.stride != grid.bytes {
            return None;
        }
        let rows = grid.rows.checked_sub(first)?.checked_sub(context as u64)? / stride.max(1) + 1;
        let base = usize::try_from(first).ok()?.checked_mul(grid.stride)?.checked_add(grid.base)?;
        let step = usize::try_from(stride).ok()?.checked_mul(grid.stride)?;
        let grid = Grid { base, stride: step, bytes: grid.bytes.checked_mul(context)?, rows };
        let mut shape = vec![context];
        shape.extend_from_slice(&form.shape);
        let form = Arc::new(Form { shape, strides: Vec::new(), ..**form });
        let block = Block { store: store.clone(), grid, form };
        let (expression, notes) = (self.expression.clone(), self.notes.clone());
        Some(Arc::new(One { block, expression, notes }))
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.expression)
    }

    fn notes(&self) -> Vec<String> {
        let read = matches!(&self.block.store, Store::File(file) if file.is_read());
        self.notes.iter().cloned().chain(read.then(|| read_note(&self.expression))).collect()
    }

    fn stamp(&self) -> Option<String> {
        match &self.block.store {
            Store::File(file) => Some(format!("{}: {}", self.expression, file.stamp())),
            Store::Memory(_) => None,
        }
    }
}
