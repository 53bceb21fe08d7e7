//! Iterators of Python as iterators of the crate.

use std::marker::PhantomData;

use gristmill::{BoxError, Dataset, Stream};
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

    /// What `factory` makes for an epoch, and for the place of its first item if it can start anywhere.
    pub(crate) fn made_by(factory: &Function, given: &[u64]) -> Items<T> {
        let iterator = |iterable: &Bound<'_, PyAny>| Ok(iterable.try_iter()?.unbind());
        Items::new(factory.call(|py| PyTuple::new(py, given), iterator))
    }
}

impl<T: Parse + Send + 'static> Items<T> {
    /// The stream of what `factory` makes: `len` items that can start anywhere, if that is given.
    pub(crate) fn stream(factory: Function, len: Option<u64>) -> Stream<T> {
        match len {
            None => Dataset::try_from_generator(move |epoch| Items::made_by(&factory, &[epoch])),
            Some(len) => Dataset::try_from_generator_at(len, move |epoch, from| {
                Items::made_by(&factory, &[epoch, from])
            }),
        }
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
