//! `assert_len` declares the number of items and holds the stream to it.

use gristmill::{Dataset, Length, Position};
use proptest::prelude::*;

use crate::common::*;

fn known(n: u64) -> gristmill::Stream<u64> {
    Dataset::range(n).unwrap().rows().map(|row| row.value("0").unwrap())
}

fn refused(n: u64, found: &str) -> Result<u64, String> {
    Err(format!("assert_len: expected {n} items an epoch, found {found}"))
}

#[test]
fn the_length_is_declared_and_kept() {
    let stream = numbers(5).assert_len(5);
    assert_eq!(stream.length().unwrap(), Length::Exact(5));
    assert_eq!(values(&stream), [0, 1, 2, 3, 4]);
    assert_eq!(stream.batch(2).length().unwrap(), Length::Exact(3));
}

#[test]
fn of_nothing_comes_nothing_if_that_was_said() {
    assert_eq!(everywhere(&numbers(0).assert_len(0)), []);
    assert_eq!(everywhere(&numbers(0).assert_len(2)), [refused(2, "0")]);
}

#[test]
fn one_too_few_and_one_too_many() {
    for n in [1, 2, 256, 257] {
        let all: Vec<_> = (0..n).map(Ok).collect();
        assert_eq!(everywhere(&numbers(n).assert_len(n)), all);
        assert_eq!(
            everywhere(&numbers(n).assert_len(n + 1)),
            [&all[..], &[refused(n + 1, &n.to_string())]].concat()
        );
        let cut = [&all[..n as usize - 1], &[refused(n - 1, &format!("at least {n}"))]].concat();
        assert_eq!(everywhere(&numbers(n).assert_len(n - 1)), cut);
    }
    assert_eq!(everywhere(&endless().assert_len(1)), [Ok(0), refused(1, "at least 2")]);
}

#[test]
fn a_length_that_is_known_to_be_another_is_refused_at_once() {
    let refused = known(5).assert_len(4).plan().unwrap_err().to_string();
    assert_eq!(refused, "assert_len: expected the length of the stream, which is 5, found 4");
    assert!(known(5).repeat_forever().assert_len(5).iter().is_err());
    assert_eq!(values(&known(5).assert_len(5)), [0, 1, 2, 3, 4]);
}

#[test]
fn an_upstream_error_keeps_its_place_and_counts() {
    assert_eq!(everywhere(&with_error(3, 1).assert_len(3)), [Ok(0), Err(bad(1)), Ok(2)]);
    assert_eq!(everywhere(&with_error(3, 2).assert_len(2)), [Ok(0), Ok(1), refused(2, "at least 3")]);
    assert_eq!(everywhere(&with_panic(2).assert_len(9)), [Ok(0), Ok(1), Err(panicked(2))]);
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        drops(|s| s.assert_len(1 << 40));
        for threads in THREADS {
            let mut iter = endless().assert_len(2).prefetch(2).threads(threads).iter().unwrap();
            assert_eq!(iter.by_ref().count(), 3);
            no_thread_is_left();
        }
    });
}

#[test]
fn reopened_it_gives_the_same() {
    reopens(&numbers(5).assert_len(5));
    reopens(&with_error(5, 3).assert_len(5));
}

#[test]
fn a_seek_counts_what_it_passes() {
    let at = |item| Position { epoch: 0, item };
    let stream = numbers(5).assert_len(7);
    assert_eq!(drain(&mut stream.seek(at(4)).unwrap()), [Ok(4), refused(7, "5")]);
    assert_eq!(stream.seek(at(6)).unwrap_err().to_string(), refused(7, "5").unwrap_err());
    assert!(endless().assert_len(7).seek(at(u64::MAX)).is_err());
    assert!(drain(&mut numbers(5).assert_len(5).seek(at(9)).unwrap()).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_lets_through_what_was_said_or_tells(there in 0u64..6, said in 0u64..6, from in 0usize..8) {
        let stream = numbers(there).assert_len(said);
        let mut model: Vec<Result<u64, String>> = (0..there.min(said)).map(Ok).collect();
        if there < said {
            model.push(refused(said, &there.to_string()));
        } else if there > said {
            model.push(refused(said, &format!("at least {}", said + 1)));
        }
        prop_assert_eq!(&outcomes(&stream), &model);
        let rest: Vec<_> = stream.iter().unwrap().skip(from).map(|item| item.map_err(|e| e.to_string())).collect();
        if from < model.len() {
            prop_assert_eq!(&rest[..], &model[from..]);
        }
    }
}
