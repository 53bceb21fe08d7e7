//! The copy loop: chosen rows, out of a block of memory, into a batch.

use std::marker::PhantomData;
#[cfg(target_arch = "x86_64")]
use std::{arch::x86_64::__m128i, mem::MaybeUninit};

use bytemuck::{AnyBitPattern, NoUninit};

/// Where rows lie in a block of bytes: row `r` is `bytes` bytes at `base + r * stride`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) base: usize,
    pub(crate) stride: usize,
    pub(crate) bytes: usize,
    pub(crate) rows: u64,
}

impl Grid {
    /// True when every row lies inside a block of `len` bytes.
    fn fits(&self, len: usize) -> bool {
        let Some(last) = self.rows.checked_sub(1) else { return true };
        let end = usize::try_from(last).ok().and_then(|last| last.checked_mul(self.stride));
        let end = end.and_then(|at| at.checked_add(self.base)?.checked_add(self.bytes));
        end.is_some_and(|end| end <= len)
    }

    /// Whether `rows` follow one another; `None` when one of them lies outside a block of `len` bytes, or its place,
    /// `at + i * step` for row `i`, outside `room` bytes.
    pub(super) fn checked(
        &self,
        len: usize,
        rows: &[u64],
        room: usize,
        (at, step): (usize, usize),
    ) -> Option<bool> {
        let Some(last) = rows.len().checked_sub(1) else { return Some(false) };
        let end = last.checked_mul(step).and_then(|n| n.checked_add(at)?.checked_add(self.bytes))?;
        // Without a way out before the last row, several are compared at a time.
        let gap = |pair: &[u64]| pair[1].wrapping_sub(pair[0]) ^ 1;
        let side_by_side = rows[last].checked_sub(rows[0]) == Some(last as u64)
            && rows.windows(2).fold(0, |gaps, pair| gaps | gap(pair)) == 0;
        let most = match side_by_side {
            true => rows[last],
            false => rows.iter().fold(0, |most, row| most.max(*row)),
        };
        (most < self.rows && self.fits(len) && end <= room).then_some(side_by_side)
    }

    /// The grid whose rows start `offset` bytes later and have `bytes` bytes: one element of each row.
    pub(crate) fn element(&self, offset: usize, bytes: usize) -> Grid {
        Grid { base: self.base.saturating_add(offset), bytes, ..*self }
    }
}

/// One row's bytes, wherever they are: to be read element by element, and never referred to.
pub(crate) struct Piece<'a> {
    from: *const u8,
    bytes: usize,
    /// What is made of it goes to memory past the caches.
    past_caches: bool,
    block: PhantomData<&'a [u8]>,
}

impl<'a> Piece<'a> {
    /// The piece that these bytes are.
    pub(crate) fn of(bytes: &'a [u8]) -> Piece<'a> {
        Piece { from: bytes.as_ptr(), bytes: bytes.len(), past_caches: false, block: PhantomData }
    }

    /// Row `row` of `grid`, if it lies inside the `len` bytes at `block`.
    ///
    /// # Safety
    /// `len` bytes at `block` stay mapped and readable for as long as the piece lives. Their values may change meanwhile.
    pub(super) unsafe fn of_row(block: *const u8, len: usize, grid: &Grid, row: u64) -> Option<Piece<'a>> {
        (row < grid.rows && grid.fits(len)).then(|| Piece {
            from: block.wrapping_add(grid.base + row as usize * grid.stride),
            bytes: grid.bytes,
            past_caches: false,
            block: PhantomData,
        })
    }

    /// This piece, of which more is made than the caches hold until it is used: to write around them spares reading the old content
    /// of every line first.
    pub(crate) fn past_caches(self) -> Piece<'a> {
        Piece { past_caches: true, ..self }
    }

    /// Fills `into` with what `make` makes of the piece's elements, as far as there are any.
    pub(crate) fn each<S: AnyBitPattern, D: NoUninit>(&self, into: &mut [D], make: impl Fn(S) -> D) {
        let from = self.from.cast::<S>();
        let count = into.len().min(self.bytes / size_of::<S>().max(1));
        // SAFETY: element `i` ends inside the piece for every `i` below `count`, and is readable by the promise it was made under; any
        // bits are an `S`.
        let element = |i| make(unsafe { from.add(i).read_unaligned() });
        match self.past_caches {
            true => write_past_caches(&mut into[..count], element),
            false => into[..count].iter_mut().enumerate().for_each(|(i, place)| *place = element(i)),
        }
    }
}

