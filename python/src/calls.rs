//! Stages that call functions of Python.

use gristmill::{Batch, Stream as Items};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::{owned, viewed};
use crate::function::{Function, attached};
use crate::generator;
use crate::stream::Stream;
use crate::value::{self, Parse, Value};

/// `items`, each beside what `f` says of it.
pub(crate) fn judged<T, K>(
    items: Items<T>,
    f: Function,
    read: impl Fn(&Bound<'_, PyAny>) -> PyResult<K> + Send + Sync + 'static,
) -> Items<(K, T)>
where
    T: Clone + Into<Value> + Send + 'static,
    K: Send + 'static,
{
    items.try_map(move |item| f.of(item.clone(), viewed, &read).map(|answer| (answer, item)))
}

/// What items are grouped by, or told apart by.
#[derive(FromPyObject, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

pub(crate) fn key(answer: &Bound<'_, PyAny>) -> PyResult<Key> {
    // NumPy's numbers and arrays of one element are keys, too.
    match answer.hasattr("item")? {
        true => answer.call_method0("item")?.extract(),
        false => answer.extract(),
    }
}

pub(crate) fn mapped<T: Into<Value> + Send + 'static, U: Parse>(
    items: Items<T>,
    f: Function,
    workers: Option<usize>,
) -> Items<U> {
    let work = move |item: T| f.of(item, owned, U::parse);
    match workers {
        Some(workers) => items.par_try_map(workers, work),
        None => items.try_map(work),
    }
}

pub(crate) fn mapped_seeded<T: Into<Value> + Send + 'static, U: Parse>(
    items: Items<T>,
    f: Function,
    seed: u64,
    workers: Option<usize>,
) -> Items<U> {
    let work = move |item: T, random: &mut gristmill::RandomStream| f.of_seeded(item, random, U::parse);
    let outcomes = match workers {
        Some(workers) => items.par_map_seeded(workers, seed, work),
        None => items.map_seeded(seed, work),
    };
    outcomes.try_map(|outcome| outcome)
}

/// The stream of batches that `f` makes of each item; one of its exception where it raises one.
pub(crate) fn streams<T: Into<Value> + Send + 'static>(
    f: Function,
) -> impl Fn(T) -> Items<Batch> + Send + Sync + 'static {
    move |item| {
        let made = f.of(item, owned, |made| {
            let native = made.getattr("_native").unwrap_or_else(|_| made.clone());
            let stream = native.cast::<Stream>().map_err(PyErr::from)?;
            stream.get().batches(made.py(), "interleave")
        });
        made.unwrap_or_else(|error| {
            let error = std::sync::Mutex::new(Some(error));
            gristmill::Dataset::try_from_generator(move |_epoch| {
                let error = error.lock().ok().and_then(|mut error| error.take());
                error.map(Err::<Batch, _>)
            })
        })
    }
}

pub(crate) fn flattened<T: Into<Value> + Send + 'static, U: Parse>(items: Items<T>, f: Function) -> Items<U> {
    let items = items.flat_map(move |item| {
        generator::Items::<U>::new(f.of(item, owned, |iterable| Ok(iterable.try_iter()?.unbind())))
    });
    items.try_map(|item| item)
}

pub(crate) fn scanned<T: Into<Value> + Send + 'static, U: Parse>(
    items: Items<T>,
    start: Function,
    f: Function,
) -> Items<U> {
    let begin =
        move |epoch: u64| start.call(|py| PyTuple::new(py, [epoch]), |state| Ok(state.clone().unbind()));
    let step = move |state: &mut crate::function::Outcome<Py<PyAny>>, item: T| {
        let before = match state {
            Ok(before) => attached(|py| Ok(before.clone_ref(py)))?,
            Err(error) => return Err(error.to_string().into()),
        };
        let read = |pair: &Bound<'_, PyAny>| {
            let (after, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            Ok((after.unbind(), U::parse(&item)?))
        };
        let (after, item) =
            f.call(|py| (before, value::to_python(py, item.into(), owned)?).into_pyobject(py), read)?;
        *state = Ok(after);
        Ok::<U, gristmill::BoxError>(item)
    };
    items.scan(begin, step).try_map(|item| item)
}
