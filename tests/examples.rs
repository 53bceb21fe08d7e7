//! The examples, run as a user would run them.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

use std::path::PathBuf;
use std::process::Command;

/// Runs an example, built beside this test, from the project's top; returns what it printed.
fn run(name: &str, arguments: &[&str]) -> Result<String, String> {
    let built = std::env::current_exe().unwrap();
    let folder: PathBuf = built.parent().unwrap().parent().unwrap().join("examples");
    let mut command = Command::new(folder.join(name));
    let done = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
}

#[test]
fn the_short_ones_run() {
    let cases = [
        ("npy_pair", "180 rows kept for validation"),
        ("generator", "epoch 1: 99"),
        ("raw_memmap", "sum of all readings: 24997500"),
        ("own_source", "longest: 77031 takes 350 steps"),
        ("own_stage", "[1, 3, 5, 7, 9]"),
        ("tokens", "43 steps, 88064 of 88064 targets follow from their inputs"),
    ];
    for (name, expected) in cases {
        let printed = run(name, &[]).unwrap();
        assert!(printed.contains(expected), "{name}: {printed}");
    }
}

#[test]
fn fit_learns_and_two_runs_print_the_same_losses() {
    let runs = [run("fit", &[]).unwrap(), run("fit", &[]).unwrap()];
    let result = runs[0].lines().last().unwrap();
    let accuracy: f64 =
        result.split("val_accuracy=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(result.starts_with("result val_accuracy=") && accuracy >= 0.96, "{result}");
    assert!(result.contains(" epochs=15 rows_per_s=") && result.contains(" input_wait="), "{result}");
    let losses = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.split_once(" loss="))
            .map(|(_, losses)| losses.to_owned())
            .collect()
    };
    assert_eq!(losses(&runs[0]).len(), 15);
    assert_eq!(losses(&runs[0]), losses(&runs[1]));
    assert!(runs[0].contains("prefetch(4)") && runs[0].contains("spent waiting for batches"), "{}", runs[0]);
}

#[test]
fn fit_takes_the_users_own_files_and_refuses_wrong_ones_in_plain_words() {
    let (x, y) = ("examples/data/digits-features.npy", "examples/data/digits-labels.npy");
    for shuffle in ["full", "blocks", "buffer:2000"] {
        let printed = run(
            "fit",
            &["--features", x, "--labels", y, "--epochs", "1", "--batch", "64", "--shuffle", shuffle],
        );
        assert!(printed.unwrap().contains("epochs=1"));
    }
    let cases: [(&[&str], &str); 6] = [
        (&["--features", "nowhere.npy"], "cannot open nowhere.npy"),
        (&["--features", "README.md"], "README.md is"),
        (&["--labels", x, "--features", y], "labels"),
        (&["--batch", "0"], "at least one row"),
        (&["--shuffle", "some"], "--shuffle takes full, blocks or buffer:N"),
        (&["--speed", "9"], "unknown option --speed"),
    ];
    for (arguments, expected) in cases {
        let error = run("fit", arguments).expect_err("a wrong argument is taken");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}
