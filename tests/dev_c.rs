#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, unreachable_pub, dead_code)]
#[path = "it/cache.rs"]
mod cache;
#[path = "it/cache_file.rs"]
mod cache_file;
#[path = "it/common.rs"]
mod common;
#[path = "it/npy.rs"]
mod npy;
#[path = "it/save.rs"]
mod save;
