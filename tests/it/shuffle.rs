//! `shuffle_buffer` on a stream: items in an order shuffled through a buffer.

use gristmill::{Dataset, Length, RandomStream, Threads};

use crate::common::*;

fn sorted(mut items: Vec<u64>) -> Vec<u64> {
    items.sort();
    items
}

#[test]
fn items_come_once_each_in_an_order_of_seed_and_epoch() {
    let stream = |seed| numbers(100).shuffle_buffer(100, seed);
    let orders = [epoch(&stream(0), 0), epoch(&stream(0), 1), epoch(&stream(7), 0)];
    for (i, order) in orders.iter().enumerate() {
        assert_eq!(sorted(order.clone()), (0..100).collect::<Vec<_>>());
        assert!(orders[..i].iter().all(|other| other != order), "two equal orders");
    }
    assert_eq!(orders[2], values(&stream(7)));
    let known = Dataset::range(9).unwrap().batch(2).shuffle_buffer(3, 1);
    assert_eq!(known.length().unwrap(), Length::Exact(5));
}

/// Changing this breaks every user's resume.
#[test]
fn its_orders_are_pinned() {
    let stream = numbers(10).shuffle_buffer(4, 42);
    let pinned = [[3, 1, 0, 4, 7, 8, 6, 2, 9, 5], [0, 1, 2, 3, 6, 7, 8, 9, 4, 5]];
    assert_eq!([epoch(&stream, 0), epoch(&stream, 1)], pinned);
}

#[test]
fn of_nothing_comes_nothing() {
    assert_eq!(everywhere(&numbers(0).shuffle_buffer(4, 1)), []);
}

#[test]
fn the_buffer_may_hold_one_item_all_or_more() {
    for n in [1, 5] {
        assert_eq!(
            values(&numbers(n).shuffle_buffer(1, 3)),
            (0..n).collect::<Vec<_>>(),
            "one cannot be moved"
        );
        for buffer in [2, 4, 5, 6, usize::MAX] {
            let seen = values(&numbers(n).shuffle_buffer(buffer, 3));
            assert_eq!(sorted(seen), (0..n).collect::<Vec<_>>(), "{n} items, buffer {buffer}");
        }
    }
    assert!(numbers(5).shuffle_buffer(0, 3).iter().is_err());
}

#[test]
fn no_item_comes_much_before_its_turn() {
    for buffer in [2, 5, 20] {
        let seen = values(&numbers(200).shuffle_buffer(buffer, 9));
        assert!(seen.iter().zip(0..).all(|(item, place)| *item < place + buffer as u64), "{seen:?}");
    }
}

#[test]
fn an_upstream_error_passes_at_once_and_what_ends_the_stream_comes_last() {
    let seen = everywhere(&with_error(20, 5).shuffle_buffer(4, 2));
    // Items 0 to 3 fill the buffer; one has gone when item 4 is taken, another when item 5 is asked for.
    assert_eq!(seen.iter().position(Result::is_err), Some(2));
    assert_eq!(seen[2], Err(bad(5)));
    let others = seen.into_iter().flatten().collect();
    assert_eq!(sorted(others), (0..20).filter(|n| *n != 5).collect::<Vec<_>>());

    let mut seen = everywhere(&with_panic(9).shuffle_buffer(4, 2));
    assert_eq!(seen.pop(), Some(Err(panicked(9))));
    assert_eq!(sorted(seen.into_iter().map(Result::unwrap).collect()), (0..9).collect::<Vec<_>>());
}

/// The rule on lists: outcomes, of which the last may end the stream, through a buffer of so many items.
fn rule(upstream: Vec<Result<u64, String>>, ends: Option<String>, buffer: usize) -> Vec<Result<u64, String>> {
    let mut random = RandomStream::new(5, "shuffle_buffer", 0, 0);
    let (mut upstream, mut held, mut seen) = (upstream.into_iter(), Vec::new(), Vec::new());
    loop {
        while held.len() < buffer
            && let Some(outcome) = upstream.next()
        {
            match outcome {
                Ok(item) => held.push(item),
                Err(error) => seen.push(Err(error)),
            }
        }
        if held.is_empty() {
            seen.extend(ends.map(Err));
            return seen;
        }
        seen.push(Ok(held.swap_remove(random.below(held.len() as u64) as usize)));
    }
}

#[test]
fn it_is_the_rule_on_lists() {
    for buffer in 1..10 {
        for n in 0..9 {
            let whole = (0..n).map(Ok).collect();
            assert_eq!(outcomes(&numbers(n).shuffle_buffer(buffer, 5)), rule(whole, None, buffer));
            let cut = (0..n).map(Ok).collect();
            let stream = with_panic(n).shuffle_buffer(buffer, 5).threads(Threads::None);
            assert_eq!(outcomes(&stream), rule(cut, Some(panicked(n)), buffer), "{n} items, buffer {buffer}");
            for at in 0..n {
                let items = (0..n).map(|i| if i == at { Err(bad(i)) } else { Ok(i) }).collect();
                let stream = with_error(n, at).shuffle_buffer(buffer, 5).threads(Threads::None);
                assert_eq!(
                    outcomes(&stream),
                    rule(items, None, buffer),
                    "{n} items, {at} bad, buffer {buffer}"
                );
            }
        }
    }
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| drops(|s| s.shuffle_buffer(3, 1)));
}

#[test]
fn reopened_it_gives_the_same() {
    for buffer in [1, 3, 5, 8, 10] {
        reopens(&numbers(8).shuffle_buffer(buffer, 1));
        reopens(&with_error(8, 4).shuffle_buffer(buffer, 1));
        reopens(&numbers(5).shuffle_buffer(buffer, 1).repeat(2));
    }
}
