//! Functions of Python as functions of the crate: called on whatever thread the stage runs on, their exceptions kept as they are.

use std::sync::Arc;

use gristmill::BoxError;
use gristmill::RandomStream;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::dtype;
use crate::value::{self, Export, Value};

/// What a call gives, or the exception it raised.
pub(crate) type Outcome<R> = Result<R, BoxError>;

/// A callable; cheap to clone.
#[derive(Clone)]
pub(crate) struct Function(Arc<Py<PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Function {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Function> {
        match object.is_callable() {
            true => Ok(Function(Arc::new(object.to_owned().unbind()))),
            false => {
                Err(PyTypeError::new_err(format!("expected a function, found {}", object.get_type().name()?)))
            }
        }
    }
}

impl Function {
    /// What `read` makes of what the function returns for an item, whose arrays it is given by `export`.
    pub(crate) fn of<R>(
        &self,
        item: impl Into<Value>,
        export: Export,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Outcome<R> {
        attached(|py| read(&self.0.bind(py).call1((value::to_python(py, item.into(), export)?,))?))
    }

    /// As [`of`](Function::of), with a `numpy.random.Generator` of the item's own beside it.
    pub(crate) fn of_seeded<R>(
        &self,
        item: impl Into<Value>,
        random: &mut RandomStream,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Outcome<R> {
        let seed: [u64; 4] = std::array::from_fn(|_| random.next_u64());
        attached(|py| {
            let generator =
                dtype::numpy(py)?.getattr("random")?.call_method1("default_rng", (seed.to_vec(),))?;
            let item = value::to_python(py, item.into(), crate::array::owned)?;
            read(&self.0.bind(py).call1((item, generator))?)
        })
    }

    /// What `read` makes of what the function returns for `arguments` of any kind.
    pub(crate) fn call<R>(
        &self,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<R>,
    ) -> Outcome<R> {
        attached(|py| read(&self.0.bind(py).call1(arguments(py)?)?))
    }
}

/// Does `work` with the interpreter.
pub(crate) fn attached<R>(work: impl FnOnce(Python<'_>) -> PyResult<R>) -> Outcome<R> {
    let done = Python::try_attach(|py| work(py).map_err(BoxError::from));
    done.unwrap_or_else(|| Err("the interpreter is shutting down".into()))
}

/// A function's answer to a question of yes or no.
pub(crate) fn truth(answer: &Bound<'_, PyAny>) -> PyResult<bool> {
    answer.is_truthy()
}
