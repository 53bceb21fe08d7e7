//! Arrays that leave for NumPy without a copy, and arrays that come from it with one.
//!
//! NumPy wraps the memory of a [`Block`] through `__array_interface__` and keeps the block as the base of its array, so buffer
//! protocol, DLPack and all else are NumPy's own. The memory belongs to the array alone: an array that the engine still shares
//! (of a cache, a window, a row) is copied when it is handed out, so that writing into it changes nothing else.

use gristmill::Array;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::dtype;
use crate::errors::OrRaise;

/// The memory of one array.
#[pyclass(frozen, module = "gristmill._gristmill")]
pub(crate) struct Block {
    array: Array,
    address: usize,
    read_only: bool,
}

#[pymethods]
impl Block {
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, self.array.shape())?)?;
        interface.set_item("typestr", dtype::interface(self.array.dtype()))?;
        interface.set_item("data", (self.address, self.read_only))?;
        Ok(interface)
    }
}

/// `array` as a NumPy array of its own.
pub(crate) fn owned(py: Python<'_>, mut array: Array) -> PyResult<Bound<'_, PyAny>> {
    let address = array.bytes_mut().or_raise(py)?.as_mut_ptr() as usize;
    wrapped(py, Block { array, address, read_only: false })
}

/// `array` as a NumPy array that can only be read, over memory that may be shared.
pub(crate) fn viewed(py: Python<'_>, array: Array) -> PyResult<Bound<'_, PyAny>> {
    let address = array.bytes().as_ptr() as usize;
    wrapped(py, Block { array, address, read_only: true })
}

fn wrapped(py: Python<'_>, block: Block) -> PyResult<Bound<'_, PyAny>> {
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let asarray = ASARRAY.get_or_try_init(py, || dtype::numpy(py)?.getattr("asarray").map(Bound::unbind))?;
    let is_bf16 = block.array.dtype() == gristmill::DType::Bf16;
    let array = asarray.bind(py).call1((Bound::new(py, block)?,))?;
    match if is_bf16 { dtype::bfloat16(py) } else { None } {
        Some(bfloat16) => array.call_method1("view", (bfloat16,)),
        None => Ok(array),
    }
}

/// A copy of what NumPy makes an array of, with one more axis of one row before the others if `row` says so.
pub(crate) fn copied(value: &Bound<'_, PyAny>, row: bool) -> PyResult<Array> {
    let py = value.py();
    let numpy = dtype::numpy(py)?;
    let source = numpy.call_method1("asarray", (value,))?;
    let (dtype, _) = dtype::of(&source.getattr("dtype")?)?;
    let mut shape: Vec<usize> = source.getattr("shape")?.extract()?;
    if row {
        shape.insert(0, 1);
    }
    let mut array = Array::zeroed(dtype, &shape).or_raise(py)?;
    if !array.bytes().is_empty() {
        let address = array.bytes_mut().or_raise(py)?.as_mut_ptr() as usize;
        // NumPy fills it, whatever the layout and byte order of the source; then the block is gone and the array unshared again.
        let target = wrapped(py, Block { array: array.clone(), address, read_only: false })?;
        numpy.call_method1("copyto", (target, source))?;
    }
    Ok(array)
}
