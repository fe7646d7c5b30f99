//! What a template asks of GitHub, call by call.
//!
//! Documentation: <https://docs.github.com/en/rest/commits/statuses>, <https://docs.github.com/en/rest/deployments>,
//! <https://docs.github.com/en/rest/issues/comments>, <https://docs.github.com/en/rest/checks/runs>,
//! <https://docs.github.com/en/rest/repos/repos#create-a-repository-dispatch-event>.

use std::collections::VecDeque;

use serde_json::{Map, Value as Json, json};

use crate::message::{Failure, Notification};

/// Characters of a description.
const MOST_DESCRIPTION: usize = 140;
/// Characters of a comment.
const MOST_COMMENT: usize = 65_536;
/// What can stand in a template.
const PARTS: [&str; 5] = ["status", "deployment", "pullRequestComment", "checkRun", "repositoryDispatch"];

/// A deployment, and the status it gets when the template names one.
#[derive(Clone)]
pub(super) struct Deployment {
    pub(super) fields: Map<String, Json>,
    pub(super) status: Option<Json>,
}

impl Deployment {
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Json::as_str)
    }
}

/// A comment, and what tells it from others.
#[derive(Clone)]
pub(super) struct Comment {
    pub(super) body: String,
    /// How comments with the same tag end.
    pub(super) marker: Option<String>,
}

/// One call.
#[derive(Clone)]
pub(super) enum Call {
    Status(Json),
    /// Looks for the deployment of this reference and environment, so that a new status is one of the same deployment.
    FindDeployment(Deployment),
    CreateDeployment(Deployment),
    DeploymentStatus(u64, Json),
    /// Looks for the pull requests of the commit.
    PullRequests(Comment),
    /// Looks for an earlier comment with the same tag on a page of a pull request.
    FindComment(u64, u32, Comment),
    CreateComment(u64, Comment),
    UpdateComment(u64, Comment),
    CheckRun(Json),
    Dispatch(Json),
}

impl Call {
    /// Whether GitHub makes something new of it, and says so with a status other than 200.
    pub(super) fn makes_something(&self) -> bool {
        match self {
            Self::FindDeployment(_) | Self::PullRequests(_) | Self::FindComment(..) | Self::UpdateComment(..) => false,
            Self::Status(_) | Self::CreateDeployment(_) | Self::DeploymentStatus(..) => true,
            Self::CreateComment(..) | Self::CheckRun(_) | Self::Dispatch(_) => true,
        }
    }

    /// What it is for, in messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Status(_) => "the status",
            Self::FindDeployment(_) => "the search for a deployment",
            Self::CreateDeployment(_) => "the deployment",
            Self::DeploymentStatus(..) => "the status of the deployment",
            Self::PullRequests(_) => "the search for pull requests",
            Self::FindComment(..) => "the search for a comment",
            Self::CreateComment(..) | Self::UpdateComment(..) => "the comment",
            Self::CheckRun(_) => "the check run",
            Self::Dispatch(_) => "the repository dispatch",
        }
    }
}

/// The calls that a template asks for. Those that can be repeated without harm come first: a failure repeats all.
pub(super) fn calls(notification: &Notification, revision: &str) -> Result<VecDeque<Call>, Failure> {
    let section = notification.section("github");
    let part = |name: &'static str| section[name].as_object().map(|_| Part { name, fields: &section[name] });
    let mut calls = VecDeque::new();
    if let Some(part) = part("status") {
        calls.push_back(Call::Status(status(part, &notification.message)?));
    }
    if let Some(part) = part("deployment") {
        let deployment = deployment(part, &notification.message, revision)?;
        calls.push_back(match deployment.status {
            Some(_) => Call::FindDeployment(deployment),
            None => Call::CreateDeployment(deployment),
        });
    }
    if let Some(part) = part("pullRequestComment") {
        calls.push_back(Call::PullRequests(comment(part, &notification.message)?));
    }
    if let Some(part) = part("checkRun") {
        calls.push_back(Call::CheckRun(check_run(part, &notification.message, revision)?));
    }
    if let Some(part) = part("repositoryDispatch") {
        calls.push_back(Call::Dispatch(dispatch(part)?));
    }
    if calls.is_empty() {
        return Err(Failure::lasting(format!("github of the template has none of {}", PARTS.join(", "))));
    }
    Ok(calls)
}

/// A part of the section.
#[derive(Clone, Copy)]
struct Part<'a> {
    name: &'static str,
    fields: &'a Json,
}

