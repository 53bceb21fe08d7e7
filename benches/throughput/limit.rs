//! The limits: what one thread can do by hand with the same rows in the same order.

use std::fs::File;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

/// A mapped .npy file's payload: rows of `row_bytes` bytes.
pub struct Mapped {
    map: Mmap,
    offset: usize,
    row_bytes: usize,
}

impl Mapped {
    pub fn open(path: &Path, row_bytes: usize) -> Mapped {
        let file = File::open(path).unwrap();
        // SAFETY: the bench's own file; nobody writes to it.
        let map = unsafe { MmapOptions::new().map(&file) }.unwrap();
        let offset = 10 + usize::from(u16::from_le_bytes([map[8], map[9]]));
        Mapped { map, offset, row_bytes }
    }

    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Copies rows `from..from + n` in one piece.
    pub fn copy(&self, from: u64, n: usize, into: &mut [u8]) {
        let start = self.offset + from as usize * self.row_bytes;
        into[..n * self.row_bytes].copy_from_slice(&self.map[start..start + n * self.row_bytes]);
    }

    /// Copies `rows` one after the other, fetching eight ahead.
    pub fn gather(&self, rows: &[u64], into: &mut [u8]) {
        assert!(into.len() >= rows.len() * self.row_bytes);
        let most = rows.iter().copied().max().unwrap_or(0) as usize;
        assert!(self.offset + (most + 1) * self.row_bytes <= self.map.len());
        match self.row_bytes {
            4 => self.gather_sized::<4>(rows, into),
            16 => self.gather_sized::<16>(rows, into),
            _ => self.gather_sized::<0>(rows, into),
        }
    }

    fn gather_sized<const N: usize>(&self, rows: &[u64], into: &mut [u8]) {
        let bytes = if N == 0 { self.row_bytes } else { N };
        let base = self.map[self.offset..].as_ptr();
        for (i, row) in rows.iter().enumerate() {
            // SAFETY: `gather` has checked the largest row and the room; a prefetch may have any address.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                if let Some(next) = rows.get(i + 8) {
                    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                    for line in (0..bytes.min(1024)).step_by(64) {
                        _mm_prefetch::<_MM_HINT_T0>(base.wrapping_add(*next as usize * bytes + line).cast());
                    }
                }
                std::ptr::copy_nonoverlapping(
                    base.add(*row as usize * bytes),
                    into.as_mut_ptr().add(i * bytes),
                    bytes,
                );
            }
        }
    }

    /// Copies rows of u8 as f32.
    pub fn gather_f32(&self, rows: &[u64], into: &mut [f32]) {
        for (row, into) in rows.iter().zip(into.chunks_exact_mut(self.row_bytes)) {
            let start = self.offset + *row as usize * self.row_bytes;
            for (d, s) in into.iter_mut().zip(&self.map[start..start + self.row_bytes]) {
                *d = f32::from(*s);
            }
        }
    }
}
