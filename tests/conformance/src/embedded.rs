//! The in-process API as a subject.

use tidegate_apiserver::{ApiServer, Options};
use tidegate_clock::Clock;

use crate::real::{SetupError, prepare};
use crate::subject::ClientSubject;

/// The in-process API, prepared like the real one. The class of sequences without a garbage collector gets none.
///
/// # Errors
/// When it refuses the CRDs.
pub async fn embedded(collects_garbage: bool) -> Result<ClientSubject, SetupError> {
    let options = Options { collects_garbage, ..Options::new(Clock::system()) };
    let client = kube::Client::new(ApiServer::new(options), "default");
    let ours = ClientSubject::new("ours", client);
    prepare(&ours).await?;
    Ok(ours)
}
