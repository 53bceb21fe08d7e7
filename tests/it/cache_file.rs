//! `cache_file` keeps the batches of an epoch in a folder: whole, of this pipeline, or not at all.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Array, Batch, Dataset, Npy, Position, Save, Shuffle, Stream, Threads};
use proptest::prelude::*;

use crate::common::*;
use crate::npy::{Dir, npy};
use crate::save::{counted, in_a_small_file_system, killed, listed, loaded, wait_to_be_killed};

fn count(made: &AtomicU64) -> u64 {
    made.load(Ordering::SeqCst)
}

fn refusal(stream: &Stream<Batch>) -> String {
    stream.iter().map(drop).unwrap_err().to_string()
}

/// The numbers `0..n` in batches of `rows`, cached in `dir`.
fn cached(n: u64, rows: usize, dir: &Path) -> Stream<Batch> {
    numbers(n).batch(rows).cache_file(dir)
}

#[test]
fn the_stages_above_run_once_and_the_folder_is_a_dataset() {
    let dir = Dir::new();
    let folder = dir.path("deep/cache");
    let (stream, made) = counted(20, 6);
    let expected = values(&stream);
    let before = count(&made);
    let stream = stream.cache_file(&folder);
    for k in 0..3 {
        assert_eq!(epoch(&stream, k), expected);
    }
    assert_eq!(count(&made), before + 20);
    assert_eq!(names(&folder), listed(["00000.0-0.npy", "manifest.json"]));
    assert_eq!(names(folder.parent().unwrap()), listed(["cache"]));
    let rows = Dataset::load(&folder).unwrap();
    assert_eq!(rows.len(), 20);
    reopens(&rows.shuffle(Shuffle::full(3)).batch(6));
}

#[test]
fn nothing_is_cached_too() {
    let dir = Dir::new();
    let known = Dataset::range(0).unwrap().batch(4).cache_file(dir.path("known"));
    let unknown = cached(0, 4, &dir.path("unknown"));
    for stream in [known, unknown] {
        for _ in 0..2 {
            assert_eq!(outcomes(&stream), []);
        }
    }
    assert_eq!(names(&dir.path("")), listed(["known", "unknown"]));
    assert_eq!(Dataset::load(dir.path("unknown")).unwrap().len(), 0);
}

#[test]
fn batches_come_back_in_their_sizes() {
    let dir = Dir::new();
    for (case, sizes) in [vec![1], vec![3, 3, 1], vec![2, 0, 5, 5, 0], vec![0], vec![4, 4]].iter().enumerate()
    {
        let batches: Vec<Batch> = sizes
            .iter()
            .map(|n| Batch::new([("x", Array::from_elements(&vec![*n as i16; *n], &[*n]).unwrap())]).unwrap())
            .collect();
        let given = batches.clone();
        let stream = Dataset::from_generator(move |_| given.clone()).cache_file(dir.path(&case.to_string()));
        for _ in 0..2 {
            assert_eq!(values(&stream), batches);
        }
        reopens(&stream);
    }
}

#[test]
fn every_epoch_is_epoch_zero() {
    let dir = Dir::new();
    let shuffled = Dataset::range(50).unwrap().shuffle(Shuffle::full(7)).batch(8);
    let stream = shuffled.clone().cache_file(dir.path("cache"));
    assert_eq!(epoch(&stream, 3), values(&shuffled));
    assert_eq!(epoch(&stream, 1), values(&shuffled));
    assert_eq!(stream.length().unwrap(), shuffled.length().unwrap());
}

#[test]
fn a_partial_pass_publishes_nothing_and_removes_its_folder() {
    alone(|| {
        let dir = Dir::new();
        for threads in THREADS {
            let stream = cached(10, 1, &dir.path("cache")).threads(threads);
            let mut left = stream.iter().unwrap();
            assert!(names(&dir.path("")).is_empty(), "an unused iterator makes no folder");
            left.next().unwrap().unwrap();
            if threads == Threads::None {
                assert_eq!(names(&dir.path("")).len(), 1);
            }
            drop(left);
            if threads == Threads::None {
                assert!(names(&dir.path("")).is_empty());
            }
            no_thread_is_left();
            let _ = std::fs::remove_dir_all(dir.path("cache"));
        }
        // Of a known length, the last batch is the end.
        let known = Dataset::range(4).unwrap().batch(2).cache_file(dir.path("known")).threads(Threads::None);
        known.iter().unwrap().take(2).for_each(drop);
        assert_eq!(loaded(&dir.path("known")), [0, 1, 2, 3]);
    });
}

