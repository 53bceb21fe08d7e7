//! What rows: files, memory and generators.
//!
//! | source | made by | rows |
//! |---|---|---|
//! | `.npy` files | [`Npy`] in [`Dataset::from_slices`](crate::Dataset::from_slices) | mapped, copied once, at `batch` |
//! | raw binary files | [`Raw`] in [`Dataset::from_slices`](crate::Dataset::from_slices) | mapped, copied once, at `batch` |
//! | memory | `Vec`, slices, ndarray arrays in [`Dataset::from_slices`](crate::Dataset::from_slices) | kept, copied once, at `batch` |
//! | numbers | [`Dataset::range`](crate::Dataset::range) | computed |
//! | code that yields items | [`Dataset::from_generator`](crate::Dataset::from_generator) | owned items |
//! | your own | [`Dataset::from_source`](crate::Dataset::from_source) | whatever it fills in |
//!
//! A column is a set of cells somewhere ([`cells`]); a table puts columns side by side ([`table`]).

mod cells;
mod column;
mod descr;
mod generator;
mod header;
mod literal;
mod memory;
mod npy;
mod pile;
mod range;
mod raw;
mod table;

pub use column::{Column, IntoColumn, IntoColumns};
pub use memory::Layout;
pub use npy::Npy;
pub use raw::Raw;
