//! The integration tests, as one program: linking is what takes time.
//!
//! One file for each verb, named after it, with the same six cases each (works; empty upstream; boundary; upstream
//! error keeps its position; dropped midway; reopened gives the same); `laws.rs` for what holds for every pipeline.
//! What is tried by chance lies in `tests/trials`; `make soak` tries it many more times.
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
mod crash;
mod cut;
mod declare;
mod distribute;
mod drops;
mod enumerate;
mod exactly_once;
mod faults;
mod field_cases;
mod files;
mod filter;
mod flat_map;
mod fork;
mod generator;
mod golden;
mod group_by_window;
mod hostile;
mod inspect;
mod interleave;
mod interleave_unordered;
mod lanes;
mod laws;
mod limits;
mod lints;
mod map;
mod memory_columns;
mod mix;
mod nesting;
mod npy;
mod on_error;
mod order;
mod pack;
mod pad_to;
mod padded_batch;
mod panics;
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
mod sizes;
mod source;
mod stack;
mod take_while;
#[path = "../trials/mod.rs"]
mod trials;
mod typed;
mod unbatch;
mod unique;
mod unmapped;
mod window;
mod zip;
