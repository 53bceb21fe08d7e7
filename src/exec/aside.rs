//! Work done aside: a thread that takes notes from a bounded channel and acts on each, without an answer.
//!
//! For what is slow, wanted soon, and needed by nobody: advice to the system about files. The thread starts with the first note;
//! where the system gives none, notes are acted on at once.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};

use super::spawn;
use crate::plumbing::Stop;

/// Acts on notes of type `N`, on a thread of its own where there is one.
pub(crate) struct Aside<N> {
    label: &'static str,
    /// Notes that may wait; 0 to act at once, on the caller's thread.
    depth: usize,
    act: Arc<dyn Fn(N) + Send + Sync>,
    running: Option<(Sender<N>, JoinHandle<()>)>,
    stop: Stop,
}

impl<N: Send + 'static> Aside<N> {
    pub(crate) fn new(
        label: &'static str,
        depth: usize,
        stop: &Stop,
        act: impl Fn(N) + Send + Sync + 'static,
    ) -> Aside<N> {
        Aside { label, depth, act: Arc::new(act), running: None, stop: stop.child() }
    }

    /// Hands a note over. Waits while too many wait already.
    pub(crate) fn tell(&mut self, note: N) {
        if self.running.is_none() && self.depth > 0 {
            let (sender, notes) = bounded::<N>(self.depth);
            let (act, stop) = (self.act.clone(), self.stop.clone());
            let work =
                move || notes.into_iter().take_while(|_| stop.check().is_ok()).for_each(|note| act(note));
            match spawn(self.label, work) {
                Ok(thread) => self.running = Some((sender, thread)),
                Err(_) => self.depth = 0,
            }
        }
        match &self.running {
            // A thread that is gone was told to stop: nobody needs the note any more.
            Some((sender, _)) => drop(sender.send(note)),
            None => (self.act)(note),
        }
    }
}

impl<N> Drop for Aside<N> {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            // Nothing was promised that a panic could break.
            let _ = thread.join();
        }
    }
}
