//! `pack` puts rows of tokens side by side into blocks.

use gristmill::{Dataset, Length, Row, Stream};
use proptest::prelude::*;

use crate::common::*;

/// Number `n` becomes `n` tokens: itself.
fn fills(numbers: Stream<u64>) -> Stream<Vec<u64>> {
    numbers.map(|n| vec![n; n as usize])
}

fn tokens(blocks: Stream<Row>) -> Stream<Vec<u64>> {
    blocks.map(|block| block.column("0").unwrap().to_vec())
}

fn list<const N: usize>(numbers: [u64; N]) -> Stream<u64> {
    Dataset::from_generator(move |_| numbers)
}

#[test]
fn rows_stand_side_by_side_and_can_be_told_apart() {
    let blocks = values(&fills(list([2, 3, 1])).pack(4, 1));
    assert_eq!(blocks[0].spec().to_string(), "(0: u64[4], segment: u32[4], position: u32[4])");
    let column = |at: usize, name| blocks[at].column::<u32>(name).unwrap().to_vec();
    assert_eq!(blocks[0].column::<u64>("0").unwrap(), [2, 2, 0, 0]);
    assert_eq!((column(0, "segment"), column(0, "position")), (vec![1, 1, 0, 0], vec![0, 1, 0, 0]));
    assert_eq!(blocks[1].column::<u64>("0").unwrap(), [3, 3, 3, 1]);
    assert_eq!((column(1, "segment"), column(1, "position")), (vec![1, 1, 1, 2], vec![0, 1, 2, 0]));
    assert_eq!(blocks.len(), 2);
}

#[test]
fn with_more_blocks_open_gaps_are_filled() {
    let stream = |open| tokens(fills(list([3, 2, 4, 1, 2])).pack(4, open));
    let [a, b, c] = [vec![3, 3, 3, 1], vec![2, 2, 2, 2], vec![4, 4, 4, 4]];
    assert_eq!(values(&stream(3)), [c.clone(), a, b]);
    // With two, the first has to go when the third comes.
    assert_eq!(values(&stream(2)), [vec![3, 3, 3, 0], c, vec![2, 2, 1, 0], vec![2, 2, 0, 0]]);
    assert_eq!(values(&stream(1)), [vec![3, 3, 3, 0], vec![2, 2, 0, 0], vec![4; 4], vec![1, 2, 2, 0]]);
    // One item that both needs a new block and fills it.
    let full = tokens(fills(list([3, 4, 1])).pack(4, 1));
    assert_eq!(values(&full), [vec![3, 3, 3, 0], vec![4; 4], vec![1, 0, 0, 0]]);
}

#[test]
fn columns_are_packed_together() {
    let pairs = numbers(4).map(|n| (vec![n as u16; n as usize], vec![n > 1; n as usize]));
    let block = values(&pairs.pack(6, 1)).remove(0);
    assert_eq!(block.column::<u16>("0").unwrap(), [1, 2, 2, 3, 3, 3]);
    assert_eq!(block.column::<bool>("1").unwrap(), [false, true, true, true, true, true]);
    let batch = values(&fills(numbers(4)).pack(3, 2).batch(9)).remove(0);
    assert_eq!((batch.rows(), batch.column::<u64>("0").unwrap()), (2, &[1, 2, 2, 3, 3, 3][..]));
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&fills(numbers(0)).pack(4, 1)), []);
    assert_eq!(everywhere(&fills(list([0, 0])).pack(4, 1)), []);
    let rows = || Dataset::from_slices(ndarray::arr2(&[[1u8, 2], [3, 4]])).unwrap().rows();
    assert_eq!(rows().pack(4, 1).length().unwrap(), Length::Unknown);
    assert_eq!(rows().take(0).pack(4, 1).length().unwrap(), Length::Exact(0));
    let spec = rows().pack(4, 1).spec().unwrap().unwrap();
    assert_eq!(spec.to_string(), "(0: u8[4], segment: u32[4], position: u32[4])");
}

#[test]
fn a_row_may_fill_a_block_and_not_more() {
    let seen = everywhere(&tokens(fills(list([4, 5, 1])).pack(4, 1)));
    let long = Err("pack, item 1: expected at most 4 tokens, found 5".into());
    assert_eq!(seen, [Ok(vec![4; 4]), long, Ok(vec![1, 0, 0, 0])]);
    for (tokens, open) in [(0, 1), (1, 0)] {
        let refused = fills(numbers(3)).pack(tokens, open).iter().unwrap_err().to_string();
        assert!(refused.contains("at least one token and one open block"), "{refused}");
    }
    let uneven = numbers(2).map(|n| (vec![1u8; 2], vec![2u8; 1 + n as usize])).pack(4, 1);
    let seen = everywhere(&uneven.map(|block| block.column::<u8>("1").unwrap().to_vec()));
    let text = "pack, item 0: expected 2 elements in column \"1\", as in the first, found 1";
    assert_eq!(seen, [Err(text.into()), Ok(vec![2, 2, 0, 0])]);
    let seen = everywhere(&numbers(1).pack(4, 1));
    assert_eq!(seen, [Err("pack, item 0: expected one axis in column \"0\", found 0".into())]);
}

#[test]
fn an_upstream_error_passes_at_once_and_what_ends_the_stream_comes_last() {
    let seen = everywhere(&tokens(fills(with_error(4, 1)).pack(4, 1)));
    assert_eq!(seen, [Err(bad(1)), Ok(vec![2, 2, 0, 0]), Ok(vec![3, 3, 3, 0])]);
    let seen = everywhere(&tokens(fills(with_panic(4)).pack(4, 2)));
    assert_eq!(seen, [Ok(vec![1, 2, 2, 0]), Ok(vec![3, 3, 3, 0]), Err(panicked(4))]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        lets_go(&fills(endless().map(|n| n % 5)).pack(4, 2), 3);
        drops(|s| s.map(|n| vec![n; 4]).pack(4, 1));
    });
}

#[test]
fn reopened_it_gives_the_same() {
    for open in [1, 2, 9] {
        for n in [0, 1, 5, 7] {
            reopens(&fills(numbers(n)).pack(7, open));
        }
        reopens(&fills(with_error(7, 3)).pack(7, open));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_are_their_model(items in prop::collection::vec(0..7u64, 0..40), open in 1..5usize) {
        let mut blocks: Vec<Vec<u64>> = Vec::new();
        let mut expected = Vec::new();
        for item in items.iter().filter(|item| **item > 0) {
            let row = vec![*item; *item as usize];
            match blocks.iter().position(|block| block.len() + row.len() <= 6) {
                Some(at) => blocks[at].extend(row),
                None => {
                    if blocks.len() == open {
                        expected.push(blocks.remove(0));
                    }
                    blocks.push(row);
                }
            }
            if let Some(at) = blocks.iter().position(|block| block.len() == 6) {
                expected.push(blocks.remove(at));
            }
        }
        expected.extend(blocks);
        expected.iter_mut().for_each(|block| block.resize(6, 0));
        let stream = tokens(fills(Dataset::from_generator(move |_| items.clone())).pack(6, open));
        prop_assert_eq!(values(&stream.threads(gristmill::Threads::None)), expected);
    }
}
