//! Conditions as users write them: the table of the contract, chapter 4.5.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use jiff::Timestamp;
use tidegate_expr::{Conditions, NO_DATA, Outcome, Value, evaluate_time};

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn json(text: &str) -> Value {
    Value::from_json(&serde_json::from_str(text).unwrap())
}

fn judge(result: &Value, success: &str, failure: &str) -> Result<Outcome, String> {
    Conditions { success, failure }.judge(result, now()).map_err(|error| error.reason)
}

#[test]
fn the_table_of_the_contract_holds() {
    use Outcome::{Failed, Inconclusive, Successful};
    let floats = |numbers: &[f64]| Value::floats(numbers.iter().copied());
    let number = Value::Float;
    let error = |text: &str| Err(text.to_owned());
    let table = [
        (floats(&[0.973]), "result[0] >= 0.95", "", Ok(Successful)),
        (floats(&[0.91]), "result[0] >= 0.95", "", Ok(Failed)),
        (number(0.7), "result >= 0.9", "result < 0.5", Ok(Inconclusive)),
        (number(0.31), "result >= 0.9", "result < 0.5", Ok(Failed)),
        (number(7.5), "result > 5", "result > 7", Ok(Failed)),
        (number(12.0), "", "result >= 20", Ok(Successful)),
        (json(r#"{"x":1}"#), "", "", Ok(Successful)),
        (floats(&[]), "result[0] < 0.05", "", error(NO_DATA)),
        (floats(&[]), "len(result) == 0 or result[0] < 0.05", "", Ok(Successful)),
        (floats(&[]), "len(result) > 0 && result[0] < 0.05", "", Ok(Failed)),
        (floats(&[]), "all(result, # < 300)", "", Ok(Successful)),
        (floats(&[120.0, 310.5, 90.0]), "all(result, {# < 300})", "", Ok(Failed)),
        (floats(&[120.0, 310.5, 90.0]), "max(result) < 400 && mean(result) < 200", "", Ok(Successful)),
        (Value::Nil, "default(result, 0) < 0.02", "", Ok(Successful)),
        (Value::Nil, "result < 0.02", "", error(NO_DATA)),
        (Value::Nil, "isNil(result) or result < 0.02", "", error(NO_DATA)),
        (Value::Nil, "isNil(result)", "", Ok(Successful)),
        (number(f64::NAN), "result >= 0.95", "", Ok(Failed)),
        (number(f64::NAN), "result >= 0.95", "result < 0.95", Ok(Inconclusive)),
        (number(f64::NAN), "isNaN(result) || result >= 0.95", "", Ok(Successful)),
        (number(f64::INFINITY), "", "isInf(result)", Ok(Failed)),
        (json(r#""37""#), "asInt(result) > 30", "", Ok(Successful)),
        (json(r#""3.7""#), "asInt(result) > 3", "", error(r#"strconv.ParseInt: parsing "3.7": invalid syntax"#)),
        (json(r#""3.7""#), "asFloat(result) > 3.5", "", Ok(Successful)),
        (json(r#""8""#), "result > 5", "", error("invalid operation: > (mismatched types string and int)")),
        (number(8.0), "result == \"8\"", "", error("invalid operation: == (mismatched types float64 and string)")),
        (number(8.0), "result", "", error("expected bool, but got float64")),
        (number(8.0), "latency < 5", "", error("unknown name latency")),
        (floats(&[8.0]), "result[0] 9", "", error("unexpected token Number(\"9\")")),
        (
            floats(&[8.0]),
            "result && result[0] > 1",
            "",
            error("invalid operation: && (mismatched types []float64 and bool)"),
        ),
        (
            json(r#"{"ok":true,"n":[3,5],"m":null}"#),
            "result.ok && any(result.n, # == 5) && result.m == nil",
            "",
            Ok(Successful),
        ),
        (json(r#"{"ok":true}"#), "result.p99 < 200", "", error("invalid operation: <nil> < int")),
        (json(r#"{"a":null}"#), "result.a.b > 1", "", error("cannot fetch b from <nil>")),
        (json(r#"{"a":null}"#), "(result.a?.b ?? 4) > 1", "", Ok(Successful)),
        (json(r#"{"n":[1,2]}"#), "result.n[5] > 1", "", error("index out of range: 5 (array length is 2)")),
        (json(r#"{"state":"green"}"#), "result.state in [\"green\",\"yellow\"]", "", Ok(Successful)),
        (json(r#""v2.14.1""#), "result matches \"^v2\\\\.\"", "", Ok(Successful)),
        (json(r#""OK""#), "result == 'OK'", "", Ok(Successful)),
        (number(9.0), "result % 2 == 1", "", error("invalid operation: % (mismatched types float64 and int)")),
        (floats(&[10.0, 4.0]), "10 in result", "4 not in result", Ok(Successful)),
    ];
    assert_eq!(table.len(), 40);
    for (index, (result, success, failure, wanted)) in table.into_iter().enumerate() {
        assert_eq!(judge(&result, success, failure), wanted, "row {}: {success} | {failure}", index + 1);
    }
}

#[test]
fn the_whole_text_of_an_error_names_field_and_condition() {
    let error = Conditions { success: "", failure: "result > 1" }.judge(&Value::Nil, now()).unwrap_err();
    assert_eq!(error.to_string(), format!("could not evaluate failureCondition \"result > 1\": {NO_DATA}"));
    assert!(error.is_no_data);
}

#[test]
fn helpers_honour_their_argument() {
    let result = json(r#"{"p50":3}"#);
    assert_eq!(
        judge(&result, "default(result.p99, 7) == 7 && default(result.p50, 7) == 3", ""),
        Ok(Outcome::Successful)
    );
    assert_eq!(judge(&result, "isNil(result.p99) && !isNil(result.p50)", ""), Ok(Outcome::Successful));
}

#[test]
fn types_are_checked_before_anything_runs() {
    let text = json("\"a\"");
    let cases = [
        ("true || result > 1", "invalid operation: > (mismatched types string and int)"),
        ("result in [1, 2]", "cannot use string as type int in array"),
        ("result.x == 1", "type string has no field x"),
        ("result[0] == 1", "type string[int] is undefined"),
        ("not result", "invalid operation: not (mismatched type string)"),
        ("not result > 5", "invalid operation: not (mismatched type string)"),
        ("upper(1) == ''", "cannot use int as argument (type string) to call upper "),
        ("len(1, 2) == 1", "too many arguments to call len"),
        ("len() == 1", "not enough arguments to call len"),
        ("result.Foo()", "type string has no method Foo"),
        ("filter(result, # > 1)[0] == 1", "builtin filter takes only array (got string)"),
        (
            "result ?? 7 == 7",
            "Operator (==) and coalesce expressions (??) cannot be mixed. Wrap either by parentheses.",
        ),
        ("result >", "unexpected token EOF"),
        ("(result", "unexpected token EOF"),
        ("result matches '('", "error parsing regexp: unclosed group: `(`"),
    ];
    for (condition, reason) in cases {
        assert_eq!(judge(&text, condition, ""), Err(reason.to_owned()), "{condition}");
    }
    assert_eq!(judge(&Value::Nil, "get(result, 'a') == nil", ""), Err(NO_DATA.to_owned()));
    // A mixed list, and values inside JSON, are only looked at when they are reached.
    assert_eq!(judge(&text, "result in [1, 1.5]", ""), Ok(Outcome::Failed));
    assert_eq!(judge(&json(r#"{"a":"x"}"#), "result.a in [1, 2]", ""), Ok(Outcome::Failed));
}

#[test]
fn everything_the_language_has_works() {
    let result = json(r#"{"list":[3,1,2],"rows":[{"v":1,"k":"a"},{"v":5,"k":"b"}],"text":"a,b","deep":{"x":{"y":1}}}"#);
    let truths = [
        "1 + 2 * 3 == 7 && 2 ** 3 == 8 && 7 / 2 == 3.5 && 7 % 4 == 3 && -2 ** 2 == -4",
        "0x1F == 31 && 0b101 == 5 && 0o17 == 15 && 1_000 == 1000 && .5 == 0.5 && 1e3 == 1000",
        "1 < 2 < 3 and not (3 < 2 <= 2)",
        "'a' + \"b\" == `ab` && '\\u0041\\x42' == 'AB'",
        "result.list[0] == 3 && result.list[-1] == 2 && result['list'][1:] == [1, 2] && result.list[:9] == [3, 1, 2]",
        "all(result.rows, .v > 0) && any(result.rows, {.v > 4}) && one(result.rows, .k == 'b') && none(result.rows, .v > 9)",
        "map(result.rows, .v) == [1, 5] && filter(result.list, # > 1) == [3, 2] && count(result.list, # > 1) == 2",
        "find(result.rows, .v > 2).k == 'b' && findIndex(result.list, # == 2) == 2 && findLast(result.list, # > 1) == 2",
        "sum(result.list) == 6 && sum(result.rows, .v) == 6 && reduce(result.list, #acc + #, 10) == 16",
        "sort(result.list) == [1, 2, 3] && sort(result.list, 'desc')[0] == 3 && sortBy(result.rows, .v, 'desc')[0].k == 'b'",
        "groupBy(result.rows, .k)['a'][0].v == 1",
        "map(result.list, #index) == [0, 1, 2]",
        "split(result.text, ',') == ['a', 'b'] && join(['a', 'b'], '-') == 'a-b' && splitAfter(result.text, ',')[0] == 'a,'",
        "trim('  x ') == 'x' && upper('a') == 'A' && replace('aba', 'a', 'x', 1) == 'xba' && repeat('ab', 2) == 'abab'",
        "trimPrefix('abc', 'a') == 'bc' && trimSuffix('abc', 'c') == 'ab' && indexOf('abc', 'c') == 2 && lastIndexOf('aa', 'a') == 1",
        "hasPrefix('abc', 'a') && hasSuffix('abc', 'c') && 'abc' contains 'b' && 'abc' startsWith 'a' && 'abc' endsWith 'c'",
        "'abc' not contains 'x' and 'a' not in ['b']",
        "max(1, [4, 2]) == 4 && min(result.list) == 1 && mean([1, 3]) == 2 && median([5, 1, 3, 4]) == 3.5 && mean([]) == 0",
        "abs(-3) == 3 && ceil(1.2) == 2 && floor(1.8) == 1 && round(2.5) == 3 && int('7') == 7 && float('1.5') == 1.5",
        "string([1, 2.5]) == '[1 2.5]' && string({a: nil}) == 'map[a:<nil>]' && type(1) == 'int' && type([]) == 'array'",
        "toJSON({a: [1]}) == '{\\n  \"a\": [\\n    1\\n  ]\\n}' && fromJSON('{\"a\": 1}').a == 1",
        "toBase64('hello') == 'aGVsbG8=' && fromBase64('aGVsbG8=') == 'hello'",
        "first(result.list) == 3 && last(result.list) == 2 && first([]) == nil && get(result, 'nope') == nil && get([1], 5) == nil",
        "take(result.list, 2) == [3, 1] && reverse(result.list) == [2, 1, 3] && uniq([1, 1, 2]) == [1, 2]",
        "concat([1], [2]) == [1, 2] && flatten([1, [2, [3]]]) == [1, 2, 3] && (1..3) == [1, 2, 3]",
        "keys({a: 1}) == ['a'] && values({a: 1}) == [1] && toPairs({a: 1}) == [['a', 1]] && fromPairs([['a', 1]]).a == 1",
        "bitand(6, 3) == 2 && bitor(6, 3) == 7 && bitxor(6, 3) == 5 && bitnand(6, 3) == 4 && bitnot(0) == -1",
        "bitshl(1, 4) == 16 && bitshr(16, 4) == 1 && bitushr(-1, 63) == 1",
        "let x = result.list[0]; let y = x * 2; y == 6",
        "if result.list[0] > 2 { true } else { false }",
        "result.list[0] > 2 ? true : false",
        "result.list | filter(# > 1) | len() == 2",
        "result.deep?.x?.y == 1 && result.nope?.x.y == nil && result?.deep?.['x'] != nil",
        "(nil ?? 1) == 1 && {a: 1}.a == 1 && {'b': 2}['b'] == 2 && {(\"c\"): 3}.c == 3",
        "1 /* one */ == 1 // the end",
        "duration('1h').Minutes() == 60 && duration('90m').String() == '1h30m0s' && now() - now() == duration('0s')",
        "now().Year() == 2026 && date('2020-01-01') < now() && now() - duration('1h') == date('2026-03-01T11:00:00Z')",
        "now().Add(duration('1h')).Sub(now()) == duration('1h') && now().Format('2006-01-02') == '2026-03-01'",
        "len('äö') == 2 && len({a: 1}) == 1",
        "1; 2; true",
    ];
    for condition in truths {
        assert_eq!(judge(&result, condition, ""), Ok(Outcome::Successful), "{condition}");
    }
}

#[test]
fn ends_of_range_queries_are_times() {
    let at = |text: &str| evaluate_time(text, now()).map(|at| at.to_string()).map_err(|error| error.to_string());
    assert_eq!(at("now()"), Ok("2026-03-01T12:00:00Z".to_owned()));
    assert_eq!(at("now() - duration(\"1h\")"), Ok("2026-03-01T11:00:00Z".to_owned()));
    let date = r#"date("2024-02-03 04:05:06", "2006-01-02 15:04:05", "UTC") - duration("90m")"#;
    assert_eq!(at(date), Ok("2024-02-03T02:35:06Z".to_owned()));
    assert_eq!(at("1 + 1"), Err("expected time.Time, but got int".to_owned()));
    assert_eq!(at("result"), Err("unknown name result".to_owned()));
    assert_eq!(at("asInt(1)"), Err("unknown name asInt".to_owned()));
}
