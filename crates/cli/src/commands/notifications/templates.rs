//! `template get` and `template notify`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use tidegate_clock::Clock;
use tidegate_delivery::{Job, Network, Sender, Silent};
use tidegate_expr::Value;
use tidegate_notify::{Config, Destination, Sending};
use tidegate_providers::client::Roots;
use tidegate_providers::{Client, Hosts, Proxies};

use super::listing::{Listing, warn};
use super::source::Source;
use super::two;
use crate::arguments::{GetConfigured, Notify};
use crate::cluster::Cluster;
use crate::commands::printed::yaml;
use crate::failure::Failure;
use crate::{Outcome, Streams};

/// A preview is at most so long.
const PREVIEW: usize = 100;
/// The service that prints.
const CONSOLE: &str = "console";

pub(super) async fn get(
    get: &GetConfigured,
    source: &mut Source<'_, impl AsyncFn() -> Result<Cluster, Failure>>,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    let form = get.form()?;
    let config = source.config().await?;
    let listing = Listing {
        all: &config.templates,
        head: ["NAME", "PREVIEW"],
        rows: |name, template| vec![[name.to_owned(), preview(&template.source)]],
        source: |template| template.source.clone(),
    };
    listing.show(get, form, &config, streams)
}

/// The first line of the message, or everything when there is none.
fn preview(template: &Json) -> String {
    let message = template["message"].as_str().unwrap_or_default();
    let whole = if message.is_empty() { template.to_string() } else { message.to_owned() };
    let line = whole.lines().next().unwrap_or_default();
    if line.len() <= PREVIEW {
        return line.to_owned();
    }
    let end = (0..PREVIEW).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
    format!("{}...", &line[..end])
}

pub(super) async fn notify(
    notify: &Notify,
    source: &mut Source<'_, impl AsyncFn() -> Result<Cluster, Failure>>,
    clock: Clock,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    let (name, resource) = two(&notify.words)?;
    let config = source.config().await?;
    warn(&config, streams)?;
    let variables = source.variables(resource, &config).await?;
    let post = Post { config: Arc::new(config), variables: Arc::new(variables), clock };
    let mut outcome = Outcome::Success;
    for recipient in &notify.recipient {
        if let Err(problem) = post.deliver(name, resource, recipient, streams).await? {
            writeln!(streams.err, "Error: failed to notify '{recipient}': {problem}")?;
            outcome = Outcome::Failure;
        }
    }
    Ok(outcome)
}

struct Post {
    config: Arc<Config>,
    variables: Arc<BTreeMap<String, Value>>,
    clock: Clock,
}

impl Post {
    /// Sends one message; says what went wrong with it.
    async fn deliver(
        &self,
        template: &str,
        resource: &str,
        recipient: &str,
        streams: &mut Streams<'_>,
    ) -> Result<Result<(), String>, Failure> {
        let Some((service, recipient)) = recipient.split_once(':') else {
            return Ok(Err("a recipient is written SERVICE:RECIPIENT".to_owned()));
        };
        let sending = Sending {
            trigger: String::new(),
            destination: Destination { service: service.to_owned(), recipient: recipient.to_owned() },
            templates: vec![template.to_owned()],
        };
        if service == CONSOLE {
            let written = match self.config.notification(&sending, &self.variables, self.clock.now()) {
                Ok(written) => written,
                Err(failure) => return Ok(Err(failure.to_string())),
            };
            let mut fields: Map<String, Json> = written.sections.into_iter().collect();
            fields.insert("message".to_owned(), written.message.into());
            streams.out.write_all(yaml(&Json::Object(fields))?.as_bytes())?;
            return Ok(Ok(()));
        }
        let client =
            Client::new(Hosts::default(), Proxies::from_environment(&std::env::vars().collect()), Roots::System);
        let client = client.map_err(|error| Failure::said(error.to_string()))?;
        let carrier = Arc::new(Network::new(client, self.clock));
        let (sender, sending_all) = Sender::new(carrier, Arc::new(Silent), self.clock);
        let config = (String::new(), Arc::clone(&self.config));
        let job = Job { config, sending, variables: Arc::clone(&self.variables), resource: resource.to_owned() };
        let receipt = sender.send(job);
        drop(sender);
        sending_all.await;
        Ok(match receipt {
            Some(receipt) => receipt
                .await
                .map_or_else(|_| Err("it was given up".to_owned()), |sent| sent.map_err(|failure| failure.to_string())),
            None => Err("it was given up".to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preview_is_the_first_line_of_the_message_or_the_whole_template_and_never_long() {
        assert_eq!(preview(&json!({"message": "one\ntwo"})), "one");
        assert_eq!(preview(&json!({"email": {"subject": "s"}})), r#"{"email":{"subject":"s"}}"#);
        assert_eq!(preview(&json!({"message": "x".repeat(100)})), "x".repeat(100));
        assert_eq!(preview(&json!({"message": "x".repeat(101)})), format!("{}...", "x".repeat(99)));
        assert_eq!(preview(&json!({"message": "ä".repeat(60)})), format!("{}...", "ä".repeat(49)));
    }
}