/// Whether rows of `row` bytes, `all` bytes of them, are written past the caches.
///
/// Measured with three buffers in turn, in ms a batch, and with each being read afterwards: 9.6 MB cast from u8 to f32, 0.56 (1.34)
/// where it took 0.91 (1.69); copied, 1.27 (2.16) where it took 1.55 (2.42). With 4.8 MB reading them costs more than is won. Rows of
/// up to 16 KiB in no order gain nothing: they wait for memory to be read, not to be written. Those between were not measured.
pub(crate) fn goes_past_caches(row: usize, all: usize) -> bool {
    row >= 64 << 10 && all >= 8 << 20
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Writes `element(i)` to place `i`, whole lines at a time and without having them read into the caches.
#[cfg(target_arch = "x86_64")]
fn write_past_caches<D: NoUninit>(into: &mut [D], element: impl Fn(usize) -> D) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    let in_line = LINE / size_of::<D>().max(1);
    let before = into.as_ptr().align_offset(LINE).min(into.len());
    let lines = match LINE.is_multiple_of(size_of::<D>()) {
        true => (into.len() - before) / in_line,
        false => 0,
    };
    for line in 0..lines {
        let at = before + line * in_line;
        let mut values = [const { MaybeUninit::<D>::uninit() }; LINE];
        for (i, value) in values.iter_mut().take(in_line).enumerate() {
            value.write(element(at + i));
        }
        let place = into[at..at + in_line].as_mut_ptr().cast::<__m128i>();
        for quarter in 0..4 {
            // SAFETY: `values` begins with `in_line` written elements of `D`, which has no unwritten bytes: one line. `place` is a
            // line of `into`, and starts at a multiple of its size.
            unsafe {
                let bytes = _mm_loadu_si128(values.as_ptr().cast::<__m128i>().add(quarter));
                _mm_stream_si128(place.add(quarter), bytes);
            }
        }
    }
    // SAFETY: every machine of this kind has it. What was written around the caches is in order with all that follows.
    unsafe { _mm_sfence() };
    let rest = (0..before).chain(before + lines * in_line..into.len());
    rest.for_each(|i| into[i] = element(i));
}

#[cfg(not(target_arch = "x86_64"))]
fn write_past_caches<D: NoUninit>(into: &mut [D], element: impl Fn(usize) -> D) {
    into.iter_mut().enumerate().for_each(|(i, place)| *place = element(i));
}

/// Copies `rows` of `grid` in `block` to `into`, row `i` to `into[at + i * step ..]`.
///
/// Returns false, having copied nothing, when a row or a place for it would lie outside.
pub(crate) fn copy_from_slice(
    block: &[u8],
    grid: &Grid,
    rows: &[u64],
    into: &mut [u8],
    (at, step): (usize, usize),
) -> bool {
    // SAFETY: a shared slice is readable for its whole length.
    unsafe { copy_rows(block.as_ptr(), block.len(), grid, rows, into, (at, step)) }
}

/// Rows ahead whose first lines are asked for while one is copied: measured best from 6 to 12 for rows of
/// 16 bytes to 2 KiB out of memory (3.5 to 5.2 GB/s for 512-byte rows).
const AHEAD: usize = 8;

/// As [`copy_from_slice`], out of `len` bytes at `block`.
///
/// # Safety
/// `len` bytes at `block` stay mapped and readable during the call. Their values may change meanwhile.
pub(super) unsafe fn copy_rows(
    block: *const u8,
    len: usize,
    grid: &Grid,
    rows: &[u64],
    into: &mut [u8],
    (at, step): (usize, usize),
) -> bool {
    let Some(side_by_side) = grid.checked(len, rows, into.len(), (at, step)) else { return false };
    let into = into.as_mut_ptr();
    if grid.stride == grid.bytes && step == grid.bytes && side_by_side {
        let piece = Grid { bytes: rows.len() * grid.bytes, ..*grid };
        let past_caches = goes_past_caches(piece.bytes, piece.bytes);
        let run = Checked { block, grid: &piece, rows: &rows[..1], into, at, step, past_caches };
        // SAFETY: rows that follow one another without a gap, each of them and each place inside as below, are one row of
        // their bytes together.
        unsafe { run.run::<0>() };
        // What follows is likely the next batch.
        run.fetch(rows[0] + rows.len() as u64, piece.bytes);
        return true;
    }
    let past_caches = goes_past_caches(grid.bytes, rows.len().saturating_mul(grid.bytes));
    let run = Checked { block, grid, rows, into, at, step, past_caches };
    // SAFETY: every row is below `grid.rows`, the grid fits `len`, and the last place fits `into`: the three facts
    // that `Checked::run` asks for, with readable memory promised by the caller and writable memory by the slice.
    unsafe {
        match grid.bytes {
            0 => {}
            1 => run.run::<1>(),
            2 => run.run::<2>(),
            4 => run.run::<4>(),
            8 => run.run::<8>(),
            16 => run.run::<16>(),
            32 => run.run::<32>(),
            64 => run.run::<64>(),
            _ => run.run::<0>(),
        }
    }
    true
}

