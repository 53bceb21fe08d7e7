//! States: what they hold, what they refuse, and that a run goes on from them as if it had not stopped.

use gristmill::{Batch, Dataset, IntoColumn, Npy, Shuffle, State, Stream, Threads};
use proptest::prelude::*;

use crate::common::*;

fn rows(n: u64) -> Dataset {
    Dataset::range(n).unwrap()
}

fn contents(batch: &Batch) -> Vec<u64> {
    batch.column::<u64>("0").unwrap().to_vec()
}

/// The state after `n` items of epoch `k`, through JSON.
fn state<T: Send + 'static>(stream: &Stream<T>, k: u64, n: usize) -> State {
    let mut iter = stream.epoch(k).unwrap();
    iter.by_ref().take(n).for_each(drop);
    let text = serde_json::to_string(&iter.state()).unwrap();
    assert!(text.len() < 1024, "{} bytes: {text}", text.len());
    serde_json::from_str(&text).unwrap()
}

/// Why `stream` does not take `state`.
fn refused<T: Send + 'static>(stream: &Stream<T>, state: &State) -> String {
    stream.resume(state).unwrap_err().to_string()
}

#[test]
fn a_run_stopped_twice_in_each_epoch_is_the_run_without_a_break() {
    let stream =
        rows(50).shuffle(Shuffle::buffer(9, 3)).batch(4).map_seeded(5, |b, r| (contents(&b), r.next_u64()));
    for k in 0..3 {
        let whole = epoch(&stream, k);
        for first in 0..=whole.len() {
            let mut iter = stream.resume(&state(&stream, k, first)).unwrap();
            let mut seen = whole[..first].to_vec();
            seen.extend(iter.by_ref().take(2).map(|item| item.unwrap()));
            seen.extend(stream.resume(&iter.state()).unwrap().map(|item| item.unwrap()));
            assert_eq!(seen, whole, "epoch {k}, stopped after {first}");
        }
    }
}

#[test]
fn what_changes_only_speed_may_change() {
    let make = |ahead, workers, of_map| {
        let batches = rows(90).shuffle(Shuffle::full(3)).batch(4).prefetch(ahead);
        batches
            .par_map_seeded(of_map, 8, |b, r| (contents(&b), r.next_u64()))
            .prefetch_auto()
            .workers(workers)
    };
    let saved = state(&make(2, 1, 1), 1, 7);
    let expected = epoch(&make(2, 1, 1), 1).split_off(7);
    for (ahead, workers, of_map) in [(0, 1, 2), (5, 3, 0), (64, 2, 7)] {
        for threads in THREADS {
            let mut rest = make(ahead, workers, of_map).threads(threads).resume(&saved).unwrap();
            assert_eq!(drain(&mut rest), expected.iter().cloned().map(Ok).collect::<Vec<_>>());
        }
    }
}