#[test]
fn an_upstream_error_keeps_its_place_and_nothing_is_published() {
    let dir = Dir::new();
    for _ in 0..2 {
        let rows = |batch: Batch| batch.column::<u64>("0").unwrap().to_vec();
        let stream = with_error(4, 2).batch(1).cache_file(dir.path("cache")).map(rows);
        assert_eq!(everywhere(&stream), [Ok(vec![0]), Ok(vec![1]), Err(bad(2)), Ok(vec![3])]);
        let stream = with_panic(2).batch(1).cache_file(dir.path("cache")).map(rows);
        assert_eq!(everywhere(&stream), [Ok(vec![0]), Ok(vec![1]), Err(panicked(2))]);
        assert!(names(&dir.path("")).is_empty());
    }
    let mixed = |n: u64| match n {
        1 => Batch::new([("a", Array::from_elements(&[1f32], &[1]).unwrap())]).unwrap(),
        n => Batch::new([("a", Array::from_elements(&[n], &[1]).unwrap())]).unwrap(),
    };
    let stream = numbers(3).map(mixed).cache_file(dir.path("cache"));
    let told = "cache_file, item 1: expected (a: u64), found (a: f32)";
    let seen = everywhere(&stream);
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[1].as_ref().unwrap_err(), told);
    assert!(names(&dir.path("")).is_empty());
}

#[test]
fn a_folder_of_another_pipeline_is_refused_with_the_reason() {
    let dir = Dir::new();
    let folder = dir.path("cache");
    let path = dir.put("x.npy", &npy("'<u4'", false, "(3,)", &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]));
    let from = |rows: usize| Dataset::from_slices(Npy::open(&path).unwrap()).unwrap().batch(rows);
    assert_eq!(values(&from(2).cache_file(&folder)).len(), 2);
    assert_eq!(values(&from(2).cache_file(&folder)).len(), 2);
    let told = refusal(&from(3).cache_file(&folder));
    assert!(
        told.contains("batch(2), expected the rows of") && told.contains("batch(3); remove the folder"),
        "{told}"
    );
    assert!(refusal(&from(2).cast::<f32>("0").cache_file(&folder)).contains("cast::<f32>"));
    // The file is another one of the same name: its length, or only its time.
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap() + std::time::Duration::from_secs(5);
    file.set_modified(time).unwrap();
    let told = refusal(&from(2).cache_file(&folder));
    assert!(told.contains("bytes modified at"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(values(&from(2).cache_file(&folder)).len(), 2);
    // Many files, of which one changed.
    let parts = [
        dir.put("0.npy", &npy("'|u1'", false, "(1,)", b"a")),
        dir.put("1.npy", &npy("'|u1'", false, "(1,)", b"b")),
    ];
    let many = || {
        Dataset::from_slices(Npy::open_many(&parts).unwrap()).unwrap().batch(2).cache_file(dir.path("many"))
    };
    assert_eq!((values(&many()).len(), values(&many()).len()), (1, 1));
    std::fs::File::options().append(true).open(&parts[1]).unwrap().set_modified(time).unwrap();
    assert!(refusal(&many()).contains("2 files with digest"));
    // A file of one of several streams, or of the choices among them.
    let one = || from(1).map(|batch| batch);
    let mixed = || {
        Stream::mix([(one(), 1), (numbers(3).map(|n| n as u32).batch(1), 1)]).cache_file(dir.path("mixed"))
    };
    let picks = || from(1).map(|batch| batch.column::<u32>("0").unwrap()[0] as usize % 2);
    let chosen =
        || Stream::choose([numbers(3).batch(1), numbers(3).batch(1)], picks()).cache_file(dir.path("chosen"));
    for stream in [mixed(), chosen()] {
        assert_eq!(values(&stream).len(), values(&stream).len());
    }
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(time + std::time::Duration::from_secs(9)).unwrap();
    for stream in [mixed(), chosen()] {
        assert!(refusal(&stream).contains("bytes modified at"));
    }
}

#[test]
fn a_cache_that_is_written_to_while_it_is_read_is_an_error() {
    let dir = Dir::new();
    let stream = cached(900, 2, &dir.path("cache"));
    values(&stream);
    let mut iter = stream.iter().unwrap();
    iter.next().unwrap().unwrap();
    let column = std::fs::File::options().append(true).open(dir.path("cache/00000.0-0.npy")).unwrap();
    column.set_modified(std::time::UNIX_EPOCH).unwrap();
    let rest: Vec<_> = iter.collect();
    let (last, before) = rest.split_last().unwrap();
    assert!(before.len() < 400 && before.iter().all(Result::is_ok));
    assert!(matches!(last, Err(gristmill::Error::Changed { .. })), "{last:?}");
}

#[test]
fn something_else_in_its_place_is_refused_and_kept() {
    let dir = Dir::new();
    std::fs::create_dir(dir.path("full")).unwrap();
    let file = dir.put("full/notes.txt", b"mine");
    assert!(
        refusal(&cached(9, 2, &dir.path("full"))).contains("is something else, expected a complete cache")
    );
    assert!(refusal(&cached(9, 2, &file)).contains("is something else"));
    assert_eq!(std::fs::read(file).unwrap(), b"mine");
    assert!(refusal(&cached(9, 2, Path::new("/"))).contains("a name of its own"));
    let endless = Dataset::range(2).unwrap().batch(1).repeat_forever().cache_file(dir.path("x"));
    assert!(refusal(&endless).contains("a stream that ends"));
    std::fs::create_dir(dir.path("empty")).unwrap();
    assert_eq!(values(&cached(9, 2, &dir.path("empty"))).len(), 5);
    assert_eq!(loaded(&dir.path("empty")).len(), 9);
}

#[test]
fn a_damaged_cache_is_an_error_and_never_served() {
    let dir = Dir::new();
    let stream = cached(9, 2, &dir.path("cache"));
    values(&stream);
    let column = dir.path("cache/00000.0-0.npy");
    let bytes = std::fs::read(&column).unwrap();
    std::fs::write(&column, &bytes[..bytes.len() - 8]).unwrap();
    assert!(refusal(&stream).contains("the file is cut off"));
    std::fs::write(dir.path("cache/manifest.json"), "{").unwrap();
    assert!(refusal(&stream).contains("expected a manifest of version 1"));
}

#[test]
fn a_saved_folder_will_do() {
    let dir = Dir::new();
    let (stream, made) = counted(9, 2);
    stream.save(Save::to(dir.path("saved")).shard_rows(4)).unwrap();
    let before = count(&made);
    assert_eq!(
        column::<u64>(&stream.cache_file(dir.path("saved")), "0").concat(),
        (0..9).collect::<Vec<_>>()
    );
    assert_eq!(count(&made), before);
}

#[test]
fn two_writers_do_not_collide_and_the_first_wins() {
    let dir = Dir::new();
    let folder = dir.path("cache");
    let stream = cached(300, 10, &folder);
    let pairs = values(&stream.clone().zip(stream.clone()));
    assert!(pairs.iter().all(|(a, b)| a == b) && pairs.len() == 30);
    assert_eq!(loaded(&folder), (0..300).collect::<Vec<_>>());
    assert_eq!(names(&dir.path("")), listed(["cache"]));
    std::fs::remove_dir_all(&folder).unwrap();
    watchdog(move || {
        let start = Barrier::new(6);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..3 {
                        assert_eq!(column::<u64>(&stream, "0").concat(), (0..300).collect::<Vec<_>>());
                    }
                });
            }
        });
        assert_eq!(loaded(&folder), (0..300).collect::<Vec<_>>());
        assert_eq!(names(&dir.path("")), listed(["cache"]));
    });
}

