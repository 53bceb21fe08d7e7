//! A link: a pull made from a pull, with a thread and a bounded channel between.
//!
//! Items cross in bursts, so that many of them pay one wake-up. The producer collects a burst in its hand, which is open to
//! the consumer, and sends it when it is full. A consumer that finds the channel empty gives a burst a moment to fill, then
//! takes what lies in the hand; if that is nothing, the producer is told to send the next item at once: none is kept from a consumer
//! while its producer is busy with the next. Items in the channel and in both hands are never more than the link's depth.
//!
//! To put a thread to sleep and to wake it takes both sides longer than a small batch does. So a consumer looks again for a while,
//! in ever longer steps, before it sleeps; for a shorter while where threads have to share cores.

use std::sync::{Arc, PoisonError};
use std::vec::IntoIter;

use super::sync::{FILLING, JoinHandle, LOOKS, Mutex, Receiver, Sender, TryRecvError, bounded, pause};
use super::{cores_to_spare, spawn};
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

/// A burst being collected.
struct Hand<T> {
    items: Vec<Result<T>>,
    /// The consumer has nothing: the next item is to be sent at once.
    awaited: bool,
}

type Open<T> = Arc<Mutex<Hand<T>>>;

enum Message<T> {
    Burst(Vec<Result<T>>),
    End,
}

enum Phase<T> {
    Waiting(Running<T>),
    Moving { inlet: Inlet<T>, thread: JoinHandle<()> },
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
        let hand = Arc::new(Mutex::new(Hand { items: Vec::new(), awaited: false }));
        let carrier = Carrier { label: self.label, first: self.passed, burst, hand: hand.clone(), sender };
        let thread = spawn(self.label, move || carrier.carry(upstream))?;
        self.state = Phase::Moving { inlet: Inlet { messages, hand }, thread };
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
                Phase::Moving { inlet, .. } => inlet.receive(),
                Phase::Ended => return Ok(None),
                Phase::Waiting(_) => {
                    if let Phase::Waiting(upstream) = std::mem::replace(&mut self.state, Phase::Ended) {
                        self.start(upstream)?;
                    }
                    continue;
                }
            };
            match message {
                Some(Message::Burst(items)) => self.burst = items.into_iter(),
                Some(Message::End) => self.finish(),
                None => {
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
        if let Phase::Moving { inlet, thread } = std::mem::replace(&mut self.state, Phase::Ended) {
            drop(inlet);
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

/// The consumer's side of a link.
struct Inlet<T> {
    messages: Receiver<Message<T>>,
    hand: Open<T>,
}

impl<T> Inlet<T> {
    /// The next message; `None` when the channel has closed without an end.
    fn receive(&self) -> Option<Message<T>> {
        for look in 0..FILLING {
            match self.messages.try_recv() {
                Err(TryRecvError::Empty) => pause(look),
                other => return other.ok(),
            }
        }
        if let Some(items) = self.take() {
            return Some(Message::Burst(items));
        }
        let looks = if cores_to_spare() { LOOKS } else { FILLING };
        for look in FILLING..looks {
            match self.messages.try_recv() {
                Err(TryRecvError::Empty) => pause(look),
                other => return other.ok(),
            }
        }
        self.messages.recv().ok()
    }

    /// What lies in the hand, unless a burst was sent since, which comes before it. If it is empty, the next item will be sent.
    fn take(&self) -> Option<Vec<Result<T>>> {
        let mut hand = self.hand.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.messages.is_empty() {
            return None;
        }
        hand.awaited = hand.items.is_empty();
        (!hand.awaited).then(|| std::mem::take(&mut hand.items))
    }
}

/// The producer's side of a link.
struct Carrier<T> {
    label: &'static str,
    first: u64,
    burst: usize,
    hand: Open<T>,
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
        let mut hand = self.hand.lock().unwrap_or_else(PoisonError::into_inner);
        hand.items.extend(item);
        if hand.items.is_empty() || !(ends || hand.awaited || hand.items.len() >= self.burst) {
            return true;
        }
        hand.awaited = false;
        // The next burst is likely as large.
        let room = Vec::with_capacity(hand.items.len());
        let burst = std::mem::replace(&mut hand.items, room);
        // Sending may wait for the consumer, who may be about to look into the hand.
        drop(hand);
        self.sender.send(Message::Burst(burst)).is_ok()
    }
}
