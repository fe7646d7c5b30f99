//! `notifications`: what can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Shows, tries out and sends notifications of a configuration, from the cluster or from files.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  kubectl argo rollouts notifications trigger get\n  kubectl argo rollouts notifications trigger run on-rollout-completed guestbook\n  kubectl argo rollouts notifications template notify rollout-completed guestbook --recipient slack:my-channel\n  kubectl argo rollouts notifications template notify rollout-completed rollout.yaml --config-map config.yaml --secret :empty"
)]
pub(crate) struct Notifications {
    /// File with the ConfigMap, - for standard input; that of the namespace when left out
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config_map: Option<PathBuf>,
    /// File with the Secret, - for standard input, :empty for none; that of the namespace when left out
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) secret: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Option<NotificationsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum NotificationsCommand {
    /// Templates: what is said
    Template(NotificationTemplates),
    /// Triggers: when it is said
    Trigger(NotificationTriggers),
}

#[derive(Args)]
pub(crate) struct NotificationTemplates {
    #[command(subcommand)]
    pub(crate) command: Option<TemplateCommand>,
}

#[derive(Args)]
pub(crate) struct NotificationTriggers {
    #[command(subcommand)]
    pub(crate) command: Option<TriggerCommand>,
}

#[derive(Subcommand)]
pub(crate) enum TemplateCommand {
    /// Show templates
    Get(GetConfigured),
    /// Write a message about a Rollout and send it
    Notify(Notify),
}

#[derive(Subcommand)]
pub(crate) enum TriggerCommand {
    /// Show triggers
    Get(GetConfigured),
    /// Say which conditions of a trigger hold for a Rollout
    Run(RunTrigger),
}

/// How templates and triggers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfiguredForm {
    /// A table.
    Wide,
    /// Only names.
    Name,
    Yaml,
    Json,
}

/// Shows what is configured.
#[derive(Args)]
pub(crate) struct GetConfigured {
    /// Only this one
    pub(crate) name: Option<String>,
    /// Form: wide, name, yaml or json
    #[arg(short, long, value_name = "FORM", default_value = "wide")]
    pub(crate) output: String,
}

impl GetConfigured {
    /// The form that was asked for.
    pub(crate) fn form(&self) -> Result<ConfiguredForm, Failure> {
        match self.output.as_str() {
            "" | "wide" => Ok(ConfiguredForm::Wide),
            "name" => Ok(ConfiguredForm::Name),
            "yaml" => Ok(ConfiguredForm::Yaml),
            "json" => Ok(ConfiguredForm::Json),
            other => Err(Failure::said(format!("output '{other}' is not supported"))),
        }
    }
}

/// Writes a message about a Rollout and sends it. Without recipients it is printed.
#[derive(Args)]
pub(crate) struct Notify {
    /// The template, and a Rollout or a file with one
    #[arg(value_names = ["NAME", "ROLLOUT|FILE"], num_args = 0..)]
    pub(crate) words: Vec<String>,
    /// Who gets it, as SERVICE:RECIPIENT; may be repeated
    #[arg(long, value_name = "SERVICE:RECIPIENT", default_value = "console:stdout", value_delimiter = ',')]
    pub(crate) recipient: Vec<String>,
}

/// Says which conditions of a trigger hold for a Rollout.
#[derive(Args)]
pub(crate) struct RunTrigger {
    /// The trigger, and a Rollout or a file with one
    #[arg(value_names = ["NAME", "ROLLOUT|FILE"], num_args = 0..)]
    pub(crate) words: Vec<String>,
}
