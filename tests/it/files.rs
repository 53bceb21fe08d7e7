//! Files as the world treats them: by the thousand, changed, replaced, cut, and not files at all.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gristmill::{Batch, DType, Dataset, Error, Npy, Raw, Result, Shuffle, Stream, Threads};

use crate::common::*;
use crate::npy::{Dir, bytes, mixed, npy};

fn many(paths: &[PathBuf]) -> Result<Dataset> {
    Npy::open_many(paths).and_then(Dataset::from_slices)
}

/// Gives the file a time that no clock's resolution can hide.
fn touch(path: &Path, seconds: u64) {
    let file = File::options().append(true).open(path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.set_modified(time + Duration::from_secs(seconds)).unwrap();
}

#[test]
fn twenty_thousand_files_are_one_column() {
    let dir = Dir::new();
    let files = 20_000u32;
    let paths: Vec<PathBuf> = (0..files)
        .map(|i| {
            let payload: Vec<u8> = [2 * i, 2 * i + 1].iter().flat_map(|n| n.to_le_bytes()).collect();
            dir.put(&format!("{i}.npy"), &npy("'<u4'", false, "(2,)", &payload))
        })
        .collect();
    let rows = many(&paths).unwrap();
    assert_eq!(rows.len(), u64::from(2 * files));
    let in_order = column::<u32>(&rows.batch(1000), "0").concat();
    assert!(in_order.iter().copied().eq(0..2 * files), "not in file order");
    let shuffled = rows.shuffle(Shuffle::full(5));
    let order = shuffled.order(0, 0, 2 * files as usize).unwrap();
    let seen = column::<u32>(&shuffled.batch(1000).workers(2), "0").concat();
    assert!(seen.iter().map(|n| u64::from(*n)).eq(order), "rows do not follow the order");
}

#[test]
fn files_of_any_length_stand_end_to_end() {
    watchdog(|| {
        let dir = Dir::new();
        for (case, lengths) in
            [vec![3, 1, 2], vec![0, 3, 0, 0, 1, 0], vec![0], vec![0, 0], vec![4]].iter().enumerate()
        {
            let mut next = 0..;
            let mut paths = Vec::new();
            for (i, rows) in lengths.iter().enumerate() {
                let payload: Vec<u8> = next.by_ref().take(*rows).collect();
                paths.push(
                    dir.put(
                        &format!("{case}-{i}.npy"),
                        &npy("'|u1'", false, &format!("({rows},)"), &payload),
                    ),
                );
            }
            let total: u64 = lengths.iter().sum::<usize>() as u64;
            let rows = many(&paths).unwrap();
            assert_eq!(
                (rows.len(), bytes(&rows.batch(2))),
                (total, (0..total as u8).collect()),
                "{lengths:?}"
            );
            let order = mixed(total);
            let wanted: Vec<u8> = order.iter().map(|row| *row as u8).collect();
            assert_eq!(bytes(&rows.select(order).unwrap().batch(4)), wanted, "{lengths:?}");
            let glob = Npy::glob(dir.path(&format!("{case}-*.npy")).to_str().unwrap()).unwrap();
            assert_eq!(bytes(&Dataset::from_slices(glob).unwrap().batch(9)).len() as u64, total);
        }
        assert!(Npy::open_many([""; 0]).unwrap_err().to_string().contains("at least one file"));
        assert!(
            Npy::glob(dir.path("*.none").to_str().unwrap()).unwrap_err().to_string().contains("matches none")
        );
        assert!(matches!(Npy::glob("a[").unwrap_err(), Error::Argument { .. }));
    });
}

#[test]
fn many_files_may_be_records_opaque_or_in_fortran_order() {
    let dir = Dir::new();
    let record = |i: u8| npy("[('a', '|u1'), ('b', '<V2')]", false, "(1,)", &[i, 0x80, 0x3f]);
    let paths = [dir.put("0.npy", &record(1)), dir.put("1.npy", &record(2))];
    let npys = Npy::open_many(&paths).unwrap();
    assert_eq!(npys.fields(), ["a", "b"]);
    let (a, b) = (npys.clone().field("a").unwrap(), npys.field("b").unwrap().bf16().unwrap());
    let batches = Dataset::from_slices((a, b)).unwrap().batch(2).cast::<f32>("1");
    assert_eq!(
        (column::<u8>(&batches, "0"), column::<f32>(&batches, "1")),
        (vec![vec![1, 2]], vec![vec![1.0, 1.0]])
    );
    let c = dir.put("c.npy", &npy("'<i2'", false, "(2, 2)", &[1, 0, 2, 0, 3, 0, 4, 0]));
    let f = dir.put("f.npy", &npy("'<i2'", true, "(2, 2)", &[1, 0, 3, 0, 2, 0, 4, 0]));
    let rows = many(&[c, f]).unwrap();
    assert_eq!(column::<i16>(&rows.batch(3), "0").concat(), [1, 2, 3, 4, 1, 2, 3, 4]);
    assert!(rows.batch(1).plan().unwrap().warnings.join("").contains("f.npy is in Fortran order"));
}

#[test]
fn files_that_do_not_fit_together_are_refused_by_name() {
    let dir = Dir::new();
    let first = dir.put("first.npy", &npy("'<i4'", false, "(1, 2)", &[0; 8]));
    for (descr, shape, length, found) in [
        ("'<f4'", "(1, 2)", 8, "f32[2]"),
        ("'>i4'", "(1, 2)", 8, "byte-swapped i32[2]"),
        ("'<i4'", "(1, 3)", 12, "i32[3]"),
        ("'<i4'", "(2,)", 8, "i32[]"),
        ("'<i4'", "(0, 3)", 0, "i32[3]"),
    ] {
        let other = dir.put("other.npy", &npy(descr, false, shape, &vec![0; length]));
        let text = many(&[first.clone(), first.clone(), other]).unwrap_err().to_string();
        for word in ["i32[2] in", "first.npy", &format!("{found} in"), "other.npy"] {
            assert!(text.contains(word), "{text}");
        }
    }
    let cut = dir.put("cut.npy", &npy("'<i4'", false, "(1, 2)", &[0; 7]));
    assert!(many(&[first.clone(), cut]).unwrap_err().to_string().contains("cut.npy"));
    assert!(many(&[first, dir.path("none.npy")]).unwrap_err().to_string().contains("none.npy"));
}

#[test]
fn a_file_replaced_after_it_was_seen_is_refused_when_opened_again() {
    for threads in [Threads::None, Threads::Auto] {
        let dir = Dir::new();
        let paths: Vec<_> =
            (0..3).map(|i| dir.put(&format!("{i}.npy"), &npy("'|u1'", false, "(2,)", &[i, i]))).collect();
        let rows = many(&paths).unwrap();
        let other = dir.put("other.npy", &npy("'|u1'", false, "(2,)", &[9, 9]));
        fs::rename(other, &paths[2]).unwrap();
        let seen = outcomes(&rows.batch(2).threads(threads));
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(seen[..2].iter().all(|batch| batch.is_ok()), "{seen:?}");
        let text = seen[2].as_ref().unwrap_err();
        assert!(text.contains("2.npy changed while it was read"), "{text}");
        assert!(many(&paths).is_ok());
    }
}

#[test]
fn what_is_not_a_regular_file_is_refused_at_once() {
    watchdog(|| {
        let dir = Dir::new();
        let (fifo, dangling, folder) = (dir.path("fifo"), dir.path("dangling"), dir.path("folder"));
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        std::os::unix::fs::symlink(dir.path("nowhere"), &dangling).unwrap();
        fs::create_dir(&folder).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path("socket")).unwrap();
        for (path, words) in [
            (fifo, "a FIFO, expected a regular file"),
            (folder.clone(), "a directory, expected a regular file"),
            ("/dev/zero".into(), "a device, expected a regular file"),
            ("/dev/null".into(), "a device, expected a regular file"),
            (dangling, "cannot open"),
            (dir.path("missing"), "cannot open"),
            (dir.path("socket"), "cannot open"),
            (folder.join("x"), "cannot open"),
            (dir.put("file", b"").join("x"), "cannot open"),
            ("".into(), "cannot open"),
            (dir.path("nul\0"), "cannot open"),
        ] {
            let npy = Npy::open(&path).map(drop);
            let pair = Npy::open_many([&path, &path]).map(drop);
            let raw = Dataset::from_slices(Raw::new(&path, DType::U8, &[])).map(drop);
            for outcome in [npy, pair, raw] {
                let text = outcome.unwrap_err().to_string();
                assert!(text.contains(words) && text.contains(&path.display().to_string()), "{text}");
            }
        }
        let link = dir.path("link.npy");
        let file = dir.put("behind.npy", &npy("'|u1'", false, "(1,)", &[1]));
        std::os::unix::fs::symlink(file, &link).unwrap();
        assert!(many(&[link]).is_ok(), "a link to a file is a file");
    });
}

