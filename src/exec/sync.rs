//! What threads here are made of: the system's parts, or, with `--cfg shuttle`, those of a model checker that tries out orders of steps.
//! `make model` runs the checks in `model`.

pub(super) use parts::{
    Builder, FILLING, JoinHandle, LOOKS, Mutex, Receiver, SLACK, Sender, TryRecvError, bounded, pause,
};

#[cfg(not(all(test, shuttle)))]
mod parts {
    pub(in crate::exec) use std::sync::Mutex;
    pub(in crate::exec) use std::thread::{Builder, JoinHandle};

    pub(in crate::exec) use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};

    /// Looks before a burst that has not filled is taken as it is: 3 us on a machine whose pause takes 28 ns.
    pub(in crate::exec) const FILLING: u32 = 7;

    /// Looks before a consumer sleeps if there are cores to spare: some 100 us, as long as to sleep and to be woken may take.
    pub(in crate::exec) const LOOKS: u32 = 256;

    /// Items that lanes may hold beyond two a worker, since a consumer that has to share a core with a worker takes them late. Two workers
    /// on two cores did the work of 1.80 without, of 1.96 with four, and of 1.97 with nothing between.
    pub(in crate::exec) const SLACK: usize = 4;

    /// Lets a moment pass before the next look: a longer one each time, up to 2 us, and then as long as others want the core.
    pub(in crate::exec) fn pause(look: u32) {
        match look {
            0..FILLING => (0..1 << look).for_each(|_| std::hint::spin_loop()),
            _ => std::thread::yield_now(),
        }
    }
}

#[cfg(all(test, shuttle))]
mod parts {
    pub(in crate::exec) use shuttle::sync::Mutex;
    pub(in crate::exec) use shuttle::thread::{Builder, JoinHandle};

    pub(in crate::exec) use crate::exec::model::channel::{Receiver, Sender, TryRecvError, bounded};

    pub(in crate::exec) const FILLING: u32 = 1;
    pub(in crate::exec) const LOOKS: u32 = 3;
    // So that a few items go round the whole ring.
    pub(in crate::exec) const SLACK: usize = 0;

    pub(in crate::exec) fn pause(_look: u32) {
        shuttle::thread::yield_now();
    }
}
