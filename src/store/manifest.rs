//! The manifest of a folder: its columns, its shards, the sizes of its items, and the pipeline that wrote it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::folder::io;
use crate::data::Spec;
use crate::error::{Error, Result};
use crate::outline::Outline;

/// The manifest of a complete folder.
pub(super) const FINISHED: &str = "manifest.json";

/// The manifest of a folder that is being written: what is in its finished shards.
pub(super) const UNFINISHED: &str = "unfinished.json";

const FORMAT: &str = "gristmill columns";

const VERSION: u32 = 1;

/// What says of a file that it is a manifest, in any version.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: String,
    version: u32,
    pub(crate) origin: Origin,
    /// None for no rows of unknown columns.
    pub(crate) spec: Option<Spec>,
    pub(crate) shards: Vec<Shard>,
    pub(crate) items: Vec<Alike>,
}

/// The pipeline that wrote a folder, as far as it can be told from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub(crate) expression: String,
    pub(crate) epoch: u64,
    /// Lengths and times of the files it read.
    pub(crate) stamps: Vec<String>,
}

/// A finished shard, and where the row after it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    pub(crate) rows: u64,
    pub(crate) next: Cursor,
}

/// A row's place in a stream of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Cursor {
    pub(crate) item: u64,
    pub(crate) row: u64,
}

/// Items one after the other that have the same number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Alike {
    pub(crate) items: u64,
    pub(crate) rows: u64,
}

impl Origin {
    /// Epoch `epoch` of the pipeline of this outline.
    pub(crate) fn new(outline: &Outline, epoch: u64) -> Origin {
        Origin { expression: outline.expression().into(), epoch, stamps: outline.stamps().to_vec() }
    }

    /// What was expected and what was found, when `self` is not what wrote a folder that `written` wrote.
    fn differs(&self, written: &Origin) -> Option<(String, String)> {
        let pair =
            |a: &dyn std::fmt::Debug, b: &dyn std::fmt::Debug| Some((format!("{a:?}"), format!("{b:?}")));
        match self {
            _ if self.expression != written.expression => {
                Some((self.expression.clone(), written.expression.clone()))
            }
            _ if self.epoch != written.epoch => {
                Some((format!("epoch {}", self.epoch), format!("epoch {}", written.epoch)))
            }
            _ => {
                let mut stamps = self.stamps.iter().zip(&written.stamps);
                match stamps.find(|(now, then)| now != then) {
                    Some((now, then)) => Some((now.clone(), then.clone())),
                    None if self.stamps.len() != written.stamps.len() => pair(&self.stamps, &written.stamps),
                    None => None,
                }
            }
        }
    }
}

impl Manifest {
    pub(crate) fn new(origin: Origin, spec: Option<Arc<Spec>>) -> Manifest {
        let (spec, shards, items) = (spec.map(|spec| Spec::clone(&spec)), Vec::new(), Vec::new());
        Manifest { format: FORMAT.into(), version: VERSION, origin, spec, shards, items }
    }

    /// Reads the manifest called `name` in `folder`; `None` when there is none.
    pub(super) fn read(folder: &Path, name: &str) -> Result<Option<Manifest>> {
        let path = folder.join(name);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(io("read", &path)(error)),
        };
        let wrong = |found: String| Error::Format {
            path: path.clone(),
            expected: format!("a manifest of version {VERSION}"),
            found,
            help: "remove the folder and write it again".into(),
        };
        let head: Head = serde_json::from_slice(&text).map_err(|e| wrong(format!("something else ({e})")))?;
        if (head.format.as_str(), head.version) != (FORMAT, VERSION) {
            return Err(wrong(format!("{:?} of version {}", head.format, head.version)));
        }
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|e| wrong(format!("a damaged one ({e})")))?;
        manifest.check().map_err(|found| wrong(format!("a damaged one ({found})")))?;
        Ok(Some(manifest))
    }

    pub(super) fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self).map_err(|e| Error::spec("manifest", "what JSON can hold", e))
    }

    /// Rows of all shards, which [`check`](Manifest::check) has added up.
    pub(crate) fn rows(&self) -> u64 {
        self.shards.iter().map(|shard| shard.rows).sum()
    }

    /// Rows of all items, likewise; the same number once the folder is complete.
    pub(crate) fn item_rows(&self) -> u64 {
        self.items.iter().map(|run| run.items * run.rows).sum()
    }

    /// Refuses this folder, at `path`, for another pipeline than the one that wrote it.
    pub(crate) fn compare(&self, path: &Path, origin: &Origin, spec: Option<&Arc<Spec>>) -> Result<()> {
        let other = match (spec, &self.spec) {
            (Some(now), Some(then)) if **now != *then => Some((now.to_string(), then.to_string())),
            _ => None,
        };
        match origin.differs(&self.origin).or(other) {
            None => Ok(()),
            Some((expected, found)) => Err(Error::Format {
                path: path.to_owned(),
                expected: format!("the rows of {expected}"),
                found: format!("made from {found}"),
                help: "remove the folder to have it made anew, or name another".into(),
            }),
        }
    }

    /// Notes an item of `rows` rows.
    pub(super) fn push(&mut self, rows: u64) {
        match self.items.last_mut() {
            Some(last) if last.rows == rows => last.items += 1,
            _ => self.items.push(Alike { items: 1, rows }),
        }
    }

    /// Forgets the shards from number `shards` on, and the items that do not end before them; says where to go on.
    pub(super) fn cut(&mut self, shards: usize) -> Cursor {
        self.shards.truncate(shards);
        let next = self.shards.last().map(|shard| shard.next).unwrap_or_default();
        let mut left = next.item;
        for run in &mut self.items {
            run.items = run.items.min(left);
            left -= run.items;
        }
        self.items.retain(|run| run.items > 0);
        next
    }

    /// Whether the numbers agree.
    fn check(&self) -> Result<(), String> {
        if let Some(spec) = &self.spec {
            Spec::new(spec.columns.clone()).map_err(|e| e.to_string())?;
        }
        let add = |sum: Option<u64>, n: Option<u64>| sum.zip(n).and_then(|(a, b)| a.checked_add(b));
        let rows = self.shards.iter().map(|shard| Some(shard.rows)).fold(Some(0), add);
        let items = self.items.iter().map(|run| run.rows.checked_mul(run.items)).fold(Some(0), add);
        let count = self.items.iter().map(|run| Some(run.items)).fold(Some(0), add);
        match (rows, items, count) {
            (Some(rows), _, _) if rows > 0 && self.spec.is_none() => Err("rows without columns".into()),
            (Some(_), Some(_), Some(_)) => Ok(()),
            _ => Err("more rows than can be numbered".into()),
        }
    }
}

/// The name of the file of a column in a shard: the column's own name as far as any file system takes it.
pub(super) fn file_name(shard: usize, place: usize, column: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let column: String = column.chars().take(40).map(plain).collect();
    format!("{shard:05}.{place}-{column}.npy")
}
