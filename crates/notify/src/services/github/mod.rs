//! GitHub, as an app that is installed there: a token, then one call after the other.

mod app;
mod call;
mod repository;

use std::collections::VecDeque;

use serde_json::{Value as Json, json};

use self::app::App;
use self::call::{Call, Comment, Deployment};
use self::repository::Repository;
use super::token::Token;
use super::{Delivery, Opened, Options, escaped};
use crate::message::{Conversation, Failure, HttpRequest, Response, Turn};

/// Pull requests of one commit that are commented on.
const MOST_PULL_REQUESTS: usize = 5;
/// Comments on one page, and pages of one pull request that are searched.
const PAGE: usize = 100;
const MOST_PAGES: u32 = 3;

struct GitHub {
    app: App,
    token: Token,
    repository: Repository,
    revision: String,
    calls: VecDeque<Call>,
    /// The call that is under way; none while a token is asked for.
    current: Option<Call>,
    /// The commit has had enough statuses; everything else is still told.
    enough: Option<Failure>,
}

/// What can be said of the options before anything is sent.
pub(super) fn examine(options: &Options) -> Result<(), String> {
    App::read(options).map(drop)
}

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let app = App::read(options).map_err(Failure::lasting)?;
    let needed = |field: &str| {
        let missing = || Failure::lasting(format!("github.{field} of the template is missing or empty"));
        notification.text("github", field).map(str::trim).ok_or_else(missing)
    };
    // The address is not shown: some hold a password.
    let repository = Repository::read(needed("repoURLPath")?).ok_or_else(|| {
        let example = "https://github.com/owner/name";
        Failure::lasting(format!(
            "github.repoURLPath of the template gives no address of a repository such as {example}"
        ))
    })?;
    let revision = needed("revisionPath")?;
    if revision.len() > 255 || revision.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Failure::lasting("github.revisionPath of the template gives no revision of Git"));
    }
    let credentials = [app.api.as_str(), &app.id, &options.text("installationID"), &options.text("privateKey")];
    Ok(Box::new(GitHub {
        token: Token::recall(delivery, &credentials),
        calls: call::calls(notification, revision)?,
        repository,
        revision: revision.to_owned(),
        app,
        current: None,
        enough: None,
    }))
}

impl GitHub {
    fn next(&mut self) -> Result<Turn, Failure> {
        let Some(token) = self.token.value() else {
            self.current = None;
            return self.app.ask(self.token.now()).map(Turn::Ask);
        };
        match self.calls.pop_front() {
            Some(call) => {
                let request = self.request(&call, token);
                self.current = Some(call);
                Ok(Turn::Ask(request))
            }
            None => self.enough.take().map_or(Ok(Turn::Done(Vec::new())), Err),
        }
    }

    fn request(&self, call: &Call, token: &str) -> HttpRequest {
        let (method, path, body) = self.called(call);
        let path = format!("repos/{}/{}/{path}", self.repository.owner, self.repository.name);
        let request = self.app.request(method, &path, token);
        match body {
            Some(body) => request.header("Content-Type", "application/json").body(body.to_string()),
            None => request,
        }
    }

    /// Method, path below the repository, and body.
    fn called(&self, call: &Call) -> (&'static str, String, Option<Json>) {
        let revision = escaped(&self.revision);
        let comment = |comment: &Comment| Some(json!({"body": comment.body}));
        match call {
            Call::Status(body) => ("POST", format!("statuses/{revision}"), Some(body.clone())),
            Call::FindDeployment(deployment) => ("GET", search(deployment), None),
            Call::CreateDeployment(deployment) => {
                ("POST", "deployments".to_owned(), Some(Json::Object(deployment.fields.clone())))
            }
            Call::DeploymentStatus(id, body) => ("POST", format!("deployments/{id}/statuses"), Some(body.clone())),
            Call::PullRequests(_) => ("GET", format!("commits/{revision}/pulls"), None),
            Call::FindComment(pull, page, _) => {
                ("GET", format!("issues/{pull}/comments?per_page={PAGE}&page={page}"), None)
            }
            Call::CreateComment(pull, content) => ("POST", format!("issues/{pull}/comments"), comment(content)),
            Call::UpdateComment(id, content) => ("PATCH", format!("issues/comments/{id}"), comment(content)),
            Call::CheckRun(body) => ("POST", "check-runs".to_owned(), Some(body.clone())),
            Call::Dispatch(body) => ("POST", "dispatches".to_owned(), Some(body.clone())),
        }
    }

