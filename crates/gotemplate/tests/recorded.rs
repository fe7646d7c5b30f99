//! Templates and what the engine people know makes of them, recorded in `recorded.json`: the same text, or an error where it
//! has one. The words of errors are our own.

use jiff::Timestamp;
use serde_json::Value as Json;
use tidegate_expr::Value;
use tidegate_gotemplate::Template;

fn render(template: &str, data: &Value) -> Result<String, String> {
    let template = Template::parse("t", template).map_err(|error| error.to_string())?;
    template.render(data, Timestamp::UNIX_EPOCH).map_err(|error| error.to_string())
}

#[test]
fn every_recorded_template_is_written_byte_for_byte_or_refused() {
    let recorded: Json = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let data = Value::from_json(&recorded["data"]);
    let mut different = Vec::new();
    let rows = recorded["rows"].as_array().unwrap();
    for row in rows {
        let template = row["template"].as_str().unwrap();
        let ours = render(template, &data);
        let same = match row["output"].as_str() {
            Some(wanted) => ours.as_deref() == Ok(wanted),
            None => ours.is_err(),
        };
        if !same {
            different.push(format!("{template}\n  wanted {} {}\n  found  {ours:?}", row["output"], row["error"]));
        }
    }
    assert!(rows.len() > 150, "{} rows", rows.len());
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), rows.len(), different.join("\n"));
}
