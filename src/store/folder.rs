//! Folders: where a complete one goes, and the one beside it that is being written.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self as system, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::sys::{Claim, claim};

/// Numbers the folders that this process fills.
static FILLS: AtomicU64 = AtomicU64::new(0);

/// Makes the error of a failed call.
pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(system::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

/// A folder that is there only when it is complete.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    path: PathBuf,
    parent: PathBuf,
    name: OsString,
}

impl Target {
    /// The folder at `path`, which `verb` was given.
    pub(crate) fn new(verb: &'static str, path: &Path) -> Result<Target> {
        let Some(name) = path.file_name() else {
            return Err(Error::argument(verb, "a folder with a name of its own", format!("{path:?}")));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).to_owned();
        Ok(Target { path: path.to_owned(), parent, name: name.to_owned() })
    }

    /// True when nothing is there, or an empty folder that a rename replaces.
    pub(crate) fn is_vacant(&self) -> Result<bool> {
        match fs::read_dir(&self.path) {
            Ok(mut entries) => Ok(entries.next().is_none()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            // A file, unless it is one of the parents that is.
            Err(error) if error.kind() == ErrorKind::NotADirectory && self.path.exists() => Ok(false),
            Err(error) => Err(io("list", &self.path)(error)),
        }
    }

    /// The start of the names of folders that are being written in place of this one.
    fn aside(&self, kind: &str) -> OsString {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(kind);
        name
    }
}

/// A folder being written, beside the one it is to become. Removed when dropped, unless it is kept.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    target: Target,
    kept: bool,
    /// Open for as long as the folder is ours: closing it lets go of the claim.
    _claim: File,
}

impl Folder {
    /// The one folder for saving to `target`, with what an earlier run left in it; `None` while another writer has it.
    pub(super) fn shared(target: &Target) -> Result<Option<Folder>> {
        fs::create_dir_all(&target.parent).map_err(io("create", &target.parent))?;
        let path = target.parent.join(target.aside(".saving"));
        // A folder that is renamed between being opened and being claimed is somebody's finished one: look again.
        for _ in 0..100 {
            match fs::create_dir(&path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(io("create", &path)(error));
                }
                _ => {}
            }
            match claimed(&path)? {
                (Claim::Taken, _) => return Ok(None),
                (_, Some(claim)) => {
                    return Ok(Some(Folder { path, target: target.clone(), kept: true, _claim: claim }));
                }
                (_, None) => {}
            }
        }
        Ok(None)
    }

    /// A folder of its own for filling `target`. What dead writers left is removed.
    pub(super) fn own(target: &Target) -> Result<Folder> {
        fs::create_dir_all(&target.parent).map_err(io("create", &target.parent))?;
        remove_abandoned(&target.parent, &target.aside(".filling-"));
        loop {
            let number = FILLS.fetch_add(1, Ordering::Relaxed);
            let name = target.aside(&format!(".filling-{}-{number}", std::process::id()));
            let path = target.parent.join(name);
            match fs::create_dir(&path) {
                // Left by a dead process that had the same number, or made by one on another machine.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made.map_err(io("create", &path))?,
            }
            // Another writer that cleans up can take a new folder for an abandoned one before it is claimed.
            if let (Claim::Held | Claim::Unknown, Some(claim)) = claimed(&path)? {
                return Ok(Folder { path, target: target.clone(), kept: false, _claim: claim });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the folder for a later run, should this one fail.
    pub(super) fn keep(&mut self, kept: bool) {
        self.kept = kept;
    }

    /// Removes every file but those that `wanted` approves.
    pub(super) fn tidy(&self, wanted: impl Fn(&OsStr) -> bool) -> Result<()> {
        for entry in fs::read_dir(&self.path).map_err(io("list", &self.path))? {
            let entry = entry.map_err(io("list", &self.path))?;
            if !wanted(&entry.file_name()) {
                fs::remove_file(entry.path()).map_err(io("remove", &entry.path()))?;
            }
        }
        Ok(())
    }

    /// Writes a whole file, so that it is either the old one or the new one at any moment.
    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (path, aside) = (self.path.join(name), self.path.join(format!("{name}.new")));
        let written = File::create(&aside).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        written.map_err(io("write", &aside))?;
        fs::rename(&aside, &path).map_err(io("rename", &aside))?;
        sync(&self.path)
    }

    /// Makes it the complete folder; false when another writer was first, or somebody has put something else there.
    pub(super) fn publish(mut self) -> Result<bool> {
        sync(&self.path)?;
        match fs::rename(&self.path, &self.target.path) {
            Ok(()) => {
                // Nothing of this name is left to be removed.
                self.kept = true;
                sync(&self.target.parent)?;
                Ok(true)
            }
            Err(error) => match error.kind() {
                ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                    Ok(false)
                }
                _ => Err(io("rename", &self.path)(error)),
            },
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.kept {
            // A failure to clean up is for the next writer to mend: there is nobody to tell.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Waits until a folder's entries are on the disk.
fn sync(path: &Path) -> Result<()> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    match synced {
        // Some file systems have no such thing for folders.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other.map_err(io("write", path)),
    }
}

/// Claims the folder at `path`; without an open file when it is no longer there under this name.
fn claimed(path: &Path) -> Result<(Claim, Option<File>)> {
    let folder = match File::open(path) {
        Ok(folder) => folder,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Claim::Unknown, None)),
        Err(error) => return Err(io("open", path)(error)),
    };
    let claim = claim(&folder);
    let ours = folder.metadata().map_err(io("inspect", path))?;
    let same = fs::metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (ours.dev(), ours.ino()));
    Ok((claim, same.then_some(folder)))
}

/// Removes the folders in `parent` whose names start with `prefix` and whose writers are dead. One that resists is left.
fn remove_abandoned(parent: &Path, prefix: &OsStr) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
            && let Ok((Claim::Held, Some(_held))) = claimed(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
