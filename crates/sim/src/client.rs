//! Clients that say who they are, so that histories and fault schedules can tell them apart.

use std::task::{Context, Poll};

use http::{HeaderValue, Request, Response, header};
use kube::Client;
use tidegate_apiserver::{ApiServer, Body, WithoutManagers};
use tower_service::Service;

use crate::routers;

/// Puts a name on every request, and says that the answer need not tell who manages which field: nothing in a world
/// reads that but for the objects of traffic routers, and reading it over took longer than the rest of most objects.
#[derive(Clone, Debug)]
struct Named {
    server: ApiServer,
    name: HeaderValue,
}

impl Service<Request<kube::client::Body>> for Named {
    type Response = Response<Body>;
    type Error = std::convert::Infallible;
    type Future = <ApiServer as Service<Request<kube::client::Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<kube::client::Body>>::poll_ready(&mut self.server, context)
    }

    fn call(&mut self, mut request: Request<kube::client::Body>) -> Self::Future {
        request.headers_mut().insert(header::USER_AGENT, self.name.clone());
        if !routers::is_path_of_one(request.uri().path()) {
            request.extensions_mut().insert(WithoutManagers);
        }
        self.server.call(request)
    }
}

/// A client of the server under a name, in the namespace `default`; what it reads has no `managedFields`, the objects of
/// traffic routers apart. Call it inside a runtime.
pub fn named(server: &ApiServer, name: &str) -> Client {
    let name = HeaderValue::from_str(name).unwrap_or_else(|_| HeaderValue::from_static("unnamed"));
    Client::new(Named { server: server.clone(), name }, "default")
}
