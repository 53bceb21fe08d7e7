use super::*;

use gristmill::{Save, Threads};

use crate::npy::Dir;
use crate::save::loaded;

/// The numbers `0..n`, and how many of them were made so far.
fn counted(n: u64) -> (Stream<u64>, Arc<AtomicU64>) {
    let made = Arc::new(AtomicU64::new(0));
    let count = made.clone();
    let stream = known(n).inspect(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    (stream.threads(Threads::None), made)
}

fn made(count: &AtomicU64) -> u64 {
    count.load(Ordering::SeqCst)
}

/// tf.data's second pass over a failed fill is empty, or lacks the failed items. Here the cache stays empty, and every pass
/// is the first: the same items, and the same error at the same place.
#[test]
fn c50_shuffle_above_a_failed_cache_fill() {
    let stream = with_error(6, 2).cache().shuffle_buffer(3, 7);
    let first = everywhere(&stream);
    assert_eq!(first.iter().filter(|item| item.is_err()).count(), 1);
    assert_eq!(everywhere(&stream), first);
    let left = first.into_iter().flatten().collect();
    assert_eq!(sorted(left), [0, 1, 3, 4, 5]);
}

#[test]
fn c56_cache_then_repeat_makes_items_once() {
    let (stream, count) = counted(10);
    let twice = stream.cache().repeat(2);
    assert_eq!(values(&twice), (0..10).chain(0..10).collect::<Vec<_>>());
    assert_eq!(made(&count), 10);
    assert_eq!(values(&twice).len(), 20);
    assert_eq!(made(&count), 10);
}

#[test]
fn c57_the_last_item_completes_a_cache_without_the_end() {
    let (stream, count) = counted(10);
    let cached =
        Dataset::range(10).unwrap().shuffle(Shuffle::full(3)).rows().map(|row| row.value("0").unwrap());
    let cached = cached.zip(stream).map(|(a, _): (u64, u64)| a).cache();
    let first: Vec<u64> = cached.iter().unwrap().take(10).map(|n| n.unwrap()).collect();
    assert_eq!(values(&cached), first);
    assert_eq!(epoch(&cached, 1), first);
    assert_eq!(made(&count), 10);
}

#[test]
fn c58_a_partial_pass_is_made_again_and_two_first_passes_are_right() {
    let (stream, count) = counted(10);
    let cached = stream.cache();
    assert_eq!(values(&cached.clone().take(5).repeat(2)), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    assert_eq!(made(&count), 10);
    let (mut a, mut b) = (cached.iter().unwrap(), cached.iter().unwrap());
    for n in 0..10 {
        assert_eq!((a.next().unwrap().unwrap(), b.next().unwrap().unwrap()), (n, n));
    }
    assert!(a.next().is_none() && b.next().is_none());
    assert_eq!(values(&cached), (0..10).collect::<Vec<_>>());
    assert_eq!(made(&count), 30);
    let empty = numbers(0).cache();
    assert!(values(&empty).is_empty() && values(&empty).is_empty());
}

/// A second writer is not refused: it writes a folder of its own, and the first to end wins. Shards are cut by rows, not
/// by a function: rows keep their order, and an order of the loaded dataset gives any other.
#[test]
fn c59_file_caches_and_saved_folders() {
    let dir = Dir::new();
    let stream = |n: Arc<AtomicU64>, name: &str| {
        let upstream = Dataset::from_generator(move |_| 0..n.load(Ordering::SeqCst));
        upstream.batch(4).cache_file(dir.path(name))
    };
    let n = Arc::new(AtomicU64::new(10));
    let expected = (0..10).collect::<Vec<_>>();
    assert_eq!(ids(&stream(n.clone(), "a")).concat(), expected);
    n.store(0, Ordering::SeqCst);
    assert_eq!(ids(&stream(n.clone(), "a")).concat(), expected);
    assert!(ids(&stream(n.clone(), "b")).is_empty());
    let readers = stream(n.clone(), "a");
    assert!(values(&readers.clone().zip(readers)).iter().all(|(a, b)| a == b));
    n.store(10, Ordering::SeqCst);
    let writers = stream(n, "c");
    assert!(values(&writers.clone().zip(writers)).iter().all(|(a, b)| a == b));
    assert_eq!(loaded(&dir.path("c")), expected);
    let saved = range(42).batch(5).save(Save::to(dir.path("saved")).shard_rows(21)).unwrap();
    assert_eq!((saved.len(), loaded(&dir.path("saved"))), (42, (0..42).collect::<Vec<_>>()));
    let (first, second) = (saved.take(21), saved.skip(21));
    assert_eq!((order(&first, 0)[0], order(&second, 0)[0]), (0, 21));
    let by_seven: Vec<u64> = (0..7).flat_map(|i| order(&saved.shard(7, i).unwrap(), 0)).collect();
    assert_eq!(by_seven[..7], [0, 7, 14, 21, 28, 35, 1]);
}

#[test]
fn c68_cache_keeps_the_number() {
    let dir = Dir::new();
    assert_eq!(known(5).cache().length().unwrap(), Length::Exact(5));
    assert_eq!(numbers(5).cache().length().unwrap(), Length::Unknown);
    let batches = range(5).batch(2).cache_file(dir.path("cache"));
    assert_eq!(batches.length().unwrap(), Length::Exact(3));
}

#[test]
fn c76_positions_during_a_fill_after_it_and_beside_another() {
    let dir = Dir::new();
    let expected = (0..10).collect::<Vec<u64>>();
    let one = |batch: Batch| batch.column::<u64>("0").unwrap()[0];
    let in_file = numbers(10).batch(1).cache_file(dir.path("cache")).map(one);
    for cached in [counted(10).0.cache(), in_file] {
        let mut iter = cached.iter().unwrap();
        let mut saved = Vec::new();
        for _ in 0..4 {
            saved.push(iter.position());
            iter.next();
        }
        // Mid-fill, in a run that is gone.
        drop(iter);
        assert_eq!(
            drain(&mut cached.seek(saved[3]).unwrap()),
            expected[3..].iter().map(|n| Ok(*n)).collect::<Vec<_>>()
        );
        // After the fill, whoever completed it.
        assert_eq!(values(&cached), expected);
        for (n, position) in saved.into_iter().enumerate() {
            let rest: Vec<u64> = cached.seek(position).unwrap().map(|item| item.unwrap()).collect();
            assert_eq!(rest, expected[n..]);
        }
    }
}

#[test]
fn c78_the_state_of_a_large_cache_is_two_numbers() {
    let cached = range(100_000).batch(1000).cache();
    let mut iter = cached.iter().unwrap();
    iter.by_ref().take(50).for_each(drop);
    assert!(serde_json::to_string(&iter.position()).unwrap().len() < 40);
}
