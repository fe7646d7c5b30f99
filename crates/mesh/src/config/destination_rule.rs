//! DestinationRules: only their subsets.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Problem;
use super::hosts::HostPattern;
use super::parts::{Part, Read, identity, read_or_report};
use super::virtual_service::is_exported;

/// Some of the pods of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subset {
    /// Its name.
    pub name: String,
    /// What its pods are labelled with; empty for all.
    pub labels: BTreeMap<String, String>,
}

/// A DestinationRule.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DestinationRule {
    pub(crate) namespace: String,
    pub(crate) host: HostPattern,
    exported: Vec<String>,
    pub(crate) subsets: Vec<Subset>,
}

impl DestinationRule {
    pub(super) fn read(object: &Value, problems: &mut Vec<Problem>) -> Option<Self> {
        read_or_report("DestinationRule", object, problems, Self::read_parts)
    }

    fn read_parts(object: &Value, report: &mut dyn FnMut(String)) -> Read<Self> {
        let (namespace, _) = identity(object);
        let whole = Part::new(object, String::new())?;
        let Some(spec) = whole.part("spec")? else { return whole.wrong("spec", "must be set") };
        let host = spec.text("host")?.unwrap_or_default();
        if host.is_empty() {
            return spec.wrong("host", "must name a host");
        }
        if spec.get("workloadSelector").is_some() {
            return spec.wrong("workloadSelector", "is not modelled");
        }
        let mut subsets: Vec<Subset> = Vec::new();
        for (value, path) in spec.entries("subsets")? {
            match Part::new(value, path).and_then(|part| read_subset(&part)) {
                // Envoy would refuse a second cluster of the same name; istiod drops it.
                Ok(subset) if subsets.iter().any(|known| known.name == subset.name) => {
                    report(format!("spec.subsets: there are two subsets `{}`; the first counts", subset.name));
                }
                Ok(subset) => subsets.push(subset),
                Err(what) => report(what),
            }
        }
        Ok(Self { host: HostPattern::new(host, &namespace), exported: spec.texts("exportTo")?, subsets, namespace })
    }

    pub(crate) fn is_visible_in(&self, namespace: &str) -> bool {
        is_exported(&self.exported, &self.namespace, namespace)
    }
}

fn read_subset(part: &Part<'_>) -> Read<Subset> {
    let name = part.text("name")?.unwrap_or_default();
    if name.is_empty() {
        return part.wrong("name", "must be set");
    }
    Ok(Subset { name: name.to_owned(), labels: part.labels("labels")? })
}
