//! `batch`, `batch_exact` and `batch_masked` on a stream: single items stacked.

use gristmill::{Batch, CellRef, Collate, Dataset, Length, Result, Stream};

use crate::common::*;

type Verb<T> = fn(Stream<T>, usize) -> Stream<Batch>;

fn verbs<T: Collate>() -> [(&'static str, Verb<T>); 3] {
    [("batch", Stream::batch), ("batch_exact", Stream::batch_exact), ("batch_masked", Stream::batch_masked)]
}

/// The numbers of each batch.
fn contents(batches: Stream<Batch>) -> Stream<Vec<u64>> {
    batches.map(|batch| batch.column("0").unwrap().to_vec())
}

/// An item that panics when it is looked at, if it is number `.1`.
struct Touchy(u64, u64);

impl Collate for Touchy {
    fn cells(&self, visit: &mut dyn FnMut(CellRef<'_>) -> Result<()>) -> Result<()> {
        assert!(self.0 != self.1, "touched");
        self.0.cells(visit)
    }
}

#[test]
fn items_are_stacked_in_their_order() {
    let expected: [&[&[u64]]; 3] = [
        &[&[0, 1, 2], &[3, 4, 5], &[6, 7]],
        &[&[0, 1, 2], &[3, 4, 5]],
        &[&[0, 1, 2], &[3, 4, 5], &[6, 7, 0]],
    ];
    for ((verb, batch), expected) in verbs().into_iter().zip(expected) {
        assert_eq!(values(&contents(batch(numbers(8), 3))), expected, "{verb}");
    }
    let pairs = numbers(2).map(|n| (n as f32, [n as i8, 7])).batch(9);
    let pairs = values(&pairs).remove(0);
    assert_eq!(pairs.spec().to_string(), "(0: f32, 1: i8[2])");
    assert_eq!(
        (pairs.column("0").unwrap(), pairs.column("1").unwrap()),
        (&[0f32, 1.0][..], &[0i8, 7, 1, 7][..])
    );
}

#[test]
fn of_nothing_comes_nothing() {
    for (verb, batch) in verbs() {
        assert_eq!(everywhere(&batch(numbers(0), 3)), [], "{verb}");
    }
}

#[test]
fn the_last_batch_is_short_left_out_or_filled_up() {
    for (items, size, counts) in
        [(1, 3, [1, 0, 1]), (3, 3, [1, 1, 1]), (6, 3, [2, 2, 2]), (7, 3, [3, 2, 3]), (5, 1000, [1, 0, 1])]
    {
        for ((verb, batch), count) in verbs().into_iter().zip(counts) {
            let case = format!("{items} items, {verb}({size})");
            let seen = values(&contents(batch(numbers(items), size)));
            assert_eq!(seen.len(), count, "{case}");
            let whole = |rows: &&Vec<u64>| rows.len() == size;
            assert!(verb == "batch" || seen.iter().filter(whole).count() == count, "{case}: {seen:?}");
            let numbered = seen.concat().into_iter().take(items as usize).zip(0..).all(|(a, b)| a == b);
            assert!(numbered, "{case}: {seen:?}");
        }
    }
    assert_eq!(column::<u64>(&numbers(3).batch(usize::MAX), "0"), [[0, 1, 2]]);
    assert_eq!(verbs().map(|(_, batch)| batch(numbers(3), 0).iter().is_err()), [true; 3]);
    let known = Dataset::range(7).unwrap().rows();
    assert_eq!(
        verbs().map(|(_, v)| v(known.clone(), 3).length().unwrap().exact()),
        [Some(3), Some(2), Some(3)]
    );
    assert_eq!(numbers(3).batch(2).length().unwrap(), Length::Unknown);
}

#[test]
fn an_upstream_error_passes_at_once_and_the_batch_fills_on() {
    let pairs = |upstream| contents(verbs()[0].1(upstream, 2));
    let two = |a, b| Ok(vec![a, b]);
    assert_eq!(everywhere(&pairs(with_error(5, 0))), [Err(bad(0)), two(1, 2), two(3, 4)]);
    assert_eq!(everywhere(&pairs(with_error(5, 1))), [Err(bad(1)), two(0, 2), two(3, 4)]);
    assert_eq!(everywhere(&pairs(with_error(5, 2))), [two(0, 1), Err(bad(2)), two(3, 4)]);
    assert_eq!(everywhere(&pairs(with_error(5, 4))), [two(0, 1), two(2, 3), Err(bad(4))]);
}

#[test]
fn what_ends_the_stream_comes_after_the_rows_before_it() {
    // Only whole batches come from `batch_exact`, as at the end of an epoch.
    let lasts = [Some(vec![2]), None, Some(vec![2, 0])];
    for ((verb, batch), last) in verbs().into_iter().zip(lasts) {
        let mut expected = vec![Ok(vec![0, 1])];
        expected.extend(last.map(Ok));
        expected.push(Err(panicked(3)));
        assert_eq!(everywhere(&contents(batch(with_panic(3), 2))), expected, "{verb}");
    }
}

#[test]
fn an_item_of_another_form_is_an_error_at_its_place() {
    let lists = |upstream: Stream<u64>| upstream.map(|n| vec![n; if n == 2 { 2 } else { 1 }]);
    let lasts = [Some(vec![3]), None, Some(vec![3, 0])];
    for ((verb, batch), last) in verbs().into_iter().zip(lasts) {
        let odd = Err(format!("{verb}, item 2: expected 0 u64[1], found 0 u64[2]"));
        let mut expected = vec![Ok(vec![0, 1]), odd.clone()];
        expected.extend(last.map(Ok));
        assert_eq!(everywhere(&contents(batch(lists(numbers(4)), 2))), expected);
        // Item 0 is lost above, so item 1 fixes the form: places are counted all the same.
        let expected = [Err(bad(0)), odd, Ok(vec![1, 3])];
        assert_eq!(everywhere(&contents(batch(lists(with_error(4, 0)), 2))), expected);
    }
}

#[test]
fn a_panic_of_an_item_is_told_after_the_rows_before_it() {
    for bad in [0, 3] {
        let stream = contents(numbers(5).map(move |n| Touchy(n, bad)).batch(2));
        let panicked = Err(format!("batch panicked at item {bad}: touched"));
        let before: Vec<u64> = (0..bad).collect();
        let expected = before.chunks(2).map(|rows| Ok(rows.to_vec())).chain([panicked]);
        assert_eq!(everywhere(&stream), expected.collect::<Vec<_>>());
    }
}

#[test]
fn dropped_midway_they_leave_no_thread() {
    alone(|| verbs().into_iter().for_each(|(_, batch)| drops(move |s| batch(s, 2))));
}

#[test]
fn reopened_they_give_the_same() {
    for (_, batch) in verbs() {
        for n in [0, 1, 4, 5] {
            reopens(&batch(numbers(n), 2));
        }
        reopens(&batch(with_error(5, 1), 2));
    }
}

#[test]
fn a_batch_grows_to_the_rows_that_come() {
    // 20 MiB, which is more than a batch starts with.
    let large = || numbers(20).map(|n| vec![n as u8; 1 << 20]);
    for (verb, batch) in verbs() {
        for size in [20, 18] {
            let seen = values(&batch(large(), size));
            let firsts: Vec<u8> = seen
                .iter()
                .flat_map(|b| b.array("0").unwrap().bytes().chunks(1 << 20))
                .map(|row| row[9])
                .collect();
            let rows = if verb == "batch_exact" { size } else { 20 };
            assert!(firsts.iter().copied().take(rows).eq(0..rows as u8), "{verb}({size}): {firsts:?}");
            assert!(firsts.iter().skip(rows).all(|filler| *filler == 0), "{verb}({size}): {firsts:?}");
        }
    }
}
