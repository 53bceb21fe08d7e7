//! One error type: what was expected, what was found, where, and what to do.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// What every fallible call of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A user's own error, boxed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a pipeline could not be built, opened or continued.
///
/// Errors of one item ([`User`](Error::User), [`Item`](Error::Item)) take that item's place in the
/// sequence and iteration goes on after them. All others break the pipeline: they are delivered
/// once, after every good item before them, and then the iterator ends
/// ([`is_fatal`](Error::is_fatal)).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: "open", "map", "read".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not of the kind it was opened as.
    #[error("{} is {found}, expected {expected}; {help}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The kind that was asked for.
        expected: String,
        /// The kind its first bytes show.
        found: String,
        /// What to do.
        help: String,
    },
    /// A header that cannot be read, or that describes what is not supported.
    #[error("{}: header, byte {at_byte}: expected {expected}, found {found}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Offset in the file where the trouble is.
        at_byte: u64,
        /// What would have been accepted.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A file holds fewer or more bytes than its description says.
    #[error("{}: expected {expected} bytes, found {found}; {help}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes that the description asks for.
        expected: u64,
        /// Bytes that are there.
        found: u64,
        /// What to do.
        help: String,
    },
    /// A file changed after it was opened.
    #[error("{} changed while it was read: expected {expected}, found {found}; \
             write new data to another file and rename it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Length and times when opened.
        expected: String,
        /// Length and times now.
        found: String,
    },
    /// Columns of one dataset have different numbers of rows.
    #[error(
        "column {left:?} has {left_rows} rows but column {right:?} has {right_rows}; \
             columns of one dataset must be equally long"
    )]
    Rows {
        /// Name of the first column.
        left: String,
        /// Its rows.
        left_rows: u64,
        /// Name of the column that differs.
        right: String,
        /// Its rows.
        right_rows: u64,
    },
    /// A row number beyond the end of a source.
    #[error("row {row} was asked for, but there are {rows} rows")]
    Row {
        /// The row.
        row: u64,
        /// The number of rows there are.
        rows: u64,
    },
    /// A dtype, shape or set of columns other than the one asked for.
    #[error("{what}: expected {expected}, found {found}")]
    Spec {
        /// Which column, file or stage.
        what: String,
        /// What was asked for.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A verb was given an argument it cannot take.
    #[error("{verb}: expected {expected}, found {found}")]
    Argument {
        /// The verb.
        verb: &'static str,
        /// What it takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// A state belongs to another stream.
    #[error("cannot resume: the {field} of the state: {expected}; of this stream: {found}; {help}")]
    Resume {
        /// What differs: form, orders, sources or stages.
        field: &'static str,
        /// What to do.
        help: &'static str,
        /// What the state says.
        expected: String,
        /// What the stream says.
        found: String,
    },
    /// Memory that cannot be had, or that the budget does not allow.
    #[error("{what} needs {bytes} bytes, but {limit}; {help}")]
    Memory {
        /// What needs it.
        what: String,
        /// How much it needs.
        bytes: u64,
        /// The limit, in words.
        limit: String,
        /// What to do.
        help: String,
    },
    /// A user's function or generator failed on one item.
    #[error("{stage}, item {position}: {source}")]
    User {
        /// The stage that called it.
        stage: &'static str,
        /// The item's position in the epoch.
        position: u64,
        /// What it returned.
        source: BoxError,
    },
    /// An item that does not have the declared or required form.
    #[error("{stage}, item {position}: expected {expected}, found {found}")]
    Item {
        /// The stage that refused it.
        stage: &'static str,
        /// The item's position in the epoch.
        position: u64,
        /// The form that was asked for.
        expected: String,
        /// The form it has.
        found: String,
    },
    /// An item failed that the policy of [`on_error`](crate::Stream::on_error) does not pass over.
    #[error(
        "on_error({policy}) stopped at item {position}, {skipped} having been skipped before it: {source}"
    )]
    Stopped {
        /// The item's position in the epoch.
        position: u64,
        /// Items passed over before it.
        skipped: u64,
        /// The policy, as the user wrote it.
        policy: String,
        /// The item's own error.
        source: Box<Error>,
    },
    /// A user's function panicked.
    #[error("{stage} panicked at item {position}: {message}")]
    Panicked {
        /// The stage that called it.
        stage: &'static str,
        /// The item's position in the epoch.
        position: u64,
        /// The text of the panic.
        message: String,
    },
    /// A thread of the pipeline ended without saying that its data ended.
    #[error("the thread of {stage} ended before its data did; this is a bug in a stage")]
    Lost {
        /// The stage whose thread it was.
        stage: &'static str,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for {stage}: {source}; lower the number of workers or open iterators")]
    Spawn {
        /// The stage that needed it.
        stage: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A stream or an iterator is used in another process than the one it was made in: a child that was forked from it.
    #[error(
        "{what} of process {made_in} is used in process {used_in}, forked from it: threads do not survive a fork; make it \
             anew from its dataset in the process that uses it"
    )]
    Forked {
        /// Which of the two.
        what: &'static str,
        /// The process that made it.
        made_in: u32,
        /// The process that uses it.
        used_in: u32,
    },
    /// The iterator was dropped, or its [stop flag](crate::Iter::stop_flag) raised.
    #[error("the iterator was stopped")]
    Cancelled,
}

impl Error {
    /// True when iteration ends after this error; false when it takes one item's place.
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Error::User { .. } | Error::Item { .. })
    }

    /// An [`Error::Argument`], for stages to return when they are opened.
    pub fn argument(verb: &'static str, expected: impl Into<String>, found: impl ToString) -> Error {
        Error::Argument { verb, expected: expected.into(), found: found.to_string() }
    }

    /// An [`Error::Spec`].
    pub fn spec(what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Error {
        Error::Spec { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }

    /// This error, as that of the item at `position` where it tells of a form that does not fit.
    pub(crate) fn at(self, stage: &'static str, position: u64) -> Error {
        match self {
            Error::Spec { expected, found, .. } => Error::Item { stage, position, expected, found },
            other => other,
        }
    }

    /// An [`Error::Memory`] for an allocation that the system refused.
    pub fn no_memory(what: impl Into<String>, bytes: u64) -> Error {
        Error::Memory {
            what: what.into(),
            bytes,
            limit: "the system has no more".into(),
            help: "use a smaller batch, buffer or depth".into(),
        }
    }
}

/// Calls a user's function and turns its panic into an [`Error::Panicked`].
///
/// Stages wrap every call into foreign code in this, so that a panic looks the same with and
/// without threads.
///
/// # Errors
/// What the function returned, or the panic.
// Inlined, since items go through it: to move a small item once more costs as much as to make it.
#[inline(always)]
pub fn caught<T>(stage: &'static str, position: u64, call: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => outcome,
        Err(payload) => Err(panicked(stage, position, payload.as_ref())),
    }
}

#[cold]
fn panicked(stage: &'static str, position: u64, payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<&'static str>().map(|s| s.to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    Error::Panicked { stage, position, message: text.unwrap_or_else(|| "(a panic without a text)".into()) }
}
