//! What the API server is told.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::Request;

/// Yes, no, or yes in another form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Why not, line by line; none at all means yes.
    pub refused: Vec<String>,
    /// Operations of a JSON patch.
    pub patch: Vec<Value>,
    /// What the client is told beside it.
    pub warnings: Vec<String>,
}

impl Answer {
    /// The `AdmissionReview` that answers a request.
    pub fn review(&self, request: &Request) -> Value {
        let mut response = json!({"uid": request.uid, "allowed": self.refused.is_empty()});
        let Some(fields) = response.as_object_mut() else { return response };
        if !self.refused.is_empty() {
            let causes: Vec<Value> = self.refused.iter().map(|line| cause(line)).collect();
            let status = json!({
                "code": 422, "reason": "Invalid", "message": self.message(request),
                "details": {"kind": request.kind, "name": request.name, "causes": causes},
            });
            fields.insert("status".to_owned(), status);
        }
        if !self.patch.is_empty() {
            let patch = ByteString(Value::Array(self.patch.clone()).to_string().into_bytes());
            fields.insert("patchType".to_owned(), json!("JSONPatch"));
            fields.insert("patch".to_owned(), json!(patch));
        }
        if !self.warnings.is_empty() {
            fields.insert("warnings".to_owned(), json!(self.warnings));
        }
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }

    /// One error reads as the condition does; several have a line each.
    fn message(&self, request: &Request) -> String {
        let (kind, name) = (&request.kind, request.shown_name());
        match self.refused.as_slice() {
            [only] => format!("The {kind} \"{name}\" is invalid: {only}"),
            many => format!("The {kind} \"{name}\" is invalid:\n* {}", many.join("\n* ")),
        }
    }
}

/// kubectl prints field and message of every cause, so the two together must be the line.
fn cause(line: &str) -> Value {
    let (field, message) = line.split_once(": ").unwrap_or(("spec", line));
    json!({"reason": "FieldValueInvalid", "field": field, "message": message})
}
