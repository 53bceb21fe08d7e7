//! Raw binary files as columns: np.memmap's kind of file, numbers one after the other.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cells::{Block, Form, One, Store, read_note};
use super::column::{Column, IntoColumn, IntoColumns};
use super::pile::{self, Part, Pile};
use crate::data::DType;
use crate::error::{Error, Result};
use crate::sys::{DataFile, Grid};

/// One headerless binary file, or many end to end: a column for [`Dataset::from_slices`](crate::Dataset::from_slices).
///
/// A description: files are opened and checked by `from_slices`. Without [`rows`](Raw::rows), the rows fill the file from the
/// offset to its end, and a remainder is an error.
///
/// # Examples
/// ```
/// use gristmill::{DType, Dataset, Raw};
///
/// let dir = tempfile::tempdir().expect("a folder");
/// let path = dir.path().join("tokens.bin");
/// std::fs::write(&path, [1u16, 2, 3, 4].map(u16::to_le_bytes).concat()).expect("a file");
///
/// let rows = Dataset::from_slices(Raw::new(&path, DType::U16, &[2]))?;
/// assert_eq!(rows.len(), 2);
/// assert_eq!(rows.batch(2).iter()?.next().expect("a batch")?.column::<u16>("0")?, [1, 2, 3, 4]);
/// # Ok::<(), gristmill::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Raw {
    paths: Paths,
    dtype: DType,
    shape: Vec<usize>,
    offset: u64,
    big_endian: bool,
    rows: Option<u64>,
    forced: bool,
    unmapped: bool,
}

#[derive(Debug, Clone)]
enum Paths {
    List(Vec<PathBuf>),
    Pattern(String),
}

impl Raw {
    /// A file of rows of `shape` elements of `dtype`, in the machine's byte order.
    pub fn new(path: impl AsRef<Path>, dtype: DType, shape: &[usize]) -> Raw {
        Raw::many([path], dtype, shape)
    }

    /// Many files as one column, in the order of the list.
    pub fn many<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>, dtype: DType, shape: &[usize]) -> Raw {
        let paths = Paths::List(paths.into_iter().map(|p| p.as_ref().to_owned()).collect());
        let big_endian = cfg!(target_endian = "big");
        let (rows, forced, unmapped) = (None, false, false);
        Raw { paths, dtype, shape: shape.to_vec(), offset: 0, big_endian, rows, forced, unmapped }
    }

    /// All files that match a pattern such as `"data/part-*.bin"`, in the order of their names.
    pub fn glob(pattern: &str, dtype: DType, shape: &[usize]) -> Raw {
        let empty: [&Path; 0] = [];
        Raw { paths: Paths::Pattern(pattern.to_owned()), ..Raw::many(empty, dtype, shape) }
    }

    /// The first row starts this many bytes into each file.
    pub fn offset(self, bytes: u64) -> Raw {
        Raw { offset: bytes, ..self }
    }

    /// The elements are stored most significant byte first; they are swapped on their way into a batch.
    pub fn big_endian(self) -> Raw {
        Raw { big_endian: true, ..self }
    }

    /// Each file has exactly this many rows; what follows them is not read.
    pub fn rows(self, rows: u64) -> Raw {
        Raw { rows: Some(rows), ..self }
    }

    /// Reads the file even if it starts as an `.npy` file does, the header being data then.
    pub fn forced(self) -> Raw {
        Raw { forced: true, ..self }
    }

    /// Rows are read by calls instead of through a map, as [`Npy::unmapped`](crate::Npy::unmapped) says.
    pub fn unmapped(self) -> Raw {
        Raw { unmapped: true, ..self }
    }

    fn open(&self, path: &Path) -> Result<(DataFile, Grid)> {
        let file = DataFile::open(path)?;
        let mut magic = [0; 6];
        let starts_as_npy = file.reader().read_exact(&mut magic).is_ok() && &magic == b"\x93NUMPY";
        if starts_as_npy && !self.forced {
            return Err(Error::Format {
                path: path.to_owned(),
                expected: "raw data".into(),
                found: "an .npy file by its first bytes".into(),
                help: "open it with Npy::open, or say .forced() to read its header as data".into(),
            });
        }
        let row = self.row_bytes()?;
        let there = file.len().saturating_sub(self.offset);
        let length =
            |expected, help| Error::Length { path: path.to_owned(), expected, found: file.len(), help };
        let rows = match self.rows {
            Some(rows) => {
                let needed = rows.checked_mul(row as u64).and_then(|n| n.checked_add(self.offset));
                match needed.filter(|needed| *needed <= file.len()) {
                    Some(_) => rows,
                    None => {
                        let help = format!("{rows} rows of {row} bytes after an offset of {}", self.offset);
                        return Err(length(needed.unwrap_or(u64::MAX), help));
                    }
                }
            }
            None if self.offset > file.len() => {
                return Err(length(self.offset, "the offset lies past the end".into()));
            }
            None if there % row as u64 != 0 => {
                let help = format!(
                    "{there} bytes are not a multiple of {row}, the bytes of one row: {} remain; check dtype, shape and \
                     offset, or say how many .rows(n) there are",
                    there % row as u64
                );
                return Err(length(file.len() - there % row as u64, help));
            }
            None => there / row as u64,
        };
        let base = usize::try_from(self.offset).unwrap_or(usize::MAX);
        Ok((file, Grid { base, stride: row, bytes: row, rows }))
    }

    fn row_bytes(&self) -> Result<usize> {
        let bytes = self.shape.iter().try_fold(self.dtype.bytes(), |b, n| b.checked_mul(*n));
        match bytes {
            Some(0) | None => {
                let found = format!("{}{:?}", self.dtype, self.shape);
                Err(Error::argument("Raw", "rows of at least one byte and at most usize::MAX", found))
            }
            Some(bytes) => Ok(bytes),
        }
    }
}

impl IntoColumn for Raw {
    fn into_column(self) -> Result<Column> {
        let paths = match &self.paths {
            Paths::List(paths) => paths.clone(),
            Paths::Pattern(pattern) => pile::glob("Raw::glob", pattern)?,
        };
        let Some(first) = paths.first() else {
            return Err(Error::argument("Raw::many", "at least one file", "none"));
        };
        let kind = format!("{}, {:?}", self.dtype, self.shape);
        let expression = match paths.len() {
            1 => format!("raw({first:?}, {kind})"),
            _ => format!("raw({}, {kind})", pile::listed(&paths)),
        };
        let swap = self.big_endian != cfg!(target_endian = "big");
        let form = Form { dtype: self.dtype, swap, shape: self.shape.clone(), strides: Vec::new() };
        let form = Arc::new(form);
        let mut parts = Vec::with_capacity(paths.len());
        for path in &paths {
            let (file, grid) = self.open(path)?;
            let (stamp, form) = (file.stamp(), form.clone());
            if paths.len() == 1 {
                let file = if self.unmapped { file } else { file.mapped()? };
                let block = Block { store: Store::File(Arc::new(file)), grid, form };
                return Ok(Column::new(One { block, expression, notes: Vec::new() }));
            }
            parts.push(Part { path: path.clone(), stamp, grid, form, unmapped: self.unmapped });
        }
        let notes = self.unmapped.then(|| read_note(&expression)).into_iter().collect();
        Ok(Column::new(Pile::new(parts, expression, notes)?))
    }
}

impl IntoColumns for Raw {
    fn into_columns(self) -> Result<Vec<Column>> {
        Ok(vec![self.into_column()?])
    }
}