type Change = fn(&Path);

/// Changes that keep every mapped page, so that no signal can come of them.
const CHANGES: [(&str, Change); 5] = [
    ("shortened", |path| File::options().write(true).open(path).unwrap().set_len(1990).unwrap()),
    ("grown", |path| File::options().write(true).open(path).unwrap().set_len(5000).unwrap()),
    ("overwritten", |path| {
        // In place: a file that is emptied first is, for a moment, cut short.
        let file = File::options().write(true).open(path).unwrap();
        file.write_all_at(&vec![7; file.metadata().unwrap().len() as usize], 0).unwrap();
        touch(path, 10);
    }),
    ("cut and grown back", |path| {
        let file = File::options().write(true).open(path).unwrap();
        let len = file.metadata().unwrap().len();
        file.set_len(len - 100).unwrap();
        file.set_len(len).unwrap();
        touch(path, 10);
    }),
    ("touched back in time", |path| {
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }),
];

/// The same 2,000 rows in every kind of source over files, with a file of it.
fn sources(dir: &Dir) -> Vec<(PathBuf, Dataset)> {
    let payload: Vec<u8> = (0..2000u32).map(|row| row as u8).collect();
    let array = npy("'|u1'", false, "(2000,)", &payload);
    let (one, raw, first) =
        (dir.put("one.npy", &array), dir.put("raw.bin", &payload), dir.put("1.npy", &array));
    let empty = dir.put("0.npy", &npy("'|u1'", false, "(0,)", &[]));
    let open = |path: &Path| Dataset::from_slices(Npy::open(path).unwrap()).unwrap();
    let half = |name, odd| {
        let payload: Vec<u8> = payload.iter().copied().skip(odd).step_by(2).collect();
        dir.put(name, &npy("'|u1'", false, "(1000,)", &payload))
    };
    let (even, odd) = (half("even.npy", 0), half("odd.npy", 1));
    let (read, second, none) =
        (dir.put("read.npy", &array), dir.put("2.bin", &payload), dir.put("3.bin", &[]));
    let (joined, folder, cache) = (dir.put("joined.npy", &array), dir.path("set"), dir.path("cache"));
    let batches = Dataset::from_slices(payload.clone()).unwrap().batch(100);
    batches.save(&folder).unwrap();
    values(&batches.cache_file(&cache));
    vec![
        (cache.join("00000.0-0.npy"), Dataset::load(&cache).unwrap()),
        (even.clone(), Dataset::mix([(&open(&even), 1), (&open(&odd), 1)]).unwrap()),
        (joined.clone(), open(&joined).concat(&open(&empty)).unwrap()),
        (folder.join("00000.0-0.npy"), Dataset::load(&folder).unwrap()),
        (one.clone(), open(&one)),
        (raw.clone(), Dataset::from_slices(Raw::new(raw, DType::U8, &[])).unwrap()),
        (read.clone(), Dataset::from_slices(Npy::open(&read).unwrap().unmapped()).unwrap()),
        (
            second.clone(),
            Dataset::from_slices(Raw::many([&second, &none], DType::U8, &[]).unmapped()).unwrap(),
        ),
        (first.clone(), many(&[empty, first]).unwrap()),
    ]
}

