//! One column of one shard: a `.npy` file of format version 1, its rows counted while they are written.

use std::fs::{self, File};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use super::folder::io;
use crate::data::{ColumnSpec, DType};
use crate::error::{Error, Result};

/// Bytes gathered before they are written: one call for many small batches, and little beside any large one.
const BUFFER: usize = 128 << 10;

/// A file being written; removed when dropped, unless it is kept.
pub(super) struct ColumnFile {
    path: PathBuf,
    file: BufWriter<File>,
    spec: ColumnSpec,
    rows: u64,
    kept: bool,
}

impl ColumnFile {
    /// A new file, or an old one made anew.
    pub(super) fn create(path: PathBuf, spec: &ColumnSpec) -> Result<ColumnFile> {
        let header = header(&path, spec, 0)?;
        let file = File::create(&path).map_err(io("create", &path))?;
        let mut file = BufWriter::with_capacity(BUFFER, file);
        file.write_all(&header).map_err(io("write", &path))?;
        Ok(ColumnFile { path, file, spec: spec.clone(), rows: 0, kept: false })
    }

    pub(super) fn append(&mut self, bytes: &[u8], rows: u64) -> Result<()> {
        self.file.write_all(bytes).map_err(io("write", &self.path))?;
        self.rows += rows;
        Ok(())
    }

    /// Writes the number of rows into the header, and waits until all of it is on the disk.
    pub(super) fn finish(&mut self) -> Result<()> {
        let header = header(&self.path, &self.spec, self.rows)?;
        let written = self.file.rewind().and_then(|()| self.file.write_all(&header));
        let flushed = written.and_then(|()| self.file.flush());
        flushed.and_then(|()| self.file.get_ref().sync_all()).map_err(io("write", &self.path))
    }

    /// Lets it stay: its shard is finished.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for ColumnFile {
    fn drop(&mut self) {
        if !self.kept {
            // On a full disk, half a shard is better gone; if it cannot be, the next writer overwrites it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The header of a file of `rows` rows: as long for any number of them, so that it can be written again.
fn header(path: &Path, spec: &ColumnSpec, rows: u64) -> Result<Vec<u8>> {
    let inner: String = spec.shape.iter().map(|n| format!(" {n},")).collect();
    // Python's tuple of one needs its comma; longer ones end without.
    let inner = if spec.shape.is_empty() { "" } else { inner.trim_end_matches(',') };
    let text = |rows: u64| {
        format!(
            "{{'descr': '{}', 'fortran_order': False, 'shape': ({rows},{inner}), }}",
            type_string(spec.dtype)
        )
    };
    let length = (10 + text(u64::MAX).len() + 1).next_multiple_of(64) - 10;
    let short = u16::try_from(length).map_err(|_| {
        Error::spec(path.display().to_string(), "a header of at most 65,535 bytes", format!("{length} bytes"))
    })?;
    let text = format!("{:<width$}\n", text(rows), width = length - 1);
    Ok([b"\x93NUMPY\x01\0".as_slice(), &short.to_le_bytes(), text.as_bytes()].concat())
}

/// NumPy's name of a type, in the machine's byte order. It has none for bfloat16, which ml_dtypes saves as two opaque
/// bytes; the manifest knows better.
fn type_string(dtype: DType) -> String {
    let order = match dtype {
        DType::Bool | DType::I8 | DType::U8 | DType::Void(_) | DType::Ascii(_) | DType::Bf16 => '|',
        _ if cfg!(target_endian = "big") => '>',
        _ => '<',
    };
    let name = match dtype {
        DType::Bool => "b1".into(),
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => format!("i{}", dtype.bytes()),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => format!("u{}", dtype.bytes()),
        DType::F16 | DType::F32 | DType::F64 => format!("f{}", dtype.bytes()),
        DType::C64 | DType::C128 => format!("c{}", dtype.bytes()),
        DType::Bf16 => "V2".into(),
        DType::Void(n) => format!("V{n}"),
        DType::Ascii(n) => format!("S{n}"),
        DType::Utf32(n) => format!("U{n}"),
    };
    format!("{order}{name}")
}
