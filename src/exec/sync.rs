//! What threads here are made of: the system's parts, or, with `--cfg shuttle`, those of a model checker that tries out orders of steps.
//! `make model` runs the checks in `model`.

pub(super) use parts::{Builder, JoinHandle, Mutex, Receiver, Sender, TryRecvError, bounded};

#[cfg(not(all(test, shuttle)))]
mod parts {
    pub(in crate::exec) use std::sync::Mutex;
    pub(in crate::exec) use std::thread::{Builder, JoinHandle};

    pub(in crate::exec) use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
}

#[cfg(all(test, shuttle))]
mod parts {
    pub(in crate::exec) use shuttle::sync::Mutex;
    pub(in crate::exec) use shuttle::thread::{Builder, JoinHandle};

    pub(in crate::exec) use crate::exec::model::channel::{Receiver, Sender, TryRecvError, bounded};
}
