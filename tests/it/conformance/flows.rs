//! Sequences out of items, memories, windows, sizes, mixes and choices.

use gristmill::Array;

use super::*;

/// `n` as often as it says.
fn repeated(n: u64) -> Stream<u64> {
    Dataset::from_generator(move |_| (0..n).map(move |_| n))
}

fn items(list: Vec<u64>) -> Stream<u64> {
    Dataset::from_generator(move |_| list.clone())
}

#[test]
fn c06_rebatch_to_a_smaller_size_or_a_list_of_sizes() {
    let batches = || range(8).batch(4);
    assert_eq!(ids(&batches().rebatch(2)), [[0, 1], [2, 3], [4, 5], [6, 7]]);
    assert_eq!(ids(&range(5).batch(4).rebatch([2, 2])), [vec![0, 1], vec![2, 3], vec![4]]);
    assert_eq!(ids(&range(5).batch(4).rebatch_exact([2, 2])), [[0, 1], [2, 3]]);
}

#[test]
fn c07_rebatch_to_a_larger_size() {
    assert_eq!(ids(&range(12).batch(4).rebatch(6)), [(0..6).collect::<Vec<_>>(), (6..12).collect()]);
}

#[test]
fn c09_rebatch_to_the_size_there_is() {
    let batches = range(10).batch(4);
    assert_eq!(values(&batches.clone().rebatch(4)), values(&batches));
    let nothing = Array::from_elements::<f32>(&[], &[5, 0]).unwrap();
    let flat = Batch::new([("x", nothing)]).unwrap();
    let stream = Dataset::from_generator(move |_| [flat.clone(), flat.clone()]).rebatch(4);
    let shapes: Vec<_> = values(&stream).iter().map(|b| b.array("x").unwrap().shape().to_vec()).collect();
    assert_eq!(shapes, [[4, 0], [4, 0], [2, 0]]);
}

#[test]
fn c23_scan_and_reduce() {
    let sums = numbers(10).scan(
        |_| 0,
        |sum, n| {
            *sum += n;
            *sum
        },
    );
    for _ in 0..2 {
        assert_eq!(values(&sums), [0, 1, 3, 6, 10, 15, 21, 28, 36, 45]);
    }
    assert_eq!(numbers(5).reduce(0, |sum, n| sum + n).unwrap(), 10);
}

#[test]
fn c24_take_while() {
    assert_eq!(values(&numbers(10).take_while(|x| *x < 5)), [0, 1, 2, 3, 4]);
}

/// Numbers written as in the list of cases: one digit an item.
fn digits(text: &str) -> Vec<u64> {
    text.chars().filter_map(|c| c.to_digit(10)).map(u64::from).collect()
}

const INTERLEAVED: [(&str, usize, usize, &str); 3] = [
    ("456", 2, 1, "4 5 4 5 4 5 4 5 5 6 6 6 6 6 6"),
    ("406406", 2, 1, "4 4 6 4 6 4 6 6 4 6 4 6 4 4 6 6 6 6 6 6"),
    ("12345", 2, 4, "1111 2222 11 22 3333 4444 33 44 5555 55"),
];

/// The third case has every number six times.
fn sub_stream(block: usize) -> fn(u64) -> Stream<u64> {
    match block {
        1 => repeated,
        _ => |n| repeated(6).map(move |_| n),
    }
}

#[test]
fn c27_interleave() {
    for (inputs, cycle, block, outputs) in INTERLEAVED {
        let stream = items(digits(inputs)).interleave(cycle, block, sub_stream(block));
        assert_eq!(values(&stream), digits(outputs));
    }
}

#[test]
fn c28_interleave_with_a_cycle_of_one_and_with_nothing_to_interleave() {
    for list in [vec![], vec![4], vec![4, 0, 2], vec![0, 0, 0]] {
        let flat = values(&items(list.clone()).flat_map_stream(repeated));
        assert_eq!(values(&items(list.clone()).flat_map(|n| vec![n; n as usize])), flat);
        assert_eq!(values(&items(list.clone()).interleave(1, 3, repeated)), flat);
        let wide = values(&items(list.clone()).interleave(10, 1, repeated));
        assert_eq!(sorted(wide), sorted(flat));
    }
}

