#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, dead_code, unreachable_pub)]
#[path = "it/batch.rs"]
mod batch;
#[path = "it/columns.rs"]
mod columns;
#[path = "it/common.rs"]
mod common;
#[path = "it/concat.rs"]
mod concat;
#[path = "it/conformance.rs"]
mod conformance;
#[path = "it/cut.rs"]
mod cut;
#[path = "it/declare.rs"]
mod declare;
#[path = "it/enumerate.rs"]
mod enumerate;
#[path = "it/field_cases.rs"]
mod field_cases;
#[path = "it/filter.rs"]
mod filter;
#[path = "it/generator.rs"]
mod generator;
#[path = "it/inspect.rs"]
mod inspect;
#[path = "it/lanes.rs"]
mod lanes;
#[path = "it/map.rs"]
mod map;
#[path = "it/prefetch.rs"]
mod prefetch;
#[path = "it/repeat.rs"]
mod repeat;
#[path = "it/shuffle.rs"]
mod shuffle;
#[path = "it/stack.rs"]
mod stack;
#[path = "it/typed.rs"]
mod typed;
#[path = "it/unbatch.rs"]
mod unbatch;
#[path = "it/zip.rs"]
mod zip;
