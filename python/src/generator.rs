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
    /// Closes a generator at once, so that what it holds is let go on the thread it ran on.
    fn drop(&mut self) {
        let Some(Ok(iterator)) = self.source.take() else { return };
        let closed = attached(|py| {
            let iterator = iterator.into_bound(py);
            match iterator.hasattr("close")? {
                true => iterator.call_method0("close").map(drop),
                false => Ok(()),
            }
        });
        // An exception in a generator's clean-up has nowhere to go but where Python sends those of destructors.
        if let Err(error) = closed
            && let Ok(error) = error.downcast::<PyErr>()
        {
            Python::try_attach(|py| error.write_unraisable(py, None));
        }
    }
}
