//! Streams: every verb handed on to the stream of batches, rows or other values that it is.

use gristmill::plumbing::Threads;
use gristmill::{Batch, Buckets, Projection, Row, Save, State, Stream as Items};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::any::{Any, any, joined, same};
use crate::array::viewed;
use crate::calls::{flattened, judged, key, mapped, mapped_seeded, scanned, streams};
use crate::dataset::Dataset;
use crate::dtype;
use crate::errors::{self, OrRaise};
use crate::function::{Function, truth};
use crate::generator;
use crate::iter::{Iter, Start};
use crate::policy::{OnErrorValue, PadValue};
use crate::value::Value;
use crate::wait;

/// A recipe; see `gristmill/stream.py`.
#[pyclass(frozen, module = "gristmill._gristmill")]
pub(crate) struct Stream {
    pub(crate) any: Any,
    /// Calls functions of Python while it runs.
    pub(crate) python: bool,
}

#[pymethods]
impl Stream {
    #[staticmethod]
    #[pyo3(signature = (factory, spec=None, length=None))]
    fn from_generator(
        py: Python<'_>,
        factory: Function,
        spec: Option<&Bound<'_, PyDict>>,
        length: Option<u64>,
    ) -> PyResult<Stream> {
        let rows = generator::Items::<Row>::stream(factory, length);
        let spec = spec.map(|columns| dtype::spec(py, columns)).transpose()?;
        Ok(Stream::new(Any::Rows(if let Some(spec) = spec { rows.declare(spec) } else { rows }), true))
    }

    #[staticmethod]
    #[pyo3(signature = (factory, spec=None, length=None))]
    fn from_batches(
        py: Python<'_>,
        factory: Function,
        spec: Option<&Bound<'_, PyDict>>,
        length: Option<u64>,
    ) -> PyResult<Stream> {
        let batches = generator::Items::<Batch>::stream(factory, length);
        let stream = Stream::new(Any::Batches(batches), true);
        match spec {
            Some(columns) => stream.declare(py, columns),
            None => Ok(stream),
        }
    }

    fn __repr__(&self) -> String {
        any!(self, items => format!("{items:?}"))
    }

