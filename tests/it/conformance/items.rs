//! Maps, errors and the end.

use super::*;

#[test]
fn c30_a_parallel_map_keeps_the_order() {
    for workers in [1, 2, 8] {
        for depth in 1..=16 {
            let stream = numbers(60).par_map(workers, |n| n * n).prefetch(depth);
            assert!(values(&stream).into_iter().eq((0..60).map(|n| n * n)), "{stream:?}");
        }
    }
}

#[test]
fn c31_an_error_in_a_map_takes_its_item_s_place() {
    let streams = [
        ("try_map", checked(|s, check| s.try_map(check))),
        ("par_try_map", checked(|s, check| s.par_try_map(2, check))),
        ("try_map", checked(|s, check| s.try_map(check).prefetch(2))),
    ];
    for (verb, stream) in streams {
        let error = Err(format!("{verb}, item 3: not a number"));
        assert_eq!(everywhere(&stream), [Ok(1.0), Ok(2.0), Ok(3.0), error, Ok(5.0)]);
    }
}

#[test]
fn c32_errors_can_be_passed_over() {
    // A loop that does not stop at an item's error ignores errors; `on_error` does it within a budget.
    let good = |stream: &Stream<f64>| stream.iter().unwrap().filter_map(Result::ok).collect::<Vec<_>>();
    assert_eq!(good(&checked(|s, check| s.try_map(check))), [1.0, 2.0, 3.0, 5.0]);
    assert_eq!(good(&checked(|s, check| s.par_try_map(2, check).prefetch(2))), [1.0, 2.0, 3.0, 5.0]);
    let x = Dataset::from_generator(|_| [1.0, 2.0, 0.0, 4.0]);
    let inverse = x.try_map(|x| if x == 0.0 { Err("division by zero") } else { Ok(1.0 / x) });
    let pairs: Vec<_> = inverse
        .zip(Dataset::from_generator(|_| [1, 2, 3, 4]))
        .iter()
        .unwrap()
        .filter_map(Result::ok)
        .collect();
    assert_eq!(pairs, [(1.0, 1), (0.5, 2), (0.25, 4)]);
}

#[test]
fn c33_the_end_is_final_for_every_stage() {
    fn end<T: Send + 'static>(stream: Stream<T>) {
        let mut iter = stream.iter().unwrap();
        while iter.next().is_some() {}
        assert!(iter.next().is_none() && iter.next().is_none() && iter.nth(3).is_none(), "{stream:?}");
    }
    let batches = || range(5).batch(2);
    end(numbers(3));
    end(with_error(3, 2));
    end(with_panic(3));
    end(batches().workers(2));
    end(range(5).batch_exact(2));
    end(range(5).batch_masked(2));
    end(range(5).rows());
    end(batches().unbatch());
    end(numbers(5).batch(2));
    end(numbers(5).batch_exact(2));
    end(numbers(5).batch_masked(2));
    end(numbers(5).map(|n| n));
    end(numbers(5).par_map(2, |n| n));
    end(numbers(5).filter(|n| n % 2 == 0));
    end(numbers(5).inspect(|_| {}));
    end(numbers(5).enumerate());
    end(numbers(5).take(3));
    end(numbers(5).skip(3));
    end(numbers(5).repeat(2));
    end(numbers(5).zip(numbers(3)));
    end(numbers(3).zip(numbers(5)));
    end(numbers(3).concat(numbers(5)));
    end(numbers(5).shuffle_buffer(3, 1));
    end(numbers(5).prefetch(2));
    end(numbers(5).batch(2).cast::<f32>("0").typed::<f32>().unwrap());
}

/// A generator's iterator that counts those alive.
struct Alive(Arc<AtomicU64>);

impl Alive {
    fn stream() -> (Stream<u64>, Arc<AtomicU64>) {
        let alive = Arc::new(AtomicU64::new(0));
        let count = alive.clone();
        let factory = move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Alive(count.clone())
        };
        (Dataset::from_generator(factory), alive)
    }
}

