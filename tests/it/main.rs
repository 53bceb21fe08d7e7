//! The integration tests, as one program: linking is what takes time.
//!
//! One file for each verb, named after it, with the same six cases each (works; empty upstream; boundary; upstream
//! error keeps its position; dropped midway; reopened gives the same); `laws.rs` for what holds for every pipeline.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

mod assert_len;
mod batch;
#[path = "../../fuzz/src/bodies/mod.rs"]
mod bodies;
mod bucket_by_length;
mod cache;
mod cache_file;
mod cast;
mod choose;
mod columns;
mod common;
mod concat;
mod conformance;
mod corpus;
mod cut;
mod declare;
mod distribute;
mod enumerate;
mod faults;
mod field_cases;
mod files;
mod filter;
mod flat_map;
mod generator;
mod group_by_window;
mod hostile;
mod inspect;
mod interleave;
mod interleave_unordered;
mod lanes;
mod laws;
mod lints;
mod map;
mod memory_columns;
mod mix;
mod npy;
mod on_error;
mod order;
mod pack;
mod pad_to;
mod padded_batch;
mod prefetch;
mod ragged_batch;
mod raw;
mod rebatch;
mod reduce;
mod repeat;
mod resample;
mod resume;
mod save;
mod scan;
mod shuffle;
mod source;
mod stack;
mod take_while;
mod typed;
mod unbatch;
mod unique;
mod window;
mod zip;
