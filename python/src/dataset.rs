//! Datasets: sources and orders handed on.

use std::path::PathBuf;

use gristmill::{BoxError, Column, IntoColumn};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::any::Any;
use crate::array::viewed;
use crate::dtype;
use crate::errors::{self, OrRaise};
use crate::function::{Function, truth};
use crate::memory;
use crate::policy::{BalanceValue, ShuffleValue};
use crate::stream::Stream;
use crate::wait;

/// A recipe; see `gristmill/dataset.py`.
#[pyclass(frozen, module = "gristmill._gristmill")]
pub(crate) struct Dataset {
    rows: gristmill::Dataset,
}

/// One or more `.npy` files as a column.
#[pyclass(frozen, module = "gristmill._gristmill")]
pub(crate) struct Npy(gristmill::Npy);

#[pymethods]
impl Npy {
    #[new]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        field: Option<&str>,
        bf16: bool,
        extra: bool,
    ) -> PyResult<Npy> {
        let opened = py.detach(|| match (&paths[..], extra) {
            ([path], false) => gristmill::Npy::open(path),
            ([path], true) => gristmill::Npy::open_with_extra(path),
            _ => gristmill::Npy::open_many(&paths),
        });
        Npy::chosen(py, opened, field, bf16)
    }

    #[staticmethod]
    fn glob(py: Python<'_>, pattern: &str, field: Option<&str>, bf16: bool) -> PyResult<Npy> {
        let opened = py.detach(|| gristmill::Npy::glob(pattern));
        Npy::chosen(py, opened, field, bf16)
    }

    fn fields(&self) -> Vec<String> {
        self.0.fields().into_iter().map(Into::into).collect()
    }

    fn unmapped(&self) -> Npy {
        Npy(self.0.clone().unmapped())
    }
}

impl Npy {
    fn chosen(
        py: Python<'_>,
        opened: gristmill::Result<gristmill::Npy>,
        field: Option<&str>,
        bf16: bool,
    ) -> PyResult<Npy> {
        let mut npy = opened.or_raise(py)?;
        if let Some(field) = field {
            npy = npy.field(field).or_raise(py)?;
        }
        Ok(Npy(if bf16 { npy.bf16().or_raise(py)? } else { npy }))
    }
}

/// One or more raw files as a column.
#[pyclass(frozen, module = "gristmill._gristmill")]
pub(crate) struct Raw(gristmill::Raw);

#[pymethods]
impl Raw {
    #[new]
    #[pyo3(signature = (paths, dtype, shape, offset, rows, forced))]
    fn new(
        paths: Vec<PathBuf>,
        dtype: &Bound<'_, PyAny>,
        shape: Vec<usize>,
        offset: u64,
        rows: Option<u64>,
        forced: bool,
    ) -> PyResult<Raw> {
        let (dtype, swapped) = dtype::parse(dtype.py(), dtype)?;
        Ok(Raw::described(gristmill::Raw::many(paths, dtype, &shape), swapped, offset, rows, forced))
    }

    #[staticmethod]
    fn glob(
        pattern: &str,
        dtype: &Bound<'_, PyAny>,
        shape: Vec<usize>,
        offset: u64,
        forced: bool,
    ) -> PyResult<Raw> {
        let (dtype, swapped) = dtype::parse(dtype.py(), dtype)?;
        Ok(Raw::described(gristmill::Raw::glob(pattern, dtype, &shape), swapped, offset, None, forced))
    }

    fn unmapped(&self) -> Raw {
        Raw(self.0.clone().unmapped())
    }
}

impl Raw {
    fn described(
        mut raw: gristmill::Raw,
        swapped: bool,
        offset: u64,
        rows: Option<u64>,
        forced: bool,
    ) -> Raw {
        if offset > 0 {
            raw = raw.offset(offset);
        }
        if swapped {
            raw = raw.big_endian();
        }
        if let Some(rows) = rows {
            raw = raw.rows(rows);
        }
        Raw(if forced { raw.forced() } else { raw })
    }
}

