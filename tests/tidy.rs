//! The rules of the house, checked on the source text.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

use std::fs;
use std::path::{Path, PathBuf};

/// Which folders and files of `src` a part may name with `crate::`. `lib.rs` may name all.
const LAYERS: [(&str, &[&str]); 15] = [
    ("ahead", &["plumbing", "error", "exec", "sys"]),
    ("error", &[]),
    ("digest", &[]),
    ("data", &["error", "sys"]),
    ("sys", &["error"]),
    ("rng", &["digest"]),
    ("state", &["digest", "error"]),
    ("outline", &["data", "error", "state"]),
    ("plumbing", &["data", "error", "outline"]),
    ("exec", &["plumbing", "error", "data::Length", "state", "sys::Process"]),
    ("dataset", &["plumbing", "data", "error"]),
    ("stream", &["plumbing", "data", "error", "exec", "outline", "state", "sys::Process"]),
    ("order", &["dataset", "plumbing", "rng", "data", "digest", "error"]),
    ("source", &["dataset", "stream", "plumbing", "data", "digest", "sys", "error", "outline"]),
    ("store", &["dataset", "stream", "plumbing", "data", "sys", "error", "outline", "source", "state"]),
];

/// What a stage may name; never another stage.
const STAGE: &[&str] = &[
    "digest",
    "ahead",
    "dataset",
    "stream",
    "plumbing",
    "data",
    "exec",
    "rng",
    "error",
    "outline",
    "state",
    "store",
    "sys::fetch",
];

/// Which parts may use a dependency: one door each.
const DOORS: [(&str, &[&str]); 13] = [
    ("memmap2::", &["sys/"]),
    ("libc::", &["sys/"]),
    ("npyz::", &["source/"]),
    ("rand::", &["rng.rs"]),
    ("crossbeam_channel::", &["exec/"]),
    ("rayon::", &["exec/"]),
    ("std::thread", &["exec/", "plumbing.rs"]),
    ("glob::", &["source/"]),
    ("serde_json::", &["store/"]),
    // Maps read; everything that writes is in the store.
    ("std::fs", &["sys/", "store/"]),
    ("num_traits::", &["data/"]),
    ("smallvec::", &["data/"]),
    ("ndarray::", &["data/", "source/memory.rs", "source/table.rs"]),
];

fn sources(folder: &str) -> Vec<(String, String)> {
    fn walk(at: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(at).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                walk(&entry, found);
            } else if entry.extension().is_some_and(|e| e == "rs") {
                found.push(entry);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    let read = |path: PathBuf| {
        (path.strip_prefix(&root).unwrap().display().to_string(), fs::read_to_string(&path).unwrap())
    };
    found.into_iter().map(read).collect()
}

/// The code of a file: no comments, no unit tests.
fn code(text: &str) -> String {
    let body = text.split("#[cfg(test)]").next().unwrap();
    body.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// What stands behind each `crate::` in a line.
fn imports(code: &str) -> Vec<String> {
    let upto = |rest: &str| {
        rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next().unwrap().to_owned()
    };
    code.split("crate::").skip(1).map(upto).collect()
}

#[test]
fn imports_point_downward() {
    for (path, text) in sources("src") {
        let part = path.trim_end_matches(".rs").split('/').next().unwrap();
        let allowed = match part {
            "lib" => continue,
            "stage" => STAGE,
            _ => {
                LAYERS
                    .iter()
                    .find(|(name, _)| *name == part)
                    .unwrap_or_else(|| panic!("no layer for {path}"))
                    .1
            }
        };
        for import in imports(&code(&text)) {
            let own = import.split("::").next() == Some(part);
            let shared = ["Result", "Error"].contains(&import.as_str()) || import.starts_with("Error::");
            let fine = own
                || shared
                || allowed.iter().any(|a| import == *a || import.starts_with(&format!("{a}::")));
            assert!(fine, "{path} names crate::{import}, which its layer may not");
        }
    }
}

#[test]
fn stages_do_not_know_each_other() {
    // How the last batch ends is one thing, shared by the two verbs called batch.
    let siblings = [("stage/stack.rs", "super::batch::Last")];
    for (path, text) in sources("src").into_iter().filter(|(path, _)| path.starts_with("stage/")) {
        for line in
            code(&text).lines().filter(|line| line.contains("super::") && !line.contains("pub(super)"))
        {
            assert!(siblings.iter().any(|(p, l)| path == *p && line.contains(l)), "{path}: {line}");
        }
    }
}

#[test]
fn every_dependency_has_one_door() {
    for (path, text) in sources("src") {
        let code = code(&text);
        for (name, doors) in DOORS {
            let used = code
                .match_indices(name)
                .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'));
            assert!(
                !used || doors.iter().any(|door| path.starts_with(door)),
                "{path} uses {name}, which is for {doors:?}"
            );
        }
    }
}

#[test]
fn files_are_small_and_lines_short() {
    let folders = ["src", "tests", "examples", "fuzz/src"];
    for (path, text) in folders.into_iter().flat_map(sources) {
        assert!(text.lines().count() <= 500, "{path} has {} lines", text.lines().count());
        if let Some(line) = text.lines().find(|line| line.chars().count() > 140) {
            panic!("{path}: {line}");
        }
    }
}

#[test]
fn unsafe_lives_in_sys_and_nothing_unwraps() {
    for (path, text) in sources("src") {
        let code = code(&text);
        assert!(
            path.starts_with("sys/") || !code.contains("unsafe {") && !code.contains("unsafe impl"),
            "{path}: unsafe"
        );
        for word in [".unwrap()", ".expect(", "panic!(", "todo!(", "unimplemented!(", "dbg!(", "println!("] {
            assert!(!code.contains(word), "{path}: {word}");
        }
    }
}

#[test]
fn every_verb_has_a_twin_among_the_tests() {
    let tests: Vec<String> = sources("tests/it").into_iter().map(|(path, _)| path).collect();
    for (path, _) in sources("src") {
        // Not verbs: module lists, what verbs share, and the face of the three shuffles, which their tests cover.
        let verb = match path.rsplit_once('/') {
            Some(("stage", file)) if file != "mod.rs" => file.to_owned(),
            Some(("order", file))
                if !["mod.rs", "join.rs", "permutation.rs", "shuffle.rs"].contains(&file) =>
            {
                format!("order/{file}")
            }
            _ => continue,
        };
        assert!(tests.contains(&verb), "{path} has no twin tests/it/{verb}");
    }
}

#[test]
fn every_module_says_what_it_is() {
    for (path, text) in sources("src").into_iter().chain(sources("examples")) {
        assert!(text.starts_with("//! "), "{path} has no module documentation");
    }
}
