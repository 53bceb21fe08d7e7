//! Trainings that are killed at any moment and resumed with other threads: nothing is lost, and what comes again is the same.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use gristmill::{Dataset, Npy, Position, RandomStream, Shuffle, State, Stream, Threads};

use crate::common::*;

const EPOCHS: u64 = 2;
/// Whole global batches, so that ranks need none twice.
const ROWS: u64 = 66 * GLOBAL as u64;
/// Rows of a global batch: four, two and three ranks share them out.
const GLOBAL: usize = 24;

/// What changes only speed, other for every life of a training.
pub(crate) struct Speed {
    workers: usize,
    ahead: usize,
    threads: Threads,
}

/// One way to read rows, from files in a folder; an item is what is logged of it.
type Kind = fn(&Path, &Speed) -> Stream<Vec<u64>>;

pub(crate) const KINDS: [Kind; 8] = [
    |folder, speed| {
        let batches = file(folder).shuffle(Shuffle::blocks_of(64, 4, 7)).batch(40);
        batches.prefetch(speed.ahead).map(|b| ids(&b))
    },
    |folder, speed| {
        let batches = file(folder).shuffle(Shuffle::full(1)).repeat(2).shard(2, 1).unwrap().batch_exact(32);
        batches.par_map_seeded(speed.workers, 3, |b, random| [ids(&b), vec![random.next_u64()]].concat())
    },
    |_, speed| {
        // A million row numbers lie in the buffer; a batch is logged as one number.
        let rows = Dataset::range(1_100_000).unwrap().shuffle(Shuffle::buffer(1_000_000, 3));
        rows.batch(30_000).prefetch(speed.ahead).map(|b| vec![digest(ids(&b))])
    },
    |folder, speed| {
        let rows = file(folder).shuffle(Shuffle::full(5)).rows().map(|row| row.value::<u64>("0").unwrap());
        let kept = rows.par_map(speed.workers, |n| n ^ 1).filter(|n| n % 3 > 0);
        kept.window(6, 30, 2).prefetch(speed.ahead)
    },
    |folder, _| {
        let (near, far) =
            (file(folder).shuffle(Shuffle::buffer(100, 2)), file(folder).shuffle(Shuffle::full(4)));
        Dataset::mix([(&near, 2), (&far, 3)]).unwrap().batch(48).map(|b| ids(&b))
    },
    |folder, speed| {
        let cached = file(folder).shuffle(Shuffle::full(6)).batch(50).cache_file(folder.join("cache"));
        cached.prefetch(speed.ahead).map(|b| ids(&b))
    },
    |_, speed| {
        let items =
            numbers(600).shuffle_buffer(200, 9).interleave(3, 2, |n| numbers(n % 3).map(move |i| 3 * n + i));
        items.batch(25).prefetch(speed.ahead).rebatch([10, 15]).map(|b| ids(&b))
    },
    |folder, speed| {
        let rows = file(folder).shuffle(Shuffle::full(8)).batch(20).prefetch(speed.ahead).map(|b| ids(&b));
        let sums = numbers(90).scan(
            |epoch| epoch,
            |sum, n| {
                *sum += n;
                vec![*sum]
            },
        );
        Stream::mix([(rows, 2), (sums, 3)])
    },
];

/// The numbers of all rows, in a file that is made when it is not there.
fn file(folder: &Path) -> Dataset {
    let path = folder.join("rows.npy");
    if !path.exists() {
        let payload: Vec<u8> = (0..ROWS).flat_map(u64::to_le_bytes).collect();
        fs::write(&path, npy("'<u8'", false, &format!("({ROWS},)"), &payload)).unwrap();
    }
    Dataset::from_slices(Npy::open(path).unwrap()).unwrap()
}

