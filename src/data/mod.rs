//! What flows: values only, no threads, no files.
//!
//! A [`Spec`] names the columns; a [`Batch`] holds rows of them; an [`Array`] is one column's block;
//! a [`Tensor`] is an array whose element type has been checked.

/// Hands the tuple sizes 1 to 12 to a macro: one type parameter, index and column name each.
macro_rules! tuples {
    ($each:ident) => {
        $each!(A 0 "0");
        $each!(A 0 "0", B 1 "1");
        $each!(A 0 "0", B 1 "1", C 2 "2");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4", F 5 "5");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4", F 5 "5", G 6 "6");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4", F 5 "5", G 6 "6", H 7 "7");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4", F 5 "5", G 6 "6", H 7 "7", I 8 "8");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4", F 5 "5", G 6 "6", H 7 "7", I 8 "8", J 9 "9");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4", F 5 "5", G 6 "6", H 7 "7", I 8 "8", J 9 "9",
               K 10 "10");
        $each!(A 0 "0", B 1 "1", C 2 "2", D 3 "3", E 4 "4", F 5 "5", G 6 "6", H 7 "7", I 8 "8", J 9 "9",
               K 10 "10", L 11 "11");
    };
}
pub(crate) use tuples;

mod array;
mod batch;
mod bytes;
mod collate;
mod convert;
mod dtype;
mod pad;
mod project;
mod ragged;
mod slot;
mod spec;
mod typed;

pub use array::{Array, Tensor};
pub(crate) use batch::masked;
pub use batch::{Batch, Row};
pub(crate) use bytes::{Bytes, Pool};
pub use collate::{Cell, CellRef, Collate, Conform};
pub(crate) use convert::Convert;
pub use dtype::{DType, Element, Number};
pub use pad::Pad;
pub use project::Projection;
pub(crate) use ragged::Ragged;
pub use ragged::RaggedBatch;
pub use slot::Slot;
pub(crate) use slot::Slots;
pub use spec::{ColumnSpec, Length, Spec};
pub use typed::Typed;
