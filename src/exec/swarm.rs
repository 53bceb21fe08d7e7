//! A swarm: n workers that make streams of one upstream's items and pour what comes out into one channel, as it is ready.
//!
//! The only place where the order depends on timing; a verb that uses it says so in its name. The end is a message from
//! each worker; a fatal error is the last thing the consumer sees, whatever the others still have.

use std::sync::{Arc, PoisonError};

use super::spawn;
use super::sync::{JoinHandle, Mutex, Receiver, Sender, bounded};
use crate::error::{Error, Result, caught};
use crate::plumbing::{Pull, Running, Stop};

/// Items that may lie ready for each worker there is; the channel is shared.
const AHEAD: usize = 16;

/// Items that a swarm holds at most: those in the channel, and one in each worker's hand.
pub(crate) fn swarming(workers: usize) -> usize {
    workers.max(1) * (AHEAD + 1)
}

/// What `open` makes of the items of `upstream`, on `workers` threads, in no order. `open` is given the item's position.
pub(crate) fn swarm<T, U>(
    label: &'static str,
    workers: usize,
    upstream: Running<T>,
    stop: Stop,
    open: impl Fn(T, u64) -> Result<Running<U>> + Send + Sync + 'static,
) -> Running<U>
where
    T: Send + 'static,
    U: Send + 'static,
{
    let workers = workers.max(1);
    Box::new(Swarm { label, workers, stop, state: Phase::Waiting(upstream, Arc::new(open)) })
}

type Open<T, U> = dyn Fn(T, u64) -> Result<Running<U>> + Send + Sync;

enum Message<U> {
    Item(Result<U>),
    End,
}

enum Phase<T, U> {
    Waiting(Running<T>, Arc<Open<T, U>>),
    Moving { messages: Receiver<Message<U>>, threads: Vec<JoinHandle<()>>, ended: usize },
    Ended,
}

struct Swarm<T, U> {
    label: &'static str,
    workers: usize,
    stop: Stop,
    state: Phase<T, U>,
}

/// What the workers share: the upstream, while it has not ended, and the number of its next item.
struct Feed<T> {
    upstream: Option<Running<T>>,
    position: u64,
}

struct Worker<T, U> {
    label: &'static str,
    feed: Arc<Mutex<Feed<T>>>,
    open: Arc<Open<T, U>>,
    sender: Sender<Message<U>>,
    stop: Stop,
}

impl<T: Send + 'static, U: Send + 'static> Swarm<T, U> {
    fn start(&mut self, upstream: Running<T>, open: Arc<Open<T, U>>) -> Result<()> {
        let (sender, messages) = bounded(self.workers * AHEAD);
        let feed = Arc::new(Mutex::new(Feed { upstream: Some(upstream), position: 0 }));
        let mut threads = Vec::with_capacity(self.workers);
        for _ in 0..self.workers {
            let label = self.label;
            let (feed, open) = (feed.clone(), open.clone());
            let (sender, stop) = (sender.clone(), self.stop.clone());
            let worker = Worker { label, feed, open, sender, stop };
            match spawn(label, move || worker.run()) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    self.stop.stop();
                    drop(messages);
                    threads.into_iter().for_each(|t| drop(t.join()));
                    return Err(error);
                }
            }
        }
        self.state = Phase::Moving { messages, threads, ended: 0 };
        Ok(())
    }
}

impl<T: Send + 'static, U: Send + 'static> Pull for Swarm<T, U> {
    type Item = U;

    fn pull(&mut self) -> Result<Option<U>> {
        if let Phase::Waiting(..) = self.state
            && let Phase::Waiting(upstream, open) = std::mem::replace(&mut self.state, Phase::Ended)
        {
            self.start(upstream, open)?;
        }
        loop {
            let Phase::Moving { messages, ended, .. } = &mut self.state else { return Ok(None) };
            match messages.recv() {
                Ok(Message::Item(item)) => {
                    if item.as_ref().is_err_and(Error::is_fatal) {
                        self.stop.stop();
                        self.finish();
                    }
                    return item.map(Some);
                }
                Ok(Message::End) => {
                    *ended += 1;
                    if *ended == self.workers {
                        self.finish();
                    }
                }
                Err(_) => {
                    self.finish();
                    return Err(Error::Lost { stage: self.label });
                }
            }
        }
    }
}

impl<T, U> Swarm<T, U> {
    fn finish(&mut self) {
        if let Phase::Moving { messages, threads, .. } = std::mem::replace(&mut self.state, Phase::Ended) {
            drop(messages);
            // A worker's panic was delivered as an error, or shows as `Lost`.
            threads.into_iter().for_each(|t| drop(t.join()));
        }
    }
}

impl<T, U> Drop for Swarm<T, U> {
    fn drop(&mut self) {
        self.stop.stop();
        self.finish();
    }
}

impl<T, U> Worker<T, U> {
    /// A worker's thread: one stream after the other, until there are no more, a fatal error, or nobody listens.
    fn run(self) {
        while let Some((position, item)) = self.next() {
            let running = item.and_then(|item| caught(self.label, position, || (self.open)(item, position)));
            let goes_on = match running {
                Ok(running) => self.pour(running),
                Err(error) => self.send(Err(error)),
            };
            if !goes_on {
                return;
            }
        }
        let _ = self.sender.send(Message::End);
    }

    /// The next item of the upstream and its position, while there are any.
    fn next(&self) -> Option<(u64, Result<T>)> {
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        let position = feed.position;
        let upstream = feed.upstream.as_mut()?;
        // Streams may all be empty: the flag is the only thing that is heard then.
        let pull = || self.stop.check().and_then(|()| upstream.pull());
        let item = caught(self.label, position, pull).transpose();
        feed.position += 1;
        if item.as_ref().is_none_or(|item| item.as_ref().is_err_and(Error::is_fatal)) {
            feed.upstream = None;
        }
        Some((position, item?))
    }

    /// Sends all items of a stream; false when there is no going on.
    fn pour(&self, mut running: Running<U>) -> bool {
        for position in 0.. {
            let Some(item) = caught(self.label, position, || running.pull()).transpose() else { break };
            if !self.send(item) {
                return false;
            }
        }
        true
    }

    /// Sends an item; false when there is no going on.
    fn send(&self, item: Result<U>) -> bool {
        let ends = item.as_ref().is_err_and(Error::is_fatal);
        self.sender.send(Message::Item(item)).is_ok() && !ends
    }
}
