//! Threads, descriptors and memory that the system does not give: errors, never the end of the process, and nothing left behind.

use std::path::Path;

use gristmill::{Batch, Dataset, Error, Iter, Npy, Raw, Result, Shuffle, Stream, Threads};

use crate::common::*;

/// The file of the numbers below `rows`.
fn file(dir: &Dir, rows: u64) -> std::path::PathBuf {
    let payload: Vec<u8> = (0..rows).flat_map(u64::to_le_bytes).collect();
    dir.put("rows.npy", &npy("'<u8'", false, &format!("({rows},)"), &payload))
}

fn open(path: &Path) -> Dataset {
    Dataset::from_slices(Npy::open(path).unwrap()).unwrap()
}

/// Streams that need threads of every sort.
const NEEDY: [fn(&Dataset) -> Stream<u64>; 7] = [
    |rows| rows.batch(4).prefetch(2).map(|b| ids(&b)[0]),
    |rows| rows.batch(4).workers(4).map(|b| ids(&b)[0]),
    |_| numbers(99).par_map(6, |n| n).prefetch(1),
    |_| numbers(99).par_interleave(4, 1, |n| numbers(n).prefetch(1)),
    |_| numbers(99).par_interleave_unordered(5, |n| numbers(n).par_map(2, |n| n)),
    |rows| {
        rows.batch(4)
            .map(|b| ids(&b)[0])
            .filter(|_| true)
            .map(|n| n)
            .inspect(|_| {})
            .threads(Threads::EachStage)
    },
    // 8 MB: a batch that a crew of its own shares out.
    |_| {
        Dataset::range(1_000_000)
            .unwrap()
            .shuffle(Shuffle::full(1))
            .batch(1_000_000)
            .workers(3)
            .map(|b| ids(&b)[0])
    },
];

