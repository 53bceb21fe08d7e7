//! Where files are written, and nowhere else: a stream's rows as `.npy` columns in a folder, cut into shards, with a
//! manifest.
//!
//! ```text
//! digits/                     the folder that was asked for: here only when it is complete
//!   manifest.json             columns, rows of each shard, rows of each item, and what wrote them
//!   00000.0-x.npy             shard 0, column 0, called "x"
//!   00000.1-y.npy
//!   00001.0-x.npy             …
//! .digits.saving/             what `save` has so far; its finished shards are listed in unfinished.json
//! .digits.filling-4711-0/     what one filling `cache_file` has so far; gone with its writer
//! ```
//!
//! A folder is written aside, in the same parent, and every file in it is on the disk before it is renamed: whoever sees
//! the name sees the whole. Nobody waits for anybody: a writer holds a lock on its own folder that the system lets go of
//! when the writer dies, so what a dead one left is known as such. File names follow from the manifest's columns; none
//! is read from it.

mod column;
mod folder;
mod load;
mod manifest;
mod save;
mod state;
mod writer;

pub(crate) use folder::Target;
pub(crate) use load::{Saved, saved};
pub(crate) use manifest::{Alike, Origin};
pub use save::{Progress, Save};
pub(crate) use writer::Writer;
