//! `plan`: what an update will do, of a file or of a Rollout in the cluster.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::analysis::{AnalysisTemplateSpec, Metric};
use tidegate_api::rollout::Rollout;
use tidegate_api::values::IntOrString;
use tidegate_api::wire::{Items, Text};
use tidegate_manifest::Source;
use tidegate_traffic::istio::names::VirtualServiceName;
use tidegate_validate::references::Lookup;
use tidegate_validate::spec;
use tidegate_view::{Forecast, forecast, forecast_routes, forecast_text, named_virtual_services};

use super::Session;
use super::lint::File;
use super::printed::json;
use super::set::with_image;
use crate::arguments::{AnswerForm, Plan};
use crate::cluster::{ROLLOUTS, VIRTUAL_SERVICES, read_object};
use crate::failure::Failure;
use crate::{Outcome, Streams};

/// Exit codes.
const REFUSED: Outcome = Outcome::Other(2);
const WARNED: Outcome = Outcome::Other(3);

/// Every Rollout of a file; nothing is asked of a cluster.
pub(crate) fn of_file(plan: &Plan, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let Some(path) = &plan.filename else { return Err(Failure::Usage) };
    let source = Source::read(path).map_err(Failure::Manifest)?;
    let file = File::read(&source).map_err(Failure::Manifest)?;
    if file.rollouts.is_empty() {
        return Err(Failure::said(format!("{}: there is no Rollout in it", path.display())));
    }
    let mut forecasts = Vec::new();
    for rollout in &file.rollouts {
        let mut forecast = forecast(rollout);
        forecast.refusals.extend(file.problems(rollout).iter().map(ToString::to_string));
        let found = file.found(rollout).virtual_services.into_iter().filter_map(|(name, found)| match found {
            Lookup::Found(object) => Some((name, object)),
            _ => None,
        });
        forecast_routes(&mut forecast, rollout, &found.collect());
        forecast.warnings.extend(file.templates.iter().flat_map(|(name, spec)| harmless(name, spec)));
        forecasts.push(forecast);
    }
    tell(plan, &forecasts, streams)
}

/// One Rollout of the cluster, with another image if one is given.
pub(crate) async fn of_cluster(session: &mut Session<'_, '_>, plan: &Plan) -> Result<Outcome, Failure> {
    let Some(name) = &plan.name else { return Err(Failure::Usage) };
    let mut object: Value = session.cluster.get(ROLLOUTS, name).await?;
    if let Some(image) = &plan.image {
        let Some((container, image)) = image.split_once('=') else { return Err(Failure::Usage) };
        let Some(template) = object.pointer_mut("/spec/template") else {
            return Err(Failure::said(format!("rollout {name:?} has no pod template of its own")));
        };
        with_image(template, container, image)?;
    }
    let rollout: Rollout = read_object(&object.to_string(), &format!("rollout {name:?}"))?;
    let mut forecast = forecast(&rollout);
    forecast.refusals.extend(spec::check(&rollout, None).iter().map(ToString::to_string));
    let mut found: BTreeMap<VirtualServiceName, Value> = BTreeMap::new();
    for name in named_virtual_services(&rollout) {
        let path = VIRTUAL_SERVICES.object(&name.namespace, &name.name).map_err(Failure::Said)?;
        // What cannot be read is named in a warning.
        if let Ok(object) = session.cluster.at(&path, "the VirtualService").await {
            found.insert(name, object);
        }
    }
    forecast_routes(&mut forecast, &rollout, &found);
    tell(plan, &[forecast], session.streams)
}

fn tell(plan: &Plan, forecasts: &[Forecast], streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    match plan.output {
        AnswerForm::Json => streams.out.write_all(json(&forecasts)?.as_bytes())?,
        AnswerForm::Text => {
            for (index, forecast) in forecasts.iter().enumerate() {
                if forecasts.len() > 1 {
                    writeln!(streams.out, "{}Rollout/{}", if index > 0 { "\n" } else { "" }, forecast.name)?;
                }
                streams.out.write_all(forecast_text(forecast).as_bytes())?;
            }
        }
    }
    if let Some(refusal) = forecasts.iter().flat_map(|forecast| &forecast.refusals).next() {
        writeln!(streams.err, "Error: {refusal}")?;
        return Ok(REFUSED);
    }
    let is_warned = plan.strict && forecasts.iter().any(|forecast| !forecast.warnings.is_empty());
    Ok(if is_warned { WARNED } else { Outcome::Success })
}

/// Metrics of a template that pass whatever is measured.
fn harmless(template: &str, spec: &AnalysisTemplateSpec) -> Vec<String> {
    let names = spec.metrics.items().iter().filter(|metric| never_fails(metric)).map(|metric| metric.name.text());
    names.map(|name| format!("template {template}: metric {name} can never fail")).collect()
}

fn never_fails(metric: &Metric) -> bool {
    let accepts_all = metric.failure_limit.as_ref().is_some_and(|limit: &IntOrString| limit.int_value() < 0);
    let has_condition = !metric.success_condition.text().is_empty() || !metric.failure_condition.text().is_empty();
    // Jobs, Kayenta and plugins judge by themselves.
    let judges = metric
        .provider
        .as_ref()
        .is_some_and(|provider| provider.job.is_some() || provider.kayenta.is_some() || provider.plugin.is_some());
    accepts_all || !(has_condition || judges)
}