    /// What the stream carries.
    fn kind(&self) -> &'static str {
        self.any.kind()
    }

    fn length(&self, py: Python<'_>) -> PyResult<(Option<u64>, bool)> {
        let length = any!(self, items => items.length()).or_raise(py)?;
        Ok((length.exact(), length == gristmill::Length::Infinite))
    }

    fn spec<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let spec = any!(self, items => items.spec()).or_raise(py)?;
        spec.map(|spec| dtype::spec_to_python(py, &spec)).transpose()
    }

    fn plan(&self, py: Python<'_>) -> PyResult<(String, usize, u64, Vec<String>)> {
        let plan = any!(self, items => items.plan()).or_raise(py)?;
        Ok((plan.to_string(), plan.threads(), plan.peak_bytes(), plan.warnings))
    }

    fn epoch(&self, py: Python<'_>, epoch: u64) -> PyResult<Iter> {
        let opened = py.detach(|| self.opened(&Start::Epoch(epoch))).or_raise(py)?;
        Ok(Iter::new(opened, self.python))
    }

    fn resume(&self, py: Python<'_>, state: &Bound<'_, PyDict>) -> PyResult<Iter> {
        let text: String = py.import("json")?.call_method1("dumps", (state,))?.extract()?;
        let refused = |e: serde_json::Error| {
            errors::named(py, "ResumeError", &format!("this is no state of a stream: {e}"))
        };
        let state: State = serde_json::from_str(&text).map_err(refused)?;
        let again = self.with(self.any.clone());
        let opened = wait::for_work(py, move || again.opened(&Start::State(Box::new(state))))?;
        Ok(Iter::new(opened, self.python))
    }

    #[pyo3(signature = (to, *, epoch=0, shard_rows=None, afresh=false, progress=None))]
    fn save(
        &self,
        py: Python<'_>,
        to: std::path::PathBuf,
        epoch: u64,
        shard_rows: Option<u64>,
        afresh: bool,
        progress: Option<Function>,
    ) -> PyResult<Dataset> {
        let batches = self.batches(py, "save")?;
        let saved = wait::for_work(py, move || {
            let mut save = Save::to(to).epoch(epoch);
            if let Some(rows) = shard_rows {
                save = save.shard_rows(rows);
            }
            if afresh {
                save = save.afresh();
            }
            if let Some(progress) = progress {
                save = save.progress(move |at| {
                    let told = progress
                        .call(|py| (at.items, at.length.exact(), at.rows).into_pyobject(py), |_| Ok(()));
                    // Nothing but the progress bar hears of its exception.
                    drop(told);
                });
            }
            batches.save(save)
        });
        Ok(Dataset::new(saved?))
    }

    fn threads(&self, py: Python<'_>, which: &str) -> PyResult<Stream> {
        let threads = match which {
            "auto" => Threads::Auto,
            "each_stage" => Threads::EachStage,
            "none" => Threads::None,
            other => {
                let text = format!("threads: expected \"auto\", \"each_stage\" or \"none\", found {other:?}");
                return Err(errors::named(py, "ArgumentError", &text));
            }
        };
        Ok(same!(self, items => items.threads(threads)))
    }

    fn workers(&self, workers: usize) -> Stream {
        same!(self, items => items.workers(workers))
    }

    fn budget(&self, nbytes: u64) -> Stream {
        same!(self, items => items.budget(nbytes))
    }

    fn select(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Stream> {
        self.changed(py, "select", Projection::Select(names))
    }

    fn rename(&self, py: Python<'_>, name: String, to: String) -> PyResult<Stream> {
        self.changed(py, "rename", Projection::Rename(name, to))
    }

    fn cast(&self, py: Python<'_>, name: String, dtype: &Bound<'_, PyAny>) -> PyResult<Stream> {
        self.changed(py, "cast", Projection::Cast(name, dtype::parse(py, dtype)?.0))
    }

    #[pyo3(signature = (f, workers=None))]
    fn map(&self, f: Function, workers: Option<usize>) -> Stream {
        let any = match self.any.clone() {
            Any::Batches(items) => Any::Batches(mapped(items, f, workers)),
            Any::Rows(items) => Any::Rows(mapped(items, f, workers)),
            Any::Values(items) => Any::Batches(mapped(items, f, workers)),
        };
        Stream::new(any, true)
    }

    #[pyo3(signature = (f, seed, workers=None))]
    fn map_seeded(&self, f: Function, seed: u64, workers: Option<usize>) -> Stream {
        let any = match self.any.clone() {
            Any::Batches(items) => Any::Batches(mapped_seeded(items, f, seed, workers)),
            Any::Rows(items) => Any::Rows(mapped_seeded(items, f, seed, workers)),
            Any::Values(items) => Any::Batches(mapped_seeded(items, f, seed, workers)),
        };
        Stream::new(any, true)
    }

    fn flat_map(&self, f: Function) -> Stream {
        let any = match self.any.clone() {
            Any::Batches(items) => Any::Batches(flattened(items, f)),
            Any::Rows(items) => Any::Rows(flattened(items, f)),
            Any::Values(items) => Any::Batches(flattened(items, f)),
        };
        Stream::new(any, true)
    }

    fn scan(&self, start: Function, f: Function) -> Stream {
        let any = match self.any.clone() {
            Any::Batches(items) => Any::Batches(scanned(items, start, f)),
            Any::Rows(items) => Any::Rows(scanned(items, start, f)),
            Any::Values(items) => Any::Batches(scanned(items, start, f)),
        };
        Stream::new(any, true)
    }

    fn flat_map_stream(&self, f: Function) -> Stream {
        Stream::new(Any::Batches(any!(self, items => items.clone().flat_map_stream(streams(f)))), true)
    }

    fn interleave(&self, f: Function, cycle: usize, block: usize) -> Stream {
        Stream::new(
            Any::Batches(any!(self, items => items.clone().interleave(cycle, block, streams(f)))),
            true,
        )
    }

    fn par_interleave(&self, f: Function, cycle: usize, block: usize) -> Stream {
        Stream::new(
            Any::Batches(any!(self, items => items.clone().par_interleave(cycle, block, streams(f)))),
            true,
        )
    }

    fn par_interleave_unordered(&self, f: Function, workers: usize) -> Stream {
        Stream::new(
            Any::Batches(any!(self, items => items.clone().par_interleave_unordered(workers, streams(f)))),
            true,
        )
    }

    fn filter(&self, keep: Function) -> Stream {
        let stream = Stream::new(self.any.clone(), true);
        same!(stream, items => items.try_filter(move |item| keep.of(item.clone(), viewed, truth)))
    }

    fn take_while(&self, go_on: Function) -> Stream {
        let stream = Stream::new(self.any.clone(), true);
        same!(stream, items => judged(items, go_on, truth).take_while(|(go_on, _)| *go_on).map(|(_, item)| item))
    }

    fn inspect(&self, look: Function) -> Stream {
        let stream = Stream::new(self.any.clone(), true);
        same!(stream, items => judged(items, look, |_| Ok(())).map(|((), item)| item))
    }

    fn unique_by(&self, by: Function) -> Stream {
        let stream = Stream::new(self.any.clone(), true);
        same!(stream, items => {
            let keyed = judged(items, by, key).map(|(key, item)| (std::sync::Arc::new(key), item));
            keyed.unique_by(|(key, _)| key.clone()).map(|(_, item)| item)
        })
    }

    fn resample(&self, classes: Function, shares: Vec<(f64, f64)>, seed: u64) -> Stream {
        let stream = Stream::new(self.any.clone(), true);
        let class = |answer: &Bound<'_, PyAny>| answer.call_method0("__index__")?.extract::<usize>();
        same!(stream, items => judged(items, classes, class).resample(seed, shares, |(class, _)| *class).map(|(_, item)| item))
    }

    fn group_by_window(&self, by: Function, size: usize) -> Stream {
        let values = any!(self, items => {
            let groups = judged(items.clone(), by, key).map(|(key, item)| (std::sync::Arc::new(key), item));
            let groups = groups.group_by_window(size, |(key, _)| key.clone());
            groups.map(|group| group.into_iter().map(|(_, item)| item).collect::<Vec<_>>().into())
        });
        Stream::new(Any::Values(values), true)
    }

    fn on_error(&self, policy: OnErrorValue) -> Stream {
        same!(self, items => items.on_error(policy.policy()))
    }

    fn declare(&self, py: Python<'_>, spec: &Bound<'_, PyDict>) -> PyResult<Stream> {
        let spec = dtype::spec(py, spec)?;
        match self.any.clone() {
            Any::Batches(items) => Ok(self.with(Any::Batches(items.declare(spec)))),
            Any::Rows(items) => Ok(self.with(Any::Rows(items.declare(spec)))),
            Any::Values(_) => Err(errors::named(
                py,
                "SpecError",
                "declare: expected a stream of batches or rows, found other items",
            )),
        }
    }

    fn assert_len(&self, n: u64) -> Stream {
        same!(self, items => items.assert_len(n))
    }

    fn take(&self, n: u64) -> Stream {
        same!(self, items => items.take(n))
    }

    fn skip(&self, n: u64) -> Stream {
        same!(self, items => items.skip(n))
    }

    fn repeat(&self, times: u64) -> Stream {
        same!(self, items => items.repeat(times))
    }

    fn repeat_forever(&self) -> Stream {
        same!(self, items => items.repeat_forever())
    }

    fn concat(&self, py: Python<'_>, other: &Bound<'_, Stream>) -> PyResult<Stream> {
        let first = Bound::new(py, self.with(self.any.clone()))?;
        joined!(py, "concat", [&first, other].map(Clone::clone), items => {
            let mut items = items.into_iter();
            match (items.next(), items.next()) {
                (Some(first), Some(second)) => first.concat(second),
                _ => return Err(errors::named(py, "ArgumentError", "concat: expected two streams")),
            }
        })
    }

    fn zip(&self, other: &Stream) -> Stream {
        let values = |stream: &Stream| any!(stream, items => items.clone().map(Into::into));
        let (left, right): (Items<Value>, Items<Value>) = (values(self), values(other));
        Stream::new(Any::Values(left.zip(right).map(Into::into)), self.python || other.python)
    }

    #[pyo3(signature = (start=0))]
    fn enumerate(&self, start: u64) -> Stream {
        self.with(Any::Values(any!(self, items => items.clone().enumerate_from(start).map(Into::into))))
    }

    #[pyo3(signature = (size, shift, stride=1))]
    fn window(&self, size: usize, shift: usize, stride: usize) -> Stream {
        self.with(Any::Values(any!(self, items => items.clone().window(size, shift, stride).map(Into::into))))
    }

    #[pyo3(signature = (size, shift, stride=1))]
    fn window_exact(&self, size: usize, shift: usize, stride: usize) -> Stream {
        self.with(Any::Values(
            any!(self, items => items.clone().window_exact(size, shift, stride).map(Into::into)),
        ))
    }

    #[staticmethod]
    #[pyo3(signature = (streams, weights, to_end=false))]
    fn mix(
        py: Python<'_>,
        streams: Vec<Bound<'_, Stream>>,
        weights: Vec<u64>,
        to_end: bool,
    ) -> PyResult<Stream> {
        if streams.len() != weights.len() {
            let text = format!(
                "mix: expected a weight for each of {} streams, found {}",
                streams.len(),
                weights.len()
            );
            return Err(errors::named(py, "ArgumentError", &text));
        }
        joined!(py, "mix", streams, items => {
            let parts = items.into_iter().zip(weights);
            if to_end { Items::mix_to_end(parts) } else { Items::mix(parts) }
        })
    }

    #[staticmethod]
    #[pyo3(signature = (streams, choices, to_end=false))]
    fn choose(
        py: Python<'_>,
        streams: Vec<Bound<'_, Stream>>,
        choices: Vec<usize>,
        to_end: bool,
    ) -> PyResult<Stream> {
        joined!(py, "choose", streams, items => {
            if to_end { Items::choose_to_end(items, choices) } else { Items::choose(items, choices) }
        })
    }

    fn shuffle_buffer(&self, items: usize, seed: u64) -> Stream {
        same!(self, stream => stream.shuffle_buffer(items, seed))
    }

    fn cache(&self) -> Stream {
        same!(self, items => items.cache())
    }

    fn cache_bytes(&self, nbytes: u64) -> Stream {
        same!(self, items => items.cache_bytes(nbytes))
    }

    fn cache_file(&self, py: Python<'_>, to: std::path::PathBuf) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.batches(py, "cache_file")?.cache_file(to))))
    }

    fn prefetch(&self, items: usize) -> Stream {
        same!(self, stream => stream.prefetch(items))
    }

    fn prefetch_bytes(&self, nbytes: u64) -> Stream {
        same!(self, items => items.prefetch_bytes(nbytes))
    }

    fn prefetch_auto(&self) -> Stream {
        same!(self, items => items.prefetch_auto())
    }

    fn unbatch(&self, py: Python<'_>) -> PyResult<Stream> {
        Ok(self.with(Any::Rows(self.batches(py, "unbatch")?.unbatch())))
    }

    fn rebatch(&self, py: Python<'_>, sizes: Vec<usize>) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.batches(py, "rebatch")?.rebatch(sizes))))
    }

    fn rebatch_exact(&self, py: Python<'_>, sizes: Vec<usize>) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.batches(py, "rebatch_exact")?.rebatch_exact(sizes))))
    }

    fn pad_to(&self, py: Python<'_>, n: u64) -> PyResult<Stream> {
        match self.any.clone() {
            Any::Batches(items) => Ok(self.with(Any::Batches(items.pad_to(n)))),
            _ => Ok(self.with(Any::Rows(self.rows_of(py, "pad_to")?.pad_to(n)))),
        }
    }

    fn batch(&self, py: Python<'_>, rows: usize) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.rows_of(py, "batch")?.batch(rows))))
    }

    fn batch_exact(&self, py: Python<'_>, rows: usize) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.rows_of(py, "batch_exact")?.batch_exact(rows))))
    }

    fn batch_masked(&self, py: Python<'_>, rows: usize) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.rows_of(py, "batch_masked")?.batch_masked(rows))))
    }

    fn padded_batch(&self, py: Python<'_>, rows: usize, pad: PadValue<'_>) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(self.rows_of(py, "padded_batch")?.padded_batch(rows, pad.pad(py)?))))
    }

    fn padded_batch_exact(&self, py: Python<'_>, rows: usize, pad: PadValue<'_>) -> PyResult<Stream> {
        Ok(self.with(Any::Batches(
            self.rows_of(py, "padded_batch_exact")?.padded_batch_exact(rows, pad.pad(py)?),
        )))
    }

    fn ragged_batch(&self, py: Python<'_>, rows: usize) -> PyResult<Stream> {
        Ok(self.with(Any::Values(self.rows_of(py, "ragged_batch")?.ragged_batch(rows).map(Into::into))))
    }

    fn ragged_batch_exact(&self, py: Python<'_>, rows: usize) -> PyResult<Stream> {
        Ok(self.with(Any::Values(
            self.rows_of(py, "ragged_batch_exact")?.ragged_batch_exact(rows).map(Into::into),
        )))
    }

    #[pyo3(signature = (column, boundaries, rows, pad, *, exact=false, to_boundary=Vec::new()))]
    #[allow(clippy::too_many_arguments)]
    fn bucket_by_length(
        &self,
        py: Python<'_>,
        column: String,
        boundaries: Vec<usize>,
        rows: Vec<usize>,
        pad: PadValue<'_>,
        exact: bool,
        to_boundary: Vec<String>,
    ) -> PyResult<Stream> {
        let mut buckets = to_boundary
            .into_iter()
            .fold(Buckets::new(boundaries, rows).pad(pad.pad(py)?), Buckets::to_boundary);
        if exact {
            buckets = buckets.exact();
        }
        // A row without the column is told by what stacks it.
        let length = move |row: &Row| {
            let column = row.spec().columns.iter().find(|c| c.name == column);
            column.and_then(|column| column.shape.first().copied()).unwrap_or(0)
        };
        Ok(self.with(Any::Batches(self.rows_of(py, "bucket_by_length")?.bucket_by_length(buckets, length))))
    }

    fn pack(&self, py: Python<'_>, tokens: usize, open: usize) -> PyResult<Stream> {
        Ok(self.with(Any::Rows(self.rows_of(py, "pack")?.pack(tokens, open))))
    }
}
