//! Connections: to the host itself or through a proxy, plain or with TLS.

use std::net::SocketAddr;
use std::time::Duration;

use http::Uri;
use rustls::pki_types::ServerName;
use tidegate_expr::base64;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

use super::Settings;

/// How long one address may take to accept a connection, so that a dead one leaves time for the next.
const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Anything that can be read and written.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection, and how the request line must name its target on it.
pub(super) struct Connection {
    pub(super) stream: Box<dyn Stream>,
    /// Whether the whole address stands in the request line, as a plain proxy wants it.
    pub(super) absolute: bool,
    /// What to tell the proxy about who asks, on every request of a plain proxy.
    pub(super) proxy_authorization: Option<String>,
}

/// Where a URI points.
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) is_https: bool,
}

impl Target {
    pub(super) fn of(uri: &Uri) -> Result<Self, String> {
        let scheme = uri.scheme_str().unwrap_or_default();
        let is_https = match scheme {
            "http" => false,
            "https" => true,
            other => return Err(format!("unsupported protocol scheme {other:?}")),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("no Host in request URL")?;
        Ok(Self { host: host.to_owned(), port: uri.port_u16().unwrap_or(if is_https { 443 } else { 80 }), is_https })
    }

    fn bare_host(&self) -> &str {
        self.host.trim_matches(['[', ']'])
    }
}

/// Connects.
pub(super) async fn connect(settings: &Settings, target: &Target, insecure: bool) -> Result<Connection, String> {
    settings.hosts.check_name(target.bare_host())?;
    let Some(proxy) = settings.proxies.for_host(target.is_https, &target.host) else {
        let stream = dial(settings, target.bare_host(), target.port, true).await?;
        let stream = secured(settings, stream, target, insecure).await?;
        return Ok(Connection { stream, absolute: false, proxy_authorization: None });
    };
    settings.hosts.check_unresolved(target.bare_host())?;
    through_proxy(settings, proxy, target, insecure).await
}

async fn through_proxy(
    settings: &Settings,
    proxy: &str,
    target: &Target,
    insecure: bool,
) -> Result<Connection, String> {
    let with_scheme = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    let uri: Uri = with_scheme.parse().map_err(|_| "the proxy address is no address".to_owned())?;
    if uri.scheme_str() != Some("http") {
        return Err("only proxies that speak plain HTTP are supported".to_owned());
    }
    let host = uri.host().ok_or("the proxy address has no host")?;
    let user = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@')).map(|(user, _)| user);
    let authorization = user.map(|user| format!("Basic {}", base64::encode(user.as_bytes())));
    // The operator chose the proxy, so the rules for tenants' hosts do not apply to it.
    let mut stream = dial(settings, host.trim_matches(['[', ']']), uri.port_u16().unwrap_or(80), false).await?;
    if !target.is_https {
        return Ok(Connection { stream, absolute: true, proxy_authorization: authorization });
    }
    let proof = authorization.map(|value| format!("Proxy-Authorization: {value}\r\n")).unwrap_or_default();
    let place = format!("{}:{}", target.host, target.port);
    let hello = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{proof}\r\n");
    stream.write_all(hello.as_bytes()).await.map_err(|error| format!("proxy: {error}"))?;
    tunnel_answer(&mut stream).await?;
    let stream = secured(settings, stream, target, insecure).await?;
    Ok(Connection { stream, absolute: false, proxy_authorization: None })
}

/// Reads the proxy's answer to CONNECT, which must be a success.
async fn tunnel_answer(stream: &mut Box<dyn Stream>) -> Result<(), String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > 16 * 1024 {
            return Err("the proxy's answer is too long".to_owned());
        }
        let byte = stream.read_u8().await.map_err(|error| format!("proxy: {error}"))?;
        head.push(byte);
    }
    let text = String::from_utf8_lossy(&head);
    let status = text.split_whitespace().nth(1).unwrap_or_default();
    if status == "200" { Ok(()) } else { Err(format!("the proxy refused with status {status}")) }
}

pub(super) async fn dial(settings: &Settings, host: &str, port: u16, checked: bool) -> Result<Box<dyn Stream>, String> {
    let found = lookup_host((host, port)).await.map_err(|error| format!("lookup {host}: {error}"))?;
    let addresses: Vec<SocketAddr> = found.collect();
    let mut reason = format!("lookup {host}: no such host");
    for address in addresses {
        if checked && let Err(refused) = settings.hosts.check_address(host, address.ip()) {
            reason = refused;
            continue;
        }
        match tokio::time::timeout(DIAL_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Only a matter of speed.
                let _sent_at_once = stream.set_nodelay(true);
                return Ok(Box::new(stream));
            }
            Ok(Err(error)) => reason = format!("dial tcp {address}: {error}"),
            Err(_) => reason = format!("dial tcp {address}: i/o timeout"),
        }
    }
    Err(reason)
}

pub(super) async fn secured(
    settings: &Settings,
    stream: Box<dyn Stream>,
    target: &Target,
    insecure: bool,
) -> Result<Box<dyn Stream>, String> {
    if !target.is_https {
        return Ok(stream);
    }
    let name =
        ServerName::try_from(target.bare_host().to_owned()).map_err(|_| "the host is no server name".to_owned())?;
    let connector = TlsConnector::from(settings.tls.config(insecure));
    let stream = connector.connect(name, stream).await.map_err(|error| format!("tls: {error}"))?;
    Ok(Box::new(stream))
}