#[test]
fn what_changes_the_items_is_refused_by_name() {
    let make = |n, seed, size| {
        rows(n).shuffle(Shuffle::full(seed)).batch(size).par_map_seeded(2, seed, |b, _| contents(&b))
    };
    let saved = state(&make(90, 3, 4), 0, 5);
    for (other, field) in
        [(make(91, 3, 4), "sources"), (make(90, 4, 4), "stages"), (make(90, 3, 5), "stages")]
    {
        let text = refused(&other, &saved);
        assert!(
            text.contains(&format!("the {field} of the state: ")) && text.contains("; of this stream: "),
            "{text}"
        );
    }
    let seeded = |seed| numbers(9).par_map_seeded(2, seed, |n, _| n);
    assert!(refused(&seeded(1), &state(&seeded(2), 0, 3)).contains("par_map_seeded(1, ..)"));
    let two = |second| numbers(9).zip(numbers(9).take(second)).concat(numbers(2).zip(numbers(3)));
    assert!(refused(&two(5), &state(&two(6), 0, 3)).contains("take(5)"));
    let listed = |list: [u64; 3]| rows(9).select(list).unwrap().batch(1);
    assert!(refused(&listed([1, 2, 3]), &state(&listed([3, 2, 1]), 0, 1)).contains("select([3 rows #"));
    let weighted = |weight| rows(2).sample_weighted(9, [1.0, weight], 1).unwrap().batch(1);
    assert!(refused(&weighted(2.0), &state(&weighted(3.0), 0, 1)).contains("[2 weights #"));
    let kept = |n| {
        let keep = move |row: &gristmill::Row| Ok(row.value::<u64>("0")? % 9 == n);
        rows(90).keep_where(["0"], keep, |_, _| {}).unwrap().batch(1)
    };
    assert!(refused(&kept(1), &state(&kept(2), 0, 1)).contains("[10 of 90 rows #"));
    let chosen = |list: [u32; 4]| Dataset::choose([&rows(9), &rows(8)], list).unwrap().batch(1);
    assert!(refused(&chosen([0, 1, 0, 1]), &state(&chosen([0, 1, 1, 0]), 0, 1)).contains("[4 parts #"));
    let named = |name: &'static str| Dataset::from_slices(((name, vec![1, 2]),)).unwrap().batch(1);
    assert!(refused(&named("a/x"), &state(&named("b/x"), 0, 1)).contains("sources"));
    let mixed = |n| Stream::mix([(numbers(9).prefetch(2), 1), (numbers(9).skip(n), 2)]);
    assert!(refused(&mixed(1), &state(&mixed(2), 0, 3)).contains("skip(1)"));
    let mixed = |ahead| Stream::mix([(numbers(9).prefetch(ahead), 1), (numbers(9), 2)]);
    assert!(mixed(1).resume(&state(&mixed(5), 0, 3)).is_ok());
}

#[test]
fn another_form_or_other_orders_are_refused_by_name() {
    let stream = numbers(9);
    let text = serde_json::to_string(&state(&stream, 0, 3)).unwrap();
    for field in ["form", "orders"] {
        let newer = text.replace(&format!("\"{field}\":1"), &format!("\"{field}\":7"));
        let refused = refused(&stream, &serde_json::from_str(&newer).unwrap());
        assert!(
            refused.contains(&format!(
                "the {field} of the state: 7; of this stream: 1; resume with the version"
            )),
            "{refused}"
        );
    }
}

#[test]
fn a_file_may_lie_in_another_folder_under_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let at = |folder: &str, name: &str| {
        let folder = dir.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy("examples/data/digits-labels.npy", folder.join(name)).unwrap();
        let npy = Npy::open(folder.join(name)).unwrap();
        Dataset::from_slices((("y", npy),)).unwrap().shuffle(Shuffle::blocks(1)).batch(10)
    };
    let saved = state(&at("here", "y.npy"), 2, 30);
    let mut rest = at("there", "y.npy").resume(&saved).unwrap();
    assert_eq!(drain(&mut rest), drain(&mut at("here", "y.npy").seek(saved.position()).unwrap()));
    assert!(refused(&at("here", "z.npy"), &saved).contains("z.npy"));
}

#[test]
fn a_state_stays_small_whatever_the_stream_holds() {
    let column = |i| (format!("column {i}"), vec![0u8; 4]).into_column().unwrap();
    let wide = Dataset::from_slices((0..300).map(column).collect::<Vec<_>>());
    let mut long = rows(3_000_000).shuffle(Shuffle::buffer(1_000_000, 1)).batch(9).map(|b| contents(&b));
    for _ in 0..200 {
        long = long.skip(0);
    }
    state(&long, 0, 2);
    state(&wide.unwrap().batch(2), 0, 1);
}

