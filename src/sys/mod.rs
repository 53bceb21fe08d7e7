//! The only unsafe code: aligned buffers, file maps, the copy loop between them, and locks.
//!
//! **The file contract.** A mapped file is not Rust memory: another process may write, cut or replace it at any
//! time. So no reference into a map is ever made. [`Map`] hands out nothing but copies: the copy loop reads
//! through raw pointers, inside bounds checked against the length the file had when it was mapped.
//!
//! - Bytes that change under the loop can be copied half old, half new. So whoever gathers asks the map to compare the file's
//!   identity, length and modification time with those at opening ([`Map::verify`], by way of `Source::confirm`), and hands
//!   nothing on before: a difference is an error.
//! - A file cut short by another process raises `SIGBUS` when a page past its new end is touched, as does a page that the disk
//!   cannot read. The guard answers it with zeros and a mark; the next look at the file is an error.
#![allow(unsafe_code)]

mod buffer;
mod copy;
mod guard;
mod lock;
mod map;

pub(crate) use buffer::Buffer;
pub(crate) use copy::{Grid, Piece, copy_from_slice, fetch};
pub use guard::switch_off_fault_guard;
pub(crate) use lock::{Claim, claim};
pub(crate) use map::{Map, Stamp, major_faults, open_files_limit};
