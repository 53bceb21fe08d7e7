//! Positions that are saved and continued from.

use super::*;

/// Five ways to save and go on; each must give what one run without a break gives.
fn scenarios<T: PartialEq + std::fmt::Debug + Send + 'static>(stream: &Stream<T>) {
    let saved = |iter: &gristmill::Iter<T>| {
        let text = serde_json::to_string(&iter.position()).unwrap();
        serde_json::from_str::<Position>(&text).unwrap()
    };
    for epoch in [0, 1] {
        let whole = drain(&mut stream.epoch(epoch).unwrap());
        for n in 0..=whole.len() {
            // A run that was never read from; one left at any item; one at its end.
            let mut iter = stream.epoch(epoch).unwrap();
            iter.by_ref().take(n).for_each(drop);
            let position = saved(&iter);
            assert_eq!(drain(&mut stream.seek(position).unwrap()), whole[n..], "{stream:?} from {n}");
            // The run that was saved goes on, and what it was is still there.
            assert_eq!(drain(&mut iter), whole[n..], "{stream:?} after saving at {n}");
            // Continued twice, with a break between.
            let mut second = stream.seek(position).unwrap();
            second.next();
            let mut third = stream.seek(saved(&second)).unwrap();
            assert_eq!(drain(&mut third), whole[whole.len().min(n + 1)..], "{stream:?} from {n} + 1");
        }
        let mut ended = stream.epoch(epoch).unwrap();
        ended.by_ref().for_each(drop);
        let mut after = stream.seek(saved(&ended)).unwrap();
        assert!(after.next().is_none() && after.next().is_none(), "{stream:?} at its end");
    }
}

#[test]
fn c70_a_long_chain_continues_where_it_was_left() {
    // Each verb alone is held to the same by `reopens` in the file of its name.
    let chain = range(24)
        .shuffle(Shuffle::buffer(7, 3))
        .repeat(2)
        .batch(5)
        .unbatch()
        .map(|row| row.value::<u64>("0").unwrap())
        .par_map_seeded(2, 5, |n, random| n * 100 + random.below(100))
        .filter(|n| n % 3 > 0)
        .shuffle_buffer(4, 9)
        .interleave(2, 2, |n| numbers(n % 3).map(move |i| n * 10 + i))
        .window(3, 2, 1)
        .scan(
            |epoch| epoch,
            |sum: &mut u64, window: Vec<u64>| {
                *sum += window.iter().sum::<u64>();
                *sum
            },
        )
        .batch(4)
        .cache()
        .prefetch(3);
    scenarios(&chain);
    scenarios(&range(10).batch(3));
    scenarios(&with_error(9, 4).map(|n| n + 1).prefetch(2));
}

#[test]
fn c71_a_saved_position_continues_with_the_next_batch() {
    let squares = Dataset::from_generator(|_| (1..7).map(|n: u64| n * n)).batch(2);
    let mut iter = squares.iter().unwrap();
    let mut next = || iter.next().unwrap().unwrap().column::<u64>("0").unwrap().to_vec();
    assert_eq!(next(), [1, 4]);
    next();
    let saved = Position { epoch: 0, item: 1 };
    let rest: Vec<_> =
        squares.seek(saved).unwrap().map(|b| b.unwrap().column::<u64>("0").unwrap().to_vec()).collect();
    assert_eq!(rest, [[9, 16], [25, 36]]);
}

#[test]
fn c72_iterators_have_positions_of_their_own() {
    let stream = numbers(9);
    let mut iters = [0, 2, 9].map(|taken| {
        let mut iter = stream.iter().unwrap();
        iter.by_ref().take(taken).for_each(drop);
        iter
    });
    let saved = iters.each_ref().map(|iter| iter.position());
    assert_eq!(saved.map(|position| position.item), [0, 2, 9]);
    for (iter, position) in iters.iter_mut().zip(saved) {
        assert_eq!(drain(&mut stream.seek(position).unwrap()), drain(iter), "{position:?}");
    }
}

#[test]
fn c74_shuffle_buffers_of_every_size_continue_exactly() {
    for buffer in [1, 3, 5, 8, 10] {
        let how = Shuffle::buffer(buffer, 4);
        for how in [how, how.fixed()] {
            scenarios(&range(5).shuffle(how).repeat(2).batch(1));
            scenarios(&range(5).shuffle(how).batch(1).repeat(2));
        }
        scenarios(&numbers(5).shuffle_buffer(buffer as usize, 4).repeat(2));
    }
}

#[test]
fn c75_what_follows_a_saved_position_follows_it_again() {
    let once = range(8).shuffle(Shuffle::full(6));
    for stream in [once.batch(1), once.repeat(3).batch(1), once.batch(1).repeat(3), once.repeat(3).batch(5)] {
        for k in 0..2 {
            let mut iter = stream.epoch(k).unwrap();
            loop {
                let saved = iter.position();
                let (first, again) = (iter.next(), stream.seek(saved).unwrap().next());
                assert_eq!(first.is_none(), again.is_none(), "{stream:?} at {saved:?}");
                let (Some(first), Some(again)) = (first, again) else { break };
                assert_eq!(first.unwrap(), again.unwrap(), "{stream:?} at {saved:?}");
            }
        }
    }
}

#[test]
fn c77_an_error_that_was_read_ahead_comes_at_its_place_again() {
    for depth in [1, 4, 100] {
        let stream = with_error(8, 3).prefetch(depth);
        let whole = drain(&mut stream.iter().unwrap());
        assert_eq!(whole[3], Err(bad(3)));
        for n in 0..8 {
            let mut iter = stream.iter().unwrap();
            // By now the error lies in the link already, or has been delivered.
            iter.by_ref().take(n).for_each(drop);
            assert_eq!(drain(&mut stream.seek(iter.position()).unwrap()), whole[n..], "left at {n}");
        }
    }
}