struct Checked<'a> {
    block: *const u8,
    grid: &'a Grid,
    rows: &'a [u64],
    into: *mut u8,
    at: usize,
    step: usize,
    past_caches: bool,
}

impl Checked<'_> {
    /// The loop, for rows of `N` bytes, or of `grid.bytes` if `N` is 0: a known size becomes plain loads and stores.
    ///
    /// # Safety
    /// Every row lies in readable memory at `block`, every place for one in writable memory at `into`, and
    /// the two do not overlap. `N` is 0 or `grid.bytes`.
    #[inline(always)]
    unsafe fn run<const N: usize>(&self) {
        let bytes = if N == 0 { self.grid.bytes } else { N };
        for (i, row) in self.rows.iter().enumerate() {
            if let Some(next) = self.rows.get(i + AHEAD) {
                self.fetch(*next, bytes);
            }
            // SAFETY: row and place are inside, by this function's contract.
            unsafe {
                let from = self.block.add(self.grid.base + *row as usize * self.grid.stride);
                let into = self.into.add(self.at + i * self.step);
                match N == 0 && self.past_caches {
                    true => write_past_caches(std::slice::from_raw_parts_mut(into, bytes), |i| *from.add(i)),
                    false => std::ptr::copy_nonoverlapping(from, into, bytes),
                }
            }
        }
    }

    /// Asks for a row that will be copied soon.
    #[inline(always)]
    fn fetch(&self, row: u64, bytes: usize) {
        fetch_lines(self.block.wrapping_add(self.grid.base + row as usize * self.grid.stride), bytes);
    }
}

/// Asks for the memory of a value that will be used soon.
#[inline(always)]
pub(crate) fn fetch<T>(value: &T) {
    fetch_lines(std::ptr::from_ref(value).cast(), size_of::<T>());
}

/// Asks for the first cache lines of `bytes` bytes; the hardware goes on after those.
#[inline(always)]
fn fetch_lines(from: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes.min(1024)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch does not read; any address is allowed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same<D: NoUninit + PartialEq + std::fmt::Debug>(element: impl Fn(usize) -> D) {
        for start in 0..LINE + 2 {
            for len in (0..70).chain([127, 128, 129, 500]) {
                let mut plain: Vec<D> = (0..start + len + 3).map(|_| element(7)).collect();
                let mut past = plain.clone();
                plain[start..start + len].iter_mut().enumerate().for_each(|(i, place)| *place = element(i));
                write_past_caches(&mut past[start..start + len], &element);
                assert_eq!(past, plain, "{len} from {start}");
            }
        }
    }

    #[test]
    fn writing_past_the_caches_is_writing() {
        same(|i| i as u8);
        same(|i| i as i16);
        same(|i| i as f32);
        same(|i| i as u64);
        same(|i| [i as u8; 3]);
    }

    #[test]
    fn only_rows_without_gaps_are_side_by_side() {
        let grid = Grid { base: 0, stride: 1, bytes: 1, rows: u64::MAX };
        let side_by_side = |rows: &[u64]| grid.checked(usize::MAX, rows, usize::MAX, (0, 1));
        assert_eq!(side_by_side(&[5, 6, 7, 8]), Some(true));
        for rows in [[5, 7, 6, 8], [5, 6, 6, 8], [8, 7, 6, 5], [5, 5, 5, 5], [5, 6, 7, 9]] {
            assert_eq!(side_by_side(&rows), Some(false), "{rows:?}");
        }
        assert_eq!(side_by_side(&[u64::MAX - 1, u64::MAX, 0]), None);
        assert_eq!(side_by_side(&[3]), Some(true));
        assert_eq!(side_by_side(&[]), Some(false));
    }
}
