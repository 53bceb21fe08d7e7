//! `par_interleave_unordered`: streams made from items, read at once, their items in whatever order they are ready.
//!
//! Every worker reads one stream at a time to its end and then takes the next. A slow stream holds up nobody; what that costs is the
//! order, and with it everything that follows from an order.

use std::sync::Arc;

use crate::data::Length;
use crate::error::{Error, Result, caught};
use crate::exec;
use crate::plumbing::{MOST_WORKERS, Outline, Placement, Pull, Run, Running, Stage, Threads, Upstream};
use crate::stream::Stream;

const VERB: &str = "par_interleave_unordered";

impl<T: Send + 'static> Stream<T> {
    /// Items of the streams that `f` makes of this stream's items, `workers` of them read at a time, each by a thread of its
    /// own, in whatever order they are ready. The items of one stream keep their order.
    ///
    /// The fastest way to read sources whose speeds differ, and the only verb whose order depends on timing: two runs give
    /// the same items in different orders, and a [`position`](crate::Iter::position) counts items without naming them, so
    /// that a run cannot be continued: `seek` and `resume` refuse. The plan warns of it.
    /// [`par_interleave`](Stream::par_interleave) is the same with its order fixed.
    ///
    /// **Order:** none · **Holds:** `workers` streams, and 17 items a worker in all · **Threads:** the workers, and those of the streams
    ///
    /// # Errors
    /// [`Error::Argument`] for no workers. While iterating, what keeps a stream from being opened; it ends the epoch.
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let files = Dataset::from_generator(|_| 0..9u64);
    /// let rows = files.par_interleave_unordered(4, |n| Dataset::from_generator(move |_| (0..5).map(move |i| 5 * n + i)));
    /// let mut seen: Vec<u64> = rows.iter()?.collect::<Result<_, _>>()?;
    /// seen.sort();
    /// assert_eq!(seen, (0..45).collect::<Vec<_>>());
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn par_interleave_unordered<U: Send + 'static>(
        self,
        workers: usize,
        f: impl Fn(T) -> Stream<U> + Send + Sync + 'static,
    ) -> Stream<U> {
        self.then(|upstream| UnorderedStage { upstream, workers, f: Arc::new(f) })
    }
}

struct UnorderedStage<T, F> {
    upstream: Upstream<T>,
    workers: usize,
    f: Arc<F>,
}

impl<T, F> UnorderedStage<T, F> {
    /// Streams read at once; `None` to read one after the other with the consumer.
    fn workers(&self, run: &Run) -> Option<usize> {
        match run.settings.threads {
            Threads::None => None,
            _ => Some(self.workers.min(MOST_WORKERS)),
        }
    }
}

impl<T, U, F> Stage for UnorderedStage<T, F>
where
    T: Send + 'static,
    U: Send + 'static,
    F: Fn(T) -> Stream<U> + Send + Sync + 'static,
{
    type Item = U;

    fn outline(&self, run: &Run) -> Result<Outline> {
        if self.workers == 0 {
            return Err(Error::argument(VERB, "at least one worker", 0));
        }
        let upstream = self.upstream.outline(run)?;
        let call = format!("{VERB}({}, ..)", self.workers);
        let outline = upstream.step(call).length(Length::Unknown).columns(None).sized(None).unordered().warn(
            "par_interleave_unordered gives its items in whatever order they are ready: another in each run, and none that a position \
             could continue; par_interleave keeps one",
        );
        Ok(match self.workers(run) {
            Some(workers) => outline.threads(workers, 0).holds(exec::swarming(workers) as u64),
            None => outline,
        })
    }

    fn open(&self, run: &Run) -> Result<Running<U>> {
        let f = self.f.clone();
        let Some(workers) = self.workers(run) else {
            let upstream = self.upstream.open(run)?;
            let run = run.clone();
            return Ok(Box::new(InTurnPull { upstream, run, f, position: 0, current: None }));
        };
        let run = Run { stop: run.stop.child(), ..run.clone() };
        let (upstream, stop) = (self.upstream.open(&run)?, run.stop.clone());
        Ok(exec::swarm(VERB, workers, upstream, stop, move |item, _| f(item).running(&run.hosted())))
    }

    fn label(&self) -> &'static str {
        VERB
    }

    fn placement(&self, _run: &Run) -> Result<Placement> {
        Ok(Placement::Own)
    }
}

/// One stream after the other, for a run without threads.
struct InTurnPull<T, U, F> {
    upstream: Running<T>,
    run: Run,
    f: Arc<F>,
    position: u64,
    current: Option<Running<U>>,
}

impl<T, U, F> Pull for InTurnPull<T, U, F>
where
    U: Send + 'static,
    F: Fn(T) -> Stream<U> + Send + Sync,
{
    type Item = U;

    fn pull(&mut self) -> Result<Option<U>> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some(item) = current.pull()? {
                    return Ok(Some(item));
                }
                self.current = None;
            }
            let position = self.position;
            self.position += 1;
            let Some(item) = self.upstream.pull()? else { return Ok(None) };
            self.current = Some(caught(VERB, position, || (self.f)(item).running(&self.run))?);
        }
    }
}
