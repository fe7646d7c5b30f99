//! Where keys of AWS come from.

use jiff::Timestamp;

use super::{Signature, endpoint, sign};
use crate::call::Surroundings;
use crate::form::encoded;
use crate::message::{Method, Request, Response};
use crate::xml;

/// Keys. Their `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct AwsCredentials {
    /// Who.
    pub access_key_id: String,
    /// The secret.
    pub secret_access_key: String,
    /// The session, empty for lasting keys.
    pub session_token: String,
}

impl std::fmt::Debug for AwsCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AwsCredentials({})", self.access_key_id)
    }
}

/// How to come by keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// They are there.
    Given(AwsCredentials),
    /// They are in this file, under this profile.
    File {
        /// The file.
        path: String,
        /// The profile.
        profile: String,
    },
    /// The token of a service account, in this file, is exchanged for them.
    WebIdentity {
        /// The file.
        token_file: String,
        /// The role.
        role_arn: String,
    },
}

/// The usual chain: keys in the environment, a token of the service account, a credentials file.
pub fn plan(signature: &Signature, surroundings: &Surroundings) -> Result<Plan, String> {
    let variable = |name: &str| surroundings.variable(name).map(str::to_owned);
    let file = |profile: String| {
        let path = variable("AWS_SHARED_CREDENTIALS_FILE")
            .or_else(|| variable("HOME").map(|home| format!("{home}/.aws/credentials")));
        path.map(|path| Plan::File { path, profile })
    };
    if !signature.profile.is_empty() {
        return file(signature.profile.clone()).ok_or_else(|| no_credentials().to_owned());
    }
    if let (Some(access_key_id), Some(secret_access_key)) =
        (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"))
    {
        let session_token = variable("AWS_SESSION_TOKEN").unwrap_or_default();
        return Ok(Plan::Given(AwsCredentials { access_key_id, secret_access_key, session_token }));
    }
    if let (Some(token_file), Some(role_arn)) = (variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN")) {
        return Ok(Plan::WebIdentity { token_file, role_arn });
    }
    file(variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned())).ok_or_else(|| no_credentials().to_owned())
}

fn no_credentials() -> &'static str {
    "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, give the service account a role, or mount a \
     credentials file"
}

/// The keys of a profile in a credentials file.
pub fn profile_credentials(text: &str, profile: &str) -> Option<AwsCredentials> {
    let mut is_wanted = false;
    let mut found =
        AwsCredentials { access_key_id: String::new(), secret_access_key: String::new(), session_token: String::new() };
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            is_wanted = name.trim() == profile;
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_wanted) {
            let value = value.trim().to_owned();
            match name.trim() {
                "aws_access_key_id" => found.access_key_id = value,
                "aws_secret_access_key" => found.secret_access_key = value,
                "aws_session_token" => found.session_token = value,
                _ => {}
            }
        }
    }
    (!found.access_key_id.is_empty() && !found.secret_access_key.is_empty()).then_some(found)
}

/// Exchanges the token of a service account for keys (STS, AssumeRoleWithWebIdentity).
pub fn web_identity_request(region: &str, role_arn: &str, token: &str) -> Request {
    let fields = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", role_arn),
        ("RoleSessionName", "rollouts-controller"),
        ("WebIdentityToken", token.trim()),
    ];
    form(region, encoded(fields))
}

/// Takes another role (STS, AssumeRole).
pub fn role_request(region: &str, role_arn: &str, who: &AwsCredentials, now: Timestamp) -> Request {
    let fields = [
        ("Action", "AssumeRole"),
        ("Version", "2011-06-15"),
        ("RoleArn", role_arn),
        ("RoleSessionName", "rollouts-controller"),
    ];
    sign(form(region, encoded(fields)), who, "sts", region, now)
}

fn form(region: &str, body: String) -> Request {
    let request = Request::new(Method::Post, endpoint("sts", region));
    request.header("Content-Type", "application/x-www-form-urlencoded; charset=utf-8").body(body)
}

