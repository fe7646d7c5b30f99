//! Signature version 4, as the AWS documentation describes it ("Create a signed AWS API request").

use jiff::Timestamp;
use ring::{digest, hmac};

use super::AwsCredentials;
use crate::form::escape_strictly;
use crate::message::Request;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// The request with its date, token and signature in the headers; as it is when its address cannot be read.
#[must_use]
pub fn sign(request: Request, who: &AwsCredentials, service: &str, region: &str, now: Timestamp) -> Request {
    let Ok(uri) = request.url.parse::<http::Uri>() else { return request };
    let Some(host) = uri.authority().map(|authority| authority.as_str().to_owned()) else { return request };
    let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let date = stamp[..8].to_owned();
    let mut request = request.header("X-Amz-Date", &stamp);
    if !who.session_token.is_empty() {
        request = request.header("X-Amz-Security-Token", &who.session_token);
    }
    let mut headers = vec![("host".to_owned(), host)];
    for (name, value) in &request.headers {
        let name = name.to_ascii_lowercase();
        if name.starts_with("x-amz-") || name == "content-type" {
            headers.push((name, value.trim().to_owned()));
        }
    }
    headers.sort();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical = format!(
        "{}\n{}\n{}\n{lines}\n{names}\n{}",
        request.method.text(),
        canonical_path(uri.path()),
        canonical_query(uri.query().unwrap_or_default()),
        sha256(&request.body),
    );
    let scope = format!("{date}/{region}/{service}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", sha256(canonical.as_bytes()));
    let mut key = format!("AWS4{}", who.secret_access_key).into_bytes();
    for part in [date.as_str(), region, service, "aws4_request"] {
        key = keyed(&key, part);
    }
    let signature = hex(&keyed(&key, &text));
    let value = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
        who.access_key_id
    );
    request.header("Authorization", value)
}

fn canonical_path(path: &str) -> String {
    if path.is_empty() {
        return "/".to_owned();
    }
    path.split('/').map(escape_strictly).collect::<Vec<_>>().join("/")
}

fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| if pair.contains('=') { pair.replace('+', "%20") } else { format!("{pair}=") })
        .collect();
    pairs.sort();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Method;

    fn who() -> AwsCredentials {
        AwsCredentials {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: String::new(),
        }
    }

    /// From the AWS Signature Version 4 test suite, `get-vanilla` and `get-vanilla-query-order-key-case`.
    #[test]
    fn the_published_examples_are_signed_as_published() {
        let now: Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        let table = [
            ("https://example.amazonaws.com/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                "https://example.amazonaws.com/?Param2=value2&Param1=value1",
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
        ];
        for (url, signature) in table {
            let signed = sign(Request::new(Method::Get, url), &who(), "service", "us-east-1", now);
            assert_eq!(
                signed.header_value("authorization").unwrap(),
                format!(
                    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                     SignedHeaders=host;x-amz-date, Signature={signature}"
                )
            );
            assert_eq!(signed.header_value("x-amz-date"), Some("20150830T123600Z"));
        }
    }
}