#[test]
fn c29_interleave_in_parallel_has_the_same_order() {
    for (inputs, cycle, block, outputs) in INTERLEAVED {
        let stream = items(digits(inputs)).par_interleave(cycle, block, sub_stream(block));
        assert_eq!(everywhere(&stream), digits(outputs).into_iter().map(Ok).collect::<Vec<_>>());
    }
}

#[test]
fn c54_choose() {
    let words = || {
        let part =
            |word: &'static str, times| Dataset::from_generator(move |_| (0..times).map(move |_| word));
        [part("foo", 2), part("bar", 3), part("baz", 3)]
    };
    let choices = [0, 0, 0, 1, 1, 1, 2, 2, 2];
    assert_eq!(values(&Stream::choose(words(), choices)), ["foo", "foo"]);
    let all = ["foo", "foo", "bar", "bar", "bar", "baz", "baz", "baz"];
    assert_eq!(values(&Stream::choose_to_end(words(), choices)), all);
    // A list is checked beforehand; a stream of choices when its turn comes.
    assert!(Stream::choose(words(), [0, 3]).iter().is_err());
    let wrong = Stream::choose(words(), Dataset::from_generator(|_| [0usize, 3, 1]));
    assert_eq!(outcomes(&wrong).iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(values(&Stream::choose(words(), [])).len(), 0);
}

#[test]
fn c67_cardinality_of_flat_map_and_of_its_kin() {
    // An endless interleave of empty streams never yields, so its length is not known either.
    let endless = || known(5).repeat_forever();
    let streams = [
        known(5).flat_map(|n| [n]),
        known(5).flat_map_stream(known),
        endless().interleave(2, 1, known),
        known(5).take_while(|_| true),
        known(5).unique(),
    ];
    assert_eq!(lengths(streams), [Length::Unknown; 5]);
}

#[test]
fn c40_an_unordered_interleave_gives_the_same_items_in_the_order_they_are_ready() {
    watchdog(|| {
        let of = |n: u64| Dataset::from_generator(move |_| (0..5).map(move |i| 5 * n + i));
        let stream = numbers(9).par_interleave_unordered(3, of);
        for threads in THREADS {
            let seen = sorted(values(&stream.clone().threads(threads)));
            assert_eq!(seen, (0..45).collect::<Vec<_>>(), "{threads:?}");
        }
        // The first stream waits until all others have been read: only in another order can this end.
        let (done, others) = mpsc::channel::<()>();
        let others = Arc::new(Mutex::new(others));
        let delayed = numbers(3).par_interleave_unordered(2, move |n| {
            let others = others.clone();
            Dataset::from_generator(move |_| {
                if n == 0 {
                    let _ = others.lock().unwrap().recv();
                }
                [n]
            })
        });
        let mut iter = delayed.iter().unwrap();
        assert_eq!(sorted(iter.by_ref().take(2).map(|n| n.unwrap()).collect()), [1, 2]);
        drop(done);
        assert_eq!(iter.next().unwrap().unwrap(), 0);
        assert!(iter.next().is_none());
    });
}

#[test]
fn c79_settings_are_the_last_ones_said_and_belong_to_one_stream() {
    let plain = numbers(9).par_map(0, |n| n);
    let threads = |stream: &Stream<u64>| stream.plan().unwrap().threads();
    let default = threads(&plain);
    let set = plain.clone().workers(5).workers(2).threads(Threads::None).threads(Threads::Auto);
    assert_eq!(threads(&set), 1 + 2);
    // Neither the stream it was made from nor one built anew has changed.
    assert_eq!((threads(&plain), threads(&numbers(9).par_map(0, |n| n))), (default, default));
    // Both sides of a join run under the left one's settings.
    let joined = set.clone().concat(plain.clone().workers(7));
    assert_eq!(threads(&joined), 2 * (1 + 2));
    assert_eq!(values(&joined), values(&plain.clone().concat(plain)));
}