impl<'a> Part<'a> {
    /// A text under the first of these names that has one: GitHub writes `details_url`, templates `detailsURL`.
    fn text(self, names: &[&str]) -> Option<&'a str> {
        names.iter().find_map(|name| self.fields[*name].as_str()).filter(|text| !text.trim().is_empty())
    }

    fn needed(self, names: &[&str]) -> Result<&'a str, Failure> {
        let missing = || Failure::lasting(format!("github.{}.{} of the template is missing", self.name, names[0]));
        self.text(names).ok_or_else(missing)
    }

    fn flag(self, name: &str) -> Option<bool> {
        self.fields[name].as_bool().or_else(|| self.fields[name].as_str().and_then(|text| text.trim().parse().ok()))
    }

    /// Data, or a text that is data.
    fn data(self, names: &[&str]) -> Result<Option<Json>, Failure> {
        let Some(value) = names.iter().map(|name| &self.fields[*name]).find(|value| !value.is_null()) else {
            return Ok(None);
        };
        let Some(text) = value.as_str() else { return Ok(Some(value.clone())) };
        if text.trim().is_empty() {
            return Ok(None);
        }
        let wrong = |error| Failure::lasting(format!("github.{}.{} is no JSON or YAML: {error}", self.name, names[0]));
        tidegate_manifest::read_value(text).map(Some).map_err(wrong)
    }

    /// Sets fields of a body from texts of the template.
    fn copy(self, body: &mut Map<String, Json>, pairs: &[(&str, &[&str])]) {
        for (field, names) in pairs {
            if let Some(text) = self.text(names) {
                body.insert((*field).to_owned(), json!(text));
            }
        }
    }
}

fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

fn described(message: &str) -> Map<String, Json> {
    let mut body = Map::new();
    if !message.trim().is_empty() {
        body.insert("description".to_owned(), json!(cut(message, MOST_DESCRIPTION)));
    }
    body
}

fn status(part: Part<'_>, message: &str) -> Result<Json, Failure> {
    let mut body = described(message);
    body.insert("state".to_owned(), json!(part.needed(&["state"])?));
    part.copy(&mut body, &[("context", &["label"]), ("target_url", &["targetURL"])]);
    Ok(Json::Object(body))
}

fn deployment(part: Part<'_>, message: &str, revision: &str) -> Result<Deployment, Failure> {
    let mut fields = described(message);
    fields.insert("ref".to_owned(), json!(part.text(&["reference"]).unwrap_or(revision)));
    fields.insert("auto_merge".to_owned(), json!(part.flag("autoMerge").unwrap_or(true)));
    part.copy(&mut fields, &[("environment", &["environment"])]);
    if let Some(is_transient) = part.flag("transientEnvironment") {
        fields.insert("transient_environment".to_owned(), json!(is_transient));
    }
    if let Some(contexts) = part.data(&["requiredContexts"])? {
        if !contexts.is_array() {
            return Err(Failure::lasting("github.deployment.requiredContexts must be a list"));
        }
        fields.insert("required_contexts".to_owned(), contexts);
    }
    let status = part.text(&["state"]).map(|state| {
        let mut body = described(message);
        body.insert("state".to_owned(), json!(state));
        let pairs: [(&str, &[&str]); 3] =
            [("environment", &["environment"]), ("environment_url", &["environmentURL"]), ("log_url", &["logURL"])];
        part.copy(&mut body, &pairs);
        Json::Object(body)
    });
    Ok(Deployment { fields, status })
}

fn comment(part: Part<'_>, message: &str) -> Result<Comment, Failure> {
    let content = part.text(&["content"]).unwrap_or(message).trim_end();
    if content.is_empty() {
        return Err(Failure::lasting("github.pullRequestComment.content of the template is missing"));
    }
    let Some(tag) = part.text(&["commentTag"]).map(str::trim) else {
        return Ok(Comment { body: cut(content, MOST_COMMENT).to_owned(), marker: None });
    };
    if tag.len() > 200 || tag.contains("--") || tag.contains(['<', '>']) || tag.contains(char::is_control) {
        return Err(Failure::lasting(
            "github.pullRequestComment.commentTag must be one short line without --, < and >",
        ));
    }
    // Readers do not see it.
    let marker = format!("<!-- notification: {tag} -->");
    let room = MOST_COMMENT - marker.chars().count() - 2;
    Ok(Comment { body: format!("{}\n\n{marker}", cut(content, room)), marker: Some(marker) })
}

fn check_run(part: Part<'_>, message: &str, revision: &str) -> Result<Json, Failure> {
    let mut body = Map::new();
    let name = part.needed(&["name"])?;
    body.insert("name".to_owned(), json!(name));
    body.insert("head_sha".to_owned(), json!(revision));
    let pairs: [(&str, &[&str]); 6] = [
        ("status", &["status"]),
        ("conclusion", &["conclusion"]),
        ("details_url", &["detailsURL", "details_url"]),
        ("external_id", &["externalID", "external_id"]),
        ("started_at", &["startedAt", "started_at"]),
        ("completed_at", &["completedAt", "completed_at"]),
    ];
    part.copy(&mut body, &pairs);
    match part.data(&["output"])? {
        None => {}
        Some(Json::Object(mut output)) => {
            // GitHub wants both when there is any output.
            output.entry("title").or_insert_with(|| json!(name));
            output.entry("summary").or_insert_with(|| json!(message));
            body.insert("output".to_owned(), Json::Object(output));
        }
        Some(_) => return Err(Failure::lasting("github.checkRun.output must have fields such as title and summary")),
    }
    Ok(Json::Object(body))
}

fn dispatch(part: Part<'_>) -> Result<Json, Failure> {
    let kind = part.needed(&["eventType", "event_type"])?;
    Ok(match part.data(&["clientPayload", "client_payload"])? {
        None => json!({"event_type": kind}),
        Some(payload @ Json::Object(_)) => json!({"event_type": kind, "client_payload": payload}),
        Some(_) => return Err(Failure::lasting("github.repositoryDispatch.clientPayload must have fields")),
    })
}
