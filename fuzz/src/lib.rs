//! The fuzz targets of Gristmill. What they check is in [`bodies`], which the tests of the crate include, too.

pub mod bodies;

use std::path::PathBuf;

/// Where the file of every input of this process is written.
pub fn path() -> PathBuf {
    std::env::temp_dir().join(format!("gristmill-fuzz-{}", std::process::id()))
}
