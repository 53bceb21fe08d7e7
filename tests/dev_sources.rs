//! dev
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, dead_code, unreachable_pub)]

#[path = "it/cast.rs"]
mod cast;
#[path = "it/common.rs"]
mod common;
#[path = "it/files.rs"]
mod files;
#[path = "it/hostile.rs"]
mod hostile;
#[path = "it/memory_columns.rs"]
mod memory_columns;
#[path = "it/npy.rs"]
mod npy;
#[path = "it/raw.rs"]
mod raw;
#[path = "it/source.rs"]
mod source;
