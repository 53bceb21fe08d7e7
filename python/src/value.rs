//! What streams of the package carry, and what Python sees of it: `Batch`, `Row`, `Ragged`, lists, pairs and numbers.

use gristmill::{Array, Batch, RaggedBatch, Row};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyMapping, PyTuple};

use crate::array;
use crate::errors::{self, OrRaise};

/// An item of a stream whose verbs make more than batches.
#[derive(Clone)]
pub(crate) enum Value {
    Batch(Batch),
    Row(Row),
    Ragged(RaggedBatch),
    List(Vec<Value>),
    Pair(Box<(Value, Value)>),
    Number(u64),
}

impl From<Batch> for Value {
    fn from(batch: Batch) -> Value {
        Value::Batch(batch)
    }
}

impl From<Row> for Value {
    fn from(row: Row) -> Value {
        Value::Row(row)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}

impl<A: Into<Value>, B: Into<Value>> From<(A, B)> for Value {
    fn from((a, b): (A, B)) -> Value {
        Value::Pair(Box::new((a.into(), b.into())))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<RaggedBatch> for Value {
    fn from(batch: RaggedBatch) -> Value {
        Value::Ragged(batch)
    }
}

/// How arrays leave: to be kept and written by the user, or to be looked at.
pub(crate) type Export = for<'py> fn(Python<'py>, Array) -> PyResult<Bound<'py, PyAny>>;

/// What a function or a loop of Python is given.
pub(crate) fn to_python<'py>(py: Python<'py>, value: Value, export: Export) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Batch(batch) => {
            let columns = PyDict::new(py);
            let spec = batch.spec().clone();
            for (column, array) in spec.columns.iter().zip(batch.into_arrays()) {
                columns.set_item(&column.name, export(py, array)?)?;
            }
            class(py, &BATCH, "Batch")?.call1((columns,))
        }
        Value::Row(row) => {
            let columns = PyDict::new(py);
            let batch = Batch::from(row);
            let spec = batch.spec().clone();
            for (column, array) in spec.columns.iter().zip(batch.into_arrays()) {
                columns.set_item(&column.name, export(py, array)?.get_item(0)?)?;
            }
            class(py, &ROW, "Row")?.call1((columns,))
        }
        Value::Ragged(batch) => {
            let columns = PyDict::new(py);
            for name in batch.names() {
                let offsets = Array::from_elements(batch.offsets(name).or_raise(py)?, &[batch.rows() + 1]);
                let values = export(py, batch.values(name).or_raise(py)?.clone())?;
                columns.set_item(name, (values, export(py, offsets.or_raise(py)?)?))?;
            }
            class(py, &RAGGED, "Ragged")?.call1((columns,))
        }
        Value::List(items) => {
            let items: PyResult<Vec<_>> = items.into_iter().map(|item| to_python(py, item, export)).collect();
            Ok(PyList::new(py, items?)?.into_any())
        }
        Value::Pair(pair) => {
            let (a, b) = *pair;
            Ok(PyTuple::new(py, [to_python(py, a, export)?, to_python(py, b, export)?])?.into_any())
        }
        Value::Number(number) => Ok(number.into_pyobject(py)?.into_any()),
    }
}

static BATCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static ROW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static RAGGED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    let find = || py.import("gristmill.items")?.getattr(name).map(Bound::unbind);
    Ok(cell.get_or_try_init(py, find)?.bind(py))
}

/// The batch of a mapping from names to arrays, which are copied.
pub(crate) fn batch(value: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let columns = columns(value, false)?;
    Batch::new(columns).or_raise(value.py())
}

/// The row of a mapping from names to what can be a cell, of a tuple of cells, or of a cell alone.
pub(crate) fn row(value: &Bound<'_, PyAny>) -> PyResult<Row> {
    let columns = match value.cast::<PyTuple>() {
        Ok(cells) => {
            let cell =
                |(i, cell): (usize, Bound<'_, PyAny>)| Ok((i.to_string(), array::copied(&cell, true)?));
            cells.iter().enumerate().map(cell).collect::<PyResult<_>>()?
        }
        Err(_) if value.cast::<PyMapping>().is_ok() => columns(value, true)?,
        Err(_) => vec![("0".into(), array::copied(value, true)?)],
    };
    let row = Batch::new(columns).or_raise(value.py())?.row(0);
    row.ok_or_else(|| errors::named(value.py(), "SpecError", "item: expected columns, found none"))
}

fn columns(value: &Bound<'_, PyAny>, rows: bool) -> PyResult<Vec<(String, Array)>> {
    let Ok(mapping) = value.cast::<PyMapping>() else {
        let text = format!("item: expected a dict of arrays, found {}", value.get_type().name()?);
        return Err(errors::named(value.py(), "SpecError", &text));
    };
    let column = |pair: Bound<'_, PyAny>| {
        let (name, array): (String, Bound<'_, PyAny>) = pair.extract()?;
        Ok((name, array::copied(&array, rows)?))
    };
    mapping.items()?.iter().map(column).collect()
}

/// A value made from what a function of Python returned, of the kind that the stream carries.
pub(crate) trait Parse: Sized + Send + 'static {
    fn parse(value: &Bound<'_, PyAny>) -> PyResult<Self>;
}

impl Parse for Batch {
    fn parse(value: &Bound<'_, PyAny>) -> PyResult<Batch> {
        batch(value)
    }
}

impl Parse for Row {
    fn parse(value: &Bound<'_, PyAny>) -> PyResult<Row> {
        row(value)
    }
}
