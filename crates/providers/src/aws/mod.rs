//! Requests to Amazon Web Services: who asks, and the signature that proves it.

mod caller;
mod credentials;
mod sign;

pub use caller::Caller;
pub use credentials::{AwsCredentials, Plan, assumed, plan, profile_credentials, role_request, web_identity_request};
pub use sign::sign;

/// The address of a service in a region.
pub fn endpoint(service: &str, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{service}.{region}.{domain}/")
}

/// What a signature is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The service, such as `aps` or `monitoring`.
    pub service: String,
    /// The region.
    pub region: String,
    /// The profile of the credentials file to use; empty means the usual chain.
    pub profile: String,
    /// The role to take; empty means none.
    pub role_arn: String,
}
