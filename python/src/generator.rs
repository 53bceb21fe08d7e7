//! Iterators of Python as iterators of the crate.

use std::marker::PhantomData;

use gristmill::BoxError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

use crate::function::{Function, Outcome, attached};
use crate::value::Parse;

/// The items of an iterator of Python, or the exception that kept it from being made.
pub(crate) struct Items<T> {
    source: Option<Outcome<Py<PyIterator>>>,
    items: PhantomData<fn() -> T>,
}

impl<T> Items<T> {
    pub(crate) fn new(source: Outcome<Py<PyIterator>>) -> Items<T> {
        Items { source: Some(source), items: PhantomData }
    }

    /// What `factory` makes for `epoch`.
    pub(crate) fn of_epoch(factory: &Function, epoch: u64) -> Items<T> {
        let iterator = |iterable: &Bound<'_, PyAny>| Ok(iterable.try_iter()?.unbind());
        Items::new(factory.call(|py| PyTuple::new(py, [epoch]), iterator))
    }
}

impl<T: Parse> Iterator for Items<T> {
    type Item = Result<T, BoxError>;

    fn next(&mut self) -> Option<Result<T, BoxError>> {
        let iterator = match self.source.take()? {
            Ok(iterator) => iterator,
            Err(error) => return Some(Err(error)),
        };
        let item = attached(|py| match iterator.bind(py).clone().next() {
            Some(item) => T::parse(&item?).map(Some),
            None => Ok(None),
        });
        self.source = Some(Ok(iterator));
        item.transpose()
    }
}

impl<T> Drop for Items<T> {
    /// Lets go of the iterator while attached, so that a generator ends now, on the thread it ran on, and not some time later.
    fn drop(&mut self) {
        if let Some(Ok(iterator)) = self.source.take() {
            Python::try_attach(|py| drop(iterator.into_bound(py)));
        }
    }
}
