//! Iterators that are left at any moment and in any manner, and what is left of them then: nothing.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gristmill::{Dataset, Iter, Npy, RandomStream, Shuffle, Stream, Threads};

use crate::common::*;

/// A stream with threads, over the files of a folder or not.
type Kind = fn(&Path) -> Stream<u64>;

const KINDS: [Kind; 11] = [
    |folder| file(folder).shuffle(Shuffle::full(1)).batch(4).prefetch(1).map(|b| ids(&b)[0]),
    |folder| file(folder).batch(2).workers(3).prefetch(4).map(|b| ids(&b)[0]),
    |_| numbers(900).par_map(3, |n| n).prefetch(1).prefetch(1),
    |_| endless().prefetch(1),
    |_| numbers(50).par_interleave(3, 1, |n| numbers(n).prefetch(1)),
    |_| numbers(50).par_interleave_unordered(2, |n| numbers(n).par_map(2, |n| n)),
    |_| Stream::mix([(endless().prefetch(3), 1), (numbers(90).par_map(2, |n| n), 2)]).shuffle_buffer(20, 1),
    |folder| file(folder).batch(9).cache_file(folder.join("cache")).prefetch(2).map(|b| ids(&b)[0]),
    |_| with_error(20, 2).par_map(2, |n| n).prefetch(2).zip(endless()).map(|(n, _)| n),
    |_| with_panic(3).prefetch(1).batch(2).map(|b| ids(&b)[0]),
    |folder| {
        file(folder).rows().map(|row| row.value("0").unwrap()).flat_map_stream(|n| numbers(n).prefetch(2))
    },
];

fn file(folder: &Path) -> Dataset {
    Dataset::from_slices(Npy::open(folder.join("rows.npy")).unwrap()).unwrap()
}

/// The ways to let go of an iterator, beside letting it fall.
const MANNERS: [fn(Iter<u64>); 6] = [
    |iter| drop(iter),
    |mut iter| iter.by_ref().take(7).take_while(Result::is_ok).for_each(drop),
    |iter| std::thread::spawn(move || drop(iter)).join().unwrap(),
    |iter| {
        let held = Mutex::new(Some(iter));
        let closure = numbers(3).par_map(2, move |n| drop((n == 1).then(|| held.lock().unwrap().take())));
        assert_eq!(values(&closure).len(), 3);
    },
    |iter| {
        let unwound = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let _held = iter;
            panic!("away");
        }));
        assert!(unwound.is_err());
    },
    |iter| {
        let unwound = std::thread::spawn(move || {
            let _held = iter;
            panic!("away");
        });
        assert!(unwound.join().is_err());
    },
];

/// Leaves a producer that has filled its link and waits for room.
fn leave_full(depth: usize) {
    let made = Arc::new(AtomicU64::new(0));
    let count = made.clone();
    let stream = endless().inspect(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let mut iter = stream.prefetch(depth).threads(Threads::Auto).iter().unwrap();
    iter.next().unwrap().unwrap();
    until(|| made.load(Ordering::SeqCst) as usize >= depth);
    drop(iter);
}

/// Opens and leaves streams `cycles` times: threads, descriptors and maps are then as they were. To be called
/// [`alone`](crate::common::alone).
pub(crate) fn drops(cycles: u64) {
    std::panic::set_hook(Box::new(|_| {}));
    let dir = Dir::new();
    let folder = dir.path("");
    let payload: Vec<u8> = (0..900u64).flat_map(u64::to_le_bytes).collect();
    dir.put("rows.npy", &npy("'<u8'", false, "(900,)", &payload));
    let mut random = RandomStream::new(5, "drops", 0, 0);
    let mut cycle = |i: u64| {
        let (kind, manner) = (i as usize % KINDS.len(), i as usize / KINDS.len() % MANNERS.len());
        let mut iter =
            KINDS[kind](&folder).threads(THREADS[1 + i as usize % 2]).epoch(random.below(3)).unwrap();
        iter.by_ref().take(random.below(4) as usize).take_while(Result::is_ok).for_each(drop);
        MANNERS[manner](iter);
        if kind == 0 {
            leave_full(1 + random.below(9) as usize);
        }
    };
    let left = || {
        no_thread_is_left();
        (entries("/proc/self/task"), entries("/proc/self/fd"), names(&folder))
    };
    // The first cycles fill the allocator's and the thread library's stores.
    (0..2 * (KINDS.len() * MANNERS.len()) as u64).for_each(&mut cycle);
    let (before, mapped) = (left(), maps());
    (0..cycles).for_each(&mut cycle);
    assert_eq!(left(), before, "threads, descriptors and files before and after");
    assert!(maps() <= mapped + 16, "{} maps, once {mapped}", maps());
    assert_eq!(maps_of(&folder), 0, "a file is still mapped");
}
