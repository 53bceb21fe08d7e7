//! What the tests share: streams that misbehave on request, a watchdog, and ways to read a stream to its end.

use std::sync::mpsc;
use std::time::Duration;

use gristmill::{Batch, Dataset, Element, Error, Iter, Result, Stream};

/// The values of one epoch; panics at the first error.
pub fn values<T: Send + 'static>(stream: &Stream<T>) -> Vec<T> {
    epoch(stream, 0)
}

/// The values of epoch `k`; panics at the first error.
pub fn epoch<T: Send + 'static>(stream: &Stream<T>, k: u64) -> Vec<T> {
    stream.epoch(k).unwrap().map(|item| item.unwrap()).collect()
}

/// Every outcome of one epoch, errors as their texts; checks that the end is final.
pub fn outcomes<T: Send + 'static>(stream: &Stream<T>) -> Vec<Result<T, String>> {
    let mut iter = stream.iter().unwrap();
    let seen = drain(&mut iter);
    assert!(iter.next().is_none() && iter.next().is_none(), "an ended iterator goes on");
    seen
}

/// What is left of an iterator, errors as their texts.
pub fn drain<T>(iter: &mut Iter<T>) -> Vec<Result<T, String>> {
    iter.map(|item| item.map_err(|e| e.to_string())).collect()
}

/// One column of every batch of epoch 0.
pub fn column<T: Element>(stream: &Stream<Batch>, name: &str) -> Vec<Vec<T>> {
    values(stream).iter().map(|batch| batch.column::<T>(name).unwrap().to_vec()).collect()
}

/// The numbers `0..n` from a generator.
pub fn numbers(n: u64) -> Stream<u64> {
    Dataset::from_generator(move |_| 0..n)
}

/// The numbers `0..n`, but an error that belongs to one item stands in place of number `bad`.
pub fn with_error(n: u64, bad: u64) -> Stream<u64> {
    Dataset::try_from_generator(move |_| {
        (0..n).map(move |i| if i == bad { Err(format!("bad item {i}")) } else { Ok(i) })
    })
}

/// The numbers below `bad`, and then a panic.
pub fn with_panic(bad: u64) -> Stream<u64> {
    Dataset::from_generator(move |_| (0..).inspect(move |i| assert!(*i != bad, "panic at {i}")))
}

/// True for errors that end the iteration.
pub fn is_fatal<T>(outcome: &Result<T, Error>) -> bool {
    outcome.as_ref().is_err_and(|e| e.is_fatal())
}

/// Runs `test` on a thread of its own and panics if it takes longer than 30 seconds.
pub fn watchdog(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        drop(done);
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(Duration::from_secs(30)) {
        panic!("the test hangs");
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The threads of this process whose names this library gives.
pub fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("grist-")).collect()
}
