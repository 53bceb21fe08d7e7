//! `map`, `try_map`, `par_map` and their seeded forms: one function over every item.
//!
//! Without workers the function runs with the consumer; with workers on lanes, order kept. Passing over items
//! (`skip`, `seek`) passes over the upstream's items without calling the function.

use std::sync::Arc;

use crate::error::{BoxError, Error, Result, caught};
use crate::exec;
use crate::plumbing::{MOST_WORKERS, Outline, Placement, Pull, Run, Running, Stage, Threads, Upstream};
use crate::rng::RandomStream;
use crate::stream::Stream;

/// Which item is being worked on.
#[derive(Clone, Copy)]
pub(super) struct Place {
    epoch: u64,
    position: u64,
}

/// What comes out of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Yields {
    /// The items that went in.
    Same,
    /// Others.
    Others,
    /// Others in every epoch, drawn with this seed.
    Varying(u64),
}

impl Yields {
    /// The seed as an argument among others.
    fn seed(self) -> String {
        if let Yields::Varying(seed) = self { format!("{seed}, ") } else { String::new() }
    }
}

type Work<T, U> = dyn Fn(T, Place) -> Result<U> + Send + Sync;

impl<T: Send + 'static> Stream<T> {
    /// Each item passed through `f`.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let doubled = Dataset::from_generator(|_| 1..4).map(|n| n * 2);
    /// assert_eq!(doubled.iter()?.collect::<Result<Vec<_>, _>>()?, [2, 4, 6]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn map<U: Send + 'static>(self, f: impl Fn(T) -> U + Send + Sync + 'static) -> Stream<U> {
        self.mapped("map", "map(..)".into(), Yields::Others, move |item, _| Ok(f(item)))
    }

    /// Each item passed through `f`, which may fail: the error takes the item's place, and iteration goes on after it.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let parsed = Dataset::from_generator(|_| ["1", "x", "3"]).try_map(str::parse::<i32>);
    /// let seen: Vec<bool> = parsed.iter()?.map(|item| item.is_ok()).collect();
    /// assert_eq!(seen, [true, false, true]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn try_map<U, E>(self, f: impl Fn(T) -> Result<U, E> + Send + Sync + 'static) -> Stream<U>
    where
        U: Send + 'static,
        E: Into<BoxError>,
    {
        self.mapped("try_map", "try_map(..)".into(), Yields::Others, move |item, place| {
            f(item).map_err(|e| failed("try_map", place, e))
        })
    }

    /// Each item passed through `f`, given random numbers of its own: a function of `seed`, the epoch and the item's
    /// position, the same for any number of threads.
    ///
    /// **Order:** kept · **Holds:** nothing · **Threads:** none
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let noisy = Dataset::from_generator(|_| 0..3).map_seeded(7, |n, random| n as f64 + random.uniform());
    /// let first: Vec<f64> = noisy.iter()?.collect::<Result<_, _>>()?;
    /// assert_eq!(first, noisy.iter()?.collect::<Result<Vec<_>, _>>()?);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn map_seeded<U: Send + 'static>(
        self,
        seed: u64,
        f: impl Fn(T, &mut RandomStream) -> U + Send + Sync + 'static,
    ) -> Stream<U> {
        self.mapped(
            "map_seeded",
            format!("map_seeded({seed}, ..)"),
            Yields::Varying(seed),
            move |item, place| Ok(f(item, &mut random(seed, place))),
        )
    }

    /// As [`map`](Stream::map), on `workers` threads at once; 0 takes the stream's [`workers`](Stream::workers).
    ///
    /// **Order:** kept · **Holds:** two items a worker and four · **Threads:** the workers
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let squares = Dataset::from_generator(|_| 0..100u64).par_map(2, |n| n * n);
    /// let expected: Vec<u64> = (0..100).map(|n| n * n).collect();
    /// assert_eq!(squares.iter()?.collect::<Result<Vec<_>, _>>()?, expected);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn par_map<U: Send + 'static>(
        self,
        workers: usize,
        f: impl Fn(T) -> U + Send + Sync + 'static,
    ) -> Stream<U> {
        self.par_mapped("par_map", workers, Yields::Others, move |item, _| Ok(f(item)))
    }

    /// As [`try_map`](Stream::try_map), on `workers` threads at once; 0 takes the stream's [`workers`](Stream::workers).
    ///
    /// **Order:** kept · **Holds:** two items a worker and four · **Threads:** the workers
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let parsed = Dataset::from_generator(|_| ["1", "x", "3"]).par_try_map(2, str::parse::<i32>);
    /// let seen: Vec<bool> = parsed.iter()?.map(|item| item.is_ok()).collect();
    /// assert_eq!(seen, [true, false, true]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn par_try_map<U, E>(
        self,
        workers: usize,
        f: impl Fn(T) -> Result<U, E> + Send + Sync + 'static,
    ) -> Stream<U>
    where
        U: Send + 'static,
        E: Into<BoxError>,
    {
        let f = move |item, place| f(item).map_err(|e| failed("par_try_map", place, e));
        self.par_mapped("par_try_map", workers, Yields::Others, f)
    }

    /// As [`map_seeded`](Stream::map_seeded), on `workers` threads at once; 0 takes the stream's
    /// [`workers`](Stream::workers).
    ///
    /// **Order:** kept · **Holds:** two items a worker and four · **Threads:** the workers
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let one = Dataset::from_generator(|_| 0..20).map_seeded(7, |_, random| random.next_u64());
    /// let many = Dataset::from_generator(|_| 0..20).par_map_seeded(4, 7, |_, random| random.next_u64());
    /// let (one, many): (Vec<u64>, Vec<u64>) =
    ///     (one.iter()?.collect::<Result<_, _>>()?, many.iter()?.collect::<Result<_, _>>()?);
    /// assert_eq!(one, many);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn par_map_seeded<U: Send + 'static>(
        self,
        workers: usize,
        seed: u64,
        f: impl Fn(T, &mut RandomStream) -> U + Send + Sync + 'static,
    ) -> Stream<U> {
        self.par_mapped("par_map_seeded", workers, Yields::Varying(seed), move |item, place| {
            Ok(f(item, &mut random(seed, place)))
        })
    }

    /// A map that runs with its consumer; verbs that only look at or check items are made of it, and what is known of
    /// their items stays known.
    pub(super) fn mapped_same<U: Send + 'static>(
        self,
        label: &'static str,
        call: String,
        work: impl Fn(T, Place) -> Result<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.mapped(label, call, Yields::Same, work)
    }

    fn mapped<U: Send + 'static>(
        self,
        label: &'static str,
        call: String,
        yields: Yields,
        work: impl Fn(T, Place) -> Result<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.then(|upstream| MapStage { upstream, label, call, yields, workers: None, work: Arc::new(work) })
    }

    fn par_mapped<U: Send + 'static>(
        self,
        label: &'static str,
        workers: usize,
        yields: Yields,
        work: impl Fn(T, Place) -> Result<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        let call = format!("{label}({workers}, {}..)", yields.seed());
        let (workers, work) = (Some(workers), Arc::new(work));
        self.then(|upstream| MapStage { upstream, label, call, yields, workers, work })
    }
}

