//! The only unsafe code: aligned buffers, file maps, the copy loop between them, and locks.
//!
//! **The file contract.** A mapped file is not Rust memory: another process may write, cut or replace it at any
//! time. So no reference into a map is ever made. [`Map`] hands out nothing but copies: the copy loop reads
//! through raw pointers, inside bounds checked against the length the file had when it was mapped.
//!
//! - Bytes that change under the loop can be copied half old, half new. After each gather the file's identity,
//!   length and modification time are compared with those at opening; a difference is an error and the batch is not delivered.
//! - A file cut short by another process raises `SIGBUS` when a page past its new end is touched. That is not caught
//!   here: write new data to another file and rename it.
#![allow(unsafe_code)]

mod buffer;
mod copy;
mod lock;
mod map;

pub(crate) use buffer::Buffer;
pub(crate) use copy::{Grid, copy_from_slice, fetch};
pub(crate) use lock::{Claim, claim};
pub(crate) use map::{Map, Stamp, major_faults, open_files_limit};