type Make = fn(&Dataset) -> Stream<Batch>;

/// Checks that batches of 10 rows came in order and unharmed, and then one error.
fn changed_after(good: impl Fn(usize) -> bool, seen: &[Result<Batch>], path: &Path, label: &str) {
    let (last, before) = seen.split_last().unwrap();
    assert!(good(before.len()), "{label}: {} batches", before.len());
    for (i, batch) in before.iter().enumerate() {
        let wanted: Vec<u8> = (10 * i as u32..).take(10).map(|row| row as u8).collect();
        assert_eq!(batch.as_ref().unwrap().column::<u8>("0").unwrap(), wanted, "{label}");
    }
    let error = last.as_ref().unwrap_err();
    assert!(matches!(error, Error::Changed { path: named, .. } if named == path), "{label}: {error}");
    assert!(error.is_fatal() && error.to_string().contains("rename it"), "{label}: {error}");
}

#[test]
fn a_change_between_epochs_is_one_error_and_no_data() {
    for (change, apply) in CHANGES {
        let dir = Dir::new();
        for (path, rows) in sources(&dir) {
            let streams = [rows.batch(10), rows.batch(10).workers(3), rows.batch(10).threads(Threads::None)];
            streams.iter().for_each(|stream| assert_eq!(values(stream).len(), 200));
            apply(&path);
            for stream in streams {
                let mut epoch = stream.epoch(1).unwrap();
                let seen: Vec<_> = epoch.by_ref().collect();
                assert!(epoch.next().is_none());
                changed_after(|batches| batches == 0, &seen, &path, change);
            }
        }
    }
}

