//! Where it listens.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;

use crate::error::PlaygroundError;

/// So many ports are tried, one after the other.
const TRIES: u16 = 20;

/// The ports that are asked for; the next free one is taken where one is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Of the Kubernetes API.
    pub api: u16,
    /// Of the application.
    pub app: u16,
    /// Of the dashboard.
    pub dashboard: u16,
}

impl Default for Ports {
    fn default() -> Self {
        Self { api: 6443, app: 8080, dashboard: 3100 }
    }
}

/// What a port is for, as errors name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    pub(crate) what: &'static str,
    pub(crate) flag: &'static str,
}

/// Tries a port and those after it until one is free. Port 0 is any free one.
pub(crate) async fn next_free<T, F>(
    purpose: Purpose,
    from: u16,
    mut listen: impl FnMut(u16) -> F,
) -> Result<T, PlaygroundError>
where
    F: Future<Output = io::Result<T>>,
{
    let to = if from == 0 { 0 } else { from.saturating_add(TRIES - 1) };
    let mut port = from;
    loop {
        match listen(port).await {
            Ok(listening) => return Ok(listening),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port < to => port += 1,
            Err(source) => {
                let Purpose { what, flag } = purpose;
                return Err(PlaygroundError::Port { what, flag, from, to: port, source });
            }
        }
    }
}

/// A listener on this machine only.
pub(crate) async fn local(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSE: Purpose = Purpose { what: "the application", flag: "--port-app" };

    #[tokio::test]
    async fn a_port_that_is_taken_makes_way_for_the_next_free_one() {
        let taken = local(0).await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let found = next_free(PURPOSE, port, local).await.unwrap().local_addr().unwrap().port();
        assert!(found > port && found < port + TRIES, "{found} after {port}");
    }

    #[tokio::test]
    async fn what_is_no_matter_of_the_port_is_told_at_once() {
        let mut asked = 0;
        let refused = next_free(PURPOSE, 81, |_| {
            asked += 1;
            std::future::ready(Err::<(), _>(io::Error::from(io::ErrorKind::PermissionDenied)))
        });
        let error = refused.await.unwrap_err().to_string();
        assert_eq!(asked, 1);
        assert!(
            error.starts_with("no free port from 81 to 81 for the application: choose another with --port-app"),
            "{error}"
        );
    }
}
