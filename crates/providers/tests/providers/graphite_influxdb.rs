//! Graphite documentation, "The Render URL API"; InfluxDB OSS v2 documentation, "POST /api/v2/query" and "Annotated CSV".

use serde_json::{Value as Json, json};
use tidegate_expr::Value;
use tidegate_providers::{Method, secret_needed};

use crate::dialog::{Dialog, body, run};

#[test]
fn graphite_is_asked_for_a_rendering_as_json() {
    let query = "target=summarize(\n  a.b.c, '5min')\n&from=-5min";
    let dialog = Dialog::new(json!({"graphite": {"address": "http://g:9090/sub/", "query": query}}));
    let request = dialog.request();
    assert_eq!(request.method, Method::Get);
    assert_eq!(request.url, "http://g:9090/sub/render?target=summarize(a.b.c,'5min')&from=-5min&format=json");
    assert_eq!(request.timeout.as_secs(), 10);
    let answer = r#"[{"target":"a","datapoints":[[10,1311836008],[null,1311836009],["12.5",1311836010]]},{"target":"b","datapoints":[[1,2]]}]"#;
    let outcome = dialog.play(&[(200, answer)]);
    assert_eq!((outcome.result(), outcome.value().as_str()), (Value::floats([10.0, 12.5]), "[10.000000,12.500000]"));
    assert!(outcome.reading().keeps_value);
    let table = [
        (500, "broken", "error response: broken"),
        (200, "[]", "no values found"),
        (200, r#"[{"datapoints":[[null,1]]}]"#, "no values found"),
        (200, r#"[{"datapoints":[[1]]}]"#, "error unmarshaling data point: [1]"),
        (200, r#"[{"datapoints":[["x",1]]}]"#, "error unmarshaling value: \"x\""),
        (200, r#"[{"datapoints":[[1,"x"]]}]"#, "error unmarshaling timestamp: \"x\""),
    ];
    for (status, text, error) in table {
        assert_eq!(dialog.play(&[(status, text)]).error(), error);
    }
    for address in ["", "graphite", "http//x"] {
        let error = Dialog::new(json!({"graphite": {"address": address, "query": "q"}})).play(&[]).error();
        assert_eq!(error, format!("Graphite address {address} is not a valid URL"));
    }
}

fn influx() -> Dialog {
    let keys = [("authToken", "t"), ("org", "my org"), ("address", "http://influx:8086/")];
    Dialog::new(json!({"influxdb": {"query": "from(bucket: \"b\")"}})).with_credentials(&keys)
}

#[test]
fn influxdb_is_asked_in_flux() {
    let request = influx().request();
    assert_eq!((request.method, request.url.as_str()), (Method::Post, "http://influx:8086/api/v2/query?org=my+org"));
    assert_eq!(request.header_value("authorization"), Some("Token t"));
    let sent: Json = serde_json::from_str(&body(&request)).unwrap();
    let dialect = json!({"annotations": ["datatype", "group", "default"], "delimiter": ",", "header": true});
    assert_eq!(sent, json!({"query": "from(bucket: \"b\")", "type": "flux", "dialect": dialect}));
    assert_eq!(influx().with_credentials(&[("org", "x")]).play(&[]).error(), "authToken, org, or address not found");
    let dialog = influx();
    let secret = secret_needed(&run(), &dialog.metric, &dialog.surroundings).unwrap().unwrap();
    assert_eq!((secret.namespace.as_str(), secret.name.as_str()), ("argo-rollouts", "influxdb"));
}

#[test]
fn influxdb_answers_in_annotated_csv_of_all_types() {
    let csv = "#datatype,string,long,dateTime:RFC3339,double\r\n#group,false,false,false,false\r\n#default,_result,,,\r\n\
               ,result,table,_time,_value\r\n,,0,2026-03-01T12:00:00Z,12\r\n,,0,2026-03-01T12:01:00Z,0.5\r\n\r\n\
               #datatype,string,long,long\r\n#group,false,false,false\r\n#default,_result,,\r\n,result,table,_value\r\n,,1,7\r\n\r\n\
               #datatype,string,long,string\r\n#group,f,f,f\r\n#default,,,x\r\n,result,table,_value\r\n,,2,\"a,\"\"b\"\"\"\r\n,,2,\r\n\r\n\
               #datatype,string,long,boolean\r\n#group,f,f,f\r\n#default,,,\r\n,result,table,_value\r\n,,3,true\r\n";
    let outcome = influx().play(&[(200, csv)]);
    let wanted = [
        Value::Float(12.0),
        Value::Float(0.5),
        Value::Int(7),
        Value::text("a,\"b\""),
        Value::text("x"),
        Value::Bool(true),
    ];
    assert_eq!(outcome.result(), Value::list(wanted.to_vec()));
    assert_eq!(outcome.value(), "[12 0.5 7 a,\"b\" x true]");
    assert_eq!(influx().play(&[(200, "\r\n")]).error(), "no results returned from flux query");
    let broken = "#datatype,string,string\r\n#group,true,true\r\n#default,,\r\n,error,reference\r\n,failed,897\r\n";
    assert_eq!(influx().play(&[(200, broken)]).error(), "no results returned from flux query");
    let refused = r#"{"code":"unauthorized","message":"unauthorized access"}"#;
    assert_eq!(influx().play(&[(401, refused)]).error(), "influxdb answered 401: unauthorized access");
}
