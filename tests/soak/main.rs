//! What takes minutes: the suite's trials many times over, and files and memory of sizes that matter. Run by `make soak`.
//!
//! Every test here is ignored, so that `cargo test` compiles it and no more. GRISTMILL_SOAK, a percentage, makes rounds more or fewer.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub)]

#[allow(dead_code)]
#[path = "../it/common.rs"]
mod common;
#[allow(dead_code)]
#[path = "../trials/mod.rs"]
mod trials;

mod crashes;
mod faults;
mod memory;
mod rows;
mod threads;

/// As many rounds as are asked for.
fn rounds(usual: u64) -> u64 {
    let percent = std::env::var("GRISTMILL_SOAK").map_or(100, |text| text.parse().unwrap());
    (usual * percent / 100).max(1)
}