    /// What follows from an answer to a call that went well.
    fn follow(&mut self, call: Call, answer: &Json) -> Result<(), Failure> {
        let list = || {
            let wrong = || Failure::lasting(format!("github's answer to {} is no list", call.name()));
            answer.as_array().ok_or_else(wrong)
        };
        let ids =
            |items: &[Json], field: &str| items.iter().filter_map(|item| item[field].as_u64()).collect::<Vec<_>>();
        match &call {
            Call::FindDeployment(deployment) => match (ids(list()?, "id").first(), &deployment.status) {
                (Some(id), Some(status)) => self.calls.push_front(Call::DeploymentStatus(*id, status.clone())),
                _ => self.calls.push_front(Call::CreateDeployment(deployment.clone())),
            },
            Call::CreateDeployment(deployment) => {
                let Some(id) = answer["id"].as_u64() else {
                    // So it is answered after a merge into the branch: the next try deploys it.
                    return Err(Failure::passing("github merged first and made no deployment yet"));
                };
                if let Some(status) = deployment.status.clone() {
                    self.calls.push_front(Call::DeploymentStatus(id, status));
                }
            }
            Call::PullRequests(comment) => {
                for pull in ids(list()?, "number").into_iter().take(MOST_PULL_REQUESTS).rev() {
                    self.calls.push_front(match comment.marker {
                        Some(_) => Call::FindComment(pull, 1, comment.clone()),
                        None => Call::CreateComment(pull, comment.clone()),
                    });
                }
            }
            Call::FindComment(pull, page, comment) => {
                let (pull, page, comment, items) = (*pull, *page, comment.clone(), list()?);
                self.calls.push_front(match items.iter().find(|item| self.is_same(item, &comment)) {
                    Some(item) => Call::UpdateComment(item["id"].as_u64().unwrap_or_default(), comment),
                    None if items.len() >= PAGE && page < MOST_PAGES => Call::FindComment(pull, page + 1, comment),
                    None => Call::CreateComment(pull, comment),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a comment is an earlier one of ours. People quote comments, but they do not end with the marker then.
    fn is_same(&self, item: &Json, comment: &Comment) -> bool {
        let (Some(marker), Some(body)) = (&comment.marker, item["body"].as_str()) else { return false };
        let author = &item["performed_via_github_app"]["id"];
        let is_other = author.as_u64().is_some_and(|id| self.app.id.parse().is_ok_and(|own: u64| own != id));
        item["id"].is_u64() && body.trim_end().ends_with(marker.as_str()) && !is_other
    }
}

/// The newest deployment of the same reference to the same environment.
fn search(deployment: &Deployment) -> String {
    let reference = escaped(deployment.text("ref").unwrap_or_default());
    let environment = deployment.text("environment").map(escaped);
    let environment = environment.map(|name| format!("&environment={name}")).unwrap_or_default();
    format!("deployments?ref={reference}{environment}&per_page=1")
}

/// Why a call did not go well.
fn refusal(call: &Call, response: &Response) -> Failure {
    let (status, body) = (response.status, response.text());
    let text = format!("github refused {} with status {status}: {body}", call.name());
    let body = body.to_ascii_lowercase();
    let is_enough = body.contains("too many statuses") || body.contains("maximum number of statuses");
    if matches!(call, Call::Status(_)) && is_enough {
        return Failure::finally(text);
    }
    // Who is too fast hears 403 as well.
    if status == 403 && body.contains("rate limit") { Failure::passing(text) } else { Failure::of_status(status, text) }
}

impl Conversation for GitHub {
    fn begin(&mut self) -> Result<Turn, Failure> {
        self.next()
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        let Some(call) = self.current.take() else {
            App::hear(response, &mut self.token)?;
            return self.next();
        };
        if response.is_success() {
            if call.makes_something() && response.status == 200 {
                // A repository that has moved, and its new place was only looked at.
                let text =
                    format!("github made nothing of {}: is the address of the repository an old one?", call.name());
                return Err(Failure::lasting(text));
            }
            self.follow(call, &response.json())?;
            return self.next();
        }
        if response.status == 401 && self.token.refused() {
            self.calls.push_front(call);
            return self.next();
        }
        let failure = refusal(&call, response);
        if !failure.is_final {
            return Err(failure);
        }
        self.enough = Some(failure);
        self.next()
    }

    fn learned(&mut self) -> Vec<(String, String)> {
        self.token.learned()
    }
}