#[test]
fn a_change_during_an_epoch_is_one_error_after_the_good_batches() {
    for (change, apply) in CHANGES {
        let streams: [(Make, usize); 5] = [
            (|rows| rows.batch(10).threads(Threads::None), 3),
            (|rows| rows.batch(10).map(|batch| batch).threads(Threads::None), 3),
            (|rows| rows.batch(10), 100),
            (|rows| rows.batch(10).workers(3), 100),
            (|rows| rows.batch(10).prefetch(4).threads(Threads::EachStage), 100),
        ];
        for (make, most) in streams {
            let dir = Dir::new();
            for (path, rows) in sources(&dir) {
                let mut epoch = make(&rows).iter().unwrap();
                let mut seen: Vec<_> = epoch.by_ref().take(3).collect();
                apply(&path);
                seen.extend(epoch.by_ref());
                assert!(epoch.next().is_none() && epoch.next().is_none());
                changed_after(|batches| (3..=most).contains(&batches), &seen, &path, change);
            }
        }
    }
}

/// Another file in its place, or none.
const REPLACEMENTS: [(&str, Change); 3] = [
    ("renamed over", |path| {
        let new = path.with_extension("new");
        fs::write(&new, npy("'|u1'", false, "(2,)", &[7, 7])).unwrap();
        fs::rename(new, path).unwrap();
    }),
    ("deleted", |path| fs::remove_file(path).unwrap()),
    ("deleted and written anew", |path| {
        fs::remove_file(path).unwrap();
        fs::write(path, [7; 9000]).unwrap();
    }),
];

#[test]
fn a_file_that_was_replaced_or_deleted_is_read_to_its_end_as_it_was() {
    for (change, apply) in REPLACEMENTS {
        let dir = Dir::new();
        for (path, rows) in sources(&dir) {
            let stream = rows.batch(10).threads(Threads::None);
            let mut epoch = stream.iter().unwrap();
            let mut seen: Vec<u8> = epoch.next().unwrap().unwrap().column("0").unwrap().to_vec();
            apply(&path);
            let now = fs::read(&path).ok();
            epoch.for_each(|batch| seen.extend(batch.unwrap().column::<u8>("0").unwrap()));
            assert!(seen.iter().copied().eq((0..2000u32).map(|row| row as u8)), "{change}");
            assert_eq!(bytes(&stream), seen, "{change}: also in the next epoch");
            let mut shuffled = bytes(&rows.shuffle(Shuffle::full(1)).batch(64).workers(2));
            shuffled.sort();
            seen.sort();
            assert!(shuffled == seen, "{change}: also shuffled");
            assert_eq!(fs::read(&path).ok(), now, "{change}: and left alone");
        }
    }
}

#[test]
fn opening_and_reading_never_write() {
    let dir = Dir::new();
    for (path, _) in sources(&dir) {
        let mut mode = fs::metadata(&path).unwrap().permissions();
        mode.set_readonly(true);
        fs::set_permissions(&path, mode).unwrap();
        let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        let rows = Dataset::from_slices(Raw::new(&path, DType::U8, &[]).forced()).unwrap();
        assert_eq!(bytes(&rows.shuffle(Shuffle::blocks(1)).batch(64)).len() as u64, rows.len());
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let ours: Vec<_> = maps.lines().filter(|line| line.ends_with(path.to_str().unwrap())).collect();
        assert!(!ours.is_empty() && ours.iter().all(|line| line.contains(" r--")), "{ours:?}");
        for entry in fs::read_dir("/proc/self/fd").unwrap().flatten() {
            if fs::read_link(entry.path()).is_ok_and(|to| to == path) {
                let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", entry.file_name().display()));
                let flags =
                    info.unwrap().lines().find_map(|l| l.strip_prefix("flags:")?.trim().chars().last());
                assert_eq!(flags, Some('0'), "opened for writing");
            }
        }
        assert_eq!(before, (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap()));
    }
}
