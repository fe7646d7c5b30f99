//! Whoever asks AWS: finds keys and signs with them.

use tidegate_clock::Clock;

use super::{
    AwsCredentials, Plan, Signature, assumed, plan, profile_credentials, role_request, sign, web_identity_request,
};
use crate::call::Surroundings;
use crate::client::Transport;
use crate::message::Request;

/// Signs requests in the name of the controller.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// What carries requests for keys.
    pub client: &'a dyn Transport,
    /// Where keys may be.
    pub surroundings: &'a Surroundings,
    /// When.
    pub clock: Clock,
}

impl Caller<'_> {
    /// The request with a signature.
    pub async fn sign(&self, request: Request, signature: &Signature) -> Result<Request, String> {
        let who = self.credentials(signature).await?;
        Ok(sign(request, &who, &signature.service, &signature.region, self.clock.now()))
    }

    async fn credentials(&self, signature: &Signature) -> Result<AwsCredentials, String> {
        let region = &signature.region;
        let own = match plan(signature, self.surroundings)? {
            Plan::Given(keys) => keys,
            Plan::File { path, profile } => {
                let text = read(path.clone()).await?;
                profile_credentials(&text, &profile)
                    .ok_or_else(|| format!("{path} has no keys for the AWS profile {profile}"))?
            }
            Plan::WebIdentity { token_file, role_arn } => {
                let token = read(token_file).await?;
                self.ask_sts(&web_identity_request(region, &role_arn, &token)).await?
            }
        };
        if signature.role_arn.is_empty() {
            return Ok(own);
        }
        self.ask_sts(&role_request(region, &signature.role_arn, &own, self.clock.now())).await
    }

    async fn ask_sts(&self, request: &Request) -> Result<AwsCredentials, String> {
        let answer = self.client.send(request).await.map_err(|error| error.to_string())?;
        assumed(&answer)
    }
}

/// A small file of credentials.
async fn read(path: String) -> Result<String, String> {
    let shown = path.clone();
    let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
    match read {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(format!("cannot read {shown}: {error}")),
        Err(_) => Err(format!("cannot read {shown}")),
    }
}
