//! The examples, run as a user would run them.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

use std::path::PathBuf;
use std::process::Command;

use gristmill::{Dataset, Npy};

/// Runs an example, built beside this test, from the project's top; returns what it printed. Its temporary files lie in the
/// target folder: some are too large for a temporary folder that is memory.
fn run(name: &str, arguments: &[&str]) -> Result<String, String> {
    let built = std::env::current_exe().unwrap();
    let folder: PathBuf = built.parent().unwrap().parent().unwrap().join("examples");
    let mut command = Command::new(folder.join(name));
    command.env("TMPDIR", env!("CARGO_TARGET_TMPDIR")).current_dir(env!("CARGO_MANIFEST_DIR"));
    let done = command.args(arguments).output().unwrap();
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

/// What stands behind `name=` in the last line.
fn result(printed: &str, name: &str) -> String {
    let line = printed.lines().last().unwrap();
    assert!(line.starts_with("result "), "{printed}");
    let words = line.split(' ').filter_map(|word| word.split_once('='));
    words.filter(|(word, _)| *word == name).map(|(_, value)| value.to_owned()).next().unwrap()
}

#[test]
fn embedding_holds_one_table_of_more_than_two_gibibytes_and_little_else() {
    let printed = run("embedding", &[]).unwrap();
    assert!(printed.contains("4002 of them looked up") && printed.contains("shards saved: 5;"), "{printed}");
    assert_eq!(
        (result(&printed, "rows"), result(&printed, "bytes")),
        ("1100000".into(), "2252800000".into())
    );
    let extra: u64 = result(&printed, "peak_extra_bytes").parse().unwrap();
    assert!(extra < 256 << 20, "{printed}");
}

#[test]
fn embedding_takes_the_users_own_file_and_candle_loads_what_it_saved() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let features = "examples/data/digits-features.npy";
    let printed = run("embedding", &["--features", features, "--out", out]).unwrap();
    assert_eq!((result(&printed, "rows"), result(&printed, "bytes")), ("1797".into(), "460032".into()));

    let index = std::fs::read(folder.path().join("model.safetensors.index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    let (name, file) = ("embedding.weight.0", "model-00001-of-00001.safetensors");
    assert_eq!(index["weight_map"], serde_json::json!({ name: file }));
    assert_eq!(index["metadata"]["total_size"], 460_032);
    let shard = candle_core::safetensors::load(folder.path().join(file), &candle_core::Device::Cpu).unwrap();
    let loaded = shard[name].flatten_all().unwrap().to_vec1::<f32>().unwrap();
    let rows = Dataset::from_slices((("x", Npy::open(features).unwrap()),)).unwrap();
    let batch = rows.batch(1797).cast::<f32>("x").iter().unwrap().next().unwrap().unwrap();
    assert_eq!(loaded, batch.column::<f32>("x").unwrap());
}

#[test]
fn embedding_refuses_wrong_arguments_in_plain_words() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let inside = file.path().join("inside");
    let huge = u64::MAX.to_string();
    let cases: [(&[&str], &str); 9] = [
        (&["--rows", "0"], "expected 1 or more of both"),
        (&["--width", "0"], "expected 1 or more of both"),
        (&["--rows", &huge], "a size that a file can have"),
        (&["--rows", "many"], "--rows takes a number, not \"many\""),
        (&["--out"], "--out takes a value"),
        (&["--speed", "9"], "unknown option --speed"),
        (&["--features", "nowhere.npy"], "cannot open nowhere.npy"),
        (&["--features", "nowhere.npy", "--rows", "9"], "its own"),
        (&["--rows", "9", "--width", "3", "--out", inside.to_str().unwrap()], "cannot write"),
    ];
    for (arguments, expected) in cases {
        let error = run("embedding", arguments).expect_err("a wrong argument is taken");
        assert!(error.starts_with("error: ") && error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn images_are_decoded_once_changed_anew_and_the_same_in_two_runs() {
    let runs = [run("images", &[]).unwrap(), run("images", &[]).unwrap()];
    let counts = ["images", "decoded", "batches"].map(|name| result(&runs[0], name));
    assert_eq!(counts, ["299", "299", "20"], "{}", runs[0]);
    assert!(
        runs[0].contains("in epoch 1, 0 are decoded") && runs[0].contains("digit-123.png"),
        "{}",
        runs[0]
    );
    assert_eq!(result(&runs[0], "checksum"), result(&runs[1], "checksum"));
}

#[test]
fn images_takes_a_folder_and_says_what_is_wrong_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    assert!(run("images", &["--folder", at]).unwrap_err().contains("expected .png files in"));
    assert!(run("images", &["--folder", "nowhere"]).unwrap_err().contains("cannot read the folder nowhere"));
    assert!(run("images", &["--speed", "9"]).unwrap_err().contains("unknown option --speed"));

    let save = |name: &str, width| {
        image::RgbImage::from_pixel(width, 4, image::Rgb([9, 9, 9])).save(folder.path().join(name)).unwrap();
    };
    ["a.png", "b.PNG"].into_iter().for_each(|name| save(name, 6));
    let printed = run("images", &["--folder", at]).unwrap();
    assert_eq!(["images", "decoded", "batches"].map(|name| result(&printed, name)), ["2", "2", "2"]);

    save("c.png", 7);
    let error = run("images", &["--folder", at]).unwrap_err();
    for part in ["c.png: expected 6 x 4 pixels as in ", "a.png, found 7 x 4"] {
        assert!(error.contains(part), "{error}");
    }

    // One file in a hundred, and one, may be bad.
    std::fs::write(folder.path().join("c.png"), "no picture").unwrap();
    assert_eq!(result(&run("images", &["--folder", at]).unwrap(), "images"), "2");
    std::fs::write(folder.path().join("d.png"), "").unwrap();
    let error = run("images", &["--folder", at]).unwrap_err();
    assert!(error.contains("d.png") && error.contains("skip(1)"), "{error}");
}
