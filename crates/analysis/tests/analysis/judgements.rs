//! What a measured value means, with and without data.

use serde_json::json;
use tidegate_analysis::{Judgement, NoData, judge, no_data, no_data_policy};
use tidegate_api::analysis::Metric;
use tidegate_expr::Value;

use crate::story::{run, start};

fn metric(success: &str, failure: &str) -> Metric {
    let fields = json!({"name": "m", "successCondition": success, "failureCondition": failure});
    serde_json::from_value(fields).unwrap()
}

#[test]
fn conditions_decide_and_a_condition_that_cannot_be_evaluated_is_an_error() {
    let phase = |result: f64, success: &str, failure: &str| {
        judge(&metric(success, failure), &Value::Float(result), None, start()).phase
    };
    assert_eq!(phase(1.0, "", ""), "Successful");
    assert_eq!(phase(1.0, "result > 0", ""), "Successful");
    assert_eq!(phase(1.0, "result > 1", ""), "Failed");
    assert_eq!(phase(1.0, "result > 1", "result < 0"), "Inconclusive");
    let bad = judge(&metric("result.x > 1", ""), &Value::Float(1.0), None, start());
    let message = "could not evaluate successCondition \"result.x > 1\": type float64 has no field x";
    assert_eq!(bad, Judgement::error(message));
}

#[test]
fn no_data_means_what_the_annotation_says_and_an_error_without_one() {
    let nothing = Value::floats([]);
    let judged = |policy| judge(&metric("result[0] > 1", ""), &nothing, policy, start());
    assert_eq!(judged(None).phase, "Error");
    assert_eq!(judged(Some(NoData::Success)).phase, "Successful");
    assert_eq!(judged(Some(NoData::Failure)).phase, "Failed");
    assert_eq!(judged(Some(NoData::Inconclusive)).phase, "Inconclusive");
    assert!(judged(Some(NoData::Inconclusive)).message.starts_with("no data: metric result is nil or empty"));
    assert_eq!(no_data(None, "no values found"), Judgement::error("no values found"));
}

#[test]
fn the_annotation_names_metrics_and_typing_mistakes_are_told() {
    let with = |text: &str| {
        let mut run = run(json!({"metrics": []}));
        run.metadata.annotations = Some([("rollouts.tidegate.dev/no-data".to_owned(), text.to_owned())].into());
        run
    };
    let noted = with("a=Success, b = Inconclusive,\n c=Error");
    assert_eq!(no_data_policy(&noted, "a"), Ok(Some(NoData::Success)));
    assert_eq!(no_data_policy(&noted, "b"), Ok(Some(NoData::Inconclusive)));
    assert_eq!(no_data_policy(&noted, "d"), Ok(None));
    let wrong = no_data_policy(&with("a=Maybe"), "a").unwrap_err();
    assert_eq!(
        wrong,
        "annotation rollouts.tidegate.dev/no-data: \"Maybe\" is none of Success, Failure, Inconclusive, Error"
    );
    assert!(no_data_policy(&with("a"), "b").unwrap_err().ends_with("\"a\" is not METRIC=OUTCOME"));
}
