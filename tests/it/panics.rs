//! Trouble at the first, a middle and the last item, in every stage that calls a user's function and below it: told once, after the
//! good items before it, and never taken for the end.

use std::sync::Arc;

use gristmill::{Buckets, Dataset, OnError, Stream};

use crate::common::*;

const ITEMS: u64 = 40;
const BAD: [u64; 3] = [0, 20, ITEMS - 1];
const WORKERS: [usize; 3] = [1, 2, 8];

/// A user's function: gives the number it is given, or panics.
type Call = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

/// What is known of the items before the trouble.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    /// One for each item.
    Each,
    /// The first of those that come without trouble.
    Start,
    /// Some of those, in any order; or what was being collected, as the rest of a stream.
    Some,
}

/// A stage, with a user's function and a number of workers.
type Make = fn(Stream<u64>, Call, usize) -> Stream<Vec<u64>>;

fn list(n: u64) -> Vec<u64> {
    vec![n]
}

use Before::{Each, Start};

/// Every verb that calls a function with items, by name.
const CALLERS: [(&str, Before, Make); 24] = [
    ("map", Each, |s, f, _| s.map(move |n| list(f(n)))),
    ("try_map", Each, |s, f, _| s.try_map(move |n| Ok::<_, String>(list(f(n))))),
    ("map_seeded", Each, |s, f, _| s.map_seeded(1, move |n, _| list(f(n)))),
    ("par_map", Each, |s, f, workers| s.par_map(workers, move |n| list(f(n)))),
    ("par_try_map", Each, |s, f, workers| s.par_try_map(workers, move |n| Ok::<_, String>(list(f(n))))),
    ("par_map_seeded", Each, |s, f, workers| s.par_map_seeded(workers, 1, move |n, _| list(f(n)))),
    ("scan", Each, |s, f, _| s.scan(|_| (), move |(), n| list(f(n)))),
    ("filter", Each, |s, f, _| s.filter(move |n| f(*n) < ITEMS).map(list)),
    ("inspect", Each, |s, f, _| s.inspect(move |n| drop(list(f(*n)))).map(list)),
    ("take_while", Each, |s, f, _| s.take_while(move |n| f(*n) < ITEMS).map(list)),
    ("unique_by", Each, |s, f, _| s.unique_by(move |n| f(*n)).map(list)),
    ("resample", Each, |s, f, _| {
        s.resample(1, [(1.0, 1.0), (1.0, 1.0)], move |n| f(*n) as usize % 2).map(list)
    }),
    ("flat_map", Start, |s, f, _| s.flat_map(move |n| [f(n), n]).map(list)),
    ("flat_map", Start, |s, f, _| {
        let within = move |n| {
            (0..2).map({
                let f = f.clone();
                move |_| f(n)
            })
        };
        s.flat_map(within).map(list)
    }),
    ("flat_map_stream", Start, |s, f, _| s.flat_map_stream(move |n| numbers(1 + f(n) % 2)).map(list)),
    ("interleave", Start, |s, f, _| s.interleave(3, 2, move |n| numbers(1 + f(n) % 3)).map(list)),
    ("par_interleave", Start, |s, f, workers| {
        s.par_interleave(workers, 1, move |n| numbers(1 + f(n) % 3)).map(list)
    }),
    ("par_interleave_unordered", Before::Some, |s, f, workers| {
        s.par_interleave_unordered(workers, move |n| numbers(1 + f(n) % 3)).map(list)
    }),
    ("group_by_window", Before::Some, |s, f, _| s.group_by_window(3, move |n| f(*n) % 2)),
    ("group_by_window_sized", Before::Some, |s, f, _| s.group_by_window_sized(move |n| f(*n) % 2, |_| 2)),
    ("bucket_by_length", Before::Some, |s, f, _| {
        s.bucket_by_length(Buckets::new([1], [3, 2]), move |n| f(*n) as usize % 2).map(|b| ids(&b))
    }),
    ("on_error", Each, |s, f, _| {
        s.try_map(|n| Err::<u64, _>(n.to_string()))
            .on_error(OnError::replace(move |place| f(place.item)))
            .map(list)
    }),
    ("generator", Each, |_, f, _| {
        let items = move |_| {
            (0..ITEMS).map({
                let f = f.clone();
                move |n| f(n)
            })
        };
        Dataset::from_generator(items).map(list)
    }),
    ("generator", Each, |s, f, workers| {
        let items = move |_| {
            (0..ITEMS).map({
                let f = f.clone();
                move |n| f(n)
            })
        };
        s.zip(Dataset::from_generator(items).prefetch(workers)).map(|(_, n)| list(n))
    }),
];

