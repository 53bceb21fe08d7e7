//! How items move: one verb, one file. `filter.rs` is the pattern.

mod assert_len;
mod batch;
mod choose;
mod columns;
mod concat;
mod cut;
mod declare;
mod enumerate;
mod filter;
mod flat_map;
mod inspect;
mod interleave;
mod map;
mod mix;
mod prefetch;
mod rebatch;
mod reduce;
mod repeat;
mod resample;
mod scan;
mod shuffle;
mod stack;
mod take_while;
mod typed;
mod unbatch;
mod unique;
mod window;
mod zip;

pub use choose::Choices;
pub use rebatch::Sizes;
