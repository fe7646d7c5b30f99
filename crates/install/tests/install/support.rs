//! Reading what the generator wrote.

use serde_json::Value;

/// What a generated file holds.
pub(crate) fn contents(path: &str) -> String {
    let files = [tidegate_install::crd_files(), tidegate_install::manifest_files()].concat();
    let found = files.into_iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("{path} is not generated")).contents
}

/// The objects in a generated file.
pub(crate) fn objects(path: &str) -> Vec<Value> {
    read_all(&contents(path))
}

/// The documents of a YAML text.
pub(crate) fn read_all(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}"))
}

/// `Kind/name` of an object.
pub(crate) fn id(object: &Value) -> String {
    format!("{}/{}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

/// The object with this `Kind/name`.
pub(crate) fn find<'a>(objects: &'a [Value], wanted: &str) -> &'a Value {
    objects.iter().find(|object| id(object) == wanted).unwrap_or_else(|| panic!("no {wanted}"))
}