/// Verbs that call no function, above one that does.
const OTHERS: [(Before, Make); 17] = [
    (Each, |s, _, workers| s.prefetch(workers).map(list)),
    (Each, |s, _, _| s.prefetch(3).prefetch(1).prefetch_auto().map(list)),
    (Each, |s, _, _| s.zip(endless()).map(|(n, _)| list(n))),
    (Each, |s, _, _| s.enumerate().map(|(_, n)| list(n))),
    (Each, |s, _, _| s.take(ITEMS).skip(0).map(list)),
    (Each, |s, _, _| s.concat(numbers(0)).map(list)),
    (Each, |s, _, _| s.on_error(OnError::skip(1)).map(list)),
    (Each, |s, _, _| s.cache().map(list)),
    (Each, |s, _, _| {
        Stream::choose([s], Dataset::from_generator(|_| std::iter::repeat_n(0usize, 99))).map(list)
    }),
    (Start, |s, _, _| s.repeat(2).map(list)),
    (Start, |s, _, _| s.unique().map(list)),
    (Start, |s, _, _| Stream::mix([(s, 1), (endless().take(ITEMS), 1)]).map(list)),
    (Before::Some, |s, _, _| s.shuffle_buffer(7, 1).map(list)),
    (Before::Some, |s, _, _| s.window(3, 2, 1)),
    (Before::Some, |s, _, workers| s.batch(4).workers(workers).map(|b| ids(&b))),
    (Before::Some, |s, _, _| s.batch(4).rebatch(3).map(|b| ids(&b))),
    (Before::Some, |s, _, _| {
        s.batch(4).unbatch().shuffle_buffer(3, 1).map(|row| list(row.value("0").unwrap()))
    }),
];

fn harmless() -> Call {
    Arc::new(|n| n)
}

/// A function that panics when it is given `bad`.
fn touchy(bad: u64) -> Call {
    Arc::new(move |n| {
        assert!(n != bad, "no {bad}");
        n
    })
}

/// Checks what comes of a stream that breaks, against what comes of the same without trouble.
fn broken(stream: &Stream<Vec<u64>>, clean: &[Vec<u64>], before: Before, bad: u64, told: &str) {
    let ordered = !format!("{stream:?}").contains("unordered");
    let seen = outcomes(&stream.clone().threads(THREADS[0]));
    for other in THREADS {
        let again = outcomes(&stream.clone().threads(other));
        assert!(!ordered || again == seen, "{stream:?} with {other:?}: {again:?} instead of {seen:?}");
        let (last, good) = again.split_last().unwrap();
        let text = last.as_ref().expect_err("a stream that broke ended as if it were whole");
        assert_eq!(text, told, "{stream:?} with {other:?}");
        assert!(
            good.iter().all(Result::is_ok),
            "{stream:?} with {other:?}: more than one error in {again:?}"
        );
        let good: Vec<u64> = good.iter().flat_map(|item| item.clone().unwrap()).collect();
        let whole: Vec<u64> = clean.concat();
        match before {
            Each => assert_eq!(good.len() as u64, bad, "{stream:?} with {other:?}"),
            Start => assert!(good.len() as u64 >= bad && whole.starts_with(&good), "{stream:?}: {good:?}"),
            Before::Some => assert!(good.iter().all(|n| whole.contains(n)), "{stream:?}: {good:?}"),
        }
        assert!(before != Each || whole.starts_with(&good), "{stream:?}: {good:?}");
    }
}

