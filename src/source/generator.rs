//! `from_generator`: items that code makes.

use std::sync::Arc;

use crate::data::Length;
use crate::dataset::Dataset;
use crate::error::{BoxError, Error, Result, caught};
use crate::outline::short_name;
use crate::plumbing::{Outline, Placement, Pull, Run, Running, Stage};
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
        Stream::new(Generator { call, factory: Arc::new(move |epoch| factory(epoch).into_iter().map(Ok)) })
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
        let factory =
            move |epoch| factory(epoch).into_iter().map(|item: Result<T, E>| item.map_err(Into::into));
        Stream::new(Generator { call, factory: Arc::new(factory) })
    }
}

struct Generator<F> {
    call: String,
    factory: Arc<F>,
}

impl<T, F, I> Stage for Generator<F>
where
    T: Send + 'static,
    F: Fn(u64) -> I + Send + Sync + 'static,
    I: Iterator<Item = Result<T, BoxError>> + Send + 'static,
{
    type Item = T;

    fn outline(&self, _run: &Run) -> Result<Outline> {
        Ok(Outline::source(self.call.clone(), Length::Unknown))
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        let state = Phase::Waiting(self.factory.clone());
        Ok(Box::new(GeneratorPull { run: run.clone(), position: 0, state }))
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
    position: u64,
    state: Phase<F, I>,
}

impl<T, F, I> Pull for GeneratorPull<F, I>
where
    F: Fn(u64) -> I + Send + Sync,
    I: Iterator<Item = Result<T, BoxError>> + Send,
{
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        self.run.stop.check()?;
        let (epoch, position, state) = (self.run.epoch, self.position, &mut self.state);
        let item = caught("generator", position, || {
            if let Phase::Waiting(factory) = state {
                *state = Phase::Running(factory(epoch));
            }
            match state {
                Phase::Running(items) => Ok(items.next()),
                _ => Ok(None),
            }
        });
        self.position += 1;
        match item {
            Ok(Some(Ok(item))) => Ok(Some(item)),
            Ok(Some(Err(source))) => Err(Error::User { stage: "generator", position, source }),
            Ok(None) => {
                self.state = Phase::Ended;
                Ok(None)
            }
            Err(error) => {
                self.state = Phase::Ended;
                Err(error)
            }
        }
    }
}
