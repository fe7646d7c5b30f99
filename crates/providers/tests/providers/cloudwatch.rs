//! Amazon CloudWatch API reference, "GetMetricData" (query protocol), and its data types.

use serde_json::json;
use tidegate_providers::{Authorization, Method};

use crate::dialog::{Dialog, body, now};

fn dialog() -> Dialog {
    let queries = json!([
        {"id": "rate", "expression": "errors / requests", "label": "Rate"},
        {"id": "errors", "returnData": false, "metricStat": {
            "metric": {"namespace": "app", "metricName": "errors", "dimensions": [{"name": "Service", "value": "a b"}]},
            "period": "300", "stat": "Sum", "unit": "Count"}},
    ]);
    Dialog::new(json!({"cloudWatch": {"interval": "30m", "metricDataQueries": queries}}))
        .with_environment(&[("AWS_REGION", "eu-central-1")])
}

fn page(values: &str, more: &str) -> String {
    format!(
        "<GetMetricDataResponse xmlns=\"http://monitoring.amazonaws.com/doc/2010-08-01/\"><GetMetricDataResult>\
         <MetricDataResults><member><Id>rate</Id><Label>Rate</Label><StatusCode>Complete</StatusCode>\
         <Timestamps><member>2026-03-01T11:55:00Z</member></Timestamps><Values>{values}</Values></member>\
         </MetricDataResults><Messages/>{more}</GetMetricDataResult></GetMetricDataResponse>"
    )
}

#[test]
fn queries_are_mapped_one_to_one_and_signed() {
    let request = dialog().request();
    assert_eq!(
        (request.method, request.url.as_str()),
        (Method::Post, "https://monitoring.eu-central-1.amazonaws.com/")
    );
    let sent = body(&request);
    let fields: Vec<&str> = sent.split('&').collect();
    assert_eq!(
        fields,
        [
            "Action=GetMetricData",
            "Version=2010-08-01",
            "StartTime=2026-03-01T11%3A30%3A00Z",
            "EndTime=2026-03-01T12%3A00%3A00Z",
            "MetricDataQueries.member.1.Id=rate",
            "MetricDataQueries.member.1.Expression=errors+%2F+requests",
            "MetricDataQueries.member.1.Label=Rate",
            "MetricDataQueries.member.2.Id=errors",
            "MetricDataQueries.member.2.MetricStat.Metric.Namespace=app",
            "MetricDataQueries.member.2.MetricStat.Metric.MetricName=errors",
            "MetricDataQueries.member.2.MetricStat.Metric.Dimensions.member.1.Name=Service",
            "MetricDataQueries.member.2.MetricStat.Metric.Dimensions.member.1.Value=a+b",
            "MetricDataQueries.member.2.MetricStat.Period=300",
            "MetricDataQueries.member.2.MetricStat.Stat=Sum",
            "MetricDataQueries.member.2.MetricStat.Unit=Count",
            "MetricDataQueries.member.2.ReturnData=false",
        ]
    );
    let Authorization::Aws(signature) = &request.authorization else { panic!("not signed") };
    assert_eq!((signature.service.as_str(), signature.region.as_str()), ("monitoring", "eu-central-1"));
}

#[test]
fn pages_are_followed_and_conditions_see_the_results_by_name() {
    let first = page("<member>0.0029</member>", "<NextToken>t&amp;k</NextToken>");
    let outcome = dialog().play(&[(200, &first), (200, &page("<member>0.0061</member>", ""))]);
    assert!(body(&outcome.requests[1]).ends_with("&NextToken=t%26k"));
    assert_eq!(outcome.value(), "[[0.0029 0.0061]]");
    assert!(outcome.reading().keeps_value);
    let conditions = tidegate_expr::Conditions {
        success: "result[0].Id == 'rate' && all(result[0].Values, # < 0.01) && result[0].StatusCode == 'Complete'",
        failure: "",
    };
    assert_eq!(conditions.judge(&outcome.result(), now()), Ok(tidegate_expr::Outcome::Successful));
}

#[test]
fn messages_are_kept_and_refusals_told() {
    let said = page("", "").replace(
        "<Messages/>",
        "<Messages><member><Code>ArithmeticError</Code><Value>division by zero</Value></member></Messages>",
    );
    let reading = dialog().play(&[(200, &said)]).reading();
    assert_eq!(
        (reading.value.as_str(), reading.metadata["messages"].as_str()),
        ("[[]]", "ArithmeticError: division by zero")
    );
    let refused = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>";
    assert_eq!(dialog().play(&[(403, refused)]).error(), "CloudWatch answered 403: AccessDenied: no");
    for text in ["", "<a><b></a>", "{}", "<a"] {
        assert!(dialog().play(&[(200, text)]).error().starts_with("CloudWatch: the answer is no XML"), "{text}");
    }
    let nowhere = dialog().with_environment(&[]);
    assert_eq!(nowhere.play(&[]).error(), "no AWS region: set AWS_REGION for the controller");
}
