//! A bounded channel that does what crossbeam's does, made of the model checker's locks.

use std::collections::VecDeque;
use std::iter;
use std::sync::{Arc, PoisonError};

use shuttle::sync::{Condvar, Mutex, MutexGuard};

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// 0 for a channel that hands over from one thread to the other.
    capacity: usize,
}

struct State<T> {
    queue: VecDeque<T>,
    /// Messages received so far.
    taken: u64,
    senders: usize,
    receivers: usize,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(in crate::exec) struct RecvError;

#[derive(Debug)]
pub(in crate::exec) enum TryRecvError {
    Empty,
    Disconnected,
}

pub(in crate::exec) struct Sender<T>(Arc<Shared<T>>);

pub(in crate::exec) struct Receiver<T>(Arc<Shared<T>>);

pub(in crate::exec) fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let state = Mutex::new(State { queue: VecDeque::new(), taken: 0, senders: 1, receivers: 1 });
    let shared = Arc::new(Shared { state, changed: Condvar::new(), capacity });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Sender<T> {
    /// Waits for room, or, without any capacity, until the message is received.
    pub(in crate::exec) fn send(&self, message: T) -> Result<(), T> {
        let shared = &*self.0;
        let mut state = shared.lock();
        while state.receivers > 0 && state.queue.len() >= shared.capacity.max(1) {
            state = shared.wait(state);
        }
        if state.receivers == 0 {
            return Err(message);
        }
        let number = state.taken + state.queue.len() as u64;
        state.queue.push_back(message);
        shared.changed.notify_all();
        while shared.capacity == 0 && state.receivers > 0 && state.taken <= number {
            state = shared.wait(state);
        }
        match state.queue.pop_back() {
            // Nobody took it, and nobody will.
            Some(message) if shared.capacity == 0 && state.taken <= number => Err(message),
            rest => {
                state.queue.extend(rest);
                Ok(())
            }
        }
    }

    pub(in crate::exec) fn try_send(&self, message: T) -> Result<(), T> {
        let mut state = self.0.lock();
        if state.receivers == 0 || state.queue.len() >= self.0.capacity {
            return Err(message);
        }
        state.queue.push_back(message);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl<T> Receiver<T> {
    pub(in crate::exec) fn recv(&self) -> Result<T, RecvError> {
        let mut state = self.0.lock();
        while state.queue.is_empty() && state.senders > 0 {
            state = self.0.wait(state);
        }
        self.taken(&mut state).ok_or(RecvError)
    }

    pub(in crate::exec) fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.lock();
        let message = self.taken(&mut state);
        message.ok_or(if state.senders > 0 { TryRecvError::Empty } else { TryRecvError::Disconnected })
    }

    pub(in crate::exec) fn is_empty(&self) -> bool {
        self.0.capacity == 0 || self.0.lock().queue.is_empty()
    }

    pub(in crate::exec) fn into_iter(self) -> impl Iterator<Item = T> {
        iter::from_fn(move || self.recv().ok())
    }

    fn taken(&self, state: &mut State<T>) -> Option<T> {
        let message = state.queue.pop_front()?;
        state.taken += 1;
        self.0.changed.notify_all();
        Some(message)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.0.lock().senders += 1;
        Sender(self.0.clone())
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        self.0.lock().receivers += 1;
        Receiver(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().senders -= 1;
        self.0.changed.notify_all();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.receivers -= 1;
        if state.receivers == 0 && self.0.capacity > 0 {
            state.queue.clear();
        }
        self.0.changed.notify_all();
    }
}
