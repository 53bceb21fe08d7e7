//! A forked child: what had threads in the parent is refused at once, and what is made anew works.
#![allow(unsafe_code)]

use gristmill::{Batch, Dataset, Error, Npy, Shuffle};

use crate::common::*;

/// Runs `child` in a fork of this process, and gives its exit code; a child that hangs is ended by a signal.
fn forked(child: impl FnOnce()) -> i32 {
    // SAFETY: the child runs library code that is meant to bear it, and leaves without returning to the test harness.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: plain calls; the alarm ends a child that waits for ever.
            unsafe { libc::alarm(10) };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            // SAFETY: leaves at once, running nothing of the parent's.
            unsafe { libc::_exit(if outcome.is_ok() { 0 } else { 1 }) }
        }
        id => {
            assert!(id > 0, "a fork");
            let mut status = 0;
            // SAFETY: waits for the child made above and writes to a live number.
            assert_eq!(unsafe { libc::waitpid(id, &mut status, 0) }, id);
            assert!(libc::WIFEXITED(status), "the child was ended by signal {}", libc::WTERMSIG(status));
            libc::WEXITSTATUS(status)
        }
    }
}

fn is_forked<T>(outcome: gristmill::Result<T>, what: &str) {
    let Err(error) = outcome else { panic!("not refused") };
    assert!(matches!(error, Error::Forked { .. }) && error.is_fatal(), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(what) && text.contains("make it anew from its dataset"), "{text}");
}

fn table(dir: &Dir) -> Vec<std::path::PathBuf> {
    let payload: Vec<u8> = (0..4000u32).flat_map(u32::to_le_bytes).collect();
    let file = |part: usize| npy("'<u4'", false, "(1000,)", &payload[4000 * part..][..4000]);
    (0..4).map(|part| dir.put(&format!("{part}.npy"), &file(part))).collect()
}

#[test]
fn streams_and_iterators_are_refused_at_once_and_the_parent_goes_on() {
    alone(|| {
        let dir = Dir::new();
        let rows = Dataset::from_slices(Npy::open_many(table(&dir)).unwrap()).unwrap();
        let stream = rows.shuffle(Shuffle::full(1)).batch(10).par_map(2, |batch| batch).prefetch(4);
        let wanted: Vec<Batch> = values(&stream);
        // Many times, so that threads of the parent are anywhere as it forks.
        for round in 0..50 {
            let mut iter = stream.iter().unwrap();
            let mut seen: Vec<Batch> = iter.by_ref().take(round + 1).map(|batch| batch.unwrap()).collect();
            let (again, kept) = (stream.clone(), seen.clone());
            let (inherited, state) = (&mut iter, stream.iter().unwrap().state());
            let code = forked(move || {
                is_forked(inherited.next().unwrap(), "an iterator");
                assert!(inherited.next().is_none() && inherited.nth(3).is_none());
                is_forked(again.iter(), "a stream");
                is_forked(again.clone().map(|batch| batch).epoch(1), "a stream");
                is_forked(again.resume(&state), "a stream");
                drop(kept);
                drop(again);
            });
            assert_eq!(code, 0);
            seen.extend(iter.map(|batch| batch.unwrap()));
            assert!(seen == wanted, "round {round}");
        }
    });
}

#[test]
fn an_inherited_iterator_can_be_dropped() {
    alone(|| {
        for workers in [1, 3] {
            let stream = numbers(100_000).par_map(workers, |n| n).prefetch(2);
            let mut iter = stream.iter().unwrap();
            iter.next().unwrap().unwrap();
            let mut held = Some(iter);
            let inherited = &mut held;
            assert_eq!(forked(move || drop(inherited.take())), 0);
            let rest: Vec<u64> = held.unwrap().map(|n| n.unwrap()).collect();
            assert!(rest.into_iter().eq(1..100_000));
        }
    });
}

#[test]
fn a_dataset_makes_streams_in_the_child_and_batches_are_kept() {
    alone(|| {
        let dir = Dir::new();
        let rows =
            Dataset::from_slices(Npy::open_many(table(&dir)).unwrap()).unwrap().shuffle(Shuffle::full(1));
        let wanted: Vec<Batch> = values(&rows.batch(10));
        let stream = rows.batch(10).workers(3);
        for _ in 0..50 {
            let mut iter = stream.iter().unwrap();
            let kept: Vec<Batch> = iter.by_ref().take(30).map(|batch| batch.unwrap()).collect();
            let (rows, wanted) = (rows.clone(), &wanted);
            let code = forked(move || {
                let stream = rows.batch(10).prefetch(2);
                let mut iter = stream.iter().unwrap();
                let made: Vec<Batch> = iter.by_ref().map(|batch| batch.unwrap()).collect();
                assert!(made == *wanted && kept == wanted[..30]);
                // What the child made is the child's: a fork of its own refuses it.
                let mut iter = stream.iter().unwrap();
                iter.next().unwrap().unwrap();
                assert_eq!(forked(|| is_forked(iter.next().unwrap(), "an iterator")), 0);
            });
            assert_eq!(code, 0);
        }
    });
}
