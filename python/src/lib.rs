//! The extension module of the Python package: streams, their iterators and arrays over the crate's public interface.
//!
//! Thin on purpose. What a user of Python sees, with its documentation, is in `gristmill/`; here verbs are handed on, values are
//! converted, and waiting is made so that the interpreter goes on and signals are answered.

mod any;
mod array;
mod calls;
mod dataset;
mod dtype;
mod errors;
mod function;
mod generator;
mod iter;
mod memory;
mod policy;
mod stream;
mod value;
mod wait;

use pyo3::prelude::*;

#[pymodule]
mod _gristmill {
    #[pymodule_export]
    use crate::array::Block;
    #[pymodule_export]
    use crate::dataset::{Dataset, Npy, Raw};
    #[pymodule_export]
    use crate::iter::Iter;
    #[pymodule_export]
    use crate::policy::Failures;
    #[pymodule_export]
    use crate::stream::Stream;
}
