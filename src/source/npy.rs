//! `.npy` files as columns: mapped, checked against their headers, never trusted by their names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cells::{Block, Form, One, Store, read_note};
use super::column::{Column, IntoColumn, IntoColumns};
use super::header::{self, Cell, Header, Item};
use super::pile::{self, Part, Pile};
use crate::data::DType;
use crate::error::{Error, Result};
use crate::outline::human;
use crate::sys::{DataFile, Grid};

/// One `.npy` file, or many end to end: a column for [`Dataset::from_slices`](crate::Dataset::from_slices).
///
/// Versions 1 to 3; bool, integers, f16, f32, f64 and complex numbers in both byte orders; C and Fortran order; `V`, `S` and `U` as
/// opaque bytes; fields of structured types by name. Pickled objects, archives and compressed files are refused with a way
/// out. The payload must have exactly the length that the header says; no code in a header is ever run.
///
/// Opening reads the header and maps the file; rows are read when a batch is made.
#[derive(Clone)]
pub struct Npy {
    files: Vec<File>,
    expression: String,
    unmapped: bool,
}

#[derive(Clone)]
struct File {
    path: PathBuf,
    /// Kept open only when it is the single file.
    open: Option<Arc<DataFile>>,
    stamp: crate::sys::Stamp,
    header: Arc<Header>,
    /// The field chosen of a structured type, or the reading chosen of an opaque one.
    cell: Option<(usize, Cell)>,
}