impl Iterator for Alive {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        Some(7)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn c35_a_generator_stopped_short_is_released() {
    let (stream, alive) = Alive::stream();
    let mut iter = stream.iter().unwrap();
    iter.next().unwrap().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 1);
    drop(iter);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    let mut iter = stream.take(2).prefetch(3).iter().unwrap();
    assert_eq!(iter.by_ref().count(), 2);
    assert_eq!(alive.load(Ordering::SeqCst), 0, "while the iterator is there");
}

#[test]
fn c36_a_factory_is_called_once_an_iterator_and_once_a_repetition() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    let stream = Dataset::from_generator(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        0..3
    });
    let (mut a, mut b) = (stream.iter().unwrap(), stream.iter().unwrap());
    let mixed = [a.next(), b.next(), a.next(), b.next()].map(|item| item.unwrap().unwrap());
    assert_eq!((mixed, calls.load(Ordering::SeqCst)), ([0, 0, 1, 1], 2));
    values(&stream.repeat(3));
    assert_eq!(calls.load(Ordering::SeqCst), 5);
}

#[test]
fn c37_a_full_pipeline_is_dropped_at_once() {
    alone(|| {
        let made = Arc::new(AtomicU64::new(0));
        let count = made.clone();
        let stream = endless().par_map(4, move |n| (n, count.fetch_add(1, Ordering::SeqCst))).prefetch(100);
        let mut iter = stream.iter().unwrap();
        iter.next().unwrap().unwrap();
        until(|| made.load(Ordering::SeqCst) > 64);
        drop(iter);
        no_thread_is_left();
    });
}

#[test]
fn c38_a_blocked_map_is_left_when_its_call_returns() {
    // A user's function cannot be cut short: dropping waits for the call that is running, and for no other.
    alone(|| {
        let (open, gate) = mpsc::channel::<()>();
        let (gate, entered) = (Mutex::new(gate), Arc::new(AtomicBool::new(false)));
        let inside = entered.clone();
        let stream = endless().map(move |n| {
            if n == 1 {
                inside.store(true, Ordering::SeqCst);
                gate.lock().unwrap().recv().unwrap_err();
            }
            n
        });
        let mut iter = stream.prefetch(4).iter().unwrap();
        assert_eq!(iter.next().unwrap().unwrap(), 0);
        until(|| entered.load(Ordering::SeqCst));
        std::thread::scope(|scope| {
            scope.spawn(move || drop(iter));
            drop(open);
        });
        no_thread_is_left();
    });
}

#[test]
fn c39_without_prefetch_a_map_is_called_for_the_items_that_are_taken() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    let stream = numbers(10).map(move |_| count.fetch_add(1, Ordering::SeqCst));
    for taken in [3, 4, 10] {
        let before = calls.load(Ordering::SeqCst);
        stream.iter().unwrap().take(taken).for_each(|item| assert!(item.is_ok()));
        assert_eq!(calls.load(Ordering::SeqCst) - before, taken as u64);
    }
}

#[test]
fn c41_consumers_on_several_threads_share_out_an_iterator() {
    let iter = Mutex::new(numbers(1000).par_map(2, |n| n).prefetch(8).iter().unwrap());
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(item) = { iter.lock().unwrap().next() } {
                    seen.lock().unwrap().push(item.unwrap());
                }
            });
        }
    });
    assert_eq!(sorted(seen.into_inner().unwrap()), (0..1000).collect::<Vec<_>>());
}

#[test]
fn c42_prefetch_changes_no_output() {
    // Depths are usize: none is wrong, and "as many as fit" has a verb of its own.
    let plain = range(100).shuffle(Shuffle::full(1)).batch(7);
    for depth in [0, 1, 42] {
        assert_eq!(values(&plain.clone().prefetch(depth)), values(&plain));
    }
    assert_eq!(values(&plain.clone().prefetch_auto()), values(&plain));
}
