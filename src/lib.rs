//! Rows in, minibatches out.
//!
//! Gristmill feeds training loops from feature and label files that are larger than memory: shuffled minibatches at the speed of
//! the machine, in the same order every time, in a few megabytes, resumable to the row.
//!
//! ```
//! use gristmill::{Dataset, Npy, Shuffle};
//!
//! let features = Npy::open("examples/data/digits-features.npy")?;
//! let labels = Npy::open("examples/data/digits-labels.npy")?;
//! let rows = Dataset::from_slices((("x", features), ("y", labels)))?;
//! let (train, valid) = rows.split(0.9, 7)?;
//! let batches = train.shuffle(Shuffle::blocks(42)).batch(128).cast::<f32>("x").prefetch(4);
//! let batches = batches.typed::<(f32, u8)>()?;
//! for epoch in 0..3 {
//!     for batch in batches.epoch(epoch)? {
//!         let (x, y) = batch?; // Tensor<f32> [128, 64], Tensor<u8> [128]
//!         assert_eq!(x.view().shape()[0], y.as_slice().len());
//!     }
//! }
//! # assert_eq!(train.len() + valid.len(), 1797);
//! # Ok::<(), gristmill::Error>(())
//! ```
//!
//! # The one idea
//!
//! **The order of an epoch is a function from position to row. Indices travel through the stages; rows do not. A row is copied once, at
//! `batch`, straight out of the mapped file into the batch.** Speed, small memory, exact resume and determinism follow from it.
//!
//! # Words
//!
//! - *Row*: one index of the first axis of a file. *Column*: one file, field or array of them. *Source*: columns of equal length.
//! - [`Dataset`]: a source and the *order* in which its rows come; rows can be reached by number. Its verbs are arithmetic.
//! - [`Stream`]: *stages* over *items*, one at a time. Both are recipes: cheap to clone, they hold no position and read nothing.
//! - *Epoch*: one pass. Explicit: [`Stream::epoch`] gives an [`Iter`] over epoch `k`, whatever was iterated before.
//! - [`State`]: where an iterator stands and of which stream it is one; a few hundred bytes.
//! - *Link*: a thread and a bounded channel between two stages. *Lanes*: several workers on one stage, order kept.
//!
//! # Errors and the end
//!
//! Iterators yield `Result`s. An error of one item (a [`try_map`](Stream::try_map) that failed) takes that item's place and iteration
//! goes on; what breaks the pipeline (a changed file, a panic in a user's function) comes once, after all good items before it, and then
//! the iterator ends. Arguments are checked when a stream is opened, planned or typed: nothing panics.
//!
//! # What is promised about files
//!
//! Files are opened read-only and mapped. No reference into a map is ever made; rows are copied out. A file that another process
//! writes to while it is open is noticed before a batch, or a burst of small ones, is handed on ([`Error::Changed`]); one that is replaced
//! goes on being read as it was.
//! A file that another process *cuts short*, or that the disk cannot read, raises `SIGBUS` in whoever touches the lost pages: one handler
//! answers that for our maps and passes on all else ([`switch_off_fault_guard`]).
//! On a file system without maps, and where a column is told to be [`unmapped`](Npy::unmapped), rows are read by calls.
//!
//! # Processes
//!
//! A forked child has no threads of its parent. A [`Stream`] or an [`Iter`] that was made before the fork gives [`Error::Forked`]
//! there at once and can be dropped; a [`Dataset`] may be used, and makes new ones; a [`Batch`] stays what it is.

mod ahead;
mod data;
mod dataset;
mod digest;
mod error;
mod exec;
mod order;
mod outline;
pub mod plumbing;
mod rng;
mod source;
mod stage;
mod state;
mod store;
mod stream;
mod sys;

pub use data::{
    Array, Batch, Cell, CellRef, Collate, ColumnSpec, Conform, DType, Element, Length, Number, Pad,
    Projection, RaggedBatch, Row, Slot, Spec, Tensor, Typed,
};
pub use dataset::Dataset;
pub use error::{BoxError, Error, Result, caught};
pub use exec::Iter;
pub use order::{Balance, Shuffle};
pub use outline::{Outline, Plan, Step};
pub use plumbing::Threads;
pub use rng::RandomStream;
pub use source::{Column, IntoColumn, IntoColumns, Layout, Npy, Raw};
pub use stage::{Buckets, Choices, Failure, Failures, OnError, Sizes};
pub use state::{Position, State};
pub use store::{Progress, Save};
pub use stream::Stream;
pub use sys::switch_off_fault_guard;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
