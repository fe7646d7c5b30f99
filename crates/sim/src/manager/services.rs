//! EndpointSlices and Endpoints of Services.

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::requests::{Trouble, answer, ask, by, code};
use super::{Manager, Work};
use crate::controllers::endpoints::{self, ENDPOINTS_MANAGER, MANAGED_BY, selects};
use crate::controllers::pods::Pod;
use crate::objects::{Key, key};

impl Manager {
    /// Keeps what a Service leads to. Garbage collection removes its slice with it; its Endpoints are ours to remove.
    pub(super) async fn service(&mut self, key: &Key) -> Result<(), Trouble> {
        let Some(service) = self.services.get(key).cloned() else { return self.service_gone(key).await };
        if service.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        let selector = service.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default();
        let pods: Vec<&Pod> = self.pods.within(&key.0).filter(|pod| selects(&selector, pod)).collect();
        let (slice, object) = (endpoints::slice_of(&service, &pods), endpoints::endpoints_of(&service, &pods));
        if let Some(slice) = slice {
            self.keep_slice(key, slice).await?;
        }
        if let Some(object) = object {
            self.keep_endpoints(object).await?;
        }
        Ok(())
    }

    async fn keep_slice(&mut self, service: &Key, wanted: Value) -> Result<(), Trouble> {
        let mut wanted: EndpointSlice = serde_json::from_value(wanted).map_err(|_| Trouble::Unwritable)?;
        let key = key(&wanted);
        let api: Api<EndpointSlice> = Api::namespaced(self.client.clone(), &key.0);
        let Some(found) = self.slices.get(&key) else {
            if !self.may_make(Work::Service(service.clone())) {
                return Ok(());
            }
            let created = ask(api.create(&by(), &wanted)).await?;
            self.slices.put(created);
            return Ok(());
        };
        let owned = found.metadata.owner_references == wanted.metadata.owner_references;
        let labelled = found.metadata.labels == wanted.metadata.labels;
        let endpoints =
            found.endpoints.as_deref().unwrap_or_default() == wanted.endpoints.as_deref().unwrap_or_default();
        let ports = found.ports.as_deref().unwrap_or_default() == wanted.ports.as_deref().unwrap_or_default();
        if owned && labelled && endpoints && ports {
            return Ok(());
        }
        wanted.metadata.resource_version = found.resource_version();
        wanted.metadata.annotations.clone_from(&found.metadata.annotations);
        let written = ask(api.replace(&key.1, &by(), &wanted)).await?;
        self.slices.put(written);
        Ok(())
    }

    async fn keep_endpoints(&mut self, wanted: Value) -> Result<(), Trouble> {
        let mut wanted: Endpoints = serde_json::from_value(wanted).map_err(|_| Trouble::Unwritable)?;
        let key = key(&wanted);
        let api: Api<Endpoints> = Api::namespaced(self.client.clone(), &key.0);
        let Some(found) = self.endpoints.get(&key) else {
            let created = ask(api.create(&by(), &wanted)).await?;
            self.endpoints.put(created);
            return Ok(());
        };
        let labelled = found.metadata.labels == wanted.metadata.labels;
        if labelled && found.subsets.as_deref().unwrap_or_default() == wanted.subsets.as_deref().unwrap_or_default() {
            return Ok(());
        }
        wanted.metadata.resource_version = found.resource_version();
        wanted.metadata.annotations.clone_from(&found.metadata.annotations);
        let written = ask(api.replace(&key.1, &by(), &wanted)).await?;
        self.endpoints.put(written);
        Ok(())
    }

    async fn service_gone(&mut self, key: &Key) -> Result<(), Trouble> {
        self.made.remove(&Work::Service(key.clone()));
        let Some(found) = self.endpoints.get(key) else { return Ok(()) };
        if found.labels().get(MANAGED_BY).map(String::as_str) != Some(ENDPOINTS_MANAGER) {
            return Ok(());
        }
        let same = Preconditions { uid: found.uid(), resource_version: None };
        let api: Api<Endpoints> = Api::namespaced(self.client.clone(), &key.0);
        match answer(api.delete(&key.1, &DeleteParams::default().preconditions(same))).await? {
            Err(error) if code(&error) != 404 => Err(Trouble::Refused),
            _ => {
                self.endpoints.remove(key);
                Ok(())
            }
        }
    }
}
