//! What the spec of a run must look like.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};
use tidegate_api::analysis::{AnalysisRunSpec, Metric};
use tidegate_api::defaults::CONSECUTIVE_ERROR_LIMIT;
use tidegate_api::duration::GoDuration;
use tidegate_api::values::IntOrString;
use tidegate_api::wire::{Items, Text};

/// All broken rules in the contract's order; the first ends the run. Metrics must have their arguments substituted.
pub fn check_run(spec: &AnalysisRunSpec) -> Vec<String> {
    let metrics = spec.metrics.items();
    if metrics.is_empty() {
        return vec!["no metrics specified".to_owned()];
    }
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (index, metric) in metrics.iter().enumerate() {
        let name = metric.name.text();
        if !names.insert(name) {
            problems.push(format!("metrics[{index}]: duplicate name '{name}'"));
        }
        problems.extend(metric_problems(metric).into_iter().map(|problem| format!("metrics[{index}]: {problem}")));
    }
    let dry_run = spec.dry_run.items().iter().map(|rule| rule.metric_name.text());
    problems.extend(unmatched("dryRun", dry_run, &names));
    let retention = spec.measurement_retention.items().iter().map(|rule| rule.metric_name.text());
    problems.extend(unmatched("measurementRetention", retention, &names));
    problems
}

/// How many measurements a metric takes; `None` means without end.
pub fn effective_count(metric: &Metric) -> Option<i32> {
    match metric.count.as_ref().map_or(0, IntOrString::int_value) {
        0 if metric.interval.text().is_empty() => Some(1),
        0 => None,
        count => Some(count),
    }
}

/// A rule that names metrics: a regular expression searched in the name, or `*` for all. `None` when it is none.
pub fn name_rule(rule: &str) -> Option<Regex> {
    RegexBuilder::new(if rule == "*" { ".*" } else { rule }).size_limit(1 << 20).build().ok()
}

/// Rules that name no metric, and rules that are no regular expression.
fn unmatched<'a>(field: &str, rules: impl Iterator<Item = &'a str>, names: &BTreeSet<&str>) -> Vec<String> {
    let problem = |(index, rule): (usize, &str)| match name_rule(rule) {
        Some(regex) if names.iter().any(|name| regex.is_match(name)) => None,
        Some(_) => Some(format!("{field}[{index}]: Rule didn't match any metric name(s)")),
        None => Some(format!("{field}[{index}]: metricName {rule:?} is no regular expression")),
    };
    rules.enumerate().filter_map(problem).collect()
}

fn metric_problems(metric: &Metric) -> Vec<String> {
    let mut problems = not_numbers(metric);
    let number = |value: &Option<IntOrString>| value.as_ref().map_or(0, IntOrString::int_value);
    let (count, failures) = (number(&metric.count), number(&metric.failure_limit));
    let (successes, inconclusive) = (number(&metric.consecutive_success_limit), number(&metric.inconclusive_limit));
    let errors = metric.consecutive_error_limit.as_ref().map_or(CONSECUTIVE_ERROR_LIMIT, IntOrString::int_value);
    let mut rule = |broken: bool, problem: &str| {
        if broken {
            problems.push(problem.to_owned());
        }
    };
    rule(successes < 0, "consecutiveSuccessLimit must be >= 0");
    rule(failures < -1, "failureLimit must be >= 0, or -1 to be disabled");
    rule(failures == -1 && successes == 0, "failureLimit and consecutiveSuccessLimit cannot both be disabled");
    rule(inconclusive < 0, "inconclusiveLimit must be >= 0");
    rule(errors < 0, "consecutiveErrorLimit must be >= 0");
    if count > 0 {
        let wanted = i64::from(failures) + i64::from(successes);
        rule(
            failures >= 0 && i64::from(count) < wanted,
            &format!(
                "count ({count}) must be >= failureLimit + consecutiveSuccessLimit ({failures} + {successes}) if both >= 0"
            ),
        );
        rule(failures == -1 && count < successes, "count must be >= consecutiveSuccessLimit");
        rule(count < inconclusive, "count must be >= inconclusiveLimit");
    }
    let interval = metric.interval.text();
    rule(count > 1 && interval.is_empty(), "interval must be specified when count > 1");
    let duration = |text: &str| (!text.is_empty()).then(|| GoDuration::parse(text).err()).flatten();
    if let Some(error) = duration(interval) {
        rule(true, &format!("invalid interval string: {error}"));
    }
    if let Some(error) = duration(metric.initial_delay.text()) {
        rule(true, &format!("invalid startDelay string: {error}"));
    }
    match providers(metric) {
        0 => rule(true, "no provider specified"),
        1 => {}
        _ => rule(true, "multiple providers specified"),
    }
    problems
}

/// Text that is no number would silently count as 0, so it is refused.
fn not_numbers(metric: &Metric) -> Vec<String> {
    let fields = [
        ("count", &metric.count),
        ("failureLimit", &metric.failure_limit),
        ("inconclusiveLimit", &metric.inconclusive_limit),
        ("consecutiveErrorLimit", &metric.consecutive_error_limit),
        ("consecutiveSuccessLimit", &metric.consecutive_success_limit),
    ];
    let bad = fields.into_iter().filter_map(|(name, value)| match value {
        Some(IntOrString::Text(text)) if text.parse::<i32>().is_err() => {
            Some(format!("{name} must be a whole number, found {text:?}"))
        }
        _ => None,
    });
    bad.collect()
}

fn providers(metric: &Metric) -> usize {
    let Some(provider) = &metric.provider else { return 0 };
    let named = [
        provider.cloud_watch.is_some(),
        provider.datadog.is_some(),
        provider.graphite.is_some(),
        provider.influxdb.is_some(),
        provider.job.is_some(),
        provider.kayenta.is_some(),
        provider.new_relic.is_some(),
        provider.prometheus.is_some(),
        provider.skywalking.is_some(),
        provider.wavefront.is_some(),
        provider.web.is_some(),
    ];
    let plugins = provider.plugin.as_ref().map_or(0, |plugins| plugins.to_object().len());
    named.into_iter().filter(|set| *set).count() + plugins
}
