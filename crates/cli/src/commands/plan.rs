//! `plan`: what an update will do, of a file or of a Rollout in the cluster.

use serde_json::Value;
use tidegate_api::raw::Raw;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::Text;
use tidegate_cluster::actions::with_image;
use tidegate_engine::SeenWorkload;
use tidegate_manifest::Source;
use tidegate_traffic::router::Selection;
use tidegate_validate::references::{self, Found, service_roles, template_references};
use tidegate_validate::spec;
use tidegate_view::{Forecast, RouterObjects, forecast, forecast_routes, forecast_text, harmless_metrics};

use super::Session;
use super::lint::File;
use super::printed::json;
use crate::arguments::{AnswerForm, Plan};
use crate::cluster::{self, ROLLOUTS, read_object};
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
        let found = file.all_found(rollout);
        let mut forecast = forecast(rollout, &found);
        refuse_first(&mut forecast, file.problems_with(rollout, found.clone()).iter().map(ToString::to_string));
        let select = |selection: &Selection| file.selected(rollout, selection);
        let routes = RouterObjects::among(rollout, |name| file.object(rollout, name), select);
        forecast_routes(&mut forecast, rollout, &routes, &found);
        forecast.warnings.extend(elsewhere(rollout, &found));
        forecast.refusals.extend(harmless_metrics(rollout, &found));
        forecasts.push(forecast);
    }
    tell(plan, &forecasts, streams)
}

/// What a Rollout names and its file does not hold: nobody knows whether it is there.
fn elsewhere(rollout: &Rollout, found: &Found) -> Vec<String> {
    let mut told = Vec::new();
    let services = service_roles(rollout).into_iter().filter(|role| !found.services.contains_key(role.name));
    told.extend(services.map(|role| format!("Service {}: not in this file, so it is not checked", role.name)));
    for reference in template_references(rollout).into_iter().flatten() {
        let is_cluster = reference.cluster_scope == Some(true);
        let looked = if is_cluster { &found.cluster_templates } else { &found.templates };
        let (kind, name) =
            (if is_cluster { "ClusterAnalysisTemplate" } else { "AnalysisTemplate" }, reference.template_name.text());
        if !looked.contains_key(name) {
            told.push(format!("{kind} {name}: not in this file, so it is not checked"));
        }
    }
    told.dedup();
    told
}

/// One Rollout of the cluster, with another image if one is given.
pub(crate) async fn of_cluster(session: &mut Session<'_, '_>, plan: &Plan) -> Result<Outcome, Failure> {
    let Some(name) = &plan.name else { return Err(Failure::Usage) };
    let mut object: Value = session.cluster.get(ROLLOUTS, name).await?;
    let rollout: Rollout = read_object(&object.to_string(), &format!("rollout {name:?}"))?;
    session.tell_if_newer(&rollout)?;
    let workload = workload(session, &rollout, plan).await?;
    let rollout = match (&plan.image, &workload) {
        (Some(image), None) => {
            let Some(template) = object.pointer_mut("/spec/template") else {
                return Err(Failure::said(format!("rollout {name:?} has no pod template")));
            };
            imaged(template, image)?;
            read_object(&object.to_string(), &format!("rollout {name:?}"))?
        }
        _ => rollout,
    };
    let (found, routes, hidden) = match cluster::named(&session.cluster, &rollout).await {
        Ok((found, seen)) => (found, RouterObjects { seen, ..RouterObjects::default() }, None),
        // What may not be read is told, and nothing is refused for want of it.
        Err(error) => {
            let told = format!("{error}: the objects it names are not checked");
            (Found::default(), RouterObjects::among(&rollout, |_| None, |_| Vec::new()), Some(told))
        }
    };
    let mut forecast = forecast(&rollout, &found);
    let template = workload.as_ref().map(|workload| &workload.template).or(rollout.spec.template.as_ref());
    let invalid =
        spec::check(&rollout, workload.as_ref()).into_iter().chain(references::check(&rollout, template, &found));
    refuse_first(&mut forecast, invalid.map(|error| error.to_string()));
    forecast_routes(&mut forecast, &rollout, &routes, &found);
    forecast.warnings.extend(hidden);
    forecast.refusals.extend(harmless_metrics(&rollout, &found));
    tell(plan, &[forecast], session.streams)
}

fn imaged(template: &mut Value, assignment: &str) -> Result<(), Failure> {
    let Some((container, image)) = assignment.split_once('=') else { return Err(Failure::Usage) };
    Ok(with_image(template, container, image)?)
}

/// The workload that lends its template, with the image that is asked for.
async fn workload(
    session: &Session<'_, '_>,
    rollout: &Rollout,
    plan: &Plan,
) -> Result<Option<spec::Workload>, Failure> {
    match cluster::workload(&session.cluster, rollout).await? {
        SeenWorkload::None => Ok(None),
        SeenWorkload::Missing(problem) => Err(Failure::said(problem)),
        SeenWorkload::Found(workload) => {
            let mut template = workload.template.to_value();
            if let Some(image) = &plan.image {
                imaged(&mut template, image)?;
            }
            Ok(Some(spec::Workload { template: Raw::from(&template), selector: workload.selector }))
        }
    }
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

/// What the controller would refuse comes before what it would carry out to no good.
fn refuse_first(forecast: &mut Forecast, problems: impl Iterator<Item = String>) {
    forecast.refusals.splice(0..0, problems);
}
