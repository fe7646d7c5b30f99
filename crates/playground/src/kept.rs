//! The state in a folder, from one time to the next.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};

use serde_json::{Value, json};
use tidegate_apiserver::ApiServer;

use crate::error::PlaygroundError;
use crate::scenario::Scenario;

/// How often changes are written down: as much may be lost when the process is killed.
const EVERY: Duration = Duration::from_secs(2);
/// The file in the folder.
const FILE: &str = "cluster.json";

/// Keeps the state of one playground.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    path: PathBuf,
    scenario: Scenario,
}

/// What was kept the last time.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    objects: Value,
}

impl Keeper {
    /// Keeps the state in a folder, which is made.
    pub(crate) fn new(folder: PathBuf, scenario: Scenario) -> Result<Self, PlaygroundError> {
        let path = folder.join(FILE);
        match fs::create_dir_all(&folder) {
            Ok(()) => Ok(Self { path, scenario }),
            Err(source) => Err(PlaygroundError::File { path: folder, source }),
        }
    }

    /// What there is; nothing the first time.
    pub(crate) fn read(&self) -> Result<Option<Kept>, PlaygroundError> {
        let refused = |why: String| PlaygroundError::Kept { path: self.path.clone(), why };
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| refused(error.to_string()))?,
        };
        let mut kept: Value = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        match kept["scenario"].as_str() {
            Some(name) if name == self.scenario.name() => {}
            Some(name) => return Err(refused(format!("it is the scenario {name}, add --scenario {name}"))),
            None => return Err(refused("it says no scenario".to_owned())),
        }
        let objects = kept.get_mut("objects").map(Value::take).unwrap_or_default();
        Ok(Some(Kept { path: self.path.clone(), objects }))
    }

    /// Writes everything down; whoever reads sees the old state or the new one, never half of it.
    pub(crate) fn write(&self, server: &ApiServer) -> Result<(), PlaygroundError> {
        let kept = json!({"scenario": self.scenario.name(), "objects": server.keep()});
        let fresh = self.path.with_extension("new");
        let written = fs::write(&fresh, kept.to_string()).and_then(|()| fs::rename(&fresh, &self.path));
        written.map_err(|source| PlaygroundError::File { path: self.path.clone(), source })
    }

    /// Writes down what has changed, for ever.
    pub(crate) async fn follow(self, server: ApiServer) {
        let mut seen = 0;
        loop {
            tokio::time::sleep(EVERY).await;
            let now = server.revision();
            // A disk that is full now may have room at the end, when it is told.
            if now != seen && self.write(&server).is_ok() {
                seen = now;
            }
        }
    }
}

impl Kept {
    /// Puts the objects into a new server.
    pub(crate) fn restore(&self, server: &ApiServer) -> Result<(), PlaygroundError> {
        let refused = |why| PlaygroundError::Kept { path: self.path.clone(), why };
        server.restore(&self.objects).map(drop).map_err(refused)
    }
}
