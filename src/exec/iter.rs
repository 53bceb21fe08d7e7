//! What the user holds: an iterator that knows where it stands and how long it was waited for.

use std::fmt;
use std::time::{Duration, Instant};

use crate::data::Length;
use crate::error::{Result, caught};
use crate::plumbing::{Run, Running, Stop};
use crate::state::{Identity, Position, State};
use crate::sys::Process;

/// An iterator over one epoch of a [`Stream`](crate::Stream).
///
/// Yields `Result`s. An error of one item takes that item's place and iteration goes on; an error that breaks the
/// pipeline comes once, after all good items before it, and then the iterator ends for good. Dropping it at any moment
/// stops its threads and joins them, within one call of a user's function; so a function that its own
/// stages call must not drop it. In a forked child it gives [`Error::Forked`](crate::Error::Forked) and ends.
pub struct Iter<T> {
    running: Option<Running<T>>,
    run: Run,
    length: Length,
    identity: Identity,
    item: u64,
    failed: bool,
    waited: Duration,
    home: Process,
}

impl<T> Iter<T> {
    pub(crate) fn new(running: Running<T>, run: Run, length: Length, identity: Identity) -> Iter<T> {
        let (running, home) = (Some(running), Process::here());
        Iter { running, run, length, identity, item: 0, failed: false, waited: Duration::ZERO, home }
    }

    /// Where the next item stands. Give it to [`Stream::seek`](crate::Stream::seek) to continue there.
    pub fn position(&self) -> Position {
        Position { epoch: self.run.epoch, item: self.item }
    }

    /// Where the next item stands, and of which stream it is one: all that [`Stream::resume`](crate::Stream::resume) needs. What was
    /// delivered counts, not what was read ahead.
    pub fn state(&self) -> State {
        State::new(self.identity.clone(), self.position())
    }

    /// A flag that ends this run when another thread raises it, as dropping the iterator would: whoever waits in `next` is given
    /// [`Error::Cancelled`](crate::Error::Cancelled), within one call of a user's function.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Error};
    ///
    /// let mut iter = Dataset::from_generator(|_| 0..).filter(|n| *n < 0).iter()?; // waits for ever
    /// let stop = iter.stop_flag();
    /// std::thread::spawn(move || stop.stop());
    /// assert!(matches!(iter.next(), Some(Err(Error::Cancelled))));
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn stop_flag(&self) -> Stop {
        self.run.stop.clone()
    }

    /// How long `next` has taken so far, all calls together: the time the consumer waited for its input.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Passes over `n` items, cheaply where the stages can.
    pub(crate) fn pass(&mut self, n: u64) -> Result<()> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let passed =
            self.home.check("an iterator").and_then(|()| caught("skip", self.item, || running.skip(n)));
        match passed {
            Ok(passed) => {
                self.item += passed;
                Ok(())
            }
            Err(error) => {
                self.end();
                Err(error)
            }
        }
    }

    fn end(&mut self) {
        self.run.stop.stop();
        let running = self.running.take();
        if !self.home.is_here() {
            // Its threads are in the parent: to join them would be to wait for ever.
            std::mem::forget(running);
        }
    }
}

impl<T> Iterator for Iter<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        let running = self.running.as_mut()?;
        let start = Instant::now();
        let item = self.home.check("an iterator").and_then(|()| caught("next", self.item, || running.pull()));
        self.waited += start.elapsed();
        match item {
            Ok(Some(item)) => {
                self.item += 1;
                Some(Ok(item))
            }
            Ok(None) => {
                self.end();
                None
            }
            Err(error) => {
                match error.is_fatal() {
                    true => self.end(),
                    false => (self.item, self.failed) = (self.item + 1, true),
                }
                Some(Err(error))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match (self.length, &self.running) {
            (_, None) => (0, Some(0)),
            // A fatal error can end the epoch at any item, and an error may come beside the items: hence no bound below, and
            // none above once one has come.
            (Length::Exact(n), _) if !self.failed => (0, usize::try_from(n.saturating_sub(self.item)).ok()),
            _ => (0, None),
        }
    }

    /// Passes over `n` items as cheaply as the stages can, so that `iter.skip(n)` is a jump where the order is a function.
    fn nth(&mut self, n: usize) -> Option<Result<T>> {
        if n > 0
            && let Err(error) = self.pass(n as u64)
        {
            return Some(Err(error));
        }
        self.next()
    }
}

impl<T> std::iter::FusedIterator for Iter<T> {}

impl<T> Drop for Iter<T> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<T> fmt::Debug for Iter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({:?}, {})", self.position(), self.length)
    }
}