#[test]
fn a_reader_goes_on_while_the_folder_is_made_anew() {
    let dir = Dir::new();
    let folder = dir.path("cache");
    let stream = cached(50, 1, &folder);
    values(&stream);
    let mut reader = stream.iter().unwrap();
    reader.next().unwrap().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    values(&stream);
    assert_eq!(
        reader.map(|batch| batch.unwrap().column::<u64>("0").unwrap()[0]).sum::<u64>(),
        (1..50).sum::<u64>()
    );
}

#[test]
fn a_position_within_a_fill_and_after_it_continues() {
    let dir = Dir::new();
    let at = Position { epoch: 2, item: 3 };
    let expected = values(&numbers(20).batch(4))[3..].to_vec();
    for _ in 0..2 {
        let stream = cached(20, 4, &dir.path("cache"));
        let seen: Vec<Batch> = stream.seek(at).unwrap().map(|batch| batch.unwrap()).collect();
        assert_eq!(seen, expected);
        assert_eq!(loaded(&dir.path("cache")).len(), 20, "a pass from the middle is whole too");
    }
}

#[test]
fn killed_at_half_it_is_filled_anew() {
    if let Some(folder) = child() {
        let stream = cached(10_000, 100, &folder.join("cache"));
        for (i, batch) in stream.iter().unwrap().enumerate() {
            batch.unwrap();
            if i == 50 {
                wait_to_be_killed(&folder);
            }
        }
    }
    watchdog(|| {
        let dir = Dir::new();
        let folder = dir.path("");
        killed("cache_file::killed_at_half_it_is_filled_anew", &folder);
        let left = names(&folder);
        assert!(left.len() == 1 && left.iter().all(|name| name.starts_with(".cache.filling-")), "{left:?}");
        let half = folder.join(left.first().unwrap());
        assert!(Dataset::load(&half).is_err() && Dataset::load(dir.path("cache")).is_err());
        let stream = cached(10_000, 100, &dir.path("cache"));
        assert_eq!(column::<u64>(&stream, "0").concat(), (0..10_000).collect::<Vec<_>>());
        assert_eq!(names(&folder), listed(["cache"]), "what the dead writer left is gone");
        assert_eq!(loaded(&dir.path("cache")), (0..10_000).collect::<Vec<_>>());
    });
}

