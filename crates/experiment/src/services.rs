//! One Service per template that asks for one: there before its pods, and as long as they are.

use tidegate_api::names::labels;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_api::wire::Text;

use crate::objects;
use crate::observed::Part;
use crate::step::{Pass, Write};
use crate::templates::Template;

impl<'a> Pass<'a> {
    /// The Services of a template.
    fn services_of(&self, template: &str) -> Vec<&'a Service> {
        let wanted = objects::marks(self.seen.experiment, template);
        let services: &'a [Service] = self.seen.services;
        let is_marked = |service: &&Service| {
            let own = service.metadata.annotations.as_ref();
            own.is_some_and(|own| wanted.iter().all(|(key, value)| own.get(key) == Some(value)))
        };
        services.iter().filter(is_marked).collect()
    }

    /// Makes, keeps or deletes the Service of a template that has a ReplicaSet.
    pub(crate) fn serve(&mut self, template: &mut Template<'_>, set: &ReplicaSet) {
        let own = template.wanted.service.as_ref();
        let wanted = own.map(|service| match service.name.text() {
            "" => set.metadata.name.text().to_owned(),
            name => name.to_owned(),
        });
        // Not before the last pod is gone.
        let has_pods = set.spec.replicas.unwrap_or(0) > 0 || set.status.available_replicas > 0;
        let is_needed = template.desired > 0 || has_pods;
        let mut is_there = false;
        for service in self.services_of(template.name()) {
            let is_it = wanted.as_deref() == Some(service.metadata.name.text());
            if is_it && is_needed {
                is_there = true;
            } else {
                self.remove_service(template, service);
            }
        }
        let Some(name) = wanted else { return };
        if !is_there && template.desired > 0 {
            is_there = self.make_service(template, set, &name);
        }
        if is_there {
            let hash = set.metadata.labels.as_ref().and_then(|own| own.get(labels::POD_TEMPLATE_HASH));
            template.status.service_name = Some(name);
            template.status.pod_template_hash = hash.cloned();
        }
    }

    /// Deletes the Services of a template that has no ReplicaSet and will get none.
    pub(crate) fn serve_nothing(&mut self, template: &mut Template<'_>) {
        for service in self.services_of(template.name()) {
            self.remove_service(template, service);
        }
    }

    /// Says whether the Service will be there.
    fn make_service(&mut self, template: &mut Template<'_>, set: &ReplicaSet, service: &str) -> bool {
        let name = template.name().to_owned();
        let part = Part::Service(name.clone());
        let made = match self.seen.refused.get(&part) {
            Some(error) => Err(error.clone()),
            None => objects::new_service(self.seen.experiment, service, &name, set),
        };
        match made {
            Ok(object) => {
                self.act(part, Write::CreateService(object), Vec::new());
                true
            }
            Err(error) => {
                let text = format!("Failed to create Service {service} for template '{name}': {error}");
                !template.fails(Some(text))
            }
        }
    }

    /// Deletes a Service, unless traffic still comes through it.
    fn remove_service(&mut self, template: &mut Template<'_>, service: &Service) {
        let (name, uid) = (service.metadata.name.text().to_owned(), service.metadata.uid.text().to_owned());
        if self.seen.routed.contains(&name) {
            self.wake_after(self.seen.now, 1);
            return;
        }
        let part = Part::NoService(template.name().to_owned());
        if let Some(error) = self.seen.refused.get(&part) {
            let text = format!("Failed to delete Service for template '{}': {error}", template.name());
            template.fails(Some(text));
            return;
        }
        if template.status.service_name.text() == name {
            template.status.service_name = None;
            template.status.pod_template_hash = None;
        }
        self.act(part, Write::DeleteService { name, uid }, Vec::new());
    }
}
