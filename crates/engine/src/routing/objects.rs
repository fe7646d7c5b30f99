//! The VirtualServices and the DestinationRule of a Rollout as they were seen.

use std::collections::BTreeSet;

use serde_json::Value;
use tidegate_api::rollout::{IstioDestinationRule, IstioVirtualService, Rollout};
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_traffic::istio::{Desired, Edit, Read, RouterError, Seen, edit_virtual_service, named_hashes, read_back};
use tidegate_validate::references::Lookup;

use super::{destination_rule, virtual_services};
use crate::observed::Observed;
use crate::plan::Traffic;

/// A VirtualService that was found.
pub(crate) struct Named<'a> {
    pub name: VirtualServiceName,
    pub reference: IstioVirtualService,
    pub object: &'a Value,
}

/// All that was found.
pub(crate) struct Objects<'a> {
    pub virtual_services: Vec<Named<'a>>,
    pub rule: Option<(&'a IstioDestinationRule, &'a Value)>,
}

impl<'a> Objects<'a> {
    pub(crate) fn of(seen: &'a Observed) -> Self {
        let found = virtual_services(&seen.rollout).into_iter().filter_map(|(name, reference)| {
            match seen.found.virtual_services.get(&name) {
                Some(Lookup::Found(object)) => Some(Named { name, reference, object }),
                _ => None,
            }
        });
        let rule = destination_rule(&seen.rollout).and_then(|rule| match &seen.routes.destination_rule {
            Some(Lookup::Found(object)) => Some((rule, object)),
            _ => None,
        });
        Self { virtual_services: found.collect(), rule }
    }

    /// What is to change in each VirtualService, or why one of them cannot be edited.
    pub(crate) fn edits(&self, wanted: &Desired<'_>) -> Result<Vec<Edit>, RouterError> {
        self.virtual_services.iter().map(|found| edit_virtual_service(found.object, &found.reference, wanted)).collect()
    }

    /// What the objects say, before an edit.
    pub(crate) fn read(&self, wanted: &Desired<'_>) -> Seen {
        let all: Vec<Read<'_>> = self.virtual_services.iter().map(Named::read).collect();
        read_back(&all, self.rule.map(|(_, object)| object), wanted)
    }

    /// What the objects will say after these edits.
    pub(crate) fn read_after(&self, edits: &[Edit], wanted: &Desired<'_>) -> Seen {
        let edited = self.virtual_services.iter().zip(edits);
        let all: Vec<Read<'_>> = edited
            .map(|(found, edit)| Read { reference: &found.reference, object: edit.object(found.object) })
            .collect();
        read_back(&all, None, wanted)
    }

    /// The highest canary weight of each VirtualService; none for one that cannot be read.
    pub(crate) fn canary_weights(&self, wanted: &Desired<'_>) -> Vec<Option<i32>> {
        let highest = |found: &Named<'_>| {
            let span = read_back(&[found.read()], None, wanted).canary()?;
            Some(i32::try_from(span.highest).unwrap_or(i32::MAX))
        };
        self.virtual_services.iter().map(highest).collect()
    }

    /// The template a subset names.
    pub(crate) fn subset_hash(&self, subset: &str) -> Option<&'a str> {
        let (_, object) = self.rule?;
        named_hashes(object).into_iter().find(|(name, _)| *name == subset).map(|(_, hash)| hash)
    }

    /// Templates that some route sends requests or copies to, by a subset that names them. A subset without weight may
    /// name what has no pods: it waits for those of another version, perhaps for ever.
    pub(crate) fn weighted_hashes(&self, rollout: &Rollout) -> BTreeSet<String> {
        let nothing = Traffic::default();
        super::desired(rollout, &nothing).map(|wanted| self.read(&wanted).weighted).unwrap_or_default()
    }
}

impl Named<'_> {
    fn read(&self) -> Read<'_> {
        Read { reference: &self.reference, object: self.object }
    }
}
