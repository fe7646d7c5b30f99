//! `plan`: what an update will do, and what would be refused.

use std::path::Path;

use serde_json::{Value, json};

use crate::world::{World, canary, status, steps};

#[test]
fn plan_tells_what_an_update_will_do_and_refuses_what_would_be_refused() {
    let world = World::new();
    world.rollout(&canary("shop", steps(), json!({"phase": "Healthy"})));
    let table = "\
STEP  ACTION         WEIGHT  CANARY  STABLE  PEAK  EARLIEST  WAITS-FOR
1     setWeight: 50  50      1       1       3     0s        1 pods of the new version
2     pause          50      1       1       2     0s        someone to promote
3     promotion      100     2       0       3     0s        2 pods of the new version
";
    world.says(&["plan", "shop", "--image", "main=demo/web:3"], 0, table, "");
    world.says(&["plan", "shop", "--image", "typo=x"], 1, "", "Error: unable to find container named \"typo\"\n");
    assert_eq!(world.writes(), []);

    let good = world.file("good.json", &canary("shop", steps(), Value::Null).to_string());
    world.says(&["plan", "-f", &good], 0, table, "");
    let bad = world.file("bad.json", &canary("shop", json!([{"setWeight": 120}]), Value::Null).to_string());
    let output = world.run(&["plan", "-f", &bad]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.starts_with("Error: spec.strategy.steps[0].setWeight: Invalid value: 120"), "{err}");
    assert_eq!(output.status.code(), Some(2));
    // A weight that is rounded is a warning, one that such few pods cannot make is refused.
    let rounded = world.file("rounded.json", &canary("shop", json!([{"setWeight": 48}]), Value::Null).to_string());
    assert_eq!(world.run(&["plan", "-f", &rounded]).status.code(), Some(0));
    assert_eq!(world.run(&["plan", "-f", &rounded, "--strict"]).status.code(), Some(3));
    let odd = world.file("odd.json", &canary("shop", json!([{"setWeight": 10}]), Value::Null).to_string());
    let output = world.run(&["plan", "-f", &odd, "-o", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let plans: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(plans[0]["steps"][0]["weight"], 10);
    let refused = "step 1: weight 10 cannot be reached with 2 replicas: 1 of 3 pods are 33%";
    assert_eq!(plans[0]["refusals"], json!([refused]));
}

#[test]
fn plan_knows_every_example() {
    let world = World::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == "yaml") && text.contains("kind: Rollout") {
            let output = world.run(&["plan", "-f", path.to_str().unwrap()]);
            let out = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(
                output.status.code(),
                Some(0),
                "{}: {out}{}",
                path.display(),
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(out.contains("\nSTEP  ACTION") || out.starts_with("STEP  ACTION"), "{out}");
            count += 1;
        }
    }
    assert!(count >= 3, "{count}");
}

fn analysed(name: &str) -> Value {
    let analysis = json!({"templates": [{"templateName": "errors"}]});
    canary(name, json!([{"setWeight": 50}, {"analysis": analysis}]), Value::Null)
}

fn template(metric: Value) -> Value {
    let mut metric = metric;
    metric.as_object_mut().unwrap().insert("name".to_owned(), json!("rate"));
    metric.as_object_mut().unwrap().insert("provider".to_owned(), json!({"web": {"url": "http://metrics"}}));
    json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "errors"},
        "spec": {"metrics": [metric]}})
}

