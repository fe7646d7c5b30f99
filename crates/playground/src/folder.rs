//! Files for other programs: a kubeconfig, and the manifests of the demo. They go with the playground.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::PlaygroundError;

/// The folder; it is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes a folder that only its owner may look into. What a killed playground left under this name is replaced.
    pub(crate) fn make(path: PathBuf) -> Result<Self, PlaygroundError> {
        let made = private(&path).map_err(|source| PlaygroundError::File { path: path.clone(), source });
        made.map(|()| Self { path })
    }

    /// Writes a file and says where it is.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, PlaygroundError> {
        let path = self.path.join(name);
        match fs::write(&path, text) {
            Ok(()) => Ok(path),
            Err(source) => Err(PlaygroundError::File { path, source }),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whoever removed it first was right.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The kubeconfig holds a token, and names in a common folder can be guessed: somebody else's folder is not used.
fn private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::DirBuilder::new().recursive(false).mode(0o700).create(path)
}