#[test]
fn a_panic_in_any_function_is_told_once_after_the_good_items() {
    alone(|| {
        std::panic::set_hook(Box::new(|_| {}));
        for (verb, before, make) in CALLERS {
            for (bad, workers) in BAD.into_iter().flat_map(|bad| WORKERS.map(|workers| (bad, workers))) {
                let stream = make(numbers(ITEMS), touchy(bad), workers);
                // A cycle of another length gives another order.
                let clean = values(&make(numbers(ITEMS), harmless(), workers));
                assert!(clean.concat().len() as u64 >= ITEMS, "{verb}");
                broken(&stream, &clean, before, bad, &format!("{verb} panicked at item {bad}: no {bad}"));
            }
        }
    });
}

#[test]
fn a_panic_above_any_stage_is_told_once_after_the_good_items() {
    alone(|| {
        std::panic::set_hook(Box::new(|_| {}));
        let callers = CALLERS
            .into_iter()
            .filter(|(verb, ..)| *verb != "generator")
            .map(|(_, before, make)| (before, make));
        for (before, make) in callers.chain(OTHERS) {
            for (bad, workers) in BAD.into_iter().flat_map(|bad| WORKERS.map(|workers| (bad, workers))) {
                let clean = values(&make(numbers(ITEMS), harmless(), workers));
                broken(&make(with_panic(bad), harmless(), workers), &clean, before, bad, &panicked(bad));
                let mapped =
                    make(numbers(ITEMS).par_map(workers, move |n| touchy(bad)(n)), harmless(), workers);
                broken(&mapped, &clean, before, bad, &format!("par_map panicked at item {bad}: no {bad}"));
            }
        }
    });
}

#[test]
fn an_error_of_an_item_is_told_once_and_the_others_come() {
    watchdog(|| {
        // What comes of a generator is not what comes above it, and a policy for errors lets none through.
        let callers = CALLERS.into_iter().filter(|(verb, ..)| !["generator", "on_error"].contains(verb));
        let others = OTHERS.into_iter().enumerate().filter(|(i, _)| *i != 6).map(|(_, other)| other);
        for (before, make) in callers.map(|(_, before, make)| (before, make)).chain(others) {
            for (bad_item, workers) in BAD.into_iter().flat_map(|bad| WORKERS.map(|workers| (bad, workers))) {
                let failing = numbers(ITEMS)
                    .par_try_map(workers, move |n| if n == bad_item { Err("no") } else { Ok(n) });
                let told = format!("par_try_map, item {bad_item}: no");
                for (upstream, told) in [(with_error(ITEMS, bad_item), bad(bad_item)), (failing, told)] {
                    let stream = make(upstream, harmless(), workers);
                    let seen = outcomes(&stream);
                    let errors: Vec<&String> = seen.iter().filter_map(|item| item.as_ref().err()).collect();
                    // Twice repeated, it fails twice; a window tells it wherever it lies in.
                    let repeated = format!("{stream:?}").contains("repeat(2)")
                        || format!("{stream:?}").contains("window(3, 2");
                    assert!(errors.len() == 1 || repeated && errors.len() == 2, "{stream:?}: {seen:?}");
                    assert!(errors.iter().all(|text| text.ends_with(&told)), "{stream:?}: {errors:?}");
                    if before == Each {
                        let whole =
                            (0..ITEMS).map(|n| if n == bad_item { Err(told.clone()) } else { Ok(vec![n]) });
                        assert_eq!(seen, whole.collect::<Vec<_>>(), "{stream:?}");
                    }
                }
            }
        }
    });
}
