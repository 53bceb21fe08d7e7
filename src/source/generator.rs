//! `from_generator`: items that code makes.

use std::sync::Arc;

use crate::data::Length;
use crate::dataset::Dataset;
use crate::error::{BoxError, Error, Result, caught};
use crate::outline::short_name;
use crate::plumbing::{Outline, Placement, Pull, Run, Running, Stage, pull_past};
use crate::stream::Stream;

/// Items a generator's link holds: enough for bursts, so that an item costs no wake-up of its own.
const LINK: usize = 256;

impl Dataset {
    /// The items of an iterator that `factory` makes anew for every run, given the epoch's number.
    ///
    /// Items may be anything that is `Send`: values that [`batch`](Stream::batch) can stack, or whole
    /// [`Batch`](crate::Batch)es. The iterator is made and runs on a thread of its own, one item after the other; it is
    /// dropped at its end, or when the run is. Seeking replays it.
    ///
    /// **Order:** the iterator's · **Holds:** the items of its link · **Threads:** one
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let squares = Dataset::from_generator(|epoch| (0..4u32).map(move |i| (i, (i as f32 + epoch as f32).powi(2))));
    /// for batch in squares.batch(2).epoch(1)? {
    ///     println!("{:?}", batch?.column::<f32>("1")?);
    /// }
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn from_generator<T, I>(factory: impl Fn(u64) -> I + Send + Sync + 'static) -> Stream<T>
    where
        T: Send + 'static,
        I: IntoIterator<Item = T> + 'static,
        I::IntoIter: Send + 'static,
    {
        let call = format!("from_generator({})", short_name::<T>());
        Generator::stream(call, Length::Unknown, move |epoch, _| factory(epoch).into_iter().map(Ok))
    }

    /// As [`from_generator`](Dataset::from_generator), for an iterator of `Result`s: an error takes its item's place, and
    /// the iterator is asked for more after it.
    ///
    /// **Order:** the iterator's · **Holds:** the items of its link · **Threads:** one
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let parsed = Dataset::try_from_generator(|_epoch| ["1", "x", "3"].map(str::parse::<i64>));
    /// let seen: Vec<bool> = parsed.iter()?.map(|item| item.is_ok()).collect();
    /// assert_eq!(seen, [true, false, true]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn try_from_generator<T, E, I>(factory: impl Fn(u64) -> I + Send + Sync + 'static) -> Stream<T>
    where
        T: Send + 'static,
        E: Into<BoxError> + 'static,
        I: IntoIterator<Item = Result<T, E>> + 'static,
        I::IntoIter: Send + 'static,
    {
        let call = format!("try_from_generator({})", short_name::<T>());
        Generator::stream(call, Length::Unknown, move |epoch, _| {
            factory(epoch).into_iter().map(|item| item.map_err(Into::into))
        })
    }

    /// The `len` items an epoch of an iterator that can start anywhere: `factory` is given the epoch's number and the place of the first
    /// item it shall make, from 0 to `len`. So [`seek`](Stream::seek), [`resume`](Stream::resume) and [`skip`](Stream::skip) jump instead
    /// of replaying, and the length is known.
    ///
    /// **Order:** the iterator's · **Holds:** the items of its link · **Threads:** one
    ///
    /// # Errors
    /// While iterating, [`Error::Spec`] naming the numbers when there are fewer items or more; it ends the epoch.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Length, Position};
    ///
    /// let squares = Dataset::from_generator_at(1_000_000_000, |_epoch, from| (from..1_000_000_000).map(|i| i * i));
    /// assert_eq!(squares.length()?, Length::Exact(1_000_000_000));
    /// let mut late = squares.seek(Position { epoch: 0, item: 999_999_999 })?; // at once
    /// assert_eq!(late.next().transpose()?, Some(999_999_999 * 999_999_999));
    /// assert!(late.next().is_none());
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn from_generator_at<T, I>(
        len: u64,
        factory: impl Fn(u64, u64) -> I + Send + Sync + 'static,
    ) -> Stream<T>
    where
        T: Send + 'static,
        I: IntoIterator<Item = T> + 'static,
        I::IntoIter: Send + 'static,
    {
        let call = format!("from_generator_at({len}, {})", short_name::<T>());
        Generator::stream(call, Length::Exact(len), move |epoch, from| {
            factory(epoch, from).into_iter().map(Ok)
        })
    }

    /// As [`from_generator_at`](Dataset::from_generator_at), for an iterator of `Result`s: an error takes its item's place, and
    /// counts as one.
    ///
    /// **Order:** the iterator's · **Holds:** the items of its link · **Threads:** one
    ///
    /// # Errors
    /// As [`from_generator_at`](Dataset::from_generator_at).
    ///
    /// # Examples
    /// ```
    /// use gristmill::Dataset;
    ///
    /// let texts = ["1", "x", "3"];
    /// let parsed = Dataset::try_from_generator_at(3, move |_epoch, from| {
    ///     texts.into_iter().skip(from as usize).map(str::parse::<i64>)
    /// });
    /// let seen: Vec<bool> = parsed.skip(1).iter()?.map(|item| item.is_ok()).collect();
    /// assert_eq!(seen, [false, true]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn try_from_generator_at<T, E, I>(
        len: u64,
        factory: impl Fn(u64, u64) -> I + Send + Sync + 'static,
    ) -> Stream<T>
    where
        T: Send + 'static,
        E: Into<BoxError> + 'static,
        I: IntoIterator<Item = Result<T, E>> + 'static,
        I::IntoIter: Send + 'static,
    {
        let call = format!("try_from_generator_at({len}, {})", short_name::<T>());
        Generator::stream(call, Length::Exact(len), move |epoch, from| {
            factory(epoch, from).into_iter().map(|item| item.map_err(Into::into))
        })
    }
}

