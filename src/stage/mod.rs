//! How items move: one verb, one file. `filter.rs` is the pattern.

mod batch;
mod bucket_by_length;
mod columns;
mod concat;
mod cut;
mod declare;
mod distribute;
mod enumerate;
mod filter;
mod group_by_window;
mod inspect;
mod map;
mod on_error;
mod pack;
mod pad_to;
mod padded_batch;
mod prefetch;
mod ragged_batch;
mod repeat;
mod shuffle;
mod stack;
mod typed;
mod unbatch;
mod zip;

pub use bucket_by_length::Buckets;
pub use on_error::{Failure, Failures, OnError};
