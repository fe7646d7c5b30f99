//! Secrets, read from the API when they are needed and kept nowhere.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tidegate_analysis::{SecretState, Secrets};
use tidegate_providers::{SecretName, SecretSource};

use crate::error::REQUEST_TIMEOUT;

/// Reads Secrets of the cluster.
pub(super) struct Vault(pub Client);

/// Why a Secret is not there.
enum Lack {
    Missing,
    Unreadable(String),
}

impl Vault {
    async fn get(&self, namespace: &str, name: &str) -> Result<BTreeMap<String, Vec<u8>>, Lack> {
        let api: Api<Secret> = Api::namespaced(self.0.clone(), namespace);
        match tokio::time::timeout(REQUEST_TIMEOUT, api.get(name)).await {
            Ok(Ok(secret)) => Ok(secret.data.into_iter().flatten().map(|(key, content)| (key, content.0)).collect()),
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Err(Lack::Missing),
            Ok(Err(kube::Error::Api(status))) => Err(Lack::Unreadable(status.message)),
            Ok(Err(error)) => Err(Lack::Unreadable(format!("cannot read secret '{name}': {error}"))),
            Err(_) => Err(Lack::Unreadable(format!("cannot read secret '{name}': no answer"))),
        }
    }

    /// What a step asks for, each Secret read once.
    pub(super) async fn read_all(&self, namespace: &str, wanted: &BTreeSet<(String, String)>) -> Secrets {
        let names: BTreeSet<&String> = wanted.iter().map(|(name, _)| name).collect();
        let mut secrets = Secrets::new();
        for name in names {
            let read = self.get(namespace, name).await;
            for (_, key) in wanted.iter().filter(|(secret, _)| secret == name) {
                secrets.insert((name.clone(), key.clone()), state(&read, name, key));
            }
        }
        secrets
    }
}

fn state(read: &Result<BTreeMap<String, Vec<u8>>, Lack>, name: &str, key: &str) -> SecretState {
    match read {
        Ok(content) => match content.get(key) {
            Some(bytes) => SecretState::Found(String::from_utf8_lossy(bytes).into_owned()),
            None => SecretState::no_key(name, key),
        },
        Err(Lack::Missing) => SecretState::no_secret(name),
        Err(Lack::Unreadable(text)) => SecretState::Unreadable(text.clone()),
    }
}

impl SecretSource for Vault {
    fn read<'a>(&'a self, secret: &'a SecretName) -> BoxFuture<'a, Result<BTreeMap<String, String>, String>> {
        Box::pin(async move {
            match self.get(&secret.namespace, &secret.name).await {
                Ok(content) => Ok(content
                    .into_iter()
                    .map(|(key, bytes)| (key, String::from_utf8_lossy(&bytes).into_owned()))
                    .collect()),
                Err(Lack::Missing) => Err(format!("secrets \"{}\" not found", secret.name)),
                Err(Lack::Unreadable(text)) => Err(text),
            }
        })
    }
}
