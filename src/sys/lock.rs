//! Who works in a folder: a claim that the system lets go of when its holder ends, however it ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// What came of claiming an open file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is ours until the file is closed.
    Held,
    /// Someone else, in this process or another, holds it.
    Taken,
    /// The file system has no locks.
    Unknown,
}

/// Claims `file` without waiting.
pub(crate) fn claim(file: &File) -> Claim {
    loop {
        // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is handed over.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Claim::Held;
        }
        match io::Error::last_os_error().kind() {
            io::ErrorKind::Interrupted => {}
            io::ErrorKind::WouldBlock => return Claim::Taken,
            _ => return Claim::Unknown,
        }
    }
}
