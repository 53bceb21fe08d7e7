//! The integration tests, as one program: linking is what takes time.
//!
//! One file for each verb, named after it, with the same six cases each (works; empty upstream; boundary; upstream
//! error keeps its position; dropped midway; reopened gives the same); `laws.rs` for what holds for every pipeline.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod batch;
mod bucket_by_length;
mod cast;
mod columns;
mod common;
mod concat;
mod conformance;
mod cut;
mod declare;
mod enumerate;
mod field_cases;
mod files;
mod filter;
mod generator;
mod group_by_window;
mod hostile;
mod inspect;
mod lanes;
mod laws;
mod map;
mod memory_columns;
mod npy;
mod on_error;
mod order;
mod pack;
mod pad_to;
mod padded_batch;
mod prefetch;
mod ragged_batch;
mod raw;
mod repeat;
mod shuffle;
mod source;
mod stack;
mod typed;
mod unbatch;
mod zip;
