//! The file form of `crate::state::State`: there as a whole, or not at all.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::folder::io;
use crate::error::{Error, Result};
use crate::state::State;

/// Numbers the files that this process writes.
static SAVES: AtomicU64 = AtomicU64::new(0);

impl State {
    /// Writes the state to a file: to one beside it first, which is on the disk before it is renamed, so that whoever reads `path`
    /// finds this state or the one before it, whenever the machine stops.
    ///
    /// # Errors
    /// [`Error::Io`]. The file at `path` is as it was then, or the new state if it was only the folder that could not be synced.
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle, State};
    ///
    /// let batches = Dataset::range(1000)?.shuffle(Shuffle::full(7)).batch(10).prefetch(2);
    /// let mut iter = batches.epoch(2)?;
    /// iter.by_ref().take(41).for_each(drop);
    /// # let folder = tempfile::tempdir().expect("a temporary folder");
    /// # let path = folder.path().join("input.json");
    /// iter.state().save(&path)?;
    ///
    /// let mut again = batches.resume(&State::load(&path)?)?;
    /// assert_eq!(again.next().transpose()?, iter.next().transpose()?);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let Some(name) = path.file_name() else {
            return Err(Error::argument("State::save", "a file with a name", format!("{path:?}")));
        };
        // A name of its own: other threads, and ranks on other machines, may be saving to the same path.
        let (number, place) =
            (SAVES.fetch_add(1, Ordering::Relaxed), RandomState::new().build_hasher().finish());
        let mut aside = name.to_owned();
        aside.push(format!(".{}-{number}-{place:016x}.part", std::process::id()));
        let part = path.with_file_name(aside);
        let written = self.write(&part).and_then(|()| fs::rename(&part, path).map_err(io("rename", &part)));
        if written.is_err() {
            let _ = fs::remove_file(&part);
            return written;
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(io("sync", folder))
    }

    fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| Error::Io {
            action: "write",
            path: path.to_owned(),
            source: error.into(),
        })?;
        text.push('\n');
        let mut file = File::create_new(path).map_err(io("create", path))?;
        file.write_all(text.as_bytes()).map_err(io("write", path))?;
        file.sync_all().map_err(io("sync", path))
    }

    /// The state in a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] when the file holds something else.
    pub fn load(path: impl AsRef<Path>) -> Result<State> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(io("read", path))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Format {
            path: path.to_owned(),
            expected: "the state of an iterator".into(),
            found: format!("something else ({error})"),
            help: "give a file that State::save wrote".into(),
        })
    }
}
