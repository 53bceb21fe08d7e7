//! The only unsafe code: aligned buffers, files and their maps, the copy loop between them, locks, and what tells a forked process.
//!
//! **The file contract.** A mapped file is not Rust memory: another process may write, cut or replace it at any
//! time. So no reference into a map is ever made. [`DataFile`] hands out nothing but copies: the copy loop reads
//! through raw pointers, inside bounds checked against the length the file had when it was mapped.
//!
//! - Bytes that change under the loop can be copied half old, half new. So whoever gathers asks the map to compare the file's
//!   identity, length and modification time with those at opening ([`DataFile::verify`], by way of `Source::confirm`), and hands
//!   nothing on before: a difference is an error.
//! - A file cut short by another process raises `SIGBUS` when a page past its new end is touched, as does a page that the disk
//!   cannot read. The guard answers it with zeros and a mark; the next look at the file is an error.
//!
//! A file that is not mapped is read by positioned calls, for which all but the last point holds, too.
#![allow(unsafe_code)]

mod buffer;
mod copy;
mod file;
mod guard;
mod lock;
mod process;

pub(crate) use buffer::Buffer;
pub(crate) use copy::{Grid, Piece, copy_from_slice, fetch, goes_past_caches};
pub(crate) use file::{DataFile, Stamp, disk_waits, open_files_limit};
pub use guard::switch_off_fault_guard;
pub(crate) use lock::{Claim, claim};
pub(crate) use process::Process;
