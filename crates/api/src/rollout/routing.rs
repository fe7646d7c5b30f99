//! Traffic routers a canary can be given.

use std::collections::BTreeMap;

use crate::raw::Raw;
use crate::wire::wire;

wire! {
    /// The router that splits traffic between stable and canary.
    pub struct RolloutTrafficRouting {
        /// AWS load balancer.
        "alb" alb: AlbTrafficRouting,
        /// Ambassador.
        "ambassador" ambassador: AmbassadorTrafficRouting,
        /// Apache APISIX.
        "apisix" apisix: ApisixTrafficRouting,
        /// AWS App Mesh.
        "appMesh" app_mesh: AppMeshTrafficRouting,
        /// Istio.
        "istio" istio: IstioTrafficRouting,
        /// Routes that header and mirror steps may write, first one first.
        "managedRoutes" managed_routes: Vec<ManagedRoute>,
        /// The weight that means all traffic. Default 100.
        "maxTrafficWeight" max_traffic_weight: i32,
        /// NGINX ingress controller.
        "nginx" nginx: NginxTrafficRouting,
        /// Router plugins, by name, each with its own configuration.
        "plugins" plugins: Raw,
        /// Service Mesh Interface.
        "smi" smi: SmiTrafficRouting,
        /// Traefik.
        "traefik" traefik: TraefikTrafficRouting,
    }

    /// A route that header and mirror steps may write.
    pub struct ManagedRoute {
        /// Its name.
        "name" [required] name: String,
    }

    /// Istio: VirtualServices and, for subsets, a DestinationRule.
    pub struct IstioTrafficRouting {
        /// Splits by subset instead of by host.
        "destinationRule" destination_rule: IstioDestinationRule,
        /// The VirtualService to write.
        "virtualService" virtual_service: IstioVirtualService,
        /// Several VirtualServices to write together.
        "virtualServices" virtual_services: Vec<IstioVirtualService>,
    }

    /// The DestinationRule whose subsets are stable and canary.
    pub struct IstioDestinationRule {
        /// Subsets whose weight the user sets.
        "additionalSubsetNames" additional_subset_names: Vec<String>,
        /// The canary's subset.
        "canarySubsetName" [required] canary_subset_name: String,
        /// The DestinationRule.
        "name" [required] name: String,
        /// The stable subset.
        "stableSubsetName" [required] stable_subset_name: String,
    }

    /// A VirtualService and which of its routes to write.
    pub struct IstioVirtualService {
        /// Its name, or name.namespace.
        "name" [required] name: String,
        /// Names of HTTP routes. Default: the only one.
        "routes" routes: Vec<String>,
        /// TCP routes.
        "tcpRoutes" tcp_routes: Vec<TcpRoute>,
        /// TLS routes.
        "tlsRoutes" tls_routes: Vec<TlsRoute>,
    }

    /// A TCP route, by port.
    pub struct TcpRoute {
        /// The port.
        "port" port: i64,
    }

    /// A TLS route, by port and SNI hosts.
    pub struct TlsRoute {
        /// The port.
        "port" port: i64,
        /// The SNI hosts.
        "sniHosts" sni_hosts: Vec<String>,
    }

    /// AWS load balancer through an Ingress.
    pub struct AlbTrafficRouting {
        /// Prefix of the Ingress annotations. Default alb.ingress.kubernetes.io.
        "annotationPrefix" annotation_prefix: String,
        /// The Ingress.
        "ingress" ingress: String,
        /// Several Ingresses.
        "ingresses" ingresses: Vec<String>,
        /// The Service named in the Ingress. Default: the stable Service.
        "rootService" root_service: String,
        /// The Service's port.
        "servicePort" [required] service_port: i32,
        /// Keeps a client on one target group.
        "stickinessConfig" stickiness_config: StickinessConfig,
    }

    /// Keeps a client on one target group.
    pub struct StickinessConfig {
        /// For how many seconds.
        "durationSeconds" [required] duration_seconds: i64,
        /// Whether.
        "enabled" [required] enabled: bool,
    }

    /// Ambassador mappings.
    pub struct AmbassadorTrafficRouting {
        /// The mappings to copy for the canary.
        "mappings" [required] mappings: Vec<String>,
    }

    /// Apache APISIX.
    pub struct ApisixTrafficRouting {
        /// The ApisixRoute to write.
        "route" route: ApisixRoute,
    }

    /// An ApisixRoute and which of its rules to write.
    pub struct ApisixRoute {
        /// Its name.
        "name" [required] name: String,
        /// Names of rules. Default: the only one.
        "rules" rules: Vec<String>,
    }

    /// AWS App Mesh.
    pub struct AppMeshTrafficRouting {
        /// The virtual nodes of canary and stable.
        "virtualNodeGroup" virtual_node_group: AppMeshVirtualNodeGroup,
        /// The virtual service to write.
        "virtualService" virtual_service: AppMeshVirtualService,
    }

    /// The virtual nodes of canary and stable.
    pub struct AppMeshVirtualNodeGroup {
        /// The canary's.
        "canaryVirtualNodeRef" [required] canary_virtual_node_ref: AppMeshVirtualNodeRef,
        /// The stable one.
        "stableVirtualNodeRef" [required] stable_virtual_node_ref: AppMeshVirtualNodeRef,
    }

    /// A virtual node.
    pub struct AppMeshVirtualNodeRef {
        /// Its name.
        "name" [required] name: String,
    }

    /// A virtual service and which of its routes to write.
    pub struct AppMeshVirtualService {
        /// Its name.
        "name" [required] name: String,
        /// Names of routes. Default: the only one.
        "routes" routes: Vec<String>,
    }

    /// NGINX ingress controller.
    pub struct NginxTrafficRouting {
        /// Annotations to add to the canary Ingress, without prefix.
        "additionalIngressAnnotations" additional_ingress_annotations: BTreeMap<String, String>,
        /// Prefix of the Ingress annotations. Default nginx.ingress.kubernetes.io.
        "annotationPrefix" annotation_prefix: String,
        /// Annotations to add to the canary Ingress, as they are.
        "canaryIngressAnnotations" canary_ingress_annotations: BTreeMap<String, String>,
        /// The Ingress to copy for the canary.
        "stableIngress" stable_ingress: String,
        /// Several Ingresses.
        "stableIngresses" stable_ingresses: Vec<String>,
    }

    /// Service Mesh Interface.
    pub struct SmiTrafficRouting {
        /// The Service clients use. Default: the stable Service.
        "rootService" root_service: String,
        /// The TrafficSplit to write. Default: the rollout's name.
        "trafficSplitName" traffic_split_name: String,
    }

    /// Traefik.
    pub struct TraefikTrafficRouting {
        /// The weighted TraefikService to write.
        "weightedTraefikServiceName" [required] weighted_traefik_service_name: String,
    }
}
