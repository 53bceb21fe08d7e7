//! A link: a pull made from a pull, with a thread and a bounded channel between.
//!
//! Items cross in bursts: a burst is sent when it is full or when the consumer has nothing waiting, so
//! a fast producer pays one wake-up for many items and a slow one delivers each item at once. Items held
//! in the channel and in both hands are never more than the link's depth.

use std::thread::JoinHandle;
use std::vec::IntoIter;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::spawn;
use crate::error::{Error, Result, caught};
use crate::plumbing::{Pull, Running, Stop};

/// Puts `upstream` on a thread of its own, `depth` items ahead of whoever pulls. The thread starts at the first pull.
pub(crate) fn link<T: Send + 'static>(
    label: &'static str,
    depth: usize,
    upstream: Running<T>,
    stop: Stop,
) -> Running<T> {
    Box::new(Link { label, depth, stop, state: State::Waiting(upstream), burst: Vec::new().into_iter() })
}

enum Message<T> {
    Burst(Vec<Result<T>>),
    End,
}

enum State<T> {
    Waiting(Running<T>),
    Moving { messages: Receiver<Message<T>>, thread: JoinHandle<()> },
    Ended,
}

struct Link<T> {
    label: &'static str,
    depth: usize,
    stop: Stop,
    state: State<T>,
    burst: IntoIter<Result<T>>,
}

impl<T: Send + 'static> Link<T> {
    fn start(&mut self, upstream: Running<T>) -> Result<()> {
        // Bursts of an eighth of the depth: (capacity + 1) bursts on the producer's side and one, less the
        // item just handed over, on the consumer's make `depth` items.
        let burst = (self.depth / 8).max(1);
        let capacity = if burst == 1 { self.depth.saturating_sub(1) } else { self.depth / burst - 2 };
        let (sender, messages) = bounded(capacity);
        let label = self.label;
        let thread = spawn(label, move || carry(label, burst, upstream, &sender))?;
        self.state = State::Moving { messages, thread };
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
                State::Moving { messages, .. } => messages.recv(),
                State::Ended => return Ok(None),
                State::Waiting(_) => {
                    if let State::Waiting(upstream) = std::mem::replace(&mut self.state, State::Ended) {
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
        if let State::Waiting(upstream) = &mut self.state {
            return upstream.skip(n);
        }
        for done in 0..n {
            match self.pull() {
                Ok(None) => return Ok(done),
                Err(error) if error.is_fatal() => return Err(error),
                _ => {}
            }
        }
        Ok(n)
    }
}

impl<T> Link<T> {
    fn finish(&mut self) {
        if let State::Moving { messages, thread } = std::mem::replace(&mut self.state, State::Ended) {
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

/// The thread of a link: pulls until the end, a fatal error, or nobody listens.
fn carry<T>(label: &'static str, burst: usize, mut upstream: Running<T>, sender: &Sender<Message<T>>) {
    let mut items = Vec::with_capacity(burst);
    for position in 0.. {
        let ends = match caught(label, position, || upstream.pull()) {
            Ok(Some(item)) => {
                items.push(Ok(item));
                false
            }
            Ok(None) => true,
            Err(error) => {
                let fatal = error.is_fatal();
                items.push(Err(error));
                fatal
            }
        };
        if !items.is_empty() && (ends || items.len() >= burst || sender.is_empty()) {
            let full = std::mem::replace(&mut items, Vec::with_capacity(burst));
            if sender.send(Message::Burst(full)).is_err() {
                return;
            }
        }
        if ends {
            // Before the end is announced, so that what the stages held is let go when the consumer sees it.
            drop(upstream);
            let _ = sender.send(Message::End);
            return;
        }
    }
}