#[test]
fn ranks_go_on_as_another_number_of_ranks() {
    let rows = rows(1000).shuffle(Shuffle::full(3));
    let make = |rank, world| rows.distribute(rank, world, 24).unwrap();
    let step = 13;
    let saved: Vec<State> = (0..4).map(|rank| state(&make(rank, 4), 1, step)).collect();
    assert!(saved.iter().all(|other| *other == saved[0]), "every rank's state is the same");
    let rest: Vec<Vec<u64>> =
        rows.batch(24).epoch(1).unwrap().skip(step).map(|b| contents(&b.unwrap())).collect();
    for world in [1, 2, 3, 8] {
        let mut ranks: Vec<_> = (0..world).map(|rank| make(rank, world).resume(&saved[0]).unwrap()).collect();
        for global in rest.iter().filter(|global| global.len() == 24) {
            let parts: Vec<u64> =
                ranks.iter_mut().flat_map(|rank| contents(&rank.next().unwrap().unwrap())).collect();
            assert_eq!(&parts, global, "{world} ranks");
        }
    }
    // Where items are no longer steps, a state is one rank's.
    let single = |rank, world| make(rank, world).unbatch();
    let mine = state(&single(0, 4), 1, 78);
    assert!(single(0, 4).resume(&mine).is_ok());
    for other in [single(0, 8), single(1, 4)] {
        assert!(refused(&other, &mine).contains("[rank "));
    }
    assert!(refused(&rows.distribute(0, 4, 48).unwrap(), &saved[0]).contains("distribute(48)"));
    let uneven = rows.distribute(0, 5, 24).unwrap_err().to_string();
    assert!(uneven.contains("20 or 25"), "{uneven}");
}

#[test]
fn a_state_survives_a_file_and_a_file_is_never_half_a_state() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.json");
    let stream = rows(90).batch(4).prefetch(2);
    for n in 0..5 {
        let saved = state(&stream, 0, n);
        saved.save(&path).unwrap();
        assert_eq!(State::load(&path).unwrap(), saved);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    for wrong in [
        "",
        "{}",
        "[1, 2]",
        "{\"form\": 1, \"orders\": 1, \"sources\": \"\", \"stages\": \"\", \"epoch\": -1, \"item\": 0}",
    ] {
        std::fs::write(&path, wrong).unwrap();
        let text = State::load(&path).unwrap_err().to_string();
        assert!(text.contains("the state of an iterator") && text.contains("input.json"), "{text}");
    }
    for missing in [dir.path().join("no/input.json"), dir.path().to_owned()] {
        assert!(
            state(&stream, 0, 1).save(&missing).is_err() && State::load(&missing).is_err(),
            "{missing:?}"
        );
    }
    assert!(state(&stream, 0, 1).save("/").unwrap_err().to_string().contains("a file with a name"));
}

#[test]
fn many_may_save_to_one_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.json");
    let stream = rows(90).batch(4);
    state(&stream, 0, 0).save(&path).unwrap();
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (stream, path) = (&stream, &path);
            scope.spawn(move || (0..50).for_each(|_| state(stream, 0, n).save(path).unwrap()));
        }
        (0..200).for_each(|_| assert!(State::load(&path).unwrap().position().item < 4));
    });
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_written_leaves_the_state_before() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input.json");
    let stream = rows(90).batch(4);
    state(&stream, 0, 3).save(&path).unwrap();
    // The file that is written aside has a longer name than this folder's file system takes.
    let long = dir.path().join("x".repeat(250));
    std::fs::rename(&path, &long).unwrap();
    assert!(state(&stream, 0, 9).save(&long).is_err());
    assert_eq!(State::load(&long).unwrap().position().item, 3);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_goes_on_from_any_state(
        n in 1u64..200, size in 1usize..9, seed: u64, k in 0u64..3, part in 0.0f64..1.0, kind in 0usize..4,
    ) {
        let rows = rows(n);
        let order = match kind {
            0 => rows.shuffle(Shuffle::full(seed)),
            1 => rows.shuffle(Shuffle::blocks_of(3, 4, seed)).repeat(2),
            2 => rows.shuffle(Shuffle::buffer(7, seed)).reverse(),
            _ => rows.sample(n + 3, seed).unwrap().shard(2, 1).unwrap(),
        };
        let stream = order.batch(size).prefetch(3);
        let whole = drain(&mut stream.epoch(k).unwrap());
        let at = (whole.len() as f64 * part) as usize;
        let mut rest = stream.clone().threads(Threads::None).resume(&state(&stream, k, at)).unwrap();
        prop_assert_eq!(drain(&mut rest), &whole[at..]);
    }
}
