//! `save` writes batches to a folder of columns, `load` opens it: all of it or nothing, and no row twice.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Array, Batch, DType, Dataset, Error, IntoColumn, Length, Npy, Save, Shuffle, Stream};
use half::{bf16, f16};
use num_complex::Complex;
use proptest::prelude::*;

use crate::common::*;
use crate::npy::{Dir, npy};

pub(crate) fn listed<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(String::from).into()
}

/// All rows of the column "0", in order.
pub(crate) fn loaded(dir: &Path) -> Vec<u64> {
    column::<u64>(&Dataset::load(dir).unwrap().batch(7), "0").concat()
}

/// The numbers `0..n` in batches of `rows`, and how many of them were made so far.
pub(crate) fn counted(n: u64, rows: usize) -> (Stream<Batch>, Arc<AtomicU64>) {
    let made = Arc::new(AtomicU64::new(0));
    let count = made.clone();
    let stream = Dataset::from_generator(move |_| {
        let count = count.clone();
        (0..n).inspect(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        })
    });
    (stream.batch(rows), made)
}

fn text(outcome: Result<Dataset, Error>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn what_was_saved_is_loaded_with_names_and_types() {
    let dir = Dir::new();
    let x = ndarray::Array2::from_shape_fn((20, 3), |(i, j)| (i * 3 + j) as f32);
    let y: Vec<i64> = (0..20).map(|i| -i).collect();
    let rows = Dataset::from_slices((("x", x), ("y/ä y", y))).unwrap();
    let (from, saved) = (rows.shuffle(Shuffle::full(3)).batch(6), dir.path("deep/er/saved"));
    let returned = from.save(&saved).unwrap();
    let opened = Dataset::load(&saved).unwrap();
    assert_eq!(opened.len(), 20);
    assert_eq!((opened.spec(), returned.spec()), (rows.spec(), rows.spec()));
    assert_eq!(values(&opened.batch(6)), values(&from));
    assert_eq!(format!("{opened:?}"), format!("load({saved:?})"));
    assert_eq!(names(&saved), listed(["00000.0-x.npy", "00000.1-y___y.npy", "manifest.json"]));
    // Full shuffle, seek and column work, as of any dataset; and NumPy's reader is ours.
    reopens(&opened.shuffle(Shuffle::full(9)).batch(3).cast::<f64>("x").rename("x", "z"));
    let alone = Npy::open(saved.join("00000.0-x.npy")).unwrap();
    assert_eq!(Dataset::from_slices(("x", alone).into_column().unwrap()).unwrap().len(), 20);
}

#[test]
fn nothing_saved_is_nothing_loaded() {
    let dir = Dir::new();
    let known = Dataset::range(0).unwrap().batch(4).save(dir.path("known")).unwrap();
    assert_eq!((known.len(), known.spec().to_string()), (0, "(0: u64)".into()));
    assert_eq!(everywhere(&known.shuffle(Shuffle::full(1)).batch(2).cast::<f32>("0")), []);
    let unknown = numbers(0).batch(4).save(dir.path("unknown")).unwrap();
    assert_eq!((unknown.len(), unknown.spec().columns.len()), (0, 0));
    assert_eq!(everywhere(&Dataset::load(dir.path("unknown")).unwrap().batch(1)), []);
    let batch = values(&numbers(3).batch(3)).remove(0).slice(0, 0);
    let rowless = Dataset::from_generator(move |_| [batch.clone()]).save(dir.path("rowless")).unwrap();
    assert_eq!((rowless.len(), rowless.spec().to_string()), (0, "(0: u64)".into()));
}

#[test]
fn shards_are_cut_at_any_row() {
    for (n, rows, limit) in
        [(10, 4, 6), (10, 4, 4), (10, 4, 1), (12, 4, 4), (12, 4, 12), (12, 4, 13), (1, 1, 1)]
    {
        let dir = Dir::new();
        let saved = dir.path("saved");
        numbers(n).batch(rows).save(Save::to(&saved).shard_rows(limit)).unwrap();
        assert_eq!(loaded(&saved), (0..n).collect::<Vec<_>>());
        assert_eq!(names(&saved).len() as u64, n.div_ceil(limit) + 1, "{n} rows, shards of {limit}");
        assert_eq!(names(saved.parent().unwrap()), listed(["saved"]));
    }
}

/// One column of every type.
fn every_type() -> Batch {
    fn of<T: gristmill::Element>(values: [T; 2]) -> Array {
        Array::from_elements(&values, &[2]).unwrap()
    }
    let columns = vec![
        ("bool", of([true, false])),
        ("i8", of([-1i8, 1])),
        ("i16", of([-2i16, 2])),
        ("i32", of([-3i32, 3])),
        ("i64", of([i64::MIN, 4])),
        ("u8", of([255u8, 1])),
        ("u16", of([65535u16, 2])),
        ("u32", of([u32::MAX, 3])),
        ("u64", of([u64::MAX, 4])),
        ("f16", of([f16::from_f32(0.5), f16::NAN])),
        ("bf16", of([bf16::from_f32(0.25), bf16::INFINITY])),
        ("f32", of([f32::from_bits(0x7fc0_1234), -0.0])),
        ("f64", of([f64::MIN_POSITIVE, f64::NAN])),
        ("c64", of([Complex::new(1f32, 2.0), Complex::new(3.0, 4.0)])),
        ("c128", of([Complex::new(1f64, 2.0), Complex::new(3.0, 4.0)])),
        ("cube", Array::from_elements(&[0u8; 24], &[2, 3, 1, 4]).unwrap()),
        ("empty", Array::from_elements::<f32>(&[], &[2, 0]).unwrap()),
    ];
    Batch::new(columns).unwrap()
}

#[test]
fn every_type_comes_back_bit_by_bit() {
    let dir = Dir::new();
    let batch = every_type();
    let given = batch.clone();
    let rows = Dataset::from_generator(move |_| [given.clone()]).save(dir.path("types")).unwrap();
    assert_eq!(values(&rows.batch(2)), [batch]);
    // Opaque ones, which no Rust type holds, come from files.
    let opaque = Dataset::from_slices((
        Npy::open(dir.put("v.npy", &npy("'|V3'", false, "(2,)", b"abcdef"))).unwrap(),
        Npy::open(dir.put("s.npy", &npy("'|S2'", false, "(2,)", b"ab\0\0"))).unwrap(),
        Npy::open(dir.put("u.npy", &npy("'<U1'", false, "(2,)", b"a\0\0\0b\0\0\0"))).unwrap(),
        Npy::open(dir.put("v2.npy", &npy("'|V2'", false, "(2,)", b"abcd"))).unwrap(),
    ));
    let opaque = opaque.unwrap();
    let again = opaque.batch(2).save(dir.path("opaque")).unwrap();
    assert_eq!(again.spec(), opaque.spec());
    assert_eq!(again.spec().columns[3].dtype, DType::Void(2));
    assert_eq!(values(&again.batch(1)), values(&opaque.batch(1)));
}

#[test]
fn an_error_ends_it_and_nothing_has_the_name() {
    let dir = Dir::new();
    let saved = dir.path("saved");
    assert_eq!(text(with_error(9, 5).batch(2).save(&saved)), bad(5));
    assert_eq!(text(with_panic(5).batch(2).save(&saved)), panicked(5));
    assert!(names(dir.path("").as_path()).is_empty());
    let wrong = Dataset::load(&saved).unwrap_err().to_string();
    assert!(wrong.contains("saved is a folder without a manifest, or none"), "{wrong}");
    let other = |n: u64| match n {
        2 => Batch::new([("a", Array::from_elements(&[1f32], &[1]).unwrap())]).unwrap(),
        n => Batch::new([("a", Array::from_elements(&[n], &[1]).unwrap())]).unwrap(),
    };
    let differs = "save, item 2: expected (a: u64), found (a: f32)";
    assert_eq!(text(numbers(4).map(other).save(&saved)), differs);
    let stops = Save::to(&saved).progress(|so_far| assert!(so_far.items < 3, "no more"));
    assert_eq!(text(numbers(9).batch(1).save(stops)), "save panicked at item 2: no more");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_read() {
    let dir = Dir::new();
    let (stream, made) = counted(9, 2);
    std::fs::create_dir(dir.path("full")).unwrap();
    dir.put("full/file", b"");
    assert!(text(stream.save(dir.path("full"))).contains("expected a folder that is not there yet, found"));
    assert!(
        text(stream.save(dir.put("file", b""))).contains("expected a folder that is not there yet, found")
    );
    assert!(text(stream.save("..")).contains("expected a folder with a name of its own, found \"..\""));
    assert!(text(stream.save(Save::to(dir.path("x")).shard_rows(0))).contains("at least one row, found 0"));
    assert!(text(Dataset::range(2).unwrap().batch(1).repeat_forever().save(dir.path("x"))).contains("ends"));
    assert!(text(stream.save(dir.path("file/x"))).contains("cannot"));
    assert_eq!(made.load(Ordering::SeqCst), 0);
    std::fs::create_dir(dir.path("empty")).unwrap();
    assert_eq!(stream.save(dir.path("empty")).unwrap().len(), 9);
}

#[test]
fn progress_tells_what_is_written() {
    let dir = Dir::new();
    let mut seen = Vec::new();
    let save = Save::to(dir.path("saved")).shard_rows(4).epoch(2).progress(|so_far| {
        seen.push((so_far.items, so_far.length, so_far.rows, so_far.shards));
    });
    Dataset::range(7).unwrap().batch(3).save(save).unwrap();
    let length = Length::Exact(3);
    assert_eq!(seen, [(1, length, 3, 0), (2, length, 6, 1), (3, length, 7, 1)]);
}

#[test]
fn a_run_that_failed_is_gone_on_with() {
    let dir = Dir::new();
    let saved = dir.path("saved");
    let stream = || Dataset::range(100).unwrap().shuffle(Shuffle::full(5)).batch(7);
    let fails_at = |items: u64| Save::to(&saved).shard_rows(10).progress(move |p| assert!(p.items < items));
    assert!(text(stream().save(fails_at(5))).contains("panicked"));
    let aside = dir.path(".saved.saving");
    assert_eq!(names(&aside).iter().filter(|n| n.ends_with(".npy")).count(), 3);
    assert!(Dataset::load(&aside).is_err() && Dataset::load(&saved).is_err());
    let mut first = None;
    let goes_on = Save::to(&saved).shard_rows(10).progress(|p| {
        first.get_or_insert((p.items, p.rows));
    });
    let rows = stream().save(goes_on).unwrap();
    // Thirty rows were kept: four batches, and two rows of the fifth.
    assert_eq!(first, Some((5, 35)));
    assert_eq!(values(&rows.batch(7)), values(&stream()));
    assert_eq!(names(&dir.path("")), listed(["saved"]));
}

#[test]
fn only_what_the_same_pipeline_left_is_gone_on_with() {
    let dir = Dir::new();
    let fails = || {
        let stop = Save::to(dir.path("saved")).shard_rows(2).progress(|p| assert!(p.items < 4));
        assert!(text(Dataset::range(10).unwrap().batch(2).save(stop)).contains("panicked"));
        assert!(dir.path(".saved.saving/unfinished.json").exists());
    };
    let first = |save: Save<'_>, stream: &Stream<Batch>| {
        let mut first = None;
        stream.save(save.progress(|p| *first.get_or_insert(p.items) += 0)).unwrap();
        std::fs::remove_dir_all(dir.path("saved")).unwrap();
        first.unwrap()
    };
    let stream = Dataset::range(10).unwrap().batch(2);
    let to = || Save::to(dir.path("saved"));
    fails();
    assert_eq!(first(to(), &stream), 5, "four batches were kept");
    fails();
    assert_eq!(first(to().afresh(), &stream), 1);
    fails();
    assert_eq!(first(to().epoch(1), &stream), 1);
    fails();
    assert_eq!(first(to(), &Dataset::range(11).unwrap().batch(2)), 1);
    fails();
    // A finished shard that is no longer what it was is not believed, nor those after it.
    std::fs::write(dir.path(".saved.saving/00001.0-0.npy"), b"").unwrap();
    assert_eq!(first(to(), &stream), 2);
    fails();
    std::fs::write(dir.path(".saved.saving/unfinished.json"), b"{").unwrap();
    assert_eq!(first(to(), &stream), 1);
}

#[test]
fn two_savers_to_one_folder_do_not_mix() {
    let dir = Dir::new();
    let (saved, again) = (dir.path("saved"), dir.path("saved"));
    let outer = Save::to(&saved).progress(move |_| {
        let refused = text(numbers(9).batch(2).save(&again));
        assert!(refused.contains("which another writer is saving to"), "{refused}");
    });
    assert_eq!(numbers(9).batch(2).save(outer).unwrap().len(), 9);
    assert_eq!(loaded(&saved), (0..9).collect::<Vec<_>>());
}

#[test]
fn a_folder_that_is_not_what_it_says_is_refused() {
    let dir = Dir::new();
    let saved = dir.path("saved");
    numbers(10).batch(5).save(Save::to(&saved).shard_rows(4)).unwrap();
    let manifest = std::fs::read_to_string(saved.join("manifest.json")).unwrap();
    let wrong = |from: &str, to: &str, told: &str| {
        assert!(manifest.contains(from), "{manifest}");
        std::fs::write(saved.join("manifest.json"), manifest.replacen(from, to, 1)).unwrap();
        let error = Dataset::load(&saved).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    };
    wrong(
        "\"version\": 1",
        "\"version\": 2",
        "is \"gristmill columns\" of version 2, expected a manifest of",
    );
    wrong("gristmill columns", "other", "is \"other\" of version 1");
    wrong("\"rows\": 4", "\"rows\": 5", "expected 11 rows, found 10 rows");
    wrong("\"rows\": 4", "\"rows\": 18446744073709551615", "more rows than can be numbered");
    wrong("\"U64\"", "\"I64\"", "expected (0: i64), found (0: u64)");
    wrong("\"U64\"", "\"Q64\"", "a damaged one");
    wrong("{", "", "something else");
    wrong("\"name\": \"0\"", "\"name\": \"../0\"", "cannot open");
    std::fs::write(saved.join("manifest.json"), &manifest).unwrap();
    assert_eq!(loaded(&saved), (0..10).collect::<Vec<_>>());
    std::fs::remove_file(saved.join("00002.0-0.npy")).unwrap();
    assert!(Dataset::load(&saved).unwrap_err().to_string().contains("00002.0-0.npy"));
    std::fs::remove_file(saved.join("manifest.json")).unwrap();
    assert!(Dataset::load(&saved).is_err());
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        let dir = Dir::new();
        let stop = Save::to(dir.path("saved")).progress(|p| assert!(p.items < 3));
        endless().batch(2).prefetch(4).save(stop).unwrap_err();
        no_thread_is_left();
    });
}

