//! All objects of a server, to be kept while it is not there, and to begin with again.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::crd;
use crate::faults::Call;
use crate::managed::Entry;
use crate::object::{meta_mut, name, namespace};
use crate::request::Verb;
use crate::server::ApiServer;
use crate::store::Key;
use crate::stored::Object;

/// Where definitions of kinds are: they come first.
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// Who writes what was kept.
const KEEPER: &str = "keeper";

impl ApiServer {
    /// Every object, by resource (`pods`, `replicasets.apps`).
    pub fn keep(&self) -> Value {
        let state = self.shared.lock();
        let mut all: Map<String, Value> = Map::new();
        for (key, object) in state.store.all() {
            let place = all.entry(key.resource()).or_insert_with(|| json!([]));
            if let Value::Array(objects) = place {
                objects.push(object.whole());
            }
        }
        Value::Object(all)
    }

    /// Puts objects back that were kept, as they were but for their versions; says how many. Nothing is judged: what was stored
    /// once was right once.
    ///
    /// # Errors
    /// When this is nothing that [`Self::keep`] has given.
    pub fn restore(&self, kept: &Value) -> Result<usize, String> {
        let all = kept.as_object().ok_or("not a collection of objects")?;
        let definitions = all.get_key_value(DEFINITIONS).into_iter();
        let others = all.iter().filter(|(resource, _)| *resource != DEFINITIONS);
        let mut state = self.shared.lock();
        let before = state.store.revision();
        for (resource, objects) in definitions.chain(others) {
            for object in objects.as_array().ok_or_else(|| format!("{resource} is no list"))? {
                if name(object).is_empty() {
                    return Err(format!("an object of {resource} has no name"));
                }
                if resource == DEFINITIONS {
                    crd::register(&mut state.registry, object);
                }
                let key = Key::new(resource, namespace(object), name(object));
                state.store.put(&key, stored(object.clone()));
            }
        }
        let call = Call {
            verb: Verb::Create,
            group: "",
            resource: "",
            namespace: "",
            name: "",
            subresource: "",
            client: KEEPER,
        };
        Ok(self.shared.tell(&mut state, before, &call))
    }
}

/// The object with its managers beside it.
fn stored(mut object: Value) -> Object {
    let managers = meta_mut(&mut object).remove("managedFields");
    let managers = match managers {
        Some(Value::Array(entries)) => entries.into_iter().map(|entry| Arc::new(Entry::read(entry))).collect(),
        _ => Vec::new(),
    };
    let mut object = Object::from(object);
    object.set_managers(managers);
    object
}
