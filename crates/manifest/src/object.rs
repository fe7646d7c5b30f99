//! A document as whichever of our kinds it is.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use tidegate_api::experiment::Experiment;
use tidegate_api::kind::GROUP;
use tidegate_api::rollout::Rollout;

use crate::document::Document;
use crate::error::ManifestErrors;

/// An object of one of our kinds.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A Rollout.
    Rollout(Box<Rollout>),
    /// An Experiment.
    Experiment(Box<Experiment>),
    /// An AnalysisTemplate.
    AnalysisTemplate(Box<AnalysisTemplate>),
    /// A ClusterAnalysisTemplate.
    ClusterAnalysisTemplate(Box<ClusterAnalysisTemplate>),
    /// An AnalysisRun.
    AnalysisRun(Box<AnalysisRun>),
}

impl Document {
    /// The object by its kind, strictly; `None` when the group or kind is not ours.
    ///
    /// # Errors
    /// As [`Document::kind`] and [`Document::decode`].
    pub fn decode_object(&self) -> Result<Option<Object>, ManifestErrors> {
        let kind = self.kind()?;
        // No core kind has one of our names: without a group the apiVersion is missing or misspelt, which decoding says.
        if self.group() != GROUP && !self.group().is_empty() {
            return Ok(None);
        }
        Ok(Some(match kind {
            "Rollout" => Object::Rollout(Box::new(self.decode()?)),
            "Experiment" => Object::Experiment(Box::new(self.decode()?)),
            "AnalysisTemplate" => Object::AnalysisTemplate(Box::new(self.decode()?)),
            "ClusterAnalysisTemplate" => Object::ClusterAnalysisTemplate(Box::new(self.decode()?)),
            "AnalysisRun" => Object::AnalysisRun(Box::new(self.decode()?)),
            _ => return Ok(None),
        }))
    }

    /// Reads a Service or Ingress strictly, so that a misspelt field does not make a reference look right. Other kinds
    /// pass.
    ///
    /// # Errors
    /// As [`Document::decode_kubernetes`].
    pub fn check_kubernetes(&self) -> Result<(), ManifestErrors> {
        match (self.api_version().unwrap_or_default(), self.kind()?) {
            ("v1", "Service") => self.decode_kubernetes::<Service>().map(drop),
            ("networking.k8s.io/v1", "Ingress") => self.decode_kubernetes::<Ingress>().map(drop),
            _ => Ok(()),
        }
    }
}
