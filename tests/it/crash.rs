//! Trainings that are killed, stopped and sent signals: nothing is lost, and nothing is left.
#![allow(unsafe_code)]

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gristmill::{DType, Dataset, Raw, Shuffle};

use crate::common::*;
use crate::save::wait_to_be_killed;
use crate::trials::kills::{live, ranks, trainings};

#[test]
fn killed_at_any_moment_and_resumed_with_other_threads_no_item_is_lost() {
    match child() {
        Some(folder) => live(&folder),
        None => within(120, || {
            trainings("crash::killed_at_any_moment_and_resumed_with_other_threads_no_item_is_lost", 1);
        }),
    }
}

#[test]
fn four_ranks_that_are_killed_go_on_as_two_and_as_three() {
    match child() {
        Some(folder) => live(&folder),
        None => within(120, || ranks("crash::four_ranks_that_are_killed_go_on_as_two_and_as_three", 1)),
    }
}

/// What a child is in the middle of when a signal comes.
const MOMENTS: [fn(&Path); 3] = [
    // Waiting for an item that does not come.
    |folder| {
        let told = folder.to_owned();
        let stuck = Dataset::from_generator(move |_| {
            let told = told.clone();
            std::iter::from_fn(move || -> Option<u64> { wait_to_be_killed(&told) })
        });
        stuck.prefetch(2).iter().unwrap().next();
    },
    // Reading a file, again and again.
    |folder| {
        let path = folder.join("rows");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let rows = Dataset::from_slices(Raw::new(path, DType::U8, &[512])).unwrap().shuffle(Shuffle::full(1));
        for (i, batch) in rows.repeat(1 << 40).batch(32).workers(2).prefetch(4).iter().unwrap().enumerate() {
            batch.unwrap();
            if i == 1000 {
                std::fs::write(folder.join("half"), b"").unwrap();
            }
        }
    },
    // Filling a shuffle buffer that never is full.
    |folder| {
        let told = folder.join("half");
        let filling = endless().map(|n| n % 1000).inspect(move |n| {
            if *n == 999 {
                std::fs::write(&told, b"").unwrap();
            }
        });
        filling.shuffle_buffer(1 << 30, 1).filter(|_| false).prefetch(2).iter().unwrap().next();
    },
];

#[test]
fn a_signal_ends_the_process_as_it_ends_any() {
    const NAME: &str = "crash::a_signal_ends_the_process_as_it_ends_any";
    if let Some(folder) = child() {
        // A shell that works in the background has its children ignore SIGINT.
        // SAFETY: puts back what every process starts with.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        let number = folder.extension().unwrap().to_str().unwrap().parse::<usize>().unwrap();
        MOMENTS[number](&folder);
        panic!("the moment passed");
    }
    watchdog(|| {
        let dir = Dir::new();
        for signal in [libc::SIGTERM, libc::SIGINT] {
            for moment in 0..MOMENTS.len() {
                let folder = dir.path(&format!("{signal}.{moment}"));
                std::fs::create_dir(&folder).unwrap();
                let mut running = process("", NAME, &folder).stdout(Stdio::null()).spawn().unwrap();
                until(|| folder.join("half").exists());
                send(&running, signal);
                assert_eq!(running.wait().unwrap().signal(), Some(signal), "moment {moment}");
            }
        }
    });
}

fn send(child: &Child, signal: libc::c_int) {
    // SAFETY: sends a signal to a child that was not waited for yet, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}

/// One epoch, told item by item; every stage that waits is in it.
fn tell(folder: &Path) {
    let rows = Dataset::range(60_000).unwrap().shuffle(Shuffle::full(2)).batch(10).workers(2).prefetch(4);
    let stream = rows.par_map(2, |b| ids(&b)).shuffle_buffer(20, 1).prefetch(2);
    let mut log = std::fs::File::create(folder.join("log")).unwrap();
    stream.iter().unwrap().for_each(|item| writeln!(log, "{:?}", item.unwrap()).unwrap());
}

#[test]
fn stopped_and_continued_or_on_another_clock_a_run_is_the_same() {
    const NAME: &str = "crash::stopped_and_continued_or_on_another_clock_a_run_is_the_same";
    if let Some(folder) = child() {
        return tell(&folder);
    }
    watchdog(|| {
        let (dir, other, shifted) = (Dir::new(), Dir::new(), Dir::new());
        tell(&other.path(""));
        let told = |dir: &Dir| std::fs::read_to_string(dir.path("log")).unwrap_or_default();
        let mut running = process("", NAME, dir.path("")).stdout(Stdio::null()).spawn().unwrap();
        let mut stops = 0;
        while stops < 40 && running.try_wait().unwrap().is_none() {
            let before = told(&dir).len();
            until(|| told(&dir).len() > before || running.try_wait().unwrap().is_some());
            if running.try_wait().unwrap().is_none() {
                send(&running, libc::SIGSTOP);
                std::thread::sleep(Duration::from_millis(5));
                send(&running, libc::SIGCONT);
                stops += 1;
            }
        }
        assert!(running.wait().unwrap().success() && told(&dir) == told(&other), "{stops} stops");
        assert!(stops > 0, "it was never stopped");
        // A clock that stands more than a day ahead; nothing is decided by it.
        if !Command::new("unshare").args(["-T", "true"]).status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: it takes root and time namespaces to shift a clock");
            return;
        }
        let shift = "exec unshare -T --monotonic 100000 --boottime 100000 \"$0\" \"$@\";";
        let ahead = process(shift, NAME, shifted.path("")).stdout(Stdio::null()).status().unwrap();
        assert!(ahead.success() && told(&shifted) == told(&other));
    });
}
