//! Waiting that lets the interpreter go on, and answers signals.

use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};
use pyo3::prelude::*;

use crate::errors;

/// How often a wait looks for signals: a user who presses Ctrl-C does not notice it.
const SLICE: Duration = Duration::from_millis(50);

/// What comes on `answers`, or `None` when nothing can come any more.
///
/// # Errors
/// What the handler of a signal raised meanwhile; what was waited for still comes, to the next call.
pub(crate) fn for_answer<T: Send>(py: Python<'_>, answers: &Receiver<T>) -> PyResult<Option<T>> {
    loop {
        match py.detach(|| answers.recv_timeout(SLICE)) {
            Ok(answer) => return Ok(Some(answer)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

/// What `work` gives, done on a thread of its own so that signals are answered while it lasts.
///
/// # Errors
/// What the handler of a signal raised meanwhile: `work` goes on alone then, and what it gives is dropped. That of `work`.
pub(crate) fn for_work<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> gristmill::Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, answers) = bounded(1);
    let thread = thread::Builder::new().name("grist-python".into()).spawn(move || {
        // Nobody listens any more after a signal.
        let _ = sender.send(work());
    });
    thread.map_err(|error| errors::named(py, "ThreadError", &format!("cannot start a thread: {error}")))?;
    match for_answer(py, &answers)? {
        Some(outcome) => outcome.map_err(|error| errors::raised(py, error)),
        None => Err(errors::named(py, "PanicError", "the work panicked; this is a bug")),
    }
}
