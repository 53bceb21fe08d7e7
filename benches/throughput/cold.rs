//! The cold cases: a file four times the memory its reader may use, and nothing of it in memory at the start.
//!
//! Each round is a process of its own, since pages that a process has mapped are not given up: it joins a memory cgroup, drops the
//! files' pages, and times one pass. Needs root; elsewhere the cases say that they were skipped.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use gristmill::{Dataset, Shuffle};

use crate::cases::{drain, open, rates, size};
use crate::files::{self, Pair};
use crate::{Options, Outcome, alternate, seconds};

/// A memory cgroup that is gone when this is dropped.
struct Group(PathBuf);

impl Group {
    /// A group with this much memory, by either version of the system's interface; the reason where there is none.
    fn new(bytes: u64) -> Result<Group, String> {
        let name = format!("gristmill-bench-{}", std::process::id());
        let (root, limit) = match Path::new("/sys/fs/cgroup/memory").is_dir() {
            true => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            false => ("/sys/fs/cgroup", "memory.max"),
        };
        let folder = Path::new(root).join(name);
        fs::create_dir(&folder).map_err(|e| format!("no memory cgroup can be made here: {e}"))?;
        let group = Group(folder);
        let set = fs::write(group.0.join(limit), bytes.to_string());
        set.map_err(|e| format!("a cgroup's memory cannot be limited here: {e}"))?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn pair(options: &Options) -> Pair {
    files::pair(128, size(options))
}

/// The pass that a child makes: by its name, in the group that is given.
pub fn child(pass: &str, group: &str, options: &Options) {
    let pair = pair(options);
    fs::write(Path::new(group).join("cgroup.procs"), std::process::id().to_string()).unwrap();
    let files = [&pair.features, &pair.labels].map(|path| fs::File::open(path).unwrap());
    for file in &files {
        file.sync_all().unwrap();
        // SAFETY: advice about a file that is open.
        let done = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        assert_eq!(done, 0);
    }
    let time = seconds(|| match pass {
        "seq" => drain(&open(&pair).batch(1024).prefetch(4), 0),
        "blocks" => drain(&open(&pair).shuffle(Shuffle::blocks(1)).batch(1024).prefetch(4), 0),
        "pread" => {
            let mut buffer = vec![0; 1 << 20];
            for file in &files {
                let mut at = 0;
                while let n @ 1.. = file.read_at(&mut buffer, at).unwrap() {
                    at += n as u64;
                }
            }
        }
        // What the disk gives for the features in the block shuffle's pieces and in no order, eight at a time.
        "pieces" => {
            let (bytes, next) = (64 << 10, AtomicU64::new(0));
            let pieces = Dataset::range(files[0].metadata().unwrap().len() / bytes).unwrap();
            let order = pieces.shuffle(Shuffle::full(1)).order(0, 0, usize::MAX).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        let mut buffer = vec![0; bytes as usize];
                        while let Some(piece) = order.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                            files[0].read_exact_at(&mut buffer, piece * bytes).unwrap();
                        }
                    });
                }
            });
        }
        _ => panic!("no pass is called {pass}"),
    });
    println!("{time}");
}

fn run(pass: &str, group: &Group, options: &Options) -> f64 {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--cold", pass]).arg(&group.0);
    if options.small {
        program.arg("--small");
    }
    let output = program.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// A pass against reading both files from end to end, 1 MiB at a time.
pub fn case(options: &Options, pass: &str, bar: &'static str) -> Outcome {
    let pair = pair(options);
    let group = match Group::new(size(options) / 4) {
        Ok(group) => group,
        Err(why) => return Outcome::skipped(why),
    };
    // A pass takes seconds, and the disk is what varies.
    let rounds = options.rounds.min(3);
    if pass == "blocks" {
        let rate = (pair.rows * pair.row_bytes as u64) as f64 / run("pieces", &group, options) / 1e9;
        println!("  the disk's own rate for pieces of 64 KiB in no order: {rate:.3} GB/s");
    }
    rates(&pair, alternate(rounds, || run(pass, &group, options), || run("pread", &group, options)), bar)
}
