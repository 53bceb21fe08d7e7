//! The fault guard: what keeps a mapped file that is cut short, or that the disk cannot read, from ending the process.
//!
//! Touching a page past a file's end raises `SIGBUS`. The first map that is made installs one handler for it. A fault inside one
//! of our maps puts a page of zeros there and marks the map: the copy goes on, and what it copied is refused when the file is looked
//! at afterwards, before anything is handed on. Any other fault goes to the handler that was there before.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};

/// A range of addresses that is watched. Nodes are never freed, since the handler may be reading them at any time; those of maps
/// that are gone are used again.
struct Node {
    taken: AtomicBool,
    start: AtomicUsize,
    /// 0 while nothing is watched.
    end: AtomicUsize,
    faulted: AtomicBool,
    next: *const Node,
}

// SAFETY: all that changes in a node is atomic, and `next` is set before the node is shared and points to one that is never freed.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

/// All nodes, the newest first.
static NODES: AtomicPtr<Node> = AtomicPtr::new(std::ptr::null_mut());

/// Whether the guard may be installed.
static WANTED: AtomicBool = AtomicBool::new(true);

/// The handlers that were there before, once ours is.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// A watched range; until it is dropped.
pub(super) struct Watch(&'static Node);

impl Watch {
    /// Watches `bytes` bytes at `start`, from now on; `None` where the guard was switched off or cannot be installed.
    pub(super) fn new(start: *const u8, bytes: usize) -> Option<Watch> {
        if !WANTED.load(Ordering::Relaxed) || BEFORE.get_or_init(install).is_none() {
            return None;
        }
        let node = free_node();
        node.faulted.store(false, Ordering::Relaxed);
        node.start.store(start as usize, Ordering::Relaxed);
        // Release: whoever sees the end sees the start.
        node.end.store(start as usize + bytes, Ordering::Release);
        Some(Watch(node))
    }

    /// Whether a fault inside the range was answered with zeros.
    pub(super) fn faulted(&self) -> bool {
        self.0.faulted.load(Ordering::SeqCst)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.end.store(0, Ordering::Release);
        self.0.taken.store(false, Ordering::Release);
    }
}

/// Switches the fault guard off, for files that are opened from now on.
///
/// With the first file that is mapped, this crate installs a handler for the signal `SIGBUS`, which the system raises when a file
/// is cut short while it is mapped, or cannot be read. Faults in maps of this crate become [`Error::Changed`](crate::Error::Changed) or
/// [`Error::Io`](crate::Error::Io); all others go to the handler that was there before. A program that must own the signal calls
/// this first: no handler is installed then, and such a fault ends the process unless the program's own handler answers it. A handler that
/// a program installs after ours takes its place, unless it passes on what it does not know.
///
/// # Examples
/// ```
/// gristmill::switch_off_fault_guard();
/// ```
pub fn switch_off_fault_guard() {
    WANTED.store(false, Ordering::Relaxed);
}

fn nodes() -> impl Iterator<Item = &'static Node> {
    let mut at = NODES.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: null or a node, none of which is ever freed.
        let node = unsafe { at.as_ref() }?;
        at = node.next;
        Some(node)
    })
}

/// A node that nobody uses, now taken.
fn free_node() -> &'static Node {
    let free =
        |node: &&Node| node.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if let Some(node) = nodes().find(free) {
        return node;
    }
    let mut first = NODES.load(Ordering::Acquire);
    let node = Box::leak(Box::new(Node {
        taken: AtomicBool::new(true),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        faulted: AtomicBool::new(false),
        next: first,
    }));
    while let Err(now) = NODES.compare_exchange(first, node, Ordering::Release, Ordering::Acquire) {
        first = now;
        node.next = first;
    }
    node
}

/// Installs the handler; gives the one before.
fn install() -> Option<libc::sigaction> {
    // SAFETY: all bytes zero is a valid sigaction.
    let (mut ours, mut before): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = handle as *const () as usize;
    // On the alternate stack where a thread has one, as a stack overflow is told through the same signal on some systems; and open to
    // itself, so that a fault inside a handler before ours is not lost.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: both are live; `handle` has the signature that SA_SIGINFO asks for and calls only what a handler may.
    let done = unsafe { libc::sigaction(libc::SIGBUS, &ours, &mut before) };
    (done == 0).then_some(before)
}

extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives a live siginfo to a handler with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    if !nodes().any(|node| answers(node, address)) {
        pass_on(signal, info, context);
    }
}

/// Answers a fault at `address` if it lies in the node's range.
fn answers(node: &Node, address: usize) -> bool {
    let end = node.end.load(Ordering::Acquire);
    let start = node.start.load(Ordering::Acquire);
    // The end once more: a node that changed hands between the two loads has another one.
    if address < start || address >= end || node.end.load(Ordering::Acquire) != end {
        return false;
    }
    // Before the page is there: who reads its zeros without a fault finds the mark.
    node.faulted.store(true, Ordering::SeqCst);
    // SAFETY: plain calls that a handler may make. The page lies in one of our read-only maps, which is only ever copied from; the thread
    // that copies is inside this handler, so the map is alive. Errno is put back, as the interrupted code may be about to read it.
    unsafe {
        let errno = *libc::__errno_location();
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let place = (address & !(page - 1)) as *mut c_void;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let mapped = libc::mmap(place, page, libc::PROT_READ, flags, -1, 0);
        *libc::__errno_location() = errno;
        mapped != libc::MAP_FAILED
    }
}

/// Does what would have been done without us.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().and_then(Option::as_ref);
    let handler = before.map_or(libc::SIG_DFL, |before| before.sa_sigaction);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // The instruction is run again after the handler, and this time the system does what it does.
        // SAFETY: all bytes zero is a valid sigaction, and means the default.
        unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &default, std::ptr::null_mut());
        }
        return;
    }
    // SAFETY: a handler's address that was installed with these flags, which say what it takes.
    unsafe {
        match before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) {
            true => {
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(handler);
                handler(signal, info, context);
            }
            false => {
                let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// What is said of a map whose file did not change but could not be read.
pub(super) fn unreadable() -> io::Error {
    io::Error::other(
        "a page of the mapped file could not be read (SIGBUS); the disk, or a network file system, may have failed",
    )
}
