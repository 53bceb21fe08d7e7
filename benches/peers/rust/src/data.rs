//! The data files, mapped for the peers, and the gathering loop their users would write.

use std::fs::File;
use std::path::{Path, PathBuf};

pub const ROWS: usize = 1 << 22;
pub const WIDTH: usize = 128;
/// A row's features and its label.
pub const ROW_BYTES: usize = WIDTH * 4 + 4;

pub fn features() -> PathBuf {
    folder().join(format!("f32-{WIDTH}-{}.npy", ROWS * WIDTH * 4))
}

pub fn labels() -> PathBuf {
    folder().join(format!("i32-{ROWS}.npy"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/bench")
}

/// Both files for the rest of the process's life, so that an item may borrow from them.
#[derive(Clone, Copy)]
pub struct Mapped {
    pub x: &'static [f32],
    pub y: &'static [i32],
}

impl Mapped {
    /// Maps the files and touches every page once, so that no round pays for that.
    pub fn open() -> Mapped {
        let mapped = Mapped { x: numbers(&features()), y: numbers(&labels()) };
        std::hint::black_box(mapped.x.iter().step_by(1024).sum::<f32>());
        mapped
    }

    pub fn row(&self, row: usize) -> &'static [f32] {
        &self.x[row * WIDTH..(row + 1) * WIDTH]
    }

    /// The batch of `rows`, each copied once.
    pub fn gather(&self, rows: &[usize]) -> (Vec<f32>, Vec<i32>) {
        let mut x = Vec::with_capacity(rows.len() * WIDTH);
        rows.iter().for_each(|row| x.extend_from_slice(self.row(*row)));
        (x, rows.iter().map(|row| self.y[*row]).collect())
    }
}

/// What follows the header, which is 128 bytes in both files.
fn numbers<T: bytemuck::Pod>(path: &Path) -> &'static [T] {
    let file =
        File::open(path).unwrap_or_else(|error| panic!("{}: {error}; data.py makes it", path.display()));
    // SAFETY: the bench's own file; nobody writes to it.
    let map = Box::leak(Box::new(unsafe { memmap2::Mmap::map(&file) }.unwrap()));
    bytemuck::cast_slice(&map[128..])
}
