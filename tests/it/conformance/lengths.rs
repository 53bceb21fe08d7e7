//! Lengths and places.

use super::*;

#[test]
fn c60_cardinality_of_range() {
    let len = |start, stop, step| Dataset::range_by(start, stop, step).unwrap().len();
    assert_eq!([range(5).len(), len(5, 10, 2), len(10, 5, -2), len(0, 1, -3)], [5, 3, 3, 0]);
    assert_eq!(len(i64::MIN, i64::MAX, 1), u64::MAX);
}

#[test]
fn c61_cardinality_of_repeat() {
    assert_eq!(
        lengths([known(0).repeat_forever(), known(1).repeat_forever(), known(1).repeat(5)]),
        [Length::Exact(0), Length::Infinite, Length::Exact(5)]
    );
    assert_eq!(range(1).repeat(5).len(), 5);
}

#[test]
fn c62_cardinality_of_batch() {
    let keep = |s: Stream<u64>| s.batch(2).length().unwrap();
    let drop = |s: Stream<u64>| s.batch_exact(2).length().unwrap();
    assert_eq!((keep(known(5)), drop(known(5))), (Length::Exact(3), Length::Exact(2)));
    assert_eq!((keep(numbers(5)), drop(numbers(5))), (Length::Unknown, Length::Unknown));
    let endless = || known(5).repeat_forever();
    assert_eq!((keep(endless()), drop(endless())), (Length::Infinite, Length::Infinite));
    assert_eq!(endless().batch_masked(2).length().unwrap(), Length::Infinite);
}

#[test]
fn c63_cardinality_of_take_and_skip() {
    let endless = || known(5).repeat_forever();
    assert_eq!(
        lengths([endless().take(2), known(5).take(8), numbers(5).take(8)]),
        [Length::Exact(2), Length::Exact(5), Length::Unknown]
    );
    assert_eq!(
        lengths([known(5).skip(2), known(5).skip(8), endless().skip(8), numbers(5).skip(2)]),
        [Length::Exact(3), Length::Exact(0), Length::Infinite, Length::Unknown]
    );
}

#[test]
fn c64_cardinality_of_shard() {
    // Only datasets are sharded, and they are finite.
    let shard = |count, index| range(5).shard(count, index).unwrap().len();
    assert_eq!([shard(2, 0), shard(8, 7)], [3, 0]);
}

#[test]
fn c65_cardinality_of_concatenate() {
    let endless = || known(5).repeat_forever();
    assert_eq!(
        lengths([numbers(2).concat(endless()), endless().concat(known(2)), endless().concat(numbers(2))]),
        [Length::Infinite; 3]
    );
    assert_eq!(
        lengths([numbers(2).concat(known(2)), known(2).concat(numbers(2)), known(2).concat(known(3))]),
        [Length::Unknown, Length::Unknown, Length::Exact(5)]
    );
}

#[test]
fn c67_cardinality_is_not_known_of_filters_and_generators() {
    let none = |_: &u64| false;
    let streams =
        [known(5).filter(none), known(5).repeat_forever().filter(none), numbers(5), with_error(5, 1)];
    assert_eq!(lengths(streams), [Length::Unknown; 4]);
}

#[test]
fn c68_cardinality_is_kept_by_map_prefetch_and_shuffle() {
    for length in [known(5), numbers(5), known(5).repeat_forever()].map(|s| (s.length().unwrap(), s)) {
        let (length, stream) = length;
        let kept = lengths([
            stream.clone().map(|n| n),
            stream.clone().par_map(2, |n| n),
            stream.clone().try_map(Ok::<_, String>),
            stream.clone().prefetch(3),
            stream.clone().shuffle_buffer(3, 1),
            stream.inspect(|_| {}),
        ]);
        assert_eq!(kept, [length; 6]);
    }
    assert_eq!(range(5).shuffle(Shuffle::full(1)).len(), 5);
}

#[test]
fn c82_any_place_of_an_epoch_can_be_asked_for() {
    let rows = range(10).shuffle(Shuffle::full(2)).repeat(3);
    let whole: Vec<u64> = ids(&rows.batch(7)).concat();
    for (place, row) in whole.iter().enumerate() {
        assert_eq!(rows.order(0, place as u64, 1).unwrap(), [*row]);
    }
    assert_eq!(whole.iter().collect::<HashSet<_>>().len(), 10);
    // A place past the end has no row, which is an empty answer and no error; there are none below 0.
    assert!(rows.order(0, 30, 1).unwrap().is_empty());
    assert!(rows.order(0, u64::MAX, 1).unwrap().is_empty());
}
