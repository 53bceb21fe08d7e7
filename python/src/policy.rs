//! Values that verbs take: how rows are shuffled and balanced, how cells are padded, what becomes of items that failed.
//!
//! In Python they are plain named tuples; see `gristmill/values.py`.

use std::collections::HashMap;

use gristmill::{Array, Balance, DType, OnError, Pad, Shuffle};
use pyo3::prelude::*;

use crate::array;
use crate::errors::{self, OrRaise};

/// A `gristmill.Shuffle`.
#[derive(FromPyObject)]
pub(crate) struct ShuffleValue {
    kind: String,
    seed: u64,
    rows: u64,
    group: u64,
    is_fixed: bool,
}

impl From<ShuffleValue> for Shuffle {
    fn from(value: ShuffleValue) -> Shuffle {
        let how = match value.kind.as_str() {
            "blocks" => Shuffle::blocks(value.seed),
            "blocks_of" => Shuffle::blocks_of(value.rows, value.group, value.seed),
            "buffer" => Shuffle::buffer(value.rows, value.seed),
            _ => Shuffle::full(value.seed),
        };
        if value.is_fixed { how.fixed() } else { how }
    }
}

/// A `gristmill.Balance`.
#[derive(FromPyObject)]
pub(crate) struct BalanceValue {
    kind: String,
    seed: u64,
}

impl From<BalanceValue> for Balance {
    fn from(value: BalanceValue) -> Balance {
        if value.kind == "under" { Balance::under(value.seed) } else { Balance::over(value.seed) }
    }
}

/// A `gristmill.OnError`.
#[derive(FromPyObject)]
pub(crate) struct OnErrorValue {
    kind: String,
    most: u64,
    items: u64,
    failures: Option<Py<Failures>>,
}

impl OnErrorValue {
    pub(crate) fn policy<T>(&self) -> OnError<T> {
        let policy = match self.kind.as_str() {
            "skip" => OnError::skip(self.most),
            "skip_rate" => OnError::skip_rate(self.most, self.items),
            _ => OnError::stop(),
        };
        match &self.failures {
            Some(failures) => policy.listed(&failures.get().0),
            None => policy,
        }
    }
}

/// Which items failed, and how: give it to `OnError`, and read it at any time.
#[pyclass(frozen, module = "gristmill")]
#[derive(Default)]
pub(crate) struct Failures(gristmill::Failures);

#[pymethods]
impl Failures {
    #[new]
    fn new() -> Failures {
        Failures::default()
    }

    /// The failed items as (epoch, item, text), by epoch and place; the first 4096.
    fn list(&self) -> Vec<(u64, u64, String)> {
        self.0.list().into_iter().map(|f| (f.place.epoch, f.place.item, f.text)).collect()
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.0.count()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!("Failures({} items)", self.0.count())
    }

    /// A list for this process; a copy sent elsewhere starts empty.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, ()) {
        (slf.get_type().into_any(), ())
    }
}

/// A `gristmill.Pad`.
#[derive(FromPyObject)]
pub(crate) struct PadValue<'py> {
    axes: HashMap<String, HashMap<usize, usize>>,
    values: HashMap<String, Bound<'py, PyAny>>,
    lengths: Vec<String>,
}

impl PadValue<'_> {
    pub(crate) fn pad(self, py: Python<'_>) -> PyResult<Pad> {
        let mut pad = Pad::longest();
        for (column, axes) in self.axes {
            for (axis, size) in axes {
                pad = pad.axis(&column, axis, size);
            }
        }
        for (column, value) in self.values {
            pad = filled(py, pad, column, &array::copied(&value, true)?)?;
        }
        Ok(self.lengths.into_iter().fold(pad, Pad::lengths))
    }
}

/// `pad` with the one element of `value` for `column`.
fn filled(py: Python<'_>, pad: Pad, column: String, value: &Array) -> PyResult<Pad> {
    macro_rules! by_type {
        ($($dtype:ident $rust:ty),*) => {
            match value.dtype() {
                $(DType::$dtype => value.elements::<$rust>().or_raise(py)?.first().map(|v| pad.value(column, *v)),)*
                _ => None,
            }
        };
    }
    let padded = by_type!(Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);
    padded.ok_or_else(|| {
        errors::named(py, "SpecError", "padding value: expected a number of 1, 4 or 8 bytes, or a bool")
    })
}
