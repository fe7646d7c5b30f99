//! Files that options name: keys that are mounted beside the controller.

use std::fs::{self, File};
use std::io::Read;

use tidegate_notify::Failure;

/// Bytes a file may have; keys have a few thousand.
const MOST: u64 = 64 * 1024;

/// Reads a file, without keeping anybody else from work. Errors show nothing of what it holds.
pub(crate) async fn read(path: &str) -> Result<Vec<u8>, Failure> {
    let owned = path.to_owned();
    let read = tokio::task::spawn_blocking(move || bytes(&owned)).await;
    let read = read.unwrap_or_else(|_| Err("the reading was given up".to_owned()));
    // A Secret may be mounted, or mounted again, a moment later.
    read.map_err(|error| Failure::passing(format!("the file {path} cannot be read: {error}")))
}

fn bytes(path: &str) -> Result<Vec<u8>, String> {
    // Looked at before it is opened: opening a pipe would wait for whoever writes.
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST {
        return Err(format!("it has more than {MOST} bytes"));
    }
    Ok(bytes)
}