/// The column that a file or an array is.
fn column(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Column> {
    let py = value.py();
    if let Ok(npy) = value.cast::<Npy>() {
        return (name, npy.get().0.clone()).into_column().or_raise(py);
    }
    if let Ok(raw) = value.cast::<Raw>() {
        let raw = raw.get().0.clone();
        return py.detach(|| (name, raw).into_column()).or_raise(py);
    }
    memory::column(name, value)
}

impl Dataset {
    pub(crate) fn new(rows: gristmill::Dataset) -> Dataset {
        Dataset { rows }
    }

    fn made(py: Python<'_>, rows: gristmill::Result<gristmill::Dataset>) -> PyResult<Dataset> {
        rows.or_raise(py).map(Dataset::new)
    }

    fn batches(&self, batches: gristmill::Stream<gristmill::Batch>) -> Stream {
        Stream::new(Any::Batches(batches), false)
    }

    /// What `work` makes of the rows, which it reads.
    fn read(
        &self,
        py: Python<'_>,
        work: impl FnOnce(gristmill::Dataset) -> gristmill::Result<gristmill::Dataset> + Send + 'static,
    ) -> PyResult<Dataset> {
        let rows = self.rows.clone();
        wait::for_work(py, move || work(rows)).map(Dataset::new)
    }
}

/// Tells a progress bar, whose exceptions nobody else hears of.
fn tell(progress: Option<Function>) -> impl FnMut(u64, u64) + Send {
    move |done, all| {
        if let Some(progress) = &progress {
            drop(progress.call(|py| PyTuple::new(py, [done, all]), |_| Ok(())));
        }
    }
}

#[pymethods]
impl Dataset {
    #[staticmethod]
    fn from_slices(py: Python<'_>, columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Dataset> {
        let columns: PyResult<Vec<Column>> =
            columns.iter().map(|(name, value)| column(name, value)).collect();
        Dataset::made(py, gristmill::Dataset::from_slices(columns?))
    }

    #[staticmethod]
    fn range(py: Python<'_>, rows: u64) -> PyResult<Dataset> {
        Dataset::made(py, gristmill::Dataset::range(rows))
    }

    #[staticmethod]
    fn range_by(py: Python<'_>, start: i64, stop: i64, step: i64) -> PyResult<Dataset> {
        Dataset::made(py, gristmill::Dataset::range_by(start, stop, step))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Dataset> {
        let loaded = py.detach(|| gristmill::Dataset::load(path));
        Dataset::made(py, loaded)
    }

    #[staticmethod]
    fn mix(py: Python<'_>, datasets: Vec<Bound<'_, Dataset>>, weights: Vec<u64>) -> PyResult<Dataset> {
        if datasets.len() != weights.len() {
            let text = format!(
                "mix: expected a weight for each of {} datasets, found {}",
                datasets.len(),
                weights.len()
            );
            return Err(errors::named(py, "ArgumentError", &text));
        }
        Dataset::made(py, gristmill::Dataset::mix(datasets.iter().map(|part| &part.get().rows).zip(weights)))
    }

    #[staticmethod]
    fn choose(py: Python<'_>, datasets: Vec<Bound<'_, Dataset>>, choices: Vec<u32>) -> PyResult<Dataset> {
        Dataset::made(py, gristmill::Dataset::choose(datasets.iter().map(|part| &part.get().rows), choices))
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.rows.len()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.rows)
    }

    fn spec<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dtype::spec_to_python(py, self.rows.spec())
    }

    #[pyo3(signature = (epoch, start=0, rows=None))]
    fn order<'py>(
        &self,
        py: Python<'py>,
        epoch: u64,
        start: u64,
        rows: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let order = py.detach(|| self.rows.order(epoch, start, rows.unwrap_or(usize::MAX))).or_raise(py)?;
        let array = gristmill::Array::from_elements(&order, &[order.len()]).or_raise(py)?;
        crate::array::owned(py, array)
    }

    fn shuffle(&self, how: ShuffleValue) -> Dataset {
        Dataset::new(self.rows.shuffle(how.into()))
    }

    fn take(&self, rows: u64) -> Dataset {
        Dataset::new(self.rows.take(rows))
    }

    fn skip(&self, rows: u64) -> Dataset {
        Dataset::new(self.rows.skip(rows))
    }

    fn shard(&self, py: Python<'_>, count: u64, index: u64) -> PyResult<Dataset> {
        Dataset::made(py, self.rows.shard(count, index))
    }

    fn reverse(&self) -> Dataset {
        Dataset::new(self.rows.reverse())
    }

    fn select(&self, py: Python<'_>, rows: Vec<u64>) -> PyResult<Dataset> {
        Dataset::made(py, self.rows.select(rows))
    }

    fn split(&self, py: Python<'_>, ratio: f64, seed: u64) -> PyResult<(Dataset, Dataset)> {
        let (first, second) = self.rows.split(ratio, seed).or_raise(py)?;
        Ok((Dataset::new(first), Dataset::new(second)))
    }

    fn concat(&self, py: Python<'_>, other: &Dataset) -> PyResult<Dataset> {
        Dataset::made(py, self.rows.concat(&other.rows))
    }

    fn repeat(&self, times: u64) -> Dataset {
        Dataset::new(self.rows.repeat(times))
    }

    fn sample(&self, py: Python<'_>, rows: u64, seed: u64) -> PyResult<Dataset> {
        Dataset::made(py, self.rows.sample(rows, seed))
    }

    fn sample_weighted(&self, py: Python<'_>, rows: u64, weights: Vec<f64>, seed: u64) -> PyResult<Dataset> {
        Dataset::made(py, self.rows.sample_weighted(rows, weights, seed))
    }

    fn balance(&self, py: Python<'_>, label: String, how: BalanceValue) -> PyResult<Dataset> {
        self.read(py, move |rows| rows.balance(&label, how.into()))
    }

    #[pyo3(signature = (columns, keep, progress=None))]
    fn keep_where(
        &self,
        py: Python<'_>,
        columns: Vec<String>,
        keep: Function,
        progress: Option<Function>,
    ) -> PyResult<Dataset> {
        let keep = move |row: &gristmill::Row| keep.of(row.clone(), viewed, truth);
        self.read(py, move |rows| rows.keep_where(columns, keep, tell(progress)))
    }

    #[pyo3(signature = (columns, keep, progress=None))]
    fn keep_where_batched(
        &self,
        py: Python<'_>,
        columns: Vec<String>,
        keep: Function,
        progress: Option<Function>,
    ) -> PyResult<Dataset> {
        let keep = move |batch: &gristmill::Batch| -> Result<Vec<bool>, BoxError> {
            keep.of(batch.clone(), viewed, |answer| match answer.hasattr("tolist")? {
                true => answer.call_method0("tolist")?.extract(),
                false => answer.extract(),
            })
        };
        self.read(py, move |rows| rows.keep_where_batched(columns, keep, tell(progress)))
    }

    fn group_by_length(&self, py: Python<'_>, column: String, rows: usize, seed: u64) -> PyResult<Dataset> {
        self.read(py, move |all| all.group_by_length(&column, rows, seed))
    }

    #[pyo3(signature = (context, stride=1))]
    fn windows(&self, py: Python<'_>, context: usize, stride: u64) -> PyResult<Dataset> {
        Dataset::made(py, self.rows.windows(context, stride))
    }

    fn batch(&self, rows: usize) -> Stream {
        self.batches(self.rows.batch(rows))
    }

    fn batch_exact(&self, rows: usize) -> Stream {
        self.batches(self.rows.batch_exact(rows))
    }

    fn batch_masked(&self, rows: usize) -> Stream {
        self.batches(self.rows.batch_masked(rows))
    }

    fn distribute(&self, py: Python<'_>, rank: u64, world: u64, rows: usize) -> PyResult<Stream> {
        Ok(self.batches(self.rows.distribute(rank, world, rows).or_raise(py)?))
    }

    fn distribute_exact(&self, py: Python<'_>, rank: u64, world: u64, rows: usize) -> PyResult<Stream> {
        Ok(self.batches(self.rows.distribute_exact(rank, world, rows).or_raise(py)?))
    }

    fn distribute_masked(&self, py: Python<'_>, rank: u64, world: u64, rows: usize) -> PyResult<Stream> {
        Ok(self.batches(self.rows.distribute_masked(rank, world, rows).or_raise(py)?))
    }

    fn rows(&self) -> Stream {
        Stream::new(Any::Rows(self.rows.rows()), false)
    }
}
