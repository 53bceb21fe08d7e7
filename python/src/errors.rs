//! Errors of the crate as exceptions of `gristmill.errors`, and a user's own exception as itself.

use std::io;

use gristmill::Error;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// What is raised for `error`.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    match error {
        Error::User { stage, position, source } => match source.downcast::<PyErr>() {
            Ok(own) => noted(py, *own, stage, position),
            Err(source) => raised_as(py, &Error::User { stage, position, source }),
        },
        Error::Stopped { position, skipped, policy, source } => {
            let text = format!(
                "on_error({policy}) stopped at item {position}, {skipped} having been skipped before it"
            );
            let stopped = made(py, "StoppedError", (text,), &[("position", position.to_string())]);
            stopped.set_cause(py, Some(raised(py, *source)));
            stopped
        }
        other => raised_as(py, &other),
    }
}

/// A user's exception, with the place it comes from. One that would be taken for the end of the items is wrapped, as in generators.
fn noted(py: Python<'_>, own: PyErr, stage: &str, position: u64) -> PyErr {
    let own = match own.is_instance_of::<PyStopIteration>(py) {
        true => {
            let wrapped = PyRuntimeError::new_err("a function of the stream raised StopIteration");
            wrapped.set_cause(py, Some(own));
            wrapped
        }
        false => own,
    };
    // A note that cannot be added is no reason to hide the exception.
    let _ = own.value(py).call_method1("add_note", (format!("gristmill: in {stage}, item {position}"),));
    own
}

fn raised_as(py: Python<'_>, error: &Error) -> PyErr {
    let text = |name| made(py, name, (error.to_string(),), &fields(error));
    match error {
        Error::Io { action, path, source } => {
            let name = match source.kind() {
                io::ErrorKind::NotFound => "NotFoundError",
                io::ErrorKind::PermissionDenied => "DeniedError",
                _ => "FileError",
            };
            // Python tells the number of the error by itself.
            let why = source.to_string();
            let why = why.split(" (os error").next().unwrap_or_default();
            let text = format!("cannot {action}: {why}");
            made(
                py,
                name,
                (source.raw_os_error(), text, path.display().to_string()),
                &[("path", path.display().to_string())],
            )
        }
        Error::Format { .. } | Error::Header { .. } | Error::Length { .. } => text("FormatError"),
        Error::Changed { .. } => text("ChangedError"),
        Error::Rows { .. } => text("RowsError"),
        Error::Row { .. } => text("RowError"),
        Error::Spec { .. } => text("SpecError"),
        Error::Argument { .. } => text("ArgumentError"),
        Error::Resume { .. } => text("ResumeError"),
        Error::Memory { .. } => text("OutOfMemoryError"),
        Error::Item { .. } => text("ItemError"),
        Error::Panicked { .. } | Error::Lost { .. } => text("PanicError"),
        Error::Spawn { .. } => text("ThreadError"),
        Error::Cancelled => text("ClosedError"),
        Error::Forked { .. } => text("ForkError"),
        _ => text("Error"),
    }
}

/// What an exception carries beside its text.
fn fields(error: &Error) -> Vec<(&'static str, String)> {
    let path = |path: &std::path::Path| ("path", path.display().to_string());
    let pair = |expected: &String, found: &String| [("expected", expected.clone()), ("found", found.clone())];
    let place =
        |stage: &str, position: &u64| [("stage", stage.to_owned()), ("position", position.to_string())];
    match error {
        Error::Format { path: at, expected, found, .. } | Error::Changed { path: at, expected, found } => {
            [path(at)].into_iter().chain(pair(expected, found)).collect()
        }
        Error::Header { path: at, expected, found, .. } => {
            [path(at)].into_iter().chain(pair(expected, found)).collect()
        }
        Error::Length { path: at, expected, found, .. } => {
            [path(at)].into_iter().chain(pair(&expected.to_string(), &found.to_string())).collect()
        }
        Error::Spec { expected, found, .. }
        | Error::Argument { expected, found, .. }
        | Error::Resume { expected, found, .. } => pair(expected, found).into(),
        Error::Item { stage, position, expected, found } => {
            place(stage, position).into_iter().chain(pair(expected, found)).collect()
        }
        Error::User { stage, position, .. } | Error::Panicked { stage, position, .. } => {
            place(stage, position).into()
        }
        _ => Vec::new(),
    }
}

/// An exception of the package.
pub(crate) fn named(py: Python<'_>, class: &str, text: &str) -> PyErr {
    made(py, class, (text,), &[])
}

fn made<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    fields: &[(&str, String)],
) -> PyErr {
    let make = || {
        let class = py.import("gristmill.errors")?.getattr(class)?;
        let exception = class.call1(arguments.into_pyobject(py)?)?;
        for (name, value) in fields {
            match (*name, value.parse::<u64>()) {
                ("position", Ok(number)) => exception.setattr(*name, number)?,
                _ => exception.setattr(*name, value)?,
            }
        }
        Ok(PyErr::from_value(exception))
    };
    make().unwrap_or_else(|error: PyErr| error)
}

/// Turns the crate's results into Python's.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for gristmill::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, error))
    }
}
