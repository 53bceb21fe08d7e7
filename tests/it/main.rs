//! The integration tests, as one program: linking is what takes time.
//!
//! One file for each verb, named after it, with the same six cases each (works; empty upstream; boundary; upstream
//! error keeps its position; dropped midway; reopened gives the same); `laws.rs` for what holds for every pipeline.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod common;
mod laws;
mod order;
