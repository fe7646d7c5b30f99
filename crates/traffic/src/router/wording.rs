//! Texts of the wire contract that say why a router cannot do its work.

/// Why an object cannot be edited, in the words of the contract.
///
/// They are exact and therefore say nothing of the object; the hint of the error around them does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant is the text that stands above it")]
pub enum Wording {
    #[error("spec.weighted.services was not found in traefik service manifest")]
    TraefikServices,
    #[error("traefik canary service was not found")]
    TraefikCanary,
    #[error("traefik stable service was not found")]
    TraefikStable,
    #[error("name field was not found in service")]
    TraefikName,
    #[error("Unsupported TrafficSplit API version `{0}`")]
    TrafficSplitVersion(String),
    #[error("Rollout does not own TrafficSplit `{0}`")]
    TrafficSplitOwner(String),
    #[error("Either StableIngress or StableIngresses must be configured. Both are configured.")]
    NginxBoth,
    #[error("Either StableIngress or StableIngresses must be configured. Neither are configured.")]
    NginxNeither,
    #[error("ingress `{ingress}` has no rules using service {service} backend")]
    NginxBackend { ingress: String, service: String },
    #[error("canary ingress `{0}` controlled by different object")]
    NginxOwner(String),
    #[error("Either Ingress or Ingresses must be configured. Both are configured.")]
    AlbBoth,
    #[error("Either Ingress or Ingresses must be configured. Neither are configured.")]
    AlbNeither,
    #[error("ingress does not have service `{0}` in rules")]
    AlbService(String),
    #[error("TargetGroupStickinessConfig's duration must be between 1 and 604800 seconds (7 days)!")]
    AlbStickiness,
    #[error("SetHeaderRoute match value invalid. ALB supports 'exact' value only")]
    AlbMatch,
    #[error("must provide at least one mapping")]
    AmbassadorMappings,
    #[error("Ambassador mapping \"{0}\" can not define weight")]
    AmbassadorWeight(String),
    #[error("spec.http was not found in Apisix Route manifest")]
    ApisixHttp,
    #[error("Apisix http route rule {0} not found")]
    ApisixRule(String),
    #[error("Apisix http route backends not found")]
    ApisixBackends,
    #[error("apisix route {0} backend was not found")]
    ApisixBackend(String),
    #[error("serviceName field was not found in backend")]
    ApisixServiceName,
    #[error("duplicate ApisixRoute [{0}] already exists")]
    ApisixOwner(String),
    #[error("Virtual-service is missing")]
    VirtualService,
    #[error("Virtual-router is missing")]
    VirtualRouter,
    #[error("Virtual-node is missing")]
    VirtualNode,
    #[error("Virtual-service is not associated with virtual-router")]
    NoVirtualRouter,
    #[error(
        "No routes configured. At least one of 'httpRoutes', 'grpcRoutes', 'tcpRoutes', 'httpRoute', 'grpcRoute' or \
         'tcpRoute' must be set"
    )]
    GatewayRoutes,
    #[error("backendRef was not found in {0}")]
    GatewayBackend(&'static str),
}

impl Wording {
    /// The reason of the warning that goes with it, where the contract has one.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::AmbassadorMappings | Self::AmbassadorWeight(_) => Some("AmbassadorMappingConfigError"),
            Self::VirtualService => Some("VirtualServiceNotFound"),
            Self::VirtualRouter | Self::NoVirtualRouter => Some("VirtualRouterNotFound"),
            Self::VirtualNode => Some("VirtualNodeNotFound"),
            _ => None,
        }
    }

    /// Whether it says that an object is not there.
    pub(crate) fn is_about_missing(&self) -> bool {
        matches!(self, Self::VirtualService | Self::VirtualRouter | Self::VirtualNode)
    }

    /// The error, with what the text leaves out.
    pub(crate) fn hint(self, hint: String) -> super::RouterError {
        super::RouterError::Contract { wording: self, hint }
    }
}
