//! Kayenta: judges a canary itself, in minutes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};
use tidegate_api::analysis::{KayentaProvider, KayentaScope, KayentaScopeDetail};
use tidegate_api::duration::GoDuration;
use tidegate_api::names::analysis_phase;
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};

use crate::call::Call;
use crate::form::encoded;
use crate::message::{Method, Request, Response};
use crate::talk::{Failure, Talk, Turn};

const TIMEOUT: Duration = Duration::from_secs(15);
const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(15);
const EXECUTION: &str = "canaryExecutionId";

/// A judgement under way.
#[derive(Debug)]
pub struct Kayenta<'a> {
    settings: &'a KayentaProvider,
    address: String,
    stage: Stage,
    scopes: Json,
}

#[derive(Debug)]
enum Stage {
    /// Looks for the configuration by name.
    Configuration,
    /// Starts the judgement.
    Execution,
    /// Asks for its result.
    Result(String),
}

impl<'a> Kayenta<'a> {
    /// The judgement of a metric; a measurement that is resumed names the one to ask for.
    pub fn new(call: Call<'a>) -> Result<Self, Failure> {
        let settings = call.metric.provider.as_ref().and_then(|named| named.kayenta.as_deref());
        let settings = settings.ok_or("no Kayenta settings")?;
        let address = settings.address.text().trim_end_matches('/').to_owned();
        if let Some(measurement) = call.measurement {
            let id = measurement.metadata.as_ref().and_then(|notes| notes.get(EXECUTION)).cloned().unwrap_or_default();
            return Ok(Self { settings, address, stage: Stage::Result(id), scopes: Json::Null });
        }
        let scopes = scopes(settings, call)?;
        Ok(Self { settings, address, stage: Stage::Configuration, scopes })
    }

    fn configuration(&self) -> Request {
        let query = encoded([
            ("application", self.settings.application.text()),
            // The account that stores results is what the original asks with.
            ("configurationAccountName", self.settings.storage_account_name.text()),
        ]);
        Request::new(Method::Get, format!("{}/canaryConfig?{query}", self.address)).within(TIMEOUT)
    }

    fn execution(&self, configuration: &str) -> Request {
        let query = encoded([
            ("application", self.settings.application.text()),
            ("metricsAccountName", self.settings.metrics_account_name.text()),
            ("configurationAccountName", self.settings.configuration_account_name.text()),
            ("storageAccountName", self.settings.storage_account_name.text()),
        ]);
        let (pass, marginal) = self.thresholds();
        let body = json!({"scopes": self.scopes, "thresholds": {"pass": pass, "marginal": marginal}});
        Request::new(Method::Post, format!("{}/canary/{configuration}?{query}", self.address))
            .header("Content-Type", "application/json")
            .body(body.to_string())
            .within(TIMEOUT)
    }

    fn thresholds(&self) -> (i64, i64) {
        let threshold = self.settings.threshold.as_ref();
        let number =
            |pick: fn(&tidegate_api::analysis::KayentaThreshold) -> Option<i64>| threshold.and_then(pick).unwrap_or(0);
        (number(|threshold| threshold.pass), number(|threshold| threshold.marginal))
    }

    fn judged(&self, response: &Response) -> Result<Turn, Failure> {
        if response.status != 200 {
            return Err("Invalid Response".into());
        }
        let body = response.json()?;
        match body["complete"].as_bool() {
            None => return Err("Missing Complete Status".into()),
            Some(false) => return Ok(Turn::Later { metadata: BTreeMap::new(), wait: LOOK_AGAIN }),
            Some(true) => {}
        }
        let score = body["result"]["judgeResult"]["score"]["score"].as_f64().ok_or("Missing Score")? as i64;
        let (pass, marginal) = self.thresholds();
        let phase = match score {
            _ if score >= pass => analysis_phase::SUCCESSFUL,
            _ if score >= marginal => analysis_phase::INCONCLUSIVE,
            _ => analysis_phase::FAILED,
        };
        Ok(Turn::Judged { phase, value: score.to_string() })
    }
}

