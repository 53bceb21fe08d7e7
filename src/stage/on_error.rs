//! `on_error`: what becomes of an item that failed.
//!
//! Without it, an item's error comes in the item's place and the consumer decides. With it, errors end the epoch, are
//! passed over within a budget, or give way to other items. Fatal errors are never touched: what is broken stays so.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::data::Length;
use crate::error::{Error, Result, caught};
use crate::plumbing::{Outline, Pull, Run, Running, Stage, Upstream};
use crate::state::Position;
use crate::stream::Stream;

impl<T: Send + 'static> Stream<T> {
    /// The same items, those that failed treated as `policy` says.
    ///
    /// Items that were passed over are no items any more: positions below count what is delivered. Replaced ones keep
    /// their place, so that lengths stay exact and passing over items stays cheap; below batches of items, which errors come beside,
    /// lengths are not known.
    ///
    /// **Order:** kept · **Holds:** nothing, or the places of a rate's failures · **Threads:** none
    ///
    /// # Errors
    /// While iterating, [`Error::Stopped`] at the first error that the policy does not allow; it ends the epoch.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Failures, OnError};
    ///
    /// let parsed = Dataset::from_generator(|_| ["1", "x", "3"]).try_map(str::parse::<i32>);
    /// let failures = Failures::new();
    /// let good = parsed.clone().on_error(OnError::skip(1).listed(&failures));
    /// assert_eq!(good.iter()?.collect::<Result<Vec<_>, _>>()?, [1, 3]);
    /// assert_eq!(failures.list()[0].text, "try_map, item 1: invalid digit found in string");
    ///
    /// let whole = parsed.on_error(OnError::replace(|place| -(place.item as i32)));
    /// assert_eq!(whole.iter()?.collect::<Result<Vec<_>, _>>()?, [1, -1, 3]);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn on_error(self, policy: OnError<T>) -> Stream<T> {
        self.then(|upstream| OnErrorStage { upstream, policy })
    }
}

/// What becomes of items that failed: what [`on_error`](Stream::on_error) takes.
pub struct OnError<T> {
    rule: Rule<T>,
    failures: Option<Failures>,
}

enum Rule<T> {
    Stop,
    /// At most this many failures in that many items in a row, or in the epoch.
    Skip {
        most: u64,
        within: Option<u64>,
    },
    Replace(Arc<dyn Fn(Position) -> T + Send + Sync>),
}

impl<T> OnError<T> {
    /// The first error ends the epoch.
    pub fn stop() -> OnError<T> {
        OnError { rule: Rule::Stop, failures: None }
    }

    /// Up to `most` items of an epoch are passed over; the next error ends it.
    pub fn skip(most: u64) -> OnError<T> {
        OnError { rule: Rule::Skip { most, within: None }, failures: None }
    }

    /// Up to `most` of any `items` items in a row are passed over; one more ends the epoch.
    pub fn skip_rate(most: u64, items: u64) -> OnError<T> {
        OnError { rule: Rule::Skip { most, within: Some(items) }, failures: None }
    }

    /// The item that `item` makes for the failed one's epoch and place takes its place, so that counts stay equal.
    ///
    /// A function of the place alone gives the same items in every run: another row of a dataset is
    /// [`order`](crate::Dataset::order) at a neighbouring place.
    pub fn replace(item: impl Fn(Position) -> T + Send + Sync + 'static) -> OnError<T> {
        OnError { rule: Rule::Replace(Arc::new(item)), failures: None }
    }

    /// This policy, with every failure noted in `failures`.
    pub fn listed(self, failures: &Failures) -> OnError<T> {
        OnError { failures: Some(failures.clone()), ..self }
    }
}

impl<T> Clone for OnError<T> {
    fn clone(&self) -> OnError<T> {
        let rule = match &self.rule {
            Rule::Stop => Rule::Stop,
            Rule::Skip { most, within } => Rule::Skip { most: *most, within: *within },
            Rule::Replace(item) => Rule::Replace(item.clone()),
        };
        OnError { rule, failures: self.failures.clone() }
    }
}

impl<T> fmt::Display for OnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Rule::Stop => f.write_str("stop"),
            Rule::Skip { most, within: None } => write!(f, "skip({most})"),
            Rule::Skip { most, within: Some(items) } => write!(f, "skip_rate({most}, {items})"),
            Rule::Replace(_) => f.write_str("replace(..)"),
        }
    }
}

impl<T> fmt::Debug for OnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnError({self})")
    }
}

/// Failures of which the text is kept; more are only counted.
const LISTED: usize = 4096;

/// Which items failed, and how: a list shared by whoever holds a clone of it.
///
/// Read it at any time. Stages that run ahead of their consumer note failures ahead of it, too. An item that fails
/// again, in another iterator over its epoch, stands here once. The first 4096 are listed; more are only counted.
#[derive(Clone, Default)]
pub struct Failures {
    noted: Arc<Mutex<Noted>>,
}