#[test]
fn a_living_writer_is_left_alone() {
    let dir = Dir::new();
    let stream = cached(10, 1, &dir.path("cache")).threads(Threads::None);
    let mut slow = stream.iter().unwrap();
    slow.next().unwrap().unwrap();
    // An older run's folder, whose writer is dead: nobody holds it.
    std::fs::create_dir(dir.path(".cache.filling-1-0")).unwrap();
    dir.put(".cache.filling-1-0/00000.0-0.npy", b"half");
    std::fs::create_dir(dir.path(".other.filling-1-0")).unwrap();
    assert_eq!(values(&stream).len(), 10);
    let left = names(&dir.path(""));
    assert!(
        left.len() == 3 && !left.contains(".cache.filling-1-0") && left.contains(".other.filling-1-0"),
        "{left:?}"
    );
    assert_eq!(slow.map(|batch| batch.unwrap().rows()).sum::<usize>(), 9);
    assert_eq!(names(&dir.path("")), listed([".other.filling-1-0", "cache"]));
}

#[test]
fn a_full_disk_is_a_clean_error_after_the_good_batches() {
    in_a_small_file_system(|folder| {
        for threads in THREADS {
            let seen = outcomes(&cached(200_000, 1000, &folder.join("cache")).threads(threads));
            let (last, good) = seen.split_last().unwrap();
            let told = last.as_ref().unwrap_err();
            assert!(told.contains("cannot write") && told.contains("No space left on device"), "{told}");
            assert!(told.contains(".cache.filling-") && told.contains("00000.0-0.npy"), "{told}");
            assert!(good.len() > 100 && good.iter().all(Result::is_ok), "{}", good.len());
            assert!(names(folder).is_empty());
        }
        assert_eq!(values(&cached(60_000, 1000, &folder.join("cache"))).len(), 60);
        assert_eq!(names(folder), listed(["cache"]));
    });
}

#[test]
fn a_file_size_limit_is_a_clean_error() {
    if let Some(folder) = child() {
        let seen = outcomes(&cached(100_000, 1000, &folder.join("cache")));
        let told = seen.last().unwrap().as_ref().unwrap_err();
        assert!(told.contains("File too large") && told.contains(".cache.filling-"), "{told}");
        return;
    }
    let dir = Dir::new();
    let name = "cache_file::a_file_size_limit_is_a_clean_error";
    let run = process("trap '' XFSZ; ulimit -f 500;", name, dir.path("")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    assert!(names(&dir.path("")).is_empty());
}

#[test]
fn dropped_midway_it_leaves_no_thread() {
    alone(|| {
        let dir = Dir::new();
        drops(move |stream| stream.batch(1).cache_file(dir.path("cache")));
    });
}

#[test]
fn reopened_it_gives_the_same() {
    let dir = Dir::new();
    reopens(&cached(9, 2, &dir.path("cache")));
    reopens(&with_error(9, 4).batch(2).cache_file(dir.path("failing")));
    let shuffled = Dataset::range(9).unwrap().shuffle(Shuffle::full(1)).batch(2);
    reopens(&shuffled.cache_file(dir.path("shuffled")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any number of passes, each left anywhere: every batch is the model's, and the folder is whole or not there.
    #[test]
    fn it_is_a_vec(n in 0u64..20, rows in 1usize..5, passes in prop::collection::vec((0u64..3, 0u64..12, 0usize..12), 1..6)) {
        let dir = Dir::new();
        let model = values(&numbers(n).batch(rows));
        let stream = cached(n, rows, &dir.path("cache"));
        for (epoch, from, items) in passes {
            let seen: Vec<Batch> = stream.seek(Position { epoch, item: from }).unwrap()
                .take(items).map(|i| i.unwrap()).collect();
            let expected: Vec<Batch> = model.iter().skip(from as usize).take(items).cloned().collect();
            prop_assert_eq!(seen, expected);
            let left = names(&dir.path(""));
            prop_assert!(left.is_empty() || left == listed(["cache"]), "{:?}", left);
        }
    }
}