#[test]
fn plan_refuses_what_names_services_and_templates_that_are_not_there() {
    let world = World::new();
    let mut rollout = analysed("shop");
    rollout["spec"]["strategy"]["canary"]["canaryService"] = json!("new");
    rollout["spec"]["strategy"]["canary"]["stableService"] = json!("old");
    world.rollout(&rollout);
    let output = world.run(&["plan", "shop", "-o", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        plan[0]["refusals"],
        json!([
            "spec.strategy.canary.stableService: Invalid value: \"old\": service \"old\" not found",
            "spec.strategy.canary.canaryService: Invalid value: \"new\": service \"new\" not found",
            "spec.strategy.canary.steps[1].analysis.templates: Invalid value: \"errors\": AnalysisTemplate 'errors' not found",
        ])
    );
    // In a file they may be elsewhere: that is a warning.
    let file = world.file("alone.json", &rollout.to_string());
    let output = world.run(&["plan", "-f", &file]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{out}");
    for what in ["Service new", "Service old", "AnalysisTemplate errors"] {
        assert!(out.contains(&format!("\n  {what}: not in this file, so it is not checked\n")), "{out}");
    }
    assert_eq!(world.run(&["plan", "-f", &file, "--strict"]).status.code(), Some(3));
}

#[test]
fn plan_of_a_file_shows_the_routes_that_a_label_selects() {
    let world = World::new();
    let mut rollout = canary("shop", json!([{"setWeight": 20}, {"pause": {}}]), Value::Null);
    let strategy = &mut rollout["spec"]["strategy"]["canary"];
    strategy["stableService"] = json!("old");
    strategy["canaryService"] = json!("new");
    let selector = json!({"matchLabels": {"app": "shop"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["web"]}]});
    strategy["trafficRouting"] = json!({"plugins": {"argoproj-labs/gatewayAPI": {"httpRouteSelector": selector}}});
    let route = |name: &str, tier: &str| {
        let refs = json!([{"name": "old", "port": 80, "weight": 100}, {"name": "new", "port": 80, "weight": 0}]);
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": name, "labels": {"app": "shop", "tier": tier}}, "spec": {"rules": [{"backendRefs": refs}]}})
    };
    let told = |objects: &[Value]| {
        let all: Vec<String> = std::iter::once(&rollout).chain(objects).map(ToString::to_string).collect();
        let file = world.file("shop.json", &all.join("\n---\n"));
        let output = world.run(&["plan", "-f", &file, "-o", "json"]);
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &plan[0]["refusals"]), (Some(0), &json!([])));
        (plan[0]["routes"].to_string(), plan[0]["warnings"].to_string())
    };
    let (routes, warnings) = told(&[route("first", "web"), route("second", "web"), route("other", "back")]);
    for name in ["first", "second"] {
        let line = format!("step 1: HTTPRoute {name}: spec.rules[0].backendRefs: new 0 -> 20");
        assert!(routes.contains(&line), "{line} is not in {routes}");
    }
    assert!(!routes.contains("other"), "{routes}");
    assert!(warnings.contains("HTTPRoutes with app=shop,tier in (web): only those at hand are shown"), "{warnings}");
    let (routes, warnings) = told(&[]);
    assert!(!routes.contains("HTTPRoute"), "{routes}");
    assert!(warnings.contains("none is at hand, so their routes are not shown"), "{warnings}");
}

#[test]
fn plan_refuses_analyses_that_can_never_fail_and_knows_how_long_others_take() {
    let world = World::new();
    let told = |metric: Value| {
        let file = world.file("shop.json", &format!("{}\n---\n{}", analysed("shop"), template(metric)));
        let output = world.run(&["plan", "-f", &file, "-o", "json"]);
        let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
        let is_refused = plan[0]["refusals"] != json!([]);
        assert_eq!(output.status.code(), Some(if is_refused { 2 } else { 0 }));
        (plan[0]["refusals"].clone(), plan[0]["steps"][1]["earliestSeconds"].clone())
    };
    let sound = json!({"successCondition": "result < 1", "count": 5, "interval": "1m", "initialDelay": "30s"});
    assert_eq!(told(sound), (json!([]), json!(270)));
    let blind = "template errors: Metric 'rate' can never fail: it has neither successCondition nor failureCondition";
    assert_eq!(told(json!({})).0, json!([blind]));
    let patient = "template errors: Metric 'rate' can never fail: it takes 3 measurement(s) and accepts 3 failure(s); lower failureLimit or raise count";
    let metric = json!({"successCondition": "result < 1", "count": 3, "interval": "1m", "failureLimit": 3});
    assert_eq!(told(metric).0, json!([patient]));
    let deaf = "template errors: Metric 'rate' can never fail: its failureLimit accepts any number";
    assert_eq!(told(json!({"successCondition": "result < 1", "failureLimit": -1})).0, json!([deaf]));
    // In the cluster as well.
    world.rollout(&analysed("web"));
    world.create("/apis/argoproj.io/v1alpha1/namespaces/default/analysistemplates", &template(json!({})));
    let output = world.run(&["plan", "web"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains(blind));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn plan_says_what_it_may_not_look_at_and_refuses_nothing_for_it() {
    let world = World::new();
    world.rollout(&analysed("shop"));
    world.refuse(|asked| asked.path.contains("/analysistemplates/").then(|| status(403, "Forbidden", "you may not")));
    let output = world.run(&["plan", "shop"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(out.contains("\nWarnings:\n  you may not: the objects it names are not checked\n"), "{out}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn plan_takes_the_template_of_the_workload_a_rollout_refers_to() {
    let world = World::new();
    let mut rollout = canary("shop", steps(), Value::Null);
    let template = rollout["spec"].as_object_mut().unwrap().remove("template").unwrap();
    rollout["spec"]["workloadRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"});
    world.rollout(&rollout);
    world.says(&["plan", "shop"], 1, "", "Error: deployments.apps \"shop\" not found\n");
    let spec = json!({"selector": {"matchLabels": {"app": "shop"}}, "template": template});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": spec});
    world.create("/apis/apps/v1/namespaces/default/deployments", &deployment);
    let output = world.run(&["plan", "shop", "--image", "main=demo/web:3"]);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    world.says(&["plan", "shop", "--image", "typo=x"], 1, "", "Error: unable to find container named \"typo\"\n");
}
