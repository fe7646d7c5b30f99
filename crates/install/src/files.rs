//! Generated files on disk: writing them, and finding where the disk differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use crate::GeneratedFile;

/// Folders beside the generated ones whose files people write.
const BY_HAND: [&str; 1] = ["observability"];

/// How deep below `manifests/` a forgotten file is looked for; the generator itself uses two levels.
const MAX_DEPTH: usize = 8;

/// Writes the files below `root` and returns the paths of those that were missing or different.
///
/// Files that are already right are not touched, so their modification time stays.
pub fn write(root: &Path, files: &[GeneratedFile]) -> io::Result<Vec<String>> {
    let mut written = Vec::new();
    for file in files {
        let path = root.join(&file.path);
        if fs::read(&path).is_ok_and(|found| found == file.contents.as_bytes()) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, &file.contents)?;
        written.push(file.path.clone());
    }
    Ok(written)
}

/// Says where the disk differs from the files: missing, different, or lying there without being generated.
///
/// Looked through are the folders that `files` are in, so the CRDs can be compared alone. When a file lies in `root`
/// itself, whole folders that nothing generates are named too.
pub fn differences(root: &Path, files: &[GeneratedFile]) -> Vec<String> {
    let wanted: BTreeMap<&str, &str> = files.iter().map(|file| (file.path.as_str(), file.contents.as_str())).collect();
    let mut found = Vec::new();
    for (path, contents) in &wanted {
        match fs::read(root.join(path)) {
            Ok(on_disk) if on_disk == contents.as_bytes() => {}
            Ok(_) => found.push(format!("{path}: differs from what is generated")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => found.push(format!("{path}: is missing")),
            Err(error) => found.push(format!("{path}: cannot be read: {error}")),
        }
    }
    let mut walk = Walk { root, wanted: &wanted, found: &mut found };
    walk.folders_of(files);
    found
}

/// The first part of a path with more than one.
fn top_folder(path: &str) -> Option<&str> {
    path.split_once('/').map(|(top, _)| top)
}

/// A search for files that are not generated.
struct Walk<'a> {
    root: &'a Path,
    wanted: &'a BTreeMap<&'a str, &'a str>,
    found: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn folders_of(&mut self, files: &[GeneratedFile]) {
        let covered: BTreeSet<&str> = files.iter().filter_map(|file| top_folder(&file.path)).collect();
        for folder in &covered {
            self.folder(folder, MAX_DEPTH);
        }
        if files.iter().any(|file| top_folder(&file.path).is_none()) {
            let every_file = [crate::crd_files(), crate::manifest_files()].concat();
            let known = every_file.iter().filter_map(|file| top_folder(&file.path)).chain(covered).collect();
            self.root_itself(&known);
        }
    }

    fn root_itself(&mut self, known: &BTreeSet<&str>) {
        for (name, is_folder) in self.entries("") {
            match is_folder {
                true if known.contains(name.as_str()) || BY_HAND.contains(&name.as_str()) => {}
                true => self.folder(&name, MAX_DEPTH),
                false => self.file(name),
            }
        }
    }

    fn folder(&mut self, folder: &str, depth: usize) {
        for (name, is_folder) in self.entries(folder) {
            let path = format!("{folder}/{name}");
            match is_folder {
                true if depth > 0 => self.folder(&path, depth - 1),
                _ => self.file(path),
            }
        }
    }

    fn file(&mut self, path: String) {
        if !self.wanted.contains_key(path.as_str()) {
            self.found.push(format!("{path}: is not generated; delete it"));
        }
    }

    /// Names in a folder in order, and whether each is a folder. Links are not followed.
    fn entries(&mut self, folder: &str) -> Vec<(String, bool)> {
        let listed = fs::read_dir(self.root.join(folder)).and_then(|entries| {
            entries
                .map(|entry| {
                    let entry = entry?;
                    Ok((entry.file_name().to_string_lossy().into_owned(), entry.file_type()?.is_dir()))
                })
                .collect::<io::Result<Vec<_>>>()
        });
        match listed {
            Ok(mut entries) => {
                entries.sort();
                entries
            }
            // Its files have been named as missing already.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                self.found.push(format!("{folder}: cannot be listed: {error}"));
                Vec::new()
            }
        }
    }
}
