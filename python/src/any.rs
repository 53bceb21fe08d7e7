//! A stream of one of the three types that streams of the package have, and verbs that are the same for all of them.

use gristmill::{Batch, Projection, Row, Stream as Items};
use pyo3::prelude::*;

use crate::errors;
use crate::iter::{self, Opened, Start};
use crate::stream::Stream;
use crate::value::Value;

/// A stream, by what it carries.
#[derive(Clone)]
pub(crate) enum Any {
    Batches(Items<Batch>),
    Rows(Items<Row>),
    Values(Items<Value>),
}

impl Any {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Any::Batches(_) => "batches",
            Any::Rows(_) => "rows",
            Any::Values(_) => "other items",
        }
    }
}

/// The same expression over streams of whatever they carry.
macro_rules! same {
    ($stream:expr, $items:ident => $made:expr) => {
        match $stream.any.clone() {
            Any::Batches($items) => $stream.with(Any::Batches($made)),
            Any::Rows($items) => $stream.with(Any::Rows($made)),
            Any::Values($items) => $stream.with(Any::Values($made)),
        }
    };
}

/// The same expression over streams of whatever they carry, with one result for all.
macro_rules! any {
    ($stream:expr, $items:ident => $made:expr) => {
        match &$stream.any {
            Any::Batches($items) => $made,
            Any::Rows($items) => $made,
            Any::Values($items) => $made,
        }
    };
}

/// Two or more streams that carry the same.
macro_rules! joined {
    ($py:expr, $verb:expr, $streams:expr, $items:ident => $made:expr) => {{
        let streams = $streams;
        let python = streams.iter().any(|stream| stream.get().python);
        let batches = |stream: &Bound<'_, Stream>| match &stream.get().any {
            Any::Batches(items) => Some(items.clone()),
            _ => None,
        };
        let rows = |stream: &Bound<'_, Stream>| match &stream.get().any {
            Any::Rows(items) => Some(items.clone()),
            _ => None,
        };
        let values = |stream: &Bound<'_, Stream>| match &stream.get().any {
            Any::Values(items) => Some(items.clone()),
            _ => None,
        };
        if let Some($items) = streams.iter().map(batches).collect::<Option<Vec<_>>>() {
            Ok(Stream::new(Any::Batches($made), python))
        } else if let Some($items) = streams.iter().map(rows).collect::<Option<Vec<_>>>() {
            Ok(Stream::new(Any::Rows($made), python))
        } else if let Some($items) = streams.iter().map(values).collect::<Option<Vec<_>>>() {
            Ok(Stream::new(Any::Values($made), python))
        } else {
            let text = format!("{}: expected streams that all carry batches, or all rows, found both", $verb);
            Err(errors::named($py, "SpecError", &text))
        }
    }};
}

impl Stream {
    pub(crate) fn new(any: Any, python: bool) -> Stream {
        Stream { any, python }
    }

    pub(crate) fn with(&self, any: Any) -> Stream {
        Stream::new(any, self.python)
    }

    pub(crate) fn batches(&self, py: Python<'_>, verb: &str) -> PyResult<Items<Batch>> {
        match &self.any {
            Any::Batches(items) => Ok(items.clone()),
            _ => Err(self.refused(py, verb, "batches")),
        }
    }

    fn refused(&self, py: Python<'_>, verb: &str, wanted: &str) -> PyErr {
        let text = format!("{verb}: expected a stream of {wanted}, found {}", self.any.kind());
        errors::named(py, "SpecError", &text)
    }

    pub(crate) fn rows_of(&self, py: Python<'_>, verb: &str) -> PyResult<Items<Row>> {
        match &self.any {
            Any::Rows(items) => Ok(items.clone()),
            _ => Err(self.refused(py, verb, "rows")),
        }
    }

    pub(crate) fn changed(&self, py: Python<'_>, verb: &str, change: Projection) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.batches(py, verb)?.project(change))))
    }

    pub(crate) fn opened(&self, start: &Start) -> gristmill::Result<Opened> {
        any!(self, items => iter::open(items, start))
    }
}

pub(crate) use {any, joined, same};
