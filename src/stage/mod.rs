//! How items move: one verb, one file. `filter.rs` is the pattern.

mod batch;
mod cache;
mod cache_file;
mod columns;
mod concat;
mod cut;
mod declare;
mod enumerate;
mod filter;
mod inspect;
mod map;
mod prefetch;
mod repeat;
mod shuffle;
mod stack;
mod typed;
mod unbatch;
mod zip;
