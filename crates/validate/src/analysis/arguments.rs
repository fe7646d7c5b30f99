//! `{{args.NAME}}` in metrics.

use tidegate_api::analysis::{Argument, Metric};
use tidegate_api::wire::Text;

/// Why placeholders cannot be replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubstitutionError {
    /// A name nobody declared.
    #[error("failed to resolve {{{{{0}}}}}")]
    Unknown(String),
    /// An opening without an end.
    #[error("Cannot find end tag=\"}}}}\" in the template={template:?} starting from {rest:?}")]
    Unclosed {
        /// The whole metric as JSON.
        template: String,
        /// From the opening on.
        rest: String,
    },
    /// An argument without a value.
    #[error("argument \"{0}\" was not supplied")]
    NotSupplied(String),
    /// The result is no metric, such as text where a number must be.
    #[error("{0}")]
    Malformed(String),
}

/// A metric with its placeholders replaced. Values are inserted as they are, escaped for JSON, and not looked at again.
pub fn substitute(metric: &Metric, args: &[Argument]) -> Result<Metric, SubstitutionError> {
    if let Some(arg) = args.iter().find(|arg| arg.value.is_none()) {
        return Err(SubstitutionError::NotSupplied(arg.name.text().to_owned()));
    }
    let malformed = |error: serde_json::Error| SubstitutionError::Malformed(error.to_string());
    let template = serde_json::to_string(metric).map_err(malformed)?;
    let text = replace(&template, args)?;
    serde_json::from_str(&text).map_err(malformed)
}

fn replace(template: &str, args: &[Argument]) -> Result<String, SubstitutionError> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    let mut unknown = None;
    while let Some(start) = rest.find("{{") {
        out.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        let Some(end) = inside.find("}}") else {
            return Err(SubstitutionError::Unclosed { template: template.to_owned(), rest: rest[start..].to_owned() });
        };
        let tag = &inside[..end];
        let arg = tag.trim().strip_prefix("args.").and_then(|name| args.iter().find(|arg| arg.name.text() == name));
        match arg {
            Some(arg) => {
                let quoted = serde_json::Value::from(arg.value.text()).to_string();
                out.push_str(&quoted[1..quoted.len() - 1]);
            }
            // The last one is reported, as people are used to.
            None => unknown = Some(tag.to_owned()),
        }
        rest = &inside[end + 2..];
    }
    out.push_str(rest);
    unknown.map_or(Ok(out), |tag| Err(SubstitutionError::Unknown(tag)))
}