/// What the first item is: there, or an error that says that a thread is wanted.
fn first<T>(iter: &mut Iter<T>, label: &str) -> bool {
    match iter.next() {
        Some(Ok(_)) => true,
        Some(Err(Error::Spawn { .. })) => {
            assert!(iter.next().is_none(), "{label}: it goes on after a fatal error");
            false
        }
        Some(Err(error)) => panic!("{label}: {error}"),
        None => panic!("{label}: a thread that could not be started looks like the end"),
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error_and_those_before_it_end() {
    let Some(group) = Group::new("pids", &[("pids.max", 150)]) else { return };
    alone_after(&group.enter(), 30, || {
        let dir = Dir::new();
        let path = file(&dir, 99);
        let limit = own_group("pids").join("pids.max");
        let running = entries("/proc/self/task");
        for (kind, make) in NEEDY.iter().enumerate() {
            let mut outcomes = Vec::new();
            for room in 0..32 {
                let stream = make(&open(&path));
                no_thread_is_left();
                until(|| entries("/proc/self/task") == running);
                std::fs::write(&limit, (running + room).to_string()).unwrap();
                // Whether it stands at its first item or has failed, it ends when it is dropped.
                outcomes.push(first(&mut stream.iter().unwrap(), &format!("kind {kind}, room for {room}")));
                no_thread_is_left();
                std::fs::write(&limit, "150").unwrap();
                assert!(values(&stream).len() > 10 || kind == 6, "kind {kind}: it is no stream any more");
            }
            assert!(!outcomes[0] && outcomes[31], "kind {kind}: {outcomes:?}");
        }
    });
}

/// The control group of this kind that this process is in.
fn own_group(kind: &str) -> std::path::PathBuf {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let mut fields = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (_, path) = fields.find(|(names, _)| *names == kind).unwrap();
    format!("/sys/fs/cgroup/{kind}{path}").into()
}

#[test]
fn a_thousand_iterators_with_few_threads_and_descriptors_are_data_or_errors() {
    let Some(group) = Group::new("pids", &[("pids.max", 200)]) else { return };
    alone_after(&format!("{} ulimit -n 256;", group.enter()), 30, || {
        let dir = Dir::new();
        let rows = open(&file(&dir, 4000)).shuffle(Shuffle::full(1)).batch(2).workers(2).prefetch(2);
        let opened =
            |threads| (0..1000).map(|k| rows.clone().threads(threads).epoch(k).unwrap()).collect::<Vec<_>>();
        let mut held = opened(Threads::Auto);
        let good = held.iter_mut().filter_map(|iter| first(iter, "one of many").then_some(())).count();
        assert!((20..200).contains(&good), "{good} of 1000 run");
        // Those that run are as good as any.
        let live: Vec<_> = held.iter_mut().filter_map(|iter| iter.next()).collect();
        assert!(live.len() == good && live.iter().all(Result::is_ok), "{} of {good}", live.len());
        drop(held);
        no_thread_is_left();
        assert!(
            opened(Threads::None).iter_mut().all(|iter| iter.next().unwrap().is_ok()),
            "without threads all of them run"
        );
    });
}

#[test]
fn thousands_of_streams_that_are_not_run_cost_no_thread_and_one_map() {
    alone(|| {
        let dir = Dir::new();
        let path = file(&dir, 100);
        let (threads, open_files) = (entries("/proc/self/task"), entries("/proc/self/fd"));
        let rows = open(&path);
        let stream = |i: u64| {
            let shuffled = rows.shuffle(Shuffle::full(i)).take(90).batch(8).workers(4);
            shuffled.prefetch(4).par_map(3, |b| b).map(|b| ids(&b)).prefetch(1)
        };
        let streams: Vec<_> = (0..5000).map(stream).collect();
        assert_eq!(maps_of(&path), 1, "one map, whoever reads it");
        let iters: Vec<_> = streams.iter().map(|stream| stream.iter().unwrap()).collect();
        assert!(maps_of(&path) <= 2, "and one for scattered rows");
        assert_eq!((entries("/proc/self/task"), entries("/proc/self/fd")), (threads, open_files + 1));
        drop((streams, iters, rows));
        assert_eq!((maps_of(&path), entries("/proc/self/fd")), (0, open_files));
    });
}

/// A file sixteen times the memory that the process may have: what is mapped can be given up again, what is held is little.
#[test]
fn a_gibibyte_is_shuffled_in_64_mebibytes() {
    let Some(group) = Group::new("memory", &[("memory.limit_in_bytes", 64 << 20)]) else { return };
    alone_after(&group.enter(), 120, || {
        let dir = Dir::roomy();
        let rows: u64 = (1 << 30) / 4096;
        let last = (1 << 30) - 8;
        let path = dir.sparse("x.bin", 1 << 30, &[(0, &7u64.to_ne_bytes()), (last, &9u64.to_ne_bytes())]);
        let raw = Raw::new(path, gristmill::DType::U64, &[512]);
        let shuffled = Dataset::from_slices(raw).unwrap().shuffle(Shuffle::blocks(5));
        let (mut count, mut sum) = (0, 0);
        for batch in shuffled.batch(256).prefetch(2).iter().unwrap() {
            let batch: Batch = batch.unwrap();
            count += batch.rows() as u64;
            sum += batch.column::<u64>("0").unwrap().iter().sum::<u64>();
        }
        assert_eq!((count, sum), (rows, 16));
    });
}

/// The lines of this thread's status that tell what it and its process do with signals. The test harness's own thread blocks them all for
/// a moment when it starts another.
fn signals() -> Vec<u64> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    ["SigBlk:", "SigIgn:", "SigCgt:"].map(|name| u64::from_str_radix(&of(name), 16).unwrap()).to_vec()
}

#[test]
fn a_run_changes_nothing_of_the_process_but_one_handler() {
    alone(|| {
        let dir = Dir::new();
        let path = file(&dir, 9000);
        let here = std::env::current_dir().unwrap();
        let state = || {
            let files = (names(&dir.path("")), names(&here));
            (signals(), std::env::vars_os().collect::<Vec<_>>(), files, entries("/proc/self/task"))
        };
        let before = state();
        for make in NEEDY {
            values(&make(&open(&path)));
        }
        let stream = open(&path).shuffle(Shuffle::blocks(1)).batch(64).cache().shuffle_buffer(9, 1).repeat(2);
        assert_eq!(values(&stream).len(), 282);
        no_thread_is_left();
        let mut after = state();
        // SIGBUS, signal 7, which the standard library may have caught before.
        after.0[2] &= !(1 << 6) | before.0[2];
        assert_eq!(after, before);
    });
}
