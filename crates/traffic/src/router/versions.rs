//! API groups and versions that flags choose.

use super::object::{ISTIO, Resource};

/// Groups and versions of the kinds that exist in several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// `--traefik-api-group`.
    pub traefik_group: String,
    /// `--traefik-api-version`, with or without a group.
    pub traefik: String,
    /// `--traffic-split-api-version`.
    pub traffic_split: String,
    /// `--ambassador-api-version`, with group.
    pub ambassador: String,
    /// `--appmesh-crd-version`.
    pub app_mesh: String,
    /// `--aws-target-group-binding-api-version`, with group.
    pub target_group_binding: String,
    /// `--alb-tag-key-resource-id`.
    pub alb_resource_tag: String,
}

impl Default for Versions {
    fn default() -> Self {
        let text = str::to_owned;
        Self {
            traefik_group: text("traefik.io"),
            traefik: text("traefik.io/v1alpha1"),
            traffic_split: text("v1alpha1"),
            ambassador: text("getambassador.io/v2"),
            app_mesh: text("v1beta2"),
            target_group_binding: text("elbv2.k8s.aws/v1beta1"),
            alb_resource_tag: text("ingress.k8s.aws/resource"),
        }
    }
}

impl Versions {
    /// Ingresses have one version only.
    pub fn ingress(&self) -> Resource {
        Resource::new("networking.k8s.io", "v1", "Ingress", "ingresses")
    }

    /// VirtualServices, in the newest version; older ones say the same.
    pub fn virtual_service(&self) -> Resource {
        Resource::new(ISTIO, "v1", "VirtualService", "virtualservices")
    }

    /// DestinationRules, likewise.
    pub fn destination_rule(&self) -> Resource {
        Resource::new(ISTIO, "v1", "DestinationRule", "destinationrules")
    }

    /// TraefikServices.
    pub fn traefik(&self) -> Resource {
        let (_, version) = parts(&self.traefik);
        Resource::new(&self.traefik_group, version, "TraefikService", "traefikservices")
    }

    /// TrafficSplits.
    pub fn traffic_split(&self) -> Resource {
        Resource::new("split.smi-spec.io", &self.traffic_split, "TrafficSplit", "trafficsplits")
    }

    /// Mappings of Ambassador.
    pub fn mapping(&self) -> Resource {
        let (group, version) = parts(&self.ambassador);
        if group == "x.getambassador.io" {
            Resource::new(group, version, "AmbassadorMapping", "ambassadormappings")
        } else {
            Resource::new(group, version, "Mapping", "mappings")
        }
    }

    /// Routes of APISIX.
    pub fn apisix_route(&self) -> Resource {
        Resource::new("apisix.apache.org", "v2", "ApisixRoute", "apisixroutes")
    }

    /// A kind of App Mesh.
    pub fn app_mesh(&self, kind: &str, plural: &str) -> Resource {
        Resource::new("appmesh.k8s.aws", &self.app_mesh, kind, plural)
    }

    /// What binds a target group of AWS to a Service.
    pub fn target_group_binding(&self) -> Resource {
        let (group, version) = parts(&self.target_group_binding);
        Resource::new(group, version, "TargetGroupBinding", "targetgroupbindings")
    }
}

fn parts(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
