//! Amazon CloudWatch: GetMetricData over the query protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tidegate_api::analysis::{CloudWatchMetricDataQuery, CloudWatchMetricStat, CloudWatchProvider};
use tidegate_api::duration::GoDuration;
use tidegate_api::wire::{Items, Text};
use tidegate_expr::Value;

use crate::aws::{Signature, endpoint};
use crate::call::Call;
use crate::form::encoded;
use crate::go_values::float;
use crate::message::{Authorization, Method, Request, Response};
use crate::talk::{Failure, Reading, Talk, Turn};
use crate::xml::{self, Element};

const DEFAULT_INTERVAL: &str = "5m";
/// Pages that are read.
const MOST_PAGES: usize = 20;

/// A query to CloudWatch.
#[derive(Debug)]
pub struct CloudWatch {
    region: String,
    fields: Vec<(String, String)>,
    found: Vec<Found>,
    messages: Vec<String>,
    pages: usize,
}

/// What one query gave.
#[derive(Debug, Default)]
struct Found {
    id: String,
    label: String,
    status: String,
    values: Vec<f64>,
    timestamps: Vec<String>,
    messages: Vec<String>,
}

impl CloudWatch {
    /// The query of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = CloudWatchProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.cloud_watch.as_deref()).unwrap_or(&none);
        let text = match settings.interval.text() {
            "" => DEFAULT_INTERVAL,
            text => text,
        };
        let interval = GoDuration::parse(text).map_err(|error| error.to_string())?;
        let start = call.now.checked_sub(SignedDuration::from_nanos(interval.as_nanoseconds())).unwrap_or(call.now);
        let variable = |name| call.surroundings.variable(name);
        let region = variable("AWS_REGION").or(variable("AWS_DEFAULT_REGION"));
        let region = region.ok_or("no AWS region: set AWS_REGION for the controller")?.to_owned();
        let written = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut fields = vec![
            ("Action".to_owned(), "GetMetricData".to_owned()),
            ("Version".to_owned(), "2010-08-01".to_owned()),
            ("StartTime".to_owned(), written(start)),
            ("EndTime".to_owned(), written(call.now)),
        ];
        for (index, query) in settings.metric_data_queries.items().iter().enumerate() {
            query_fields(&format!("MetricDataQueries.member.{}", index + 1), query, &mut fields);
        }
        Ok(Self { region, fields, found: Vec::new(), messages: Vec::new(), pages: 0 })
    }

    fn request(&self, token: Option<&str>) -> Request {
        let fields = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let body = encoded(fields.chain(token.map(|token| ("NextToken", token))));
        let mut request = Request::new(Method::Post, endpoint("monitoring", &self.region))
            .header("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
            .body(body);
        request.authorization = Authorization::Aws(Signature {
            service: "monitoring".to_owned(),
            region: self.region.clone(),
            profile: String::new(),
            role_arn: String::new(),
        });
        request
    }

    /// Takes in one page; the same query may go on where the last page ended.
    fn take_in(&mut self, result: &Element) {
        for member in result.members("MetricDataResults") {
            let text = |name: &str| member.child(name).map(|child| child.text.clone()).unwrap_or_default();
            let id = text("Id");
            let index = self.found.iter().position(|known| known.id == id).unwrap_or_else(|| {
                self.found.push(Found { id, label: text("Label"), ..Found::default() });
                self.found.len() - 1
            });
            let found = &mut self.found[index];
            found.status = text("StatusCode");
            found.values.extend(member.members("Values").iter().filter_map(|value| value.text.parse::<f64>().ok()));
            found.timestamps.extend(member.members("Timestamps").iter().map(|at| at.text.clone()));
            found.messages.extend(member.members("Messages").iter().map(message));
        }
        self.messages.extend(result.members("Messages").iter().map(message));
    }

    fn reading(&self) -> Reading {
        let object = |found: &Found| {
            let texts = |texts: &[String]| Value::list(texts.iter().map(Value::text).collect());
            Value::Map(Arc::new(BTreeMap::from([
                ("Id".to_owned(), Value::text(&found.id)),
                ("Label".to_owned(), Value::text(&found.label)),
                ("StatusCode".to_owned(), Value::text(&found.status)),
                ("Values".to_owned(), Value::floats(found.values.iter().copied())),
                ("Timestamps".to_owned(), texts(&found.timestamps)),
                ("Messages".to_owned(), texts(&found.messages)),
            ])))
        };
        let shown = |found: &Found| {
            format!("[{}]", found.values.iter().map(|value| float(*value)).collect::<Vec<_>>().join(" "))
        };
        let value = format!("[{}]", self.found.iter().map(shown).collect::<Vec<_>>().join(" "));
        let mut reading = Reading::new(Value::list(self.found.iter().map(object).collect()), value);
        reading.keeps_value = true;
        let messages: Vec<&str> = self.messages.iter().map(String::as_str).collect();
        if !messages.is_empty() {
            reading.metadata.insert("messages".to_owned(), messages.join(", "));
        }
        reading
    }
}

fn message(element: &Element) -> String {
    let text = |name: &str| element.child(name).map(|child| child.text.clone()).unwrap_or_default();
    format!("{}: {}", text("Code"), text("Value"))
}

fn query_fields(prefix: &str, query: &CloudWatchMetricDataQuery, fields: &mut Vec<(String, String)>) {
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            fields.push((format!("{prefix}.{name}"), value));
        }
    };
    add("Id", query.id.text().to_owned());
    add("Expression", query.expression.text().to_owned());
    add("Label", query.label.text().to_owned());
    if let Some(stat) = &query.metric_stat {
        stat_fields(stat, &mut add);
    }
    add("Period", query.period.as_ref().map(|period| period.int_value().to_string()).unwrap_or_default());
    add("ReturnData", query.return_data.map(|returned| returned.to_string()).unwrap_or_default());
}

fn stat_fields(stat: &CloudWatchMetricStat, add: &mut impl FnMut(&str, String)) {
    if let Some(metric) = &stat.metric {
        add("MetricStat.Metric.Namespace", metric.namespace.text().to_owned());
        add("MetricStat.Metric.MetricName", metric.metric_name.text().to_owned());
        for (index, dimension) in metric.dimensions.items().iter().enumerate() {
            let place = format!("MetricStat.Metric.Dimensions.member.{}", index + 1);
            add(&format!("{place}.Name"), dimension.name.text().to_owned());
            add(&format!("{place}.Value"), dimension.value.text().to_owned());
        }
    }
    add("MetricStat.Period", stat.period.as_ref().map(|period| period.int_value().to_string()).unwrap_or_default());
    add("MetricStat.Stat", stat.stat.text().to_owned());
    add("MetricStat.Unit", stat.unit.text().to_owned());
}

impl Talk for CloudWatch {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request(None))))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        let document = xml::parse(&response.text()).map_err(|error| format!("CloudWatch: {error}"))?;
        if !response.is_success() {
            let (code, text) = (document.text_of("Code"), document.text_of("Message"));
            return Err(format!("CloudWatch answered {}: {code}: {text}", response.status).into());
        }
        let none = Element::default();
        let result = document.find("GetMetricDataResult").unwrap_or(&none);
        self.take_in(result);
        self.pages += 1;
        let token = result.child("NextToken").map(|token| token.text.clone()).filter(|token| !token.is_empty());
        match token {
            Some(token) if self.pages < MOST_PAGES => Ok(Turn::Ask(Box::new(self.request(Some(&token))))),
            _ => Ok(Turn::Done(self.reading())),
        }
    }
}