/// The keys in an answer of STS.
pub fn assumed(response: &Response) -> Result<AwsCredentials, String> {
    let document = xml::parse(&response.text()).map_err(|error| format!("AWS STS: {error}"))?;
    if !response.is_success() {
        let (code, text) = (document.text_of("Code"), document.text_of("Message"));
        return Err(format!("AWS STS answered {}: {}: {}", response.status, code, text));
    }
    let keys = AwsCredentials {
        access_key_id: document.text_of("AccessKeyId"),
        secret_access_key: document.text_of("SecretAccessKey"),
        session_token: document.text_of("SessionToken"),
    };
    if keys.access_key_id.is_empty() { Err("AWS STS answered without keys".to_owned()) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Surroundings { environment, ..Surroundings::default() }
    }

    fn signature(profile: &str) -> Signature {
        Signature {
            service: "aps".to_owned(),
            region: "eu-west-1".to_owned(),
            profile: profile.to_owned(),
            role_arn: String::new(),
        }
    }

    #[test]
    fn the_environment_comes_before_the_service_account_and_that_before_the_file() {
        let keys = [("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let irsa = [("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"), ("AWS_ROLE_ARN", "r")];
        let both: Vec<_> = keys.iter().chain(&irsa).copied().collect();
        assert!(matches!(plan(&signature(""), &surroundings(&both)), Ok(Plan::Given(_))));
        assert!(matches!(plan(&signature(""), &surroundings(&irsa)), Ok(Plan::WebIdentity { .. })));
        let file = plan(&signature("p"), &surroundings(&[("HOME", "/h")])).unwrap();
        assert_eq!(file, Plan::File { path: "/h/.aws/credentials".to_owned(), profile: "p".to_owned() });
        assert!(plan(&signature(""), &surroundings(&[])).unwrap_err().starts_with("no AWS credentials: set "));
    }

    #[test]
    fn a_profile_is_found_in_the_file() {
        let text = "[default]\naws_access_key_id = a\naws_secret_access_key=b\n[p]\naws_access_key_id=c\n\
                    aws_secret_access_key = d==\naws_session_token=e\n";
        let found = profile_credentials(text, "p").unwrap();
        let parts = [&*found.access_key_id, &*found.secret_access_key, &*found.session_token];
        assert_eq!(parts, ["c", "d==", "e"]);
        assert_eq!(profile_credentials(text, "q"), None);
    }

    /// AWS STS API Reference, AssumeRoleWithWebIdentity, examples.
    #[test]
    fn sts_is_asked_and_understood() {
        let request = web_identity_request("eu-west-1", "arn:aws:iam::1:role/x", "tok\n");
        assert_eq!(request.url, "https://sts.eu-west-1.amazonaws.com/");
        assert_eq!(endpoint("sts", "cn-north-1"), "https://sts.cn-north-1.amazonaws.com.cn/");
        assert_eq!(
            String::from_utf8(request.body).unwrap(),
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&\
             RoleSessionName=rollouts-controller&WebIdentityToken=tok"
        );
        let answer = "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
            <AssumeRoleWithWebIdentityResult><Credentials><SessionToken>tok&amp;en</SessionToken>\
            <SecretAccessKey>secret</SecretAccessKey><Expiration>2014-10-24T23:00:23Z</Expiration>\
            <AccessKeyId>ASgeIAIOSFODNN7EXAMPLE</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>\
            </AssumeRoleWithWebIdentityResponse>";
        let keys = assumed(&Response::new(200, answer)).unwrap();
        assert_eq!((keys.access_key_id.as_str(), keys.session_token.as_str()), ("ASgeIAIOSFODNN7EXAMPLE", "tok&en"));
        let refused = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
        assert_eq!(assumed(&Response::new(403, refused)).unwrap_err(), "AWS STS answered 403: AccessDenied: no");
    }
}
