//! A stream of one of the three types that streams of the package have, and verbs that are the same for all of them.

use gristmill::{Batch, Row, Stream as Items};

use crate::value::Value;

/// A stream, by what it carries.
#[derive(Clone)]
pub(crate) enum Any {
    Batches(Items<Batch>),
    Rows(Items<Row>),
    Values(Items<Value>),
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

pub(crate) use {any, joined, same};