impl Talk for Kayenta<'_> {
    fn begin(&mut self) -> Result<Turn, Failure> {
        let request = match &self.stage {
            Stage::Result(id) => Request::new(Method::Get, format!("{}/canary/{id}", self.address)).within(TIMEOUT),
            _ => self.configuration(),
        };
        Ok(Turn::Ask(Box::new(request)))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        match self.stage {
            Stage::Configuration => {
                if response.status != 200 {
                    return Err(format!("Invalid Response: HTTP {}", response.status).into());
                }
                let body = response.json()?;
                let wanted = self.settings.canary_config_name.text();
                let mut entries = body.as_array().into_iter().flatten();
                let id = entries.find(|entry| entry["name"] == wanted).and_then(|entry| entry["id"].as_str());
                let id = id.ok_or("Canary config not found")?;
                self.stage = Stage::Execution;
                Ok(Turn::Ask(Box::new(self.execution(id))))
            }
            Stage::Execution => {
                if response.status != 200 {
                    return Err("Invalid Response".into());
                }
                let body = response.json()?;
                match body[EXECUTION].as_str() {
                    Some(id) if !id.is_empty() => Ok(Turn::Later {
                        metadata: BTreeMap::from([(EXECUTION.to_owned(), id.to_owned())]),
                        wait: LOOK_AGAIN,
                    }),
                    _ => Err("Invalid canaryExecutionId".into()),
                }
            }
            Stage::Result(_) => self.judged(response),
        }
    }
}

fn scopes(settings: &KayentaProvider, call: Call<'_>) -> Result<Json, Failure> {
    let mut all = serde_json::Map::new();
    for scope in settings.scopes.items() {
        let none = KayentaScopeDetail::default();
        let control = scope.control_scope.as_ref().unwrap_or(&none);
        let experiment = scope.experiment_scope.as_ref().unwrap_or(&none);
        let both = |control: &Option<String>, experiment: &Option<String>, field: &str| match (
            control.text().is_empty(),
            experiment.text().is_empty(),
        ) {
            (true, true) => Ok(true),
            (false, false) => Ok(false),
            _ => Err(Failure::Error(format!(
                "controlScope.{field} and experimentScope.{field} must both be set or be empty"
            ))),
        };
        let start =
            if both(&control.start, &experiment.start, "start")? { Some(default_start(settings, call)?) } else { None };
        let end = both(&control.end, &experiment.end, "end")?.then(|| Time::from(call.now).0);
        all.insert(
            scope_name(scope),
            json!({
                "controlScope": detail(control, start.as_deref(), end.as_deref()),
                "experimentScope": detail(experiment, start.as_deref(), end.as_deref()),
            }),
        );
    }
    Ok(Json::Object(all))
}

fn scope_name(scope: &KayentaScope) -> String {
    scope.name.text().to_owned()
}

fn default_start(settings: &KayentaProvider, call: Call<'_>) -> Result<String, Failure> {
    if settings.lookback == Some(true) {
        let started = call.run.status.as_ref().and_then(|status| status.started_at.clone());
        return Ok(started.unwrap_or_else(|| Time::from(call.now)).0);
    }
    let interval = call.metric.interval.text();
    let parsed = GoDuration::parse(interval).map_err(|error| format!("Invalid duration \"{interval}\": {error}"))?;
    let start: Timestamp =
        call.now.checked_sub(SignedDuration::from_nanos(parsed.as_nanoseconds())).unwrap_or(call.now);
    Ok(Time::from(start).0)
}

fn detail(scope: &KayentaScopeDetail, start: Option<&str>, end: Option<&str>) -> Json {
    json!({
        "scope": scope.scope.text(),
        "location": scope.region.text(),
        "step": scope.step,
        "start": start.unwrap_or(scope.start.text()),
        "end": end.unwrap_or(scope.end.text()),
    })
}