#[derive(Default)]
struct Noted {
    listed: BTreeMap<(u64, u64), String>,
    unlisted: u64,
}

/// One failed item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its epoch and its place among the items above the policy.
    pub place: Position,
    /// What its error says.
    pub text: String,
}

impl Failures {
    /// An empty list.
    pub fn new() -> Failures {
        Failures::default()
    }

    /// How many items failed.
    pub fn count(&self) -> u64 {
        self.read(|noted| noted.listed.len() as u64 + noted.unlisted)
    }

    /// The failed items, by epoch and place.
    pub fn list(&self) -> Vec<Failure> {
        let failure = |(&(epoch, item), text): (&(u64, u64), &String)| Failure {
            place: Position { epoch, item },
            text: text.clone(),
        };
        self.read(|noted| noted.listed.iter().map(failure).collect())
    }

    fn note(&self, place: Position, text: String) {
        self.read(|noted| {
            let full = noted.listed.len() >= LISTED;
            match noted.listed.get_mut(&(place.epoch, place.item)) {
                Some(_) => {}
                None if full => noted.unlisted += 1,
                None => drop(noted.listed.insert((place.epoch, place.item), text)),
            }
        });
    }

    fn read<R>(&self, read: impl FnOnce(&mut Noted) -> R) -> R {
        read(&mut self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

struct OnErrorStage<T> {
    upstream: Upstream<T>,
    policy: OnError<T>,
}

impl<T: Send + 'static> Stage for OnErrorStage<T> {
    type Item = T;

    fn outline(&self, run: &Run) -> Result<Outline> {
        if let Rule::Skip { within: Some(0), .. } = self.policy.rule {
            return Err(Error::argument("on_error", "a rate of failures in at least one item", &self.policy));
        }
        let upstream = self.upstream.outline(run)?;
        let length = match (&self.policy.rule, upstream.length) {
            (Rule::Skip { .. }, Length::Exact(1..) | Length::Infinite) => Length::Unknown,
            (Rule::Replace(_), Length::Exact(_)) if upstream.counted().is_none() => Length::Unknown,
            (_, other) => other,
        };
        let uneven = upstream.is_ranked() && matches!(self.policy.rule, Rule::Skip { .. });
        let outline = upstream.step(format!("on_error({})", self.policy)).length(length);
        Ok(match uneven {
            true => outline.warn(
                "on_error above distribute passes over other batches on each rank, so that ranks may take different numbers of steps; \
                 OnError::replace keeps them equal",
            ),
            false => outline,
        })
    }

    fn open(&self, run: &Run) -> Result<Running<T>> {
        Ok(Box::new(OnErrorPull {
            upstream: self.upstream.open(run)?,
            policy: self.policy.clone(),
            place: Position { epoch: run.epoch, item: 0 },
            skipped: 0,
            recent: VecDeque::new(),
        }))
    }

    fn label(&self) -> &'static str {
        "on_error"
    }
}

struct OnErrorPull<T> {
    upstream: Running<T>,
    policy: OnError<T>,
    place: Position,
    skipped: u64,
    /// Places of the last failures, for a rate.
    recent: VecDeque<u64>,
}

impl<T> OnErrorPull<T> {
    /// Whether the failure at `item` may be passed over; counts it if so.
    fn allows(&mut self, item: u64) -> Result<bool> {
        let Rule::Skip { most, within } = self.policy.rule else { return Ok(false) };
        let counted = match within {
            None => self.skipped,
            Some(items) => {
                while self.recent.front().is_some_and(|first| item - first >= items) {
                    self.recent.pop_front();
                }
                self.recent.len() as u64
            }
        };
        if counted >= most {
            return Ok(false);
        }
        if within.is_some() {
            let refused = |_| Error::no_memory("the failures of a rate", counted.saturating_mul(16));
            self.recent.try_reserve(1).map_err(refused)?;
            self.recent.push_back(item);
        }
        self.skipped += 1;
        Ok(true)
    }
}

impl<T: Send> Pull for OnErrorPull<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        loop {
            let place = self.place;
            self.place.item += 1;
            let error = match self.upstream.pull() {
                Err(error) if !error.is_fatal() => error,
                other => return other,
            };
            if let Some(failures) = &self.policy.failures {
                // An error of the user's own may panic when it is asked for its text.
                failures.note(place, caught("on_error", place.item, || Ok(error.to_string()))?);
            }
            if let Rule::Replace(item) = &self.policy.rule {
                return caught("on_error", place.item, || Ok(Some(item(place))));
            }
            if !self.allows(place.item)? {
                return Err(Error::Stopped {
                    position: place.item,
                    skipped: self.skipped,
                    policy: self.policy.to_string(),
                    source: Box::new(error),
                });
            }
        }
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        if let Rule::Replace(_) = self.policy.rule {
            let passed = self.upstream.skip(n)?;
            self.place.item += passed;
            return Ok(passed);
        }
        for done in 0..n {
            if self.pull()?.is_none() {
                return Ok(done);
            }
        }
        Ok(n)
    }
}
