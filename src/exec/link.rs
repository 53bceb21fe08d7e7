//! A link: a pull made from a pull, with a thread and a bounded channel between.
//!
//! Items cross in bursts, so that many of them pay one wake-up. The producer collects a burst in its open hand, and
//! sends it when it is full or when the channel is empty, since the consumer may be waiting then. A consumer that finds the
//! channel empty looks into the hand before it waits: no item is kept from it while the producer is busy with the
//! next. Items in the channel and in both hands are never more than the link's depth.

use std::sync::{Arc, PoisonError};
use std::vec::IntoIter;

use super::spawn;
use super::sync::{JoinHandle, Mutex, Receiver, Sender, TryRecvError, bounded};
use crate::error::{Error, Result, caught};
use crate::plumbing::{Pull, Running, Stop, pull_past};

/// Puts `upstream` on a thread of its own, `depth` items ahead of whoever pulls. The thread starts at the first pull.
pub(crate) fn link<T: Send + 'static>(
    label: &'static str,
    depth: usize,
    upstream: Running<T>,
    stop: Stop,
) -> Running<T> {
    let depth = depth.clamp(1, MOST_ITEMS);
    Box::new(Link {
        label,
        depth,
        stop,
        passed: 0,
        state: Phase::Waiting(upstream),
        burst: Vec::new().into_iter(),
    })
}

/// The deepest link there is; a depth beyond all measure is taken as this.
pub(crate) const MOST_ITEMS: usize = 1 << 20;

/// A burst being collected, open to the consumer.
type Hand<T> = Arc<Mutex<Vec<Result<T>>>>;

enum Message<T> {
    Burst(Vec<Result<T>>),
    End,
}

enum Phase<T> {
    Waiting(Running<T>),
    Moving { messages: Receiver<Message<T>>, hand: Hand<T>, thread: JoinHandle<()> },
    Ended,
}

struct Link<T> {
    label: &'static str,
    depth: usize,
    stop: Stop,
    passed: u64,
    state: Phase<T>,
    burst: IntoIter<Result<T>>,
}

impl<T: Send + 'static> Link<T> {
    fn start(&mut self, upstream: Running<T>) -> Result<()> {
        // Bursts of an eighth of the depth: (capacity + 1) bursts on the producer's side and one, less the
        // item just handed over, on the consumer's make `depth` items.
        let burst = (self.depth / 8).max(1);
        let capacity = if burst == 1 { self.depth.saturating_sub(1) } else { self.depth / burst - 2 };
        let (sender, messages) = bounded(capacity);
        let hand = Hand::default();
        let carrier = Carrier { label: self.label, first: self.passed, burst, hand: hand.clone(), sender };
        let thread = spawn(self.label, move || carrier.carry(upstream))?;
        self.state = Phase::Moving { messages, hand, thread };
        Ok(())
    }
}

impl<T: Send + 'static> Pull for Link<T> {
    type Item = T;

    fn pull(&mut self) -> Result<Option<T>> {
        loop {
            if let Some(item) = self.burst.next() {
                return item.map(Some);
            }
            let message = match &self.state {
                Phase::Moving { messages, hand, .. } => match messages.try_recv() {
                    Err(TryRecvError::Empty) => {
                        let mut open = hand.lock().unwrap_or_else(PoisonError::into_inner);
                        // A burst that was sent since comes before what lies in the hand now.
                        match messages.try_recv() {
                            Err(TryRecvError::Empty) if open.is_empty() => {
                                drop(open);
                                messages.recv().map_err(drop)
                            }
                            Err(TryRecvError::Empty) => Ok(Message::Burst(std::mem::take(&mut *open))),
                            other => other.map_err(drop),
                        }
                    }
                    other => other.map_err(drop),
                },
                Phase::Ended => return Ok(None),
                Phase::Waiting(_) => {
                    if let Phase::Waiting(upstream) = std::mem::replace(&mut self.state, Phase::Ended) {
                        self.start(upstream)?;
                    }
                    continue;
                }
            };
            match message {
                Ok(Message::Burst(items)) => self.burst = items.into_iter(),
                Ok(Message::End) => self.finish(),
                Err(_) => {
                    self.finish();
                    return Err(Error::Lost { stage: self.label });
                }
            }
        }
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        if let Phase::Waiting(upstream) = &mut self.state {
            let passed = upstream.skip(n)?;
            self.passed += passed;
            return Ok(passed);
        }
        pull_past(self, n)
    }
}

impl<T> Link<T> {
    fn finish(&mut self) {
        if let Phase::Moving { messages, thread, .. } = std::mem::replace(&mut self.state, Phase::Ended) {
            drop(messages);
            // A panic of the thread was delivered as an error, or shows as `Lost`.
            let _ = thread.join();
        }
    }
}

impl<T> Drop for Link<T> {
    fn drop(&mut self) {
        self.stop.stop();
        self.finish();
    }
}

/// The producer's side of a link.
struct Carrier<T> {
    label: &'static str,
    first: u64,
    burst: usize,
    hand: Hand<T>,
    sender: Sender<Message<T>>,
}

impl<T> Carrier<T> {
    /// The link's thread: pulls until the end, a fatal error, or nobody listens.
    fn carry(self, mut upstream: Running<T>) {
        for position in self.first.. {
            let item = caught(self.label, position, || upstream.pull()).transpose();
            let ends = item.as_ref().is_none_or(|item| item.as_ref().is_err_and(Error::is_fatal));
            if !self.put(item, ends) {
                return;
            }
            if ends {
                // Before the end is announced, so that what the stages held is let go when the consumer sees it.
                drop(upstream);
                let _ = self.sender.send(Message::End);
                return;
            }
        }
    }

    /// Puts an item into the hand, and sends what is in it if it is time; false when nobody listens.
    fn put(&self, item: Option<Result<T>>, ends: bool) -> bool {
        let mut open = self.hand.lock().unwrap_or_else(PoisonError::into_inner);
        open.extend(item);
        if open.is_empty() || !(ends || open.len() >= self.burst || self.sender.is_empty()) {
            return true;
        }
        let burst = std::mem::take(&mut *open);
        // Sending may wait for the consumer, who may be about to look into the hand.
        drop(open);
        self.sender.send(Message::Burst(burst)).is_ok()
    }
}