/// An exact length is a promise of the factory: it can start at any item, and there are so many.
struct Generator<F> {
    call: String,
    length: Length,
    factory: Arc<F>,
}

impl<F> Generator<F> {
    fn stream<T, I>(call: String, length: Length, factory: F) -> Stream<T>
    where
        T: Send + 'static,
        F: Fn(u64, u64) -> I + Send + Sync + 'static,
        I: Iterator<Item = Result<T, BoxError>> + Send + 'static,
    {
        Stream::new(Generator { call, length, factory: Arc::new(factory) })
    }
}

impl<T, F, I> Stage for Generator<F>
where
    T: Send + 'static,
    F: Fn(u64, u64) -> I + Send + Sync + 'static,
    I: Iterator<Item = Result<T, BoxError>> + Send + 'static,
{
    type Item = T;

    fn outline(&self, _run: &Run) -> Result<Outline> {
        Ok(Outline::source(self.call.clone(), self.length))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let state = Phase::Waiting(self.factory.clone());
        Ok(Box::new(GeneratorPull { run: run.clone(), length: self.length, position: 0, state }))
    }

    fn label(&self) -> &'static str {
        "generator"
    }

    fn placement(&self, _run: &Run) -> Result<Placement> {
        Ok(Placement::Thread(LINK))
    }
}

enum Phase<F, I> {
    Waiting(Arc<F>),
    Running(I),
    Ended,
}

struct GeneratorPull<F, I> {
    run: Run,
    length: Length,
    position: u64,
    state: Phase<F, I>,
}

impl<F, I> GeneratorPull<F, I> {
    /// Compares what came with the length that was promised.
    fn check_length(&self, came: bool) -> Result<()> {
        let found = match self.length {
            Length::Exact(len) if !came && self.position < len => self.position.to_string(),
            Length::Exact(len) if came && self.position >= len => "more".into(),
            _ => return Ok(()),
        };
        Err(Error::spec("generator", format!("{} items an epoch", self.length), found))
    }
}

impl<T, F, I> Pull for GeneratorPull<F, I>
where
    F: Fn(u64, u64) -> I + Send + Sync,
    I: Iterator<Item = Result<T, BoxError>> + Send,
{
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        self.run.stop.check()?;
        if matches!(self.state, Phase::Ended) {
            return Ok(None);
        }
        let (epoch, position, state) = (self.run.epoch, self.position, &mut self.state);
        let mut item = None;
        // Written in place, as moves cost: see `caught`.
        let made = caught("generator", position, || {
            if let Phase::Waiting(factory) = state {
                *state = Phase::Running(factory(epoch, position));
            }
            if let Phase::Running(items) = state {
                item = items.next();
            }
            Ok(())
        });
        let made = made.and_then(|()| self.check_length(item.is_some()));
        if made.is_err() || item.is_none() {
            self.state = Phase::Ended;
            return made.map(|()| None);
        }
        self.position += 1;
        item.transpose().map_err(|source| Error::User { stage: "generator", position, source })
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        match (&self.state, self.length) {
            (Phase::Waiting(_), Length::Exact(len)) => {
                let passed = n.min(len - self.position);
                self.position += passed;
                Ok(passed)
            }
            _ => pull_past(self, n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plumbing::{Settings, Threads};

    #[test]
    fn after_what_ended_it_there_is_nothing() {
        let fewer = Dataset::from_generator_at(5, |_, from| from..3);
        let more = Dataset::from_generator_at(3, |_, from| from..5);
        let factory = Dataset::from_generator_at(5, |_, from| if from == 0 { panic!("no") } else { 0..5 });
        let item = Dataset::from_generator(|_| (0..).inspect(|n| assert!(*n < 3)));
        let whole = Dataset::from_generator_at(3, |_, from| from..3);
        for (stream, errors) in [(fewer, 1), (more, 1), (factory, 1), (item, 1), (whole, 0)] {
            let settings = Settings { threads: Threads::None, ..Settings::default() };
            let mut pull = stream.upstream().open(&Run::new(0, settings)).unwrap();
            let mut failed = 0;
            while let Some(outcome) = pull.pull().transpose() {
                failed += u32::from(outcome.is_err());
                assert!(failed <= errors, "{stream:?}");
            }
            assert_eq!(failed, errors, "{stream:?}");
            assert!(matches!((pull.pull(), pull.skip(2)), (Ok(None), Ok(0))), "{stream:?}");
        }
    }
}