/// Says that a child has come to its point, and waits for its end.
pub(crate) fn wait_to_be_killed(folder: &Path) -> ! {
    std::fs::write(folder.join("half"), b"").unwrap();
    loop {
        std::thread::park();
    }
}

/// Runs the test `name` as a child, kills it when it waits for that, and removes its mark.
pub(crate) fn killed(name: &str, folder: &Path) {
    let mut running = process("", name, folder).spawn().unwrap();
    let half = folder.join("half");
    until(|| half.exists());
    running.kill().unwrap();
    running.wait().unwrap();
    std::fs::remove_file(half).unwrap();
}

#[test]
fn killed_at_half_it_goes_on_after_the_finished_shards() {
    let stream = || Dataset::range(1000).unwrap().shuffle(Shuffle::full(5)).batch(16);
    if let Some(folder) = child() {
        let half = Save::to(folder.join("saved")).shard_rows(50).progress(|p| {
            if p.rows >= 500 {
                wait_to_be_killed(&folder);
            }
        });
        stream().save(half).unwrap();
    }
    watchdog(move || {
        let dir = Dir::new();
        let saved = dir.path("saved");
        killed("save::killed_at_half_it_goes_on_after_the_finished_shards", &dir.path(""));
        assert_eq!(names(&dir.path("")), listed([".saved.saving"]));
        assert!(Dataset::load(&saved).is_err() && Dataset::load(dir.path(".saved.saving")).is_err());
        let mut first = None;
        let goes_on = Save::to(&saved).progress(|p| *first.get_or_insert(p.rows) += 0);
        stream().save(goes_on).unwrap();
        assert_eq!(first, Some(512), "ten shards were kept");
        assert_eq!(values(&Dataset::load(&saved).unwrap().batch(16)), values(&stream()));
        assert_eq!(names(&dir.path("")), listed(["saved"]));
    });
}

