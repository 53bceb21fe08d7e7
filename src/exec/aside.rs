//! Work done aside: a thread that takes notes from a bounded channel and acts on each, without an answer.
//!
//! For what is slow, wanted soon, and needed by nobody: advice to the system about files. The thread starts with the first note;
//! where the system gives none, notes are acted on at once.

use std::sync::Arc;

use super::spawn;
use super::sync::{JoinHandle, Sender, bounded};
use crate::error::caught;
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
            let (label, act, stop) = (self.label, self.act.clone(), self.stop.clone());
            let wanted = move |_: &N| stop.check().is_ok();
            let work =
                move || notes.into_iter().take_while(wanted).for_each(|note| acted(label, &*act, note));
            match spawn(label, work) {
                Ok(thread) => self.running = Some((sender, thread)),
                Err(_) => self.depth = 0,
            }
        }
        match &self.running {
            // A thread that is gone was told to stop: nobody needs the note any more.
            Some((sender, _)) => drop(sender.send(note)),
            None => acted(self.label, &*self.act, note),
        }
    }
}

/// Acts on a note. Nothing was promised that a panic could break, so it is nobody's error.
fn acted<N>(label: &'static str, act: &dyn Fn(N), note: N) {
    let _ = caught(label, 0, || {
        act(note);
        Ok(())
    });
}

impl<N> Drop for Aside<N> {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}