fn failed(stage: &'static str, place: Place, error: impl Into<BoxError>) -> Error {
    Error::User { stage, position: place.position, source: error.into() }
}

fn random(seed: u64, place: Place) -> RandomStream {
    RandomStream::new(seed, "map", place.epoch, place.position)
}

struct MapStage<T, U> {
    upstream: Upstream<T>,
    label: &'static str,
    call: String,
    yields: Yields,
    workers: Option<usize>,
    work: Arc<Work<T, U>>,
}

impl<T, U> MapStage<T, U> {
    /// Workers to use in `run`; `None` to run with the consumer.
    fn lanes(&self, run: &Run) -> Option<usize> {
        match (run.settings.threads, self.workers) {
            (Threads::None, _) | (_, None) => None,
            (_, Some(0)) => Some(run.workers()),
            (_, Some(n)) => Some(n.min(MOST_WORKERS)),
        }
    }
}

impl<T: Send + 'static, U: Send + 'static> Stage for MapStage<T, U> {
    type Item = U;

    fn outline(&self, run: &Run) -> Result<Outline> {
        let mut outline = self.upstream.outline(run)?.step(self.call.clone());
        if self.yields != Yields::Same {
            outline = outline.columns(None).sized(None);
        }
        if let Yields::Varying(_) = self.yields {
            outline = outline.varying(self.label);
        }
        if self.workers.is_some() {
            outline = outline.identified(&format!("{}({}..)", self.label, self.yields.seed()));
        }
        Ok(match self.lanes(run) {
            Some(workers) => outline.threads(workers, 0).holds(exec::in_flight(workers) as u64),
            None => outline,
        })
    }

    fn open(&self, run: &Run) -> Result<Running<U>> {
        let (work, epoch, label) = (self.work.clone(), run.epoch, self.label);
        let Some(workers) = self.lanes(run) else {
            return Ok(Box::new(MapPull {
                upstream: self.upstream.open(run)?,
                label,
                work,
                epoch,
                position: 0,
            }));
        };
        let stop = run.stop.child();
        let upstream = self.upstream.open(&Run { stop: stop.clone(), ..run.clone() })?;
        Ok(exec::lanes(label, workers, upstream, stop, move |item, position| {
            work(item, Place { epoch, position })
        }))
    }

    fn label(&self) -> &'static str {
        self.label
    }

    fn placement(&self, _run: &Run) -> Result<Placement> {
        Ok(if self.workers.is_some() { Placement::Own } else { Placement::Consumer })
    }
}

struct MapPull<T, U> {
    upstream: Running<T>,
    label: &'static str,
    work: Arc<Work<T, U>>,
    epoch: u64,
    position: u64,
}

impl<T, U> Pull for MapPull<T, U> {
    type Item = U;

    fn pull(&mut self) -> Result<Option<U>> {
        let place = Place { epoch: self.epoch, position: self.position };
        self.position += 1;
        let Some(item) = self.upstream.pull()? else { return Ok(None) };
        caught(self.label, place.position, || (self.work)(item, place)).map(Some)
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        let passed = self.upstream.skip(n)?;
        self.position += passed;
        Ok(passed)
    }
}
