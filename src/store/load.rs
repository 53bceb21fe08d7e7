//! `load`: a saved folder as a dataset.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::manifest::{FINISHED, Manifest, file_name};
use crate::data::{DType, Projection, Slot, Spec};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::plumbing::Source;
use crate::source::{Column, IntoColumn, Npy};

impl Dataset {
    /// The rows of a folder that [`save`](crate::Stream::save) or [`cache_file`](crate::Stream::cache_file) wrote:
    /// mapped, not loaded, and open to every order.
    ///
    /// # Errors
    /// [`Error::Format`] for a folder that is not complete or not one of these; [`Error::Spec`] and [`Error::Rows`] when
    /// its files are not what its manifest says; those of [`Npy::open`].
    ///
    /// # Examples
    /// ```
    /// use gristmill::{Dataset, Shuffle};
    ///
    /// # let parent = tempfile::tempdir().expect("a folder");
    /// # let dir = parent.path().join("squares");
    /// let squares = Dataset::from_generator(|_| (0..1000u64).map(|n| n * n));
    /// squares.batch(100).save(&dir)?;
    /// let rows = Dataset::load(&dir)?;
    /// assert_eq!(rows.len(), 1000);
    /// let shuffled = rows.shuffle(Shuffle::full(7)).batch(10);
    /// assert_eq!(shuffled.iter()?.count(), 100);
    /// # Ok::<(), gristmill::Error>(())
    /// ```
    pub fn load(dir: impl AsRef<Path>) -> Result<Dataset> {
        let dir = dir.as_ref();
        match saved(dir)? {
            Some(saved) => Ok(Dataset::from_source(saved.source)),
            None => Err(Error::Format {
                path: dir.to_owned(),
                expected: "a saved folder".into(),
                found: "a folder without a manifest, or none".into(),
                help: "a folder has its manifest only when it was completed; save again to go on".into(),
            }),
        }
    }
}

/// A complete folder, opened.
pub(crate) struct Saved {
    pub(crate) manifest: Manifest,
    pub(crate) source: Loaded,
}

/// Opens the complete folder at `dir`; `None` when there is none.
pub(crate) fn saved(dir: &Path) -> Result<Option<Saved>> {
    let Some(manifest) = Manifest::read(dir, FINISHED)? else { return Ok(None) };
    let spec = Arc::new(manifest.spec.clone().unwrap_or_default());
    let columns = match manifest.shards.is_empty() {
        true => None,
        false => {
            let columns = spec.columns.iter().enumerate().map(|(place, column)| {
                let name = |shard| dir.join(file_name(shard, place, &column.name));
                let mut files = Npy::open_many((0..manifest.shards.len()).map(name))?;
                if column.dtype == DType::Bf16 {
                    files = files.bf16()?;
                }
                (column.name.clone(), files).into_column()
            });
            Some(Dataset::from_slices(columns.collect::<Result<Vec<Column>>>()?)?.source().clone())
        }
    };
    let shown = || dir.display().to_string();
    let words = |rows: u64| format!("{rows} rows");
    if manifest.item_rows() != manifest.rows() {
        return Err(Error::spec(shown(), words(manifest.rows()), words(manifest.item_rows())));
    }
    if let Some(columns) = &columns {
        if columns.spec() != &spec {
            return Err(Error::spec(shown(), &spec, columns.spec()));
        }
        if columns.rows() != manifest.rows() {
            return Err(Error::spec(shown(), words(manifest.rows()), words(columns.rows())));
        }
    }
    Ok(Some(Saved { manifest, source: Loaded { dir: dir.to_owned(), spec, columns } }))
}

/// The columns of a folder; none are open when it has no rows.
#[derive(Clone)]
pub(crate) struct Loaded {
    dir: PathBuf,
    spec: Arc<Spec>,
    columns: Option<Arc<dyn Source>>,
}

impl Source for Loaded {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn rows(&self) -> u64 {
        self.columns.as_ref().map_or(0, |columns| columns.rows())
    }

    fn gather(&self, rows: &[u64], into: &mut [Slot<'_>]) -> Result<()> {
        match (&self.columns, rows.first()) {
            (Some(columns), _) => columns.gather(rows, into),
            (None, None) => Ok(()),
            (None, Some(row)) => Err(Error::Row { row: *row, rows: 0 }),
        }
    }

    fn confirm(&self) -> Result<()> {
        self.columns.as_ref().map_or(Ok(()), |columns| columns.confirm())
    }

    fn describe(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "load({:?})", self.dir)
    }

    fn scattered(&self) -> Option<Arc<dyn Source>> {
        let columns = self.columns.as_ref()?.scattered()?;
        Some(Arc::new(Loaded { columns: Some(columns), ..self.clone() }))
    }

    fn ahead(&self, rows: Range<u64>) {
        self.columns.iter().for_each(|columns| columns.ahead(rows.clone()));
    }

    fn project(&self, change: &Projection) -> Option<Arc<dyn Source>> {
        let columns = self.columns.as_ref()?.project(change)?;
        let (dir, spec) = (self.dir.clone(), columns.spec().clone());
        Some(Arc::new(Loaded { dir, spec, columns: Some(columns) }))
    }

    fn notes(&self) -> Vec<String> {
        self.columns.as_ref().map_or(Vec::new(), |columns| columns.notes())
    }

    fn stamps(&self) -> Vec<String> {
        self.columns.as_ref().map_or(Vec::new(), |columns| columns.stamps())
    }
}
