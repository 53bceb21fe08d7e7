//! The data files, made once.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Features and labels: `rows` rows.
pub struct Pair {
    pub features: PathBuf,
    pub labels: PathBuf,
    pub rows: u64,
    pub row_bytes: usize,
}

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/bench");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes an .npy file of `bytes` bytes of numbers, or leaves the one that is there.
fn npy(name: &str, descr: &str, shape: &str, bytes: u64, sparse: bool) -> PathBuf {
    let path = folder().join(name);
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let end = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.push_str(&" ".repeat(end - text.len() - 1));
    text.push('\n');
    let whole = 10 + text.len() as u64 + bytes;
    if std::fs::metadata(&path).is_ok_and(|meta| meta.len() == whole) {
        return path;
    }
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).unwrap());
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&(text.len() as u16).to_le_bytes()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    if !sparse {
        let mut value = 1u64;
        for _ in 0..bytes / 8 {
            value = value.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // Small positive floats, and small labels.
            file.write_all(&(value & 0x3f3f_3f3f_0000_0007).to_le_bytes()).unwrap();
        }
    }
    file.into_inner().unwrap().set_len(whole).unwrap();
    path
}

/// Rows of `width` f32 with an i32 label each.
pub fn pair(width: usize, bytes: u64) -> Pair {
    let row_bytes = width * 4;
    let rows = bytes / row_bytes as u64;
    let features = npy(&format!("f32-{width}-{bytes}.npy"), "<f4", &format!("{rows}, {width}"), bytes, false);
    let labels = npy(&format!("i32-{rows}.npy"), "<i4", &format!("{rows},"), rows * 4, false);
    Pair { features, labels, rows, row_bytes }
}

/// Rows of 150,528 u8 (224 x 224 x 3) with an i32 label each.
pub fn images(bytes: u64) -> Pair {
    let row_bytes = 150_528;
    let rows = bytes / row_bytes as u64 / 2 * 2;
    let bytes = rows * row_bytes as u64;
    let features = npy(&format!("u8-{rows}.npy"), "|u1", &format!("{rows}, 224, 224, 3"), bytes, false);
    let labels = npy(&format!("i32-{rows}.npy"), "<i4", &format!("{rows},"), rows * 4, false);
    Pair { features, labels, rows, row_bytes }
}

/// A sparse file of rows of 1024 f32.
pub fn sparse(bytes: u64) -> PathBuf {
    npy(&format!("sparse-{bytes}.npy"), "<f4", &format!("{}, 1024", bytes / 4096), bytes, true)
}
