//! NumPy arrays as columns: kept where they are.

use gristmill::{Column, IntoColumn, Layout};
use pyo3::prelude::*;

use crate::dtype;
use crate::errors::{self, OrRaise};

/// The memory of a NumPy array, which is held for as long as the column.
struct Kept {
    address: usize,
    bytes: usize,
    _array: Py<PyAny>,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: NumPy told the address of an array's first element, and `column` counts the bytes from there to the end of its
        // last one. The array is held, so its memory is not freed, nor moved but by a `resize` that is told not to look who refers
        // to it. Not to do that, and not to write meanwhile, is what `Dataset.from_slices` asks of its caller.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.address as *const u8, self.bytes)
        }
    }
}

/// The column that `value`, an array or what NumPy makes one of, is.
pub(crate) fn column(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Column> {
    let py = value.py();
    let numpy = dtype::numpy(py)?;
    let mut array = numpy.call_method1("asarray", (value,))?;
    let mut strides: Vec<isize> = array.getattr("strides")?.extract()?;
    if strides.iter().any(|stride| *stride < 0) {
        // Steps back, as of `array[::-1]`, are the one layout that is not kept.
        array = numpy.call_method1("ascontiguousarray", (array,))?;
        strides = array.getattr("strides")?.extract()?;
    }
    let (dtype, swapped) = dtype::of(&array.getattr("dtype")?).map_err(|error| named(py, name, error))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let strides: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs()).collect();
    let interface = array.getattr("__array_interface__")?;
    let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
    let steps = shape.iter().zip(&strides).map(|(n, stride)| n.saturating_sub(1) * stride);
    let bytes = if shape.contains(&0) { 0 } else { steps.sum::<usize>() + dtype.bytes() };
    let kept = Kept { address: if bytes == 0 { 1 } else { address }, bytes, _array: array.unbind() };
    let column = Column::from_memory(kept, Layout { dtype, shape, strides, swapped }).or_raise(py)?;
    (name, column).into_column().or_raise(py)
}

fn named(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    errors::named(py, "SpecError", &format!("column {name:?}: {}", error.value(py)))
}