#[test]
fn a_file_size_limit_is_a_clean_error() {
    if let Some(folder) = child() {
        let error =
            text(numbers(100_000).batch(1000).save(Save::to(folder.join("saved")).shard_rows(90_000)));
        assert!(error.contains("cannot write") && error.contains("00000.0-0.npy: File too large"), "{error}");
        return;
    }
    let dir = Dir::new();
    // The signal is ignored, as Python does, so that the call fails instead.
    let name = "save::a_file_size_limit_is_a_clean_error";
    let run = process("trap '' XFSZ; ulimit -f 500;", name, dir.path("")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    assert!(names(&dir.path("")).is_empty());
}

/// Runs `test` in a file system of one MiB; says so when the system does not let us have one.
pub(crate) fn in_a_small_file_system(test: impl FnOnce(&Path)) {
    let dir = Dir::new();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(dir.path("")).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: it takes root to mount a small file system");
        return;
    }
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&dir.path(""))));
    assert!(Command::new("umount").arg(dir.path("")).status().unwrap().success());
    outcome.unwrap();
}

#[test]
fn a_full_disk_is_a_clean_error_and_what_was_finished_is_kept() {
    in_a_small_file_system(|folder| {
        let saved = folder.join("saved");
        let stream = |n| numbers(n).batch(1000);
        let full = text(stream(200_000).save(Save::to(&saved).shard_rows(300_000)));
        assert!(full.contains("cannot write") && full.contains("No space left on device"), "{full}");
        assert!(full.contains("saved.saving/00000.0-0.npy"), "{full}");
        assert!(names(folder).is_empty());
        let full = text(stream(200_000).save(Save::to(&saved).shard_rows(30_000)));
        assert!(full.contains("No space left on device"), "{full}");
        assert_eq!(names(folder), listed([".saved.saving"]));
        assert_eq!(stream(60_000).save(Save::to(&saved).afresh()).unwrap().len(), 60_000);
        assert_eq!(names(folder), listed(["saved"]));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the sizes of batches and shards, and wherever it stops: every row once, in order.
    #[test]
    fn it_is_a_vec(sizes in prop::collection::vec(0usize..6, 0..12), limit in 1u64..9, stop in 0u64..12) {
        let dir = Dir::new();
        let mut next = 0u64;
        let batches: Vec<Batch> = sizes.iter().map(|n| {
            let numbers: Vec<u64> = (next..next + *n as u64).collect();
            next += *n as u64;
            Batch::new([("0", Array::from_elements(&numbers, &[*n]).unwrap())]).unwrap()
        }).collect();
        let stream = Dataset::from_generator(move |_| batches.clone());
        let stops = Save::to(dir.path("saved")).shard_rows(limit).progress(|p| assert!(p.items <= stop));
        if stream.save(stops).is_err() {
            stream.save(Save::to(dir.path("saved")).shard_rows(limit)).unwrap();
        }
        prop_assert_eq!(loaded_or_none(&dir.path("saved")), (0..next).collect::<Vec<_>>());
        prop_assert_eq!(names(&dir.path("")), listed(["saved"]));
    }
}

fn loaded_or_none(dir: &Path) -> Vec<u64> {
    match Dataset::load(dir).unwrap().len() {
        0 => Vec::new(),
        _ => loaded(dir),
    }
}
