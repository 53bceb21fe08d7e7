//! Lanes: n workers over one upstream, results in upstream order.
//!
//! A worker takes a permit, then the next item and its ticket number in one step, works on it, and puts the result
//! into slot `ticket mod slots` of a fixed ring; the consumer reads the slots in turn and gives a permit back for each.
//! There are as many permits as slots, so no two open tickets share a slot: order needs no map, a free worker takes
//! whatever is next, and one slow item stops the others after a full ring, not after the epoch.

use std::sync::{Arc, PoisonError};

use super::spawn;
use super::sync::{JoinHandle, Mutex, Receiver, SLACK, Sender, bounded};
use crate::error::{Error, Result, caught};
use crate::plumbing::{Pull, Running, Stop, pull_past};

/// Applies `work` to each item of `upstream` on `workers` threads, order kept. `work` is given the item's position.
pub(crate) fn lanes<T, U>(
    label: &'static str,
    workers: usize,
    upstream: Running<T>,
    stop: Stop,
    work: impl Fn(T, u64) -> Result<U> + Send + Sync + 'static,
) -> Running<U>
where
    T: Send + 'static,
    U: Send + 'static,
{
    Box::new(Lanes {
        label,
        workers: workers.max(1),
        stop,
        passed: 0,
        state: Phase::Waiting(upstream, Arc::new(work)),
    })
}

/// Items that are being worked on or lie ready, at most.
pub(crate) fn in_flight(workers: usize) -> usize {
    2 * workers.max(1) + SLACK
}

type Work<T, U> = dyn Fn(T, u64) -> Result<U> + Send + Sync;

enum Message<U> {
    Item(Result<U>),
    End,
}

enum Phase<T, U> {
    Waiting(Running<T>, Arc<Work<T, U>>),
    Moving {
        slots: Vec<Receiver<Message<U>>>,
        permits: Sender<()>,
        next: usize,
        threads: Vec<JoinHandle<()>>,
    },
    Ended,
}

struct Lanes<T, U> {
    label: &'static str,
    workers: usize,
    stop: Stop,
    passed: u64,
    state: Phase<T, U>,
}

/// What the workers share: the upstream, and the number of its next item.
struct Feed<T> {
    upstream: Option<Running<T>>,
    ticket: u64,
}

struct Lane<T, U> {
    label: &'static str,
    first: u64,
    permits: Receiver<()>,
    feed: Arc<Mutex<Feed<T>>>,
    work: Arc<Work<T, U>>,
    slots: Vec<Sender<Message<U>>>,
}

impl<T: Send + 'static, U: Send + 'static> Lanes<T, U> {
    fn start(&mut self, upstream: Running<T>, work: Arc<Work<T, U>>) -> Result<()> {
        let ring = in_flight(self.workers);
        let (senders, slots): (Vec<_>, Vec<_>) = (0..ring).map(|_| bounded(1)).unzip();
        let (permits, taken) = bounded(ring);
        for _ in 0..ring {
            // Room for all of them: the channel was made this large.
            let _ = permits.try_send(());
        }
        let feed = Arc::new(Mutex::new(Feed { upstream: Some(upstream), ticket: 0 }));
        let mut threads = Vec::with_capacity(self.workers);
        for _ in 0..self.workers {
            let (label, first) = (self.label, self.passed);
            let lane = Lane {
                label,
                first,
                permits: taken.clone(),
                feed: feed.clone(),
                work: work.clone(),
                slots: senders.clone(),
            };
            match spawn(label, move || lane.run()) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    self.stop.stop();
                    drop((slots, permits));
                    threads.into_iter().for_each(|t| drop(t.join()));
                    return Err(error);
                }
            }
        }
        self.state = Phase::Moving { slots, permits, next: 0, threads };
        Ok(())
    }
}

impl<T: Send + 'static, U: Send + 'static> Pull for Lanes<T, U> {
    type Item = U;

    fn pull(&mut self) -> Result<Option<U>> {
        if let Phase::Waiting(..) = self.state
            && let Phase::Waiting(upstream, work) = std::mem::replace(&mut self.state, Phase::Ended)
        {
            self.start(upstream, work)?;
        }
        let Phase::Moving { slots, permits, next, .. } = &mut self.state else {
            return Ok(None);
        };
        let message = slots[*next].recv();
        *next = (*next + 1) % slots.len();
        // There is room: as many permits as slots. Workers that are gone need none.
        let _ = permits.try_send(());
        match message {
            Ok(Message::Item(item)) => {
                if item.as_ref().is_err_and(Error::is_fatal) {
                    self.stop.stop();
                    self.finish();
                }
                item.map(Some)
            }
            Ok(Message::End) => {
                self.finish();
                Ok(None)
            }
            Err(_) => {
                self.finish();
                Err(Error::Lost { stage: self.label })
            }
        }
    }

    fn skip(&mut self, n: u64) -> Result<u64> {
        if let Phase::Waiting(upstream, _) = &mut self.state {
            let passed = upstream.skip(n)?;
            self.passed += passed;
            return Ok(passed);
        }
        pull_past(self, n)
    }
}

impl<T, U> Lanes<T, U> {
    fn finish(&mut self) {
        if let Phase::Moving { slots, permits, threads, .. } =
            std::mem::replace(&mut self.state, Phase::Ended)
        {
            drop((slots, permits));
            // A worker's panic was delivered as an error, or shows as `Lost`.
            threads.into_iter().for_each(|t| drop(t.join()));
        }
    }
}

impl<T, U> Drop for Lanes<T, U> {
    fn drop(&mut self) {
        self.stop.stop();
        self.finish();
    }
}

impl<T, U> Lane<T, U> {
    /// A worker's thread: takes tickets until the end, a fatal error, or nobody listens.
    fn run(self) {
        while let Some((ticket, message)) = self.step() {
            let ends = match &message {
                Message::Item(item) => item.as_ref().is_err_and(Error::is_fatal),
                Message::End => true,
            };
            // Never waits: the permit that this ticket came with is the slot's. So a fatal error reaches the consumer
            // whatever the other workers wait for, and its leaving ends them.
            let slot = (ticket % self.slots.len() as u64) as usize;
            if self.slots[slot].send(message).is_err() || ends {
                return;
            }
        }
    }

    /// Takes a ticket and works on its item; `None` when the upstream has ended.
    fn step(&self) -> Option<(u64, Message<U>)> {
        self.permits.recv().ok()?;
        let (ticket, item) = {
            let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
            let ticket = feed.ticket;
            let upstream = feed.upstream.as_mut()?;
            let item = caught(self.label, self.first + ticket, || upstream.pull());
            feed.ticket += 1;
            if !matches!(item, Ok(Some(_))) && !matches!(&item, Err(e) if !e.is_fatal()) {
                feed.upstream = None;
            }
            (ticket, item)
        };
        Some((
            ticket,
            match item {
                Ok(Some(item)) => {
                    let position = self.first + ticket;
                    Message::Item(caught(self.label, position, || (self.work)(item, position)))
                }
                Ok(None) => Message::End,
                Err(error) => Message::Item(Err(error)),
            },
        ))
    }
}
