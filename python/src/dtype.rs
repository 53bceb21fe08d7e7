//! Element types: NumPy's, and the crate's.

use std::sync::Arc;

use gristmill::{ColumnSpec, DType, Spec};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use crate::errors::{self, OrRaise};

/// The type of a NumPy dtype, and whether its elements are in the other byte order than the machine's.
pub(crate) fn of(dtype: &Bound<'_, PyAny>) -> PyResult<(DType, bool)> {
    let refused = |help: &str| {
        let text = format!("element type: expected numbers, bool, S, U or V, found {dtype}{help}");
        Err(errors::named(dtype.py(), "SpecError", &text))
    };
    if !dtype.getattr("names")?.is_none() {
        return refused("; give its fields as columns of their own: x=array[\"x\"]");
    }
    let kind: String = dtype.getattr("kind")?.extract()?;
    let bytes: usize = dtype.getattr("itemsize")?.extract()?;
    let order: String = dtype.getattr("byteorder")?.extract()?;
    let found = match (kind.as_str(), bytes) {
        ("b", 1) => DType::Bool,
        ("i", 1) => DType::I8,
        ("i", 2) => DType::I16,
        ("i", 4) => DType::I32,
        ("i", 8) => DType::I64,
        ("u", 1) => DType::U8,
        ("u", 2) => DType::U16,
        ("u", 4) => DType::U32,
        ("u", 8) => DType::U64,
        ("f", 2) => DType::F16,
        ("f", 4) => DType::F32,
        ("f", 8) => DType::F64,
        ("c", 8) => DType::C64,
        ("c", 16) => DType::C128,
        ("S", n) => DType::Ascii(n),
        ("U", n) => DType::Utf32(n / 4),
        ("V", 2) if dtype.getattr("name")?.eq("bfloat16")? => DType::Bf16,
        ("V", n) => DType::Void(n),
        ("M" | "m", _) => return refused("; give it as numbers: array.view(\"int64\")"),
        _ => return refused(""),
    };
    Ok((found, order == if cfg!(target_endian = "little") { ">" } else { "<" }))
}

/// The type of what a user may call one: all that `numpy.dtype` takes, and `"bfloat16"`.
pub(crate) fn parse(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<(DType, bool)> {
    if value.cast::<PyString>().is_ok_and(|name| name == "bfloat16") {
        return Ok((DType::Bf16, false));
    }
    of(&numpy(py)?.getattr("dtype")?.call1((value,))?)
}

/// The name in NumPy's array interface; bf16, which has none, is opaque there.
pub(crate) fn interface(dtype: DType) -> String {
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let bytes = dtype.bytes();
    let kind = match dtype {
        DType::Bool => 'b',
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 'i',
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 'u',
        DType::F16 | DType::F32 | DType::F64 => 'f',
        DType::C64 | DType::C128 => 'c',
        DType::Ascii(n) => return format!("|S{n}"),
        DType::Utf32(n) => return format!("{order}U{n}"),
        _ => return format!("|V{bytes}"),
    };
    if bytes == 1 { format!("|{kind}1") } else { format!("{order}{kind}{bytes}") }
}

/// The dtype object for `dtype`.
pub(crate) fn to_numpy(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyAny>> {
    if dtype == DType::Bf16
        && let Some(bfloat16) = bfloat16(py)
    {
        return Ok(bfloat16);
    }
    numpy(py)?.getattr("dtype")?.call1((interface(dtype),))
}

/// NumPy's bfloat16, when ml_dtypes is installed.
pub(crate) fn bfloat16(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    static FOUND: PyOnceLock<Option<Py<PyAny>>> = PyOnceLock::new();
    let find = || {
        let bfloat16 = py.import("ml_dtypes").ok()?.getattr("bfloat16").ok()?;
        Some(numpy(py).ok()?.getattr("dtype").ok()?.call1((bfloat16,)).ok()?.unbind())
    };
    FOUND.get_or_init(py, find).as_ref().map(|found| found.bind(py).clone())
}

/// NumPy, imported when it is first needed.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static NUMPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || py.import("numpy").map(|module| module.into_any().unbind()));
    Ok(module?.bind(py))
}

/// A spec as a dict: name to (dtype, shape of a row).
pub(crate) fn spec_to_python<'py>(py: Python<'py>, spec: &Spec) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for column in &spec.columns {
        let shape = pyo3::types::PyTuple::new(py, &column.shape)?;
        dict.set_item(&column.name, (to_numpy(py, column.dtype)?, shape))?;
    }
    Ok(dict)
}

/// A spec from a dict: name to (dtype, shape of a row), or to a dtype alone for one element a row.
pub(crate) fn spec(py: Python<'_>, columns: &Bound<'_, PyDict>) -> PyResult<Arc<Spec>> {
    let column = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let (dtype, shape) = match value.extract::<(Bound<'_, PyAny>, Vec<usize>)>() {
            Ok(pair) => pair,
            Err(_) => (value, Vec::new()),
        };
        Ok(ColumnSpec::new(name.extract::<String>()?, parse(py, &dtype)?.0, &shape))
    };
    let columns: PyResult<Vec<ColumnSpec>> = columns.iter().map(column).collect();
    Spec::new(columns?).or_raise(py)
}