impl Npy {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] for files of another kind; [`Error::Header`] for headers that cannot be read or describe
    /// what is not supported; [`Error::Length`] when the payload is shorter or longer than the header says.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Npy};
    ///
    /// let digits = Npy::open("examples/data/digits-features.npy")?;
    /// let rows = Dataset::from_slices(digits)?;
    /// assert_eq!((rows.len(), rows.spec().to_string()), (1797, "(0: u8[64])".into()));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Npy> {
        Npy::one(path.as_ref(), false)
    }

    /// Opens a file that may hold more bytes after its payload, such as several arrays saved one after the other; the rest is not read.
    ///
    /// # Errors
    /// As [`open`](Npy::open), but for extra bytes.
    pub fn open_with_extra(path: impl AsRef<Path>) -> Result<Npy> {
        Npy::one(path.as_ref(), true)
    }

    /// Opens many files as one column, in the order of the list. Tens of thousands are fine: only some are open at a time.
    ///
    /// # Errors
    /// As [`open`](Npy::open); [`Error::Spec`] naming the first file whose element type or row shape differs;
    /// [`Error::Argument`] for an empty list.
    pub fn open_many<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Npy> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|p| p.as_ref().to_owned()).collect();
        let Some(first) = paths.first() else {
            return Err(Error::argument("Npy::open_many", "at least one file", "none"));
        };
        let expression = match paths.len() {
            1 => format!("npy({first:?})"),
            _ => format!("npy({})", pile::listed(&paths)),
        };
        let alone = paths.len() == 1;
        let files: Result<Vec<File>> = paths.iter().map(|path| File::open(path, false, alone)).collect();
        Ok(Npy { files: files?, expression, unmapped: false })
    }

    /// Opens all files that match a pattern such as `"data/part-*.npy"`, in the order of their names.
    ///
    /// # Errors
    /// As [`open_many`](Npy::open_many); [`Error::Argument`] when nothing matches or the pattern is wrong.
    pub fn glob(pattern: &str) -> Result<Npy> {
        Npy::open_many(pile::glob("Npy::glob", pattern)?)
    }

    /// The column of one field of a structured type. Fields of nested structures are `outer.inner`.
    ///
    /// # Errors
    /// [`Error::Spec`] naming the fields there are.
    pub fn field(mut self, name: &str) -> Result<Npy> {
        for file in &mut self.files {
            let what = || file.path.display().to_string();
            let Item::Record(fields) = &file.header.item else {
                return Err(Error::spec(what(), format!("a field {name:?}"), "a plain element type"));
            };
            let Some(field) = fields.iter().find(|f| f.name == name) else {
                let names: Vec<_> = fields.iter().map(|f| format!("{:?}", f.name)).collect();
                return Err(Error::spec(what(), format!("a field {name:?}"), names.join(", ")));
            };
            file.cell = Some((field.at, field.cell.clone()));
        }
        self.expression = format!("{}.field({name:?})", self.expression);
        Ok(self)
    }

    /// Takes opaque elements of two bytes (`V2`) as bfloat16, which is how ml_dtypes saves them.
    ///
    /// # Errors
    /// [`Error::Spec`] when the elements are anything else.
    pub fn bf16(mut self) -> Result<Npy> {
        for file in &mut self.files {
            let (at, cell) = file.cell()?;
            if cell.dtype != DType::Void(2) {
                return Err(Error::spec(
                    file.path.display().to_string(),
                    "V2 to be taken as bf16",
                    cell.dtype,
                ));
            }
            file.cell = Some((at, Cell { dtype: DType::Bf16, ..cell }));
        }
        self.expression = format!("{}.bf16()", self.expression);
        Ok(self)
    }

    /// Rows are read by calls (`pread`) instead of through a map: for network file systems, where a page of a map is a request to the
    /// server. Values and order are the same. A run of neighbouring rows is one call of about a microsecond, so that shuffled
    /// narrow rows take several times as long as through a map while the file is in memory; a file in Fortran order takes a call for
    /// each element. Where a file system has no maps, this is done unasked.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Npy};
    ///
    /// let remote = Npy::open("examples/data/digits-features.npy")?.unmapped();
    /// let batch = Dataset::from_slices(remote)?.batch(32).iter()?.next().expect("a batch")?;
    /// assert_eq!(batch.rows(), 32);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn unmapped(mut self) -> Npy {
        self.unmapped = true;
        for open in self.files.iter_mut().filter_map(|file| file.open.as_mut()) {
            *open = Arc::new(open.unmapped());
        }
        self
    }

    /// Names of the fields of a structured type; none for a plain one.
    pub fn fields(&self) -> Vec<&str> {
        match self.files.first().map(|f| &f.header.item) {
            Some(Item::Record(fields)) => fields.iter().map(|f| f.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    fn one(path: &Path, extra: bool) -> Result<Npy> {
        let suffix = if extra { ", with extra" } else { "" };
        let expression = format!("npy({path:?}{suffix})");
        Ok(Npy { files: vec![File::open(path, extra, true)?], expression, unmapped: false })
    }
}

impl File {
    fn open(path: &Path, extra: bool, keep: bool) -> Result<File> {
        let file = DataFile::open(path)?;
        let header = header::read(path, &mut file.reader(), file.len(), header::MAX_HEADER)?;
        header.check_length(path, file.len(), extra)?;
        let stamp = file.stamp();
        let open = if keep { Some(Arc::new(file.mapped()?)) } else { None };
        Ok(File { path: path.to_owned(), open, stamp, header: Arc::new(header), cell: None })
    }

    /// Offset in the item, and form, of what is to be read.
    fn cell(&self) -> Result<(usize, Cell)> {
        match (&self.cell, &self.header.item) {
            (Some(chosen), _) => Ok(chosen.clone()),
            (None, Item::Plain(cell)) => Ok((0, cell.clone())),
            (None, Item::Record(fields)) => {
                let names: Vec<_> = fields.iter().map(|f| f.name.as_str()).collect();
                let found = match names.len() {
                    0 => "a structure without fields".into(),
                    _ => format!("a structure of {}; choose one with .field(name)", names.join(", ")),
                };
                Err(Error::spec(self.path.display().to_string(), "a plain element type", found))
            }
        }
    }

    fn layout(&self) -> Result<(Grid, Form)> {
        let what = || self.path.display().to_string();
        let header = &self.header;
        let Some((rows, inner)) = header.shape.split_first() else {
            return Err(Error::spec(what(), "an axis of rows", "no row axis: a single element, shape ()"));
        };
        let (at, cell) = self.cell()?;
        let too_large = |_| Error::spec(what(), "rows that memory can number", "larger ones");
        let inner: std::result::Result<Vec<usize>, _> = inner.iter().map(|n| usize::try_from(*n)).collect();
        let inner = inner.map_err(too_large)?;
        let base = usize::try_from(header.payload_at).map_err(too_large)?.saturating_add(at);
        let item = header.item_bytes;
        let row_items: usize = inner.iter().product();
        let plain = at == 0 && item == cell.dtype.bytes() && cell.shape.is_empty();
        let shape = [inner.as_slice(), cell.shape.as_slice()].concat();
        let (stride, strides) = match (header.fortran, plain) {
            (false, true) => (row_items.saturating_mul(item), Vec::new()),
            (false, false) => {
                let mut strides = c_strides(&inner, item);
                strides.extend(c_strides(&cell.shape, cell.dtype.bytes()));
                (row_items.saturating_mul(item), strides)
            }
            (true, _) => {
                // The first axis is the fastest: a row's elements are a whole column apart.
                let mut step = item.saturating_mul(usize::try_from(*rows).map_err(too_large)?);
                let mut strides = Vec::new();
                for n in &inner {
                    strides.push(step);
                    step = step.saturating_mul(*n);
                }
                strides.extend(c_strides(&cell.shape, cell.dtype.bytes()));
                (item, strides)
            }
        };
        let form = Form { dtype: cell.dtype, swap: cell.swap, shape, strides };
        let bytes = if form.strides.is_empty() { form.row_bytes() } else { cell.dtype.bytes() };
        // One number a row at even distances needs no walk over its elements.
        let form = if form.shape.is_empty() { Form { strides: Vec::new(), ..form } } else { form };
        Ok((Grid { base, stride, bytes, rows: *rows }, form))
    }

    fn note(&self, form: &Form) -> Option<String> {
        let runs: usize = form.shape.iter().product();
        let shown = self.path.display();
        self.header.fortran.then(|| {
            format!(
                "{shown} is in Fortran order: each row is gathered from {runs} places; on a cold disk a row of {} \
                 costs {runs} pages of 4 KiB. numpy.save(path, numpy.ascontiguousarray(a)) makes rows lie together",
                human(form.row_bytes() as u64)
            )
        })
    }
}

/// Bytes from one element to the next by axis, for elements of `size` bytes in C order.
fn c_strides(shape: &[usize], size: usize) -> Vec<usize> {
    let mut step = size;
    let mut strides = vec![0; shape.len()];
    for (stride, n) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(*n);
    }
    strides
}

impl IntoColumn for Npy {
    fn into_column(self) -> Result<Column> {
        let mut parts = Vec::with_capacity(self.files.len());
        let mut notes: Vec<String> = Vec::new();
        for file in &self.files {
            let (grid, form) = file.layout()?;
            notes.extend(file.note(&form).filter(|_| notes.is_empty()));
            let (path, stamp, form) = (file.path.clone(), file.stamp, Arc::new(form));
            if let (Some(file), 1) = (&file.open, self.files.len()) {
                let block = Block { store: Store::File(file.clone()), grid, form };
                return Ok(Column::new(One { block, expression: self.expression, notes }));
            }
            parts.push(Part { path, stamp, grid, form, unmapped: self.unmapped });
        }
        notes.extend(self.unmapped.then(|| read_note(&self.expression)));
        Ok(Column::new(Pile::new(parts, self.expression, notes)?))
    }
}

impl IntoColumns for Npy {
    fn into_columns(self) -> Result<Vec<Column>> {
        Ok(vec![self.into_column()?])
    }
}

impl fmt::Debug for Npy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression)
    }
}
