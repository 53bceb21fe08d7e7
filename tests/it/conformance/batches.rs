//! Batches, order, repeat, take, skip, zip, concat and shard.

use super::*;

#[test]
fn c01_batch_of_range() {
    for batches in [range(8).batch(3), numbers(8).batch(3)] {
        assert_eq!(ids(&batches), [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7]]);
    }
    for batches in [range(8).batch_exact(3), numbers(8).batch_exact(3)] {
        assert_eq!(ids(&batches), [[0, 1, 2], [3, 4, 5]]);
    }
}

#[test]
fn c02_batch_counts() {
    assert_eq!((ids(&range(5).batch(2)).len(), ids(&range(5).batch_exact(2)).len()), (3, 2));
    for empty in [range(0).batch(2), range(0).batch_exact(2), numbers(0).batch(2), numbers(0).batch_exact(2)]
    {
        assert_eq!(everywhere(&empty), []);
    }
    assert!(range(5).batch(0).plan().is_err() && numbers(5).batch(0).plan().is_err());
}

#[test]
fn c03_batches_go_across_repetitions() {
    for (size, last) in [(14, 14), (15, 1)] {
        for batches in [range(7).repeat(28).batch(size), numbers(7).repeat(28).batch(size)] {
            let seen = ids(&batches);
            assert_eq!(seen.iter().filter(|rows| rows.len() == size).count(), 196 / size);
            assert_eq!(seen.last().unwrap().len(), last);
            assert!(seen.concat().iter().copied().eq((0..196).map(|n| n % 7)));
        }
    }
}

#[test]
fn c05_components_keep_their_types_through_batch_and_unbatch() {
    let columns =
        (vec![255u8, 0], vec![65535u16, 1], vec![65536u32, 2], vec![4294967296u64, 3], vec![-1i8, 4]);
    let rows = Dataset::from_slices(columns).unwrap();
    let items =
        Dataset::from_generator(|_| [(255u8, 65535u16, 65536u32, 4294967296u64, -1i8), (0, 1, 2, 3, 4)]);
    for batches in [rows.batch(2), items.batch(2), rows.batch(1).unbatch().batch(2)] {
        let row = values(&batches.unbatch()).remove(0);
        assert_eq!(row.spec().to_string(), "(0: u8, 1: u16, 2: u32, 3: u64, 4: i8)");
        assert_eq!((row.value("0").unwrap(), row.value("1").unwrap()), (255u8, 65535u16));
        assert_eq!((row.value("2").unwrap(), row.value("3").unwrap()), (65536u32, 4294967296u64));
        assert_eq!(row.value::<i8>("4").unwrap(), -1);
    }
}

#[test]
fn c14_batch_masked_fills_up_and_marks() {
    // Larger data and data of unknown size is no error: it comes as more than one batch.
    for batches in [range(2).batch_masked(3), numbers(2).batch_masked(3)] {
        assert_eq!(ids(&batches), [[0, 1, 0]]);
        assert_eq!(column::<bool>(&batches, "mask"), [[true, true, false]]);
    }
}

#[test]
fn c15_repeat() {
    let thrice = [0, 1, 2, 0, 1, 2, 0, 1, 2];
    assert_eq!(
        (order(&range(3).repeat(3), 0), values(&numbers(3).repeat(3))),
        (thrice.to_vec(), thrice.to_vec())
    );
    assert_eq!((order(&range(3).repeat(0), 0), values(&numbers(3).repeat(0))), (vec![], vec![]));
    assert_eq!(order(&range(3).repeat(2).repeat(3), 1), order(&range(3).repeat(6), 1));
    assert_eq!(values(&numbers(3).repeat(2).repeat(3)), values(&numbers(3).repeat(6)));
    watchdog(|| assert_eq!(everywhere(&numbers(0).repeat_forever()), []));
}

#[test]
fn c16_take_and_skip() {
    // Counts are u64: "all" is u64::MAX, where tf.data has -1.
    for (n, head, tail) in
        [(3, 0..3, 3..10), (7, 0..7, 7..10), (100, 0..10, 10..10), (u64::MAX, 0..10, 10..10)]
    {
        let (head, tail): (Vec<u64>, Vec<u64>) = (head.collect(), tail.collect());
        assert_eq!(
            (order(&range(10).take(n), 0), order(&range(10).skip(n), 0)),
            (head.clone(), tail.clone())
        );
        assert_eq!((values(&numbers(10).take(n)), values(&numbers(10).skip(n))), (head, tail));
    }
}

#[test]
fn c17_zip() {
    let stream = Dataset::from_generator(|_| 1..4).zip(Dataset::from_generator(|_| 13..15));
    assert_eq!(values(&stream), [(1, 13), (2, 14)]);
}

#[test]
fn c18_concatenate() {
    let stream = Dataset::from_generator(|_| 1..4).concat(Dataset::from_generator(|_| 4..8));
    assert_eq!(values(&stream), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(ids(&range(2).concat(&range(3)).unwrap().batch(9)), [[0, 1, 0, 1, 2]]);
    let slices = |named: bool| match named {
        true => Dataset::from_slices((("x", vec![1u64]), ("y", vec![1u64]))).unwrap(),
        false => Dataset::from_slices(vec![1u32]).unwrap(),
    };
    for other in [slices(true), slices(false)] {
        assert!(range(2).concat(&other).is_err());
        assert!(range(2).batch(1).concat(other.batch(1)).plan().is_err());
    }
}

#[test]
fn c19_shard() {
    let shard = |rows, count, index| order(&range(rows).shard(count, index).unwrap(), 0);
    assert_eq!([shard(10, 3, 0), shard(10, 3, 1)], [vec![0, 3, 6, 9], vec![1, 4, 7]]);
    assert_eq!([shard(10, 5, 2), shard(10, 20, 5), shard(1, 5, 2)], [vec![2, 7], vec![5], vec![]]);
    assert_eq!([(0, 0), (3, 3), (3, 4)].map(|(n, i)| range(10).shard(n, i).is_err()), [true; 3]);
}

#[test]
fn c21_range_by() {
    let range = |start, stop, step| {
        let batches = Dataset::range_by(start, stop, step).unwrap().batch(9);
        column::<i64>(&batches, "0").concat()
    };
    assert_eq!([range(5, 1, 1), range(5, 1, -2), range(1, 5, 2)], [vec![], vec![5, 3], vec![1, 3]]);
}

#[test]
fn c22_enumerate_from() {
    let stream = Dataset::from_generator(|_| 1..4).enumerate_from(5);
    assert_eq!(values(&stream), [(5, 1), (6, 2), (7, 3)]);
}