fn written<T: serde::Serialize>(path: &Path, value: T) {
    fs::write(path, serde_json::to_string(&value).unwrap()).unwrap();
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Goes on where the folder's state stands, or starts; logs each item, and saves the state after it.
fn train(stream: &Stream<Vec<u64>>, folder: &Path) {
    let state = folder.join("state.json");
    let mut log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut iter = match state.exists() {
        true => stream.resume(&State::load(&state).unwrap()).unwrap(),
        false => stream.epoch(0).unwrap(),
    };
    loop {
        let at = iter.position();
        let Some(item) = iter.next() else {
            if at.epoch + 1 == EPOCHS {
                return;
            }
            iter = stream.epoch(at.epoch + 1).unwrap();
            continue;
        };
        let line = serde_json::to_string(&(at, item.unwrap())).unwrap() + "\n";
        log.write_all(line.as_bytes()).unwrap();
        iter.state().save(&state).unwrap();
    }
}

/// What a child does in its folder: the settings of this life say what.
pub(crate) fn live(folder: &Path) {
    match read::<[usize; 5]>(&folder.join("settings")) {
        [kind, 0, workers, ahead, threads] => {
            let speed = Speed { workers, ahead, threads: THREADS[threads] };
            let stream = KINDS[kind](folder, &speed).threads(speed.threads).workers(speed.workers);
            train(&stream, folder);
        }
        [rank, world, workers, ahead, threads] => {
            let rows = file(folder).shuffle(Shuffle::full(3));
            let part = rows.distribute(rank as u64, world as u64, GLOBAL).unwrap().prefetch(ahead);
            train(&part.threads(THREADS[threads]).workers(workers).map(|b| ids(&b)), folder);
        }
    }
}

type Line = (Position, Vec<u64>);

/// The lines of a log; one that was being written when its writer died is cut off.
fn lines(folder: &Path) -> Vec<Line> {
    let path = folder.join("log");
    let Ok(text) = fs::read(&path) else { return Vec::new() };
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    File::options().write(true).open(&path).unwrap().set_len(whole as u64).unwrap();
    let lines = text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// What a run without a break logs.
fn unbroken(stream: &Stream<Vec<u64>>) -> Vec<Line> {
    let places = |k| (0..).map(move |item| Position { epoch: k, item });
    (0..EPOCHS).flat_map(|k| places(k).zip(epoch(stream, k))).collect()
}

/// Kills the child at a moment by chance, soon after its start or after up to `most` more bytes in its log; false if it ended before.
fn kill(child: &mut Child, folder: &Path, most: u64, random: &mut RandomStream) -> bool {
    let grown = || fs::metadata(folder.join("log")).map_or(0, |meta| meta.len());
    let early = random.chance(0.3);
    let wanted = if early { 0 } else { grown() + random.below(most) };
    while child.try_wait().unwrap().is_none() && grown() < wanted {
        std::thread::sleep(Duration::from_micros(random.below(200)));
    }
    std::thread::sleep(Duration::from_micros(random.below(if early { 60_000 } else { 2_000 })));
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ended.is_none_or(|status| status.success()), "a training failed: {ended:?}");
    ended.is_none()
}

fn start(name: &str, folder: &Path) -> Child {
    process("", name, folder).stdout(Stdio::null()).spawn().unwrap()
}

/// Trains each kind until it was killed `kills` times; gives the number of items that came twice. `name` is the test that calls
/// [`live`] as a child.
pub(crate) fn trainings(name: &str, kills: u64) -> u64 {
    let mut random = RandomStream::new(11, "kills", 0, kills);
    let mut twice = 0;
    for (kind, make) in KINDS.iter().enumerate() {
        let other = Dir::new();
        let expected =
            unbroken(&make(&other.path(""), &Speed { workers: 1, ahead: 0, threads: Threads::None }));
        let bytes = serde_json::to_string(&expected).unwrap().len() as u64;
        let mut left = kills;
        while left > 0 {
            let dir = Dir::new();
            let folder = dir.path("");
            let mut killed = 0;
            loop {
                let mut chosen = |n| random.below(n) as usize;
                written(&folder.join("settings"), [kind, 0, 1 + chosen(4), chosen(9), chosen(3)]);
                let mut child = start(name, &folder);
                if left == killed {
                    assert!(child.wait().unwrap().success(), "kind {kind}");
                    break;
                }
                if !kill(&mut child, &folder, bytes / 4, &mut random) {
                    break;
                }
                killed += 1;
                lines(&folder);
            }
            let again = repeated(&lines(&folder), &expected, kind);
            assert!(again <= killed, "kind {kind}: {again} items came again after {killed} kills");
            let filling = |name: &String| name.contains("filling");
            assert!(!names(&folder).iter().any(filling), "kind {kind}: a dead writer's half is still there");
            (twice, left) = (twice + again, left - killed);
        }
    }
    twice
}

/// Checks that a log holds all that was expected, in order; gives the number of items that came twice.
fn repeated(log: &[Line], expected: &[Line], kind: usize) -> u64 {
    let (mut next, mut again) = (0, 0);
    for line in log {
        match expected.get(next) {
            Some(wanted) if line == wanted => next += 1,
            _ => {
                // Delivered, but not yet saved when the training was killed.
                assert_eq!(
                    line,
                    &expected[next - 1],
                    "kind {kind}: an item is lost, or comes again as another"
                );
                again += 1;
            }
        }
    }
    assert_eq!(next, expected.len(), "kind {kind}: items are missing at the end");
    again
}

/// Four ranks are killed and go on as two, which are killed and go on as three: every row of both epochs once.
pub(crate) fn ranks(name: &str, seed: u64) {
    let mut random = RandomStream::new(seed, "ranks", 0, 0);
    let dir = Dir::new();
    let rows = file(&dir.path("")).shuffle(Shuffle::full(3));
    let expected = unbroken(&rows.batch(GLOBAL).map(|b| ids(&b)));
    let refused = rows.distribute(0, 5, GLOBAL).unwrap_err().to_string();
    assert!(refused.contains("20 or 25"), "{refused}");
    let mut seen: Vec<Line> = Vec::new();
    let mut from: Option<State> = None;
    for world in [4, 2, 3] {
        let folders: Vec<_> = (0..world).map(|rank| dir.path(&format!("{world}-{rank}"))).collect();
        let mut children = Vec::new();
        for (rank, folder) in folders.iter().enumerate() {
            fs::create_dir(folder).unwrap();
            from.iter().for_each(|state| state.save(folder.join("state.json")).unwrap());
            let mut chosen = |n| random.below(n) as usize;
            written(&folder.join("settings"), [rank, world, 1 + chosen(3), chosen(5), chosen(3)]);
            children.push(start(name, folder));
        }
        let last = world == 3;
        for (child, folder) in children.iter_mut().zip(&folders) {
            match last {
                true => assert!(child.wait().unwrap().success()),
                // Not before each of them has a state to go on from.
                false => until(|| folder.join("state.json").exists()),
            }
        }
        for (child, folder) in children.iter_mut().zip(&folders).filter(|_| !last) {
            kill(child, folder, 1500, &mut random);
        }
        let states = folders.iter().map(|folder| State::load(folder.join("state.json")).unwrap());
        // What all of them have saved counts.
        let slowest = states.min_by_key(|state| (state.position().epoch, state.position().item)).unwrap();
        let end = (slowest.position().epoch, slowest.position().item);
        let logs: Vec<Vec<Line>> = folders.iter().map(|folder| lines(folder)).collect();
        for (step, (at, _)) in
            logs[0].iter().enumerate().filter(|(_, (at, _))| last || (at.epoch, at.item) < end)
        {
            assert!(logs.iter().all(|log| log[step].0 == *at), "ranks do not stand at the same step");
            seen.push((*at, logs.iter().flat_map(|log| log[step].1.clone()).collect()));
        }
        from = Some(slowest);
    }
    assert_eq!(seen, expected);
    for k in 0..EPOCHS {
        let mut all: Vec<u64> =
            seen.iter().filter(|(at, _)| at.epoch == k).flat_map(|(_, ids)| ids.clone()).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..ROWS), "every row once");
    }
}
