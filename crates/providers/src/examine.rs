//! What is wrong with the provider of a metric, as far as it can be told without asking anybody.

use tidegate_analysis::{Problem, Provider, provider};
use tidegate_api::analysis::{AnalysisRun, Metric};
use tidegate_api::wire::Text;

use crate::call::{Call, Surroundings};
use crate::talk::open;

/// What is wrong with the providers of metrics. What depends on arguments, Secrets or the environment is not looked at.
pub fn examine(metrics: &[Metric]) -> Vec<Problem> {
    metrics.iter().filter_map(problem).collect()
}

fn problem(metric: &Metric) -> Option<Problem> {
    let kind = provider(metric)?;
    let named = metric.provider.as_ref()?;
    if serde_json::to_string(named).is_ok_and(|text| text.contains("{{")) {
        return None;
    }
    let run = AnalysisRun::default();
    let at_fault = |field: &str, text: String| {
        Some(Problem { metric: Some(metric.name.text().to_owned()), field: field.to_owned(), text })
    };
    let field = match kind {
        Provider::Web => "provider.web",
        Provider::Prometheus if !named.prometheus.as_ref()?.address.text().is_empty() => "provider.prometheus",
        Provider::Graphite => "provider.graphite",
        Provider::Plugin => "provider.plugin",
        #[cfg(feature = "job")]
        Provider::Job => {
            let template = named.job.as_ref().and_then(|job| job.spec.as_ref()).map(|spec| spec.to_object());
            if template.is_none_or(|spec| !spec.contains_key("template")) {
                return at_fault("provider.job.spec.template", "a Job needs a pod template".to_owned());
            }
            let built = crate::job::build(&run, metric, 1, &crate::job::Place::default());
            return built.err().and_then(|failure| at_fault("provider.job", failure.text()));
        }
        _ => return None,
    };
    let surroundings = Surroundings::default();
    let call = Call {
        run: &run,
        metric,
        measurement: None,
        credentials: &std::collections::BTreeMap::new(),
        surroundings: &surroundings,
        now: jiff::Timestamp::UNIX_EPOCH,
    };
    let outcome = open(call).and_then(|mut talk| talk.begin().map(|_| ()));
    outcome.err().and_then(|failure| at_fault(field, failure.text()))
}
