//! What holds for every pipeline, on a list of them.

use gristmill::{
    Array, Balance, Batch, Buckets, Dataset, Iter, OnError, Pad, Position, Result, Row, Shuffle, Stream,
    Threads,
};

use crate::common::*;

/// Any stream as a stream of texts, so that all of them fit in one list.
type Texts = Stream<String>;

fn texts<T: std::fmt::Debug + Send + 'static>(stream: Stream<T>) -> Texts {
    stream.map(|item| format!("{item:?}"))
}

fn contents(batch: Batch) -> Vec<u64> {
    batch.column::<u64>("0").unwrap().to_vec()
}

fn value(row: Row) -> u64 {
    row.value("0").unwrap()
}

/// The rows 0 to n-1 as one u64 column.
fn rows(n: u64) -> Dataset {
    Dataset::range(n).unwrap()
}

/// A place for a file cache of this process: filled by the first test that reads it to its end, read by the others.
fn folder(name: &str) -> std::path::PathBuf {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> =
        std::sync::LazyLock::new(|| tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    FOLDER.path().join(name)
}

/// `n % 6` times the number `n`.
fn list(n: u64) -> Vec<u64> {
    vec![n; n as usize % 6]
}

fn lists(n: u64) -> Stream<Vec<u64>> {
    numbers(n).map(list)
}

/// Every verb stands in at least one of these.
fn pipelines() -> Vec<Texts> {
    let shuffled = rows(100).shuffle(Shuffle::full(7));
    vec![
        texts(rows(10).batch(3).map(contents)),
        texts(rows(10).batch_exact(3).map(contents).prefetch(2)),
        texts(rows(10).batch_masked(4).map(|b| b.column::<bool>("mask").unwrap().to_vec())),
        texts(shuffled.batch(7).map(contents).prefetch(16)),
        texts(rows(1000).shuffle(Shuffle::blocks_of(16, 8, 3)).batch(64).prefetch_auto().map(contents)),
        texts(
            rows(300).shuffle(Shuffle::buffer(50, 1)).repeat(2).shard(3, 1).unwrap().batch(9).map(contents),
        ),
        texts(shuffled.split(0.7, 1).unwrap().0.reverse().skip(5).take(50).rows().map(value)),
        texts(
            rows(5)
                .concat(&rows(4))
                .unwrap()
                .select([8, 0, 3])
                .unwrap()
                .batch(2)
                .cast::<f32>("0")
                .rename("0", "x")
                .select(["x"])
                .typed::<f32>()
                .unwrap(),
        ),
        texts(shuffled.distribute(1, 3, 12).unwrap().map(contents)),
        texts(shuffled.distribute_exact(1, 3, 12).unwrap().prefetch(2).map(contents)),
        texts(shuffled.distribute_masked(2, 3, 12).unwrap()),
        texts(Dataset::mix([(&rows(20), 2), (&shuffled, 3)]).unwrap().batch(7).map(contents)),
        texts(
            Dataset::choose([&rows(5), &shuffled], [1, 1, 0, 1])
                .unwrap()
                .sample(9, 1)
                .unwrap()
                .rows()
                .map(value),
        ),
        texts(rows(3).sample_weighted(20, [1.0, 0.0, 2.0], 5).unwrap().batch(3).map(contents)),
        texts(rows(9).balance("0", Balance::over(3)).unwrap().batch(4).map(contents)),
        texts(
            rows(90)
                .keep_where(["0"], |row| Ok(row.value::<u64>("0")? % 3 == 0), |_, _| {})
                .unwrap()
                .group_by_length("0", 4, 1)
                .unwrap()
                .batch(4)
                .map(contents),
        ),
        texts(numbers(50).filter(|n| n % 3 > 0).batch(4).unbatch().map(value)),
        texts(numbers(50).par_map(4, |n| n * n).prefetch(64)),
        texts(numbers(50).shuffle_buffer(10, 5).enumerate_from(3).inspect(|_| {}).skip(4).take(30)),
        texts(numbers(5).repeat(3).concat(numbers(3)).zip(numbers(100))),
        texts(numbers(5).repeat_forever().skip(7).take(20)),
        texts(
            numbers(40)
                .map_seeded(9, |n, random| n + random.below(100))
                .par_map_seeded(3, 4, |n, r| n ^ r.next_u64()),
        ),
        texts(with_error(20, 7).batch(4).map(contents)),
        texts(with_error(20, 7).zip(with_error(20, 11)).prefetch(3)),
        texts(
            with_error(20, 7)
                .par_try_map(2, |n| if n == 13 { Err("thirteen") } else { Ok(n) })
                .filter(|n| n % 2 == 1),
        ),
        texts(with_panic(9).shuffle_buffer(4, 1)),
        texts(with_panic(9).batch(4).map(contents)),
        texts(numbers(30).par_map(4, |n| assert!(n != 17, "no seventeen"))),
        texts(numbers(30).try_map(|n| if n % 10 == 9 { Err("nine") } else { Ok(n) }).prefetch(5)),
        texts(rows(0).shuffle(Shuffle::blocks(1)).batch(4).map(contents)),
        texts(shuffled.batch(9).cache().repeat(2).map(contents)),
        texts(with_error(20, 7).cache().zip(numbers(30).cache())),
        texts(with_panic(9).cache().prefetch(2)),
        texts(shuffled.batch(9).cache_file(folder("whole")).map(contents)),
        texts(with_error(20, 7).batch(3).cache_file(folder("failing")).map(contents)),
        texts(
            with_error(9, 4)
                .flat_map(|n| 0..n % 4)
                .unique_by(|n| *n)
                .concat(numbers(9).take_while(|n| *n < 5)),
        ),
        texts(with_error(30, 4).resample(3, [(1.0, 1.0), (1.0, 3.0)], |n| *n as usize % 2)),
        texts(with_error(9, 4).interleave(2, 2, |n| with_error(n, 2)).window(3, 2, 1)),
        texts(
            numbers(9)
                .par_interleave(3, 1, numbers)
                .flat_map_stream(numbers)
                .scan(|epoch| epoch, |sum, n| *sum + n),
        ),
        texts(with_error(20, 7).batch(4).rebatch([3, 2]).map(contents).window_exact(2, 3, 2)),
        texts(Stream::mix([(numbers(20), 3), (rows(9).rows().map(value), 2)]).assert_len(24)),
        texts(Stream::mix_to_end([(with_error(9, 3), 1), (numbers(5), 4)]).unique()),
        texts(Stream::choose_to_end([numbers(2), with_error(5, 1)], [0, 1, 0, 1, 0, 1, 1])),
        texts(with_error(20, 7).on_error(OnError::skip(1)).group_by_window(3, |n| n % 4)),
        texts(with_error(20, 7).on_error(OnError::replace(|place| place.epoch)).map(list).pack(9, 2)),
        texts(lists(20).padded_batch(3, Pad::longest().lengths("0"))),
        texts(lists(20).ragged_batch(3).map(|b| b.values("0").unwrap().clone())),
        texts(lists(20).bucket_by_length(Buckets::new([3], [2, 4]), |list| list.len())),
        texts(rows(10).batch(4).pad_to(5).map(contents)),
        texts(rows(100).windows(5, 3).unwrap().shuffle(Shuffle::full(2)).batch(4).map(contents)),
        texts(
            numbers(3)
                .map(|n| Batch::new([("n", Array::from_elements(&[n], &[1]).unwrap())]).unwrap())
                .unbatch(),
        ),
    ]
}

fn outcomes_of_epoch(stream: &Texts, epoch: u64) -> Vec<Result<String, String>> {
    drain(&mut stream.epoch(epoch).unwrap())
}

#[test]
fn threads_are_invisible() {
    watchdog(|| {
        for stream in pipelines() {
            for epoch in 0..3 {
                let expected = outcomes_of_epoch(&stream.clone().threads(Threads::None), epoch);
                for threads in [Threads::Auto, Threads::EachStage] {
                    for workers in [1, 2, 5] {
                        let stream = stream.clone().threads(threads).workers(workers);
                        let seen = outcomes_of_epoch(&stream, epoch);
                        assert_eq!(
                            seen, expected,
                            "{stream:?}, {threads:?}, {workers} workers, epoch {epoch}"
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn an_epoch_depends_on_its_number_alone() {
    for stream in pipelines() {
        let second = outcomes_of_epoch(&stream, 2);
        outcomes_of_epoch(&stream, 0);
        assert_eq!(outcomes_of_epoch(&stream, 2), second, "{stream:?}");
    }
}

#[test]
fn passing_over_items_is_pulling_them() {
    for stream in pipelines() {
        let all = outcomes_of_epoch(&stream, 1);
        let broken = |seen: &[Result<String, String>]| {
            seen.iter().any(|o| o.as_ref().is_err_and(|e| e.contains("panicked")))
        };
        for n in (0..=all.len() + 1).filter(|n| n % 3 < 2) {
            let from = n.min(all.len());
            let mut expected = all[from..].to_vec();
            // A map that is passed over is not called, so it cannot panic; any other panic still ends the stream.
            if broken(&all[..from]) || (broken(&all) && n >= all.len()) {
                expected.clear();
            }
            let seen: Vec<_> =
                stream.epoch(1).unwrap().skip(n).map(|i| i.map_err(|e| e.to_string())).collect();
            if broken(&all) && n >= all.len() {
                continue;
            }
            assert_eq!(seen, expected, "{stream:?} from {n}");
            let position = Position { epoch: 1, item: n as u64 };
            if let Ok(mut iter) = stream.seek(position) {
                assert_eq!(drain(&mut iter), expected, "{stream:?} at {position:?}");
            }
        }
    }
}

#[test]
fn a_position_survives_json_and_continues_with_the_next_item() {
    for stream in pipelines() {
        let mut iter = stream.epoch(1).unwrap();
        for _ in 0..3 {
            iter.next();
        }
        let json = serde_json::to_string(&iter.position()).unwrap();
        assert!(json.len() < 64, "{json}");
        let mut sought = stream.seek(serde_json::from_str(&json).unwrap()).unwrap();
        let json = serde_json::to_string(&iter.state()).unwrap();
        assert!(json.len() < 1024, "{json}");
        let elsewhere = stream.clone().threads(Threads::EachStage).workers(3);
        let mut resumed = elsewhere.resume(&serde_json::from_str(&json).unwrap()).unwrap();
        let rest = drain(&mut iter);
        assert_eq!(drain(&mut sought), rest, "{stream:?}");
        assert_eq!(drain(&mut resumed), rest, "{stream:?}");
    }
}

#[test]
fn a_dropped_iterator_leaves_no_thread() {
    watchdog(|| {
        for stream in pipelines().into_iter().map(|s| s.threads(Threads::EachStage).workers(3)) {
            for pulled in 0..4 {
                let mut iter: Iter<String> = stream.iter().unwrap();
                let before = iter.position();
                iter.by_ref().take(pulled).for_each(drop);
                assert!(iter.position().item >= before.item);
                drop(iter);
            }
        }
    });
}

#[test]
fn an_opened_but_unused_iterator_starts_no_thread() {
    // Other tests of this process have threads too: names are not enough, but a stage of our own is.
    let started = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = started.clone();
    let stream = Dataset::from_generator(move |_| {
        seen.store(true, std::sync::atomic::Ordering::SeqCst);
        0..3
    });
    let iter = stream.prefetch(2).iter().unwrap();
    drop(iter);
    assert!(!started.load(std::sync::atomic::Ordering::SeqCst));
}

#[test]
fn lengths_are_what_is_counted() {
    for stream in pipelines() {
        let counted = outcomes_of_epoch(&stream, 0);
        let broken = counted.iter().any(|o| o.as_ref().is_err_and(|e| e.contains("panicked")));
        if let (Some(length), false) = (stream.length().unwrap().exact(), broken) {
            assert_eq!(length, counted.len() as u64, "{stream:?}");
        }
    }
}

#[test]
fn iterators_of_one_stream_live_side_by_side_and_nest() {
    watchdog(|| {
        let stream = rows(30).shuffle(Shuffle::full(3)).batch(4).map(contents).prefetch(2);
        let expected = values(&stream);
        let zipped: Vec<_> = values(&stream.clone().zip(stream.clone()));
        assert!(zipped.iter().zip(&expected).all(|((a, b), c)| a == c && b == c));
        for outer in stream.iter().unwrap() {
            outer.unwrap();
            assert_eq!(values(&stream), expected);
        }
        let inner = stream.clone();
        let nested = numbers(5).par_map(2, move |n| values(&inner)[n as usize].clone());
        assert_eq!(values(&nested), expected[..5]);
    });
}

#[test]
fn a_batch_stays_as_it_is_while_it_is_held() {
    let stream = rows(1000).shuffle(Shuffle::full(5)).batch(10).prefetch(3);
    let held: Vec<Batch> = stream.iter().unwrap().map(|b| b.unwrap()).collect();
    let fresh: Vec<Batch> = values(&stream);
    assert_eq!(held, fresh);
    assert_eq!(held.len(), 100);
}

#[test]
fn slicing_a_batch_then_stacking_its_rows_is_the_batch() {
    let whole = values(&rows(20).batch(20)).remove(0);
    let parts: Vec<u64> = (0..4).flat_map(|i| contents(whole.slice(i * 5, i * 5 + 5))).collect();
    assert_eq!(parts, contents(whole.clone()));
    let again = values(
        &Dataset::from_generator(move |_| {
            let whole = whole.clone();
            (0..20).filter_map(move |i| whole.row(i))
        })
        .batch(20),
    );
    assert_eq!(contents(again[0].clone()), (0..20).collect::<Vec<u64>>());
}

#[test]
fn a_stream_prints_the_expression_that_made_it() {
    let cases: Vec<(String, &str)> = vec![
        (format!("{:?}", pipelines()[1]), "range(10).batch_exact(3).map(..).prefetch(2).map(..)"),
        (
            format!(
                "{:?}",
                rows(9).shuffle(Shuffle::blocks_of(2, 3, 4)).shard(3, 1).unwrap().repeat(2).batch(2)
            ),
            "range(9).shuffle(blocks_of(2, 3, 4)).shard(3, 1).repeat(2).batch(2)",
        ),
        (
            format!(
                "{:?}",
                rows(9).split(0.5, 7).unwrap().1.reverse().take(3).skip(1).batch(2).typed::<u64>().unwrap()
            ),
            "range(9).split(0.5, 7).1.reverse().take(3).skip(1).batch(2).typed::<u64>()",
        ),
        (
            format!(
                "{:?}",
                Dataset::from_slices((("x", vec![1f32]), ("y", vec![2u8])))
                    .unwrap()
                    .batch(1)
                    .cast::<f32>("y")
            ),
            "from_slices(\"x\": [f32; 1], \"y\": [u8; 1]).batch(1).cast::<f32>(\"y\")",
        ),
        (
            format!("{:?}", numbers(3).zip(numbers(4).filter(|_| true)).enumerate()),
            "from_generator(u64).zip(from_generator(u64).filter(..)).enumerate()",
        ),
        (
            format!("{:?}", numbers(3).par_map(2, |n| n).shuffle_buffer(4, 5)),
            "from_generator(u64).par_map(2, ..).shuffle_buffer(4, 5)",
        ),
    ];
    for (printed, expected) in cases {
        assert_eq!(printed, expected);
    }
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_the_numbers() {
    let stream = rows(1000).batch(100).prefetch(8);
    let peak = stream.plan().unwrap().peak_bytes();
    assert_eq!(peak, 9 * 800);
    assert!(stream.clone().budget(peak).iter().is_ok());
    let refused = stream.budget(peak - 1).iter().unwrap_err().to_string();
    assert!(refused.contains("7200 bytes") && refused.contains("the budget is 7.0 KiB"), "{refused}");
}

#[test]
fn a_wrong_argument_is_refused_before_anything_starts() {
    let refused: Vec<String> = vec![
        rows(3).batch(0).iter().unwrap_err().to_string(),
        rows(3).batch(0).plan().unwrap_err().to_string(),
        rows(3).batch(0).typed::<u64>().unwrap_err().to_string(),
        numbers(3).batch_masked(0).prefetch(1).iter().unwrap_err().to_string(),
        numbers(3).shuffle_buffer(0, 1).length().unwrap_err().to_string(),
        rows(3).shuffle(Shuffle::buffer(0, 1)).batch(1).iter().unwrap_err().to_string(),
        rows(3).shuffle(Shuffle::blocks_of(0, 1, 1)).batch(1).iter().unwrap_err().to_string(),
        rows(3).batch(1).select(["nothing"]).iter().unwrap_err().to_string(),
        numbers(3).prefetch_bytes(100).iter().unwrap_err().to_string(),
        rows(3).batch(2).epoch(u64::MAX).unwrap_err().to_string(),
    ];
    for text in refused {
        assert!(text.contains("expected") && text.contains("found"), "{text}");
    }
}

/// The first rows of the orders of three seeds. Changing any of these breaks every user's resume: it must not happen
/// within a version line.
#[test]
fn orders_are_pinned() {
    let first = |shuffle: Shuffle, n: u64, epoch: u64| rows(n).shuffle(shuffle).order(epoch, 0, 8).unwrap();
    let mut seen = Vec::new();
    for seed in [0, 7, 42] {
        seen.push(first(Shuffle::full(seed), 1000, 0));
        seen.push(first(Shuffle::full(seed), 1000, 1));
        seen.push(first(Shuffle::full(seed), 10_000_000_000, 1));
        seen.push(first(Shuffle::blocks_of(100, 10, seed), 123_456, 1));
        seen.push(first(Shuffle::buffer(100, seed), 1000, 1));
        seen.push(rows(1000).split(0.9, seed).unwrap().1.order(0, 0, 8).unwrap());
    }
    let pinned: Vec<Vec<u64>> = serde_json::from_str(include_str!("../fixtures/orders.json")).unwrap();
    assert_eq!(seen, pinned, "\n{}", serde_json::to_string(&seen).unwrap());
}
