//! `create` and `create analysisrun`.

use serde_json::json;

use crate::world::World;

const TEMPLATE: &str = "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: pass, labels: {team: a}}\nspec:\n  args: [{name: host}, {name: port, value: '80'}]\n  metrics: [{name: m, provider: {web: {url: 'http://x'}}}]\n";

#[test]
fn objects_are_created_from_files_in_order() {
    let world = World::new();
    let template = world.file("template.yaml", TEMPLATE);
    let rollout = world.file(
        "rollout.json",
        &json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "web"}, "spec": {
            "selector": {"matchLabels": {"app": "web"}}, "strategy": {"canary": {}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}}})
        .to_string(),
    );
    let cluster = world.file("cluster.yaml", &TEMPLATE.replace("kind: ", "kind: Cluster"));
    world.says(
        &["create", "-f", &template, "-f", &rollout, "-f", &cluster],
        0,
        "analysistemplate.argoproj.io/pass created\nrollout.argoproj.io/web created\n\
         clusteranalysistemplate.argoproj.io/pass created\n",
        "",
    );
    assert_eq!(world.stored("rollouts/web")["metadata"]["name"], "web");
    let exists = "Error: analysistemplates.argoproj.io \"pass\" already exists\n";
    world.says(&["create", "-f", &template, "-f", &rollout], 1, "", exists);
}

#[test]
fn what_cannot_be_created_is_refused_before_anything_is_sent() {
    let world = World::new();
    let service = world.file("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n");
    world.says(&["create", "-f", &service], 1, "", "Error: creates of /Service unsupported\n");
    let empty = world.file("empty.yaml", "");
    world.says(&["create", "-f", &empty], 1, "", "Error: creates of / unsupported\n");
    let wrong = world.file("wrong.yaml", &TEMPLATE.replace("metrics:", "metricks:"));
    let output = world.run(&["create", "-f", &wrong]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("Error: ") && error.contains("unknown field \"metricks\""), "{error}");
    assert_eq!(output.status.code(), Some(1));
    world.says(&["create", "-w", "-f", &service, "-f", &service], 1, "", "Error: Cannot watch multiple resources\n");
    let template = world.file("template.yaml", TEMPLATE);
    world.says(
        &["create", "-w", "-f", &template],
        1,
        "analysistemplate.argoproj.io/pass created\n",
        "Error: Can only watch resources of type Rollout or Experiment\n",
    );
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_run_is_made_from_a_template_in_the_cluster_or_in_a_file() {
    let world = World::new();
    let file = world.file("template.yaml", TEMPLATE);
    world.says(&["create", "-f", &file], 0, "analysistemplate.argoproj.io/pass created\n", "");
    world.writes();
    let named = ["create", "analysisrun", "--from", "pass", "--name", "r1", "-a", "host=a=b", "-a", "other=x"];
    world.says(&named, 0, "analysisrun.argoproj.io/r1 created\n", "");
    let (_, path, body) = world.writes().remove(0);
    assert_eq!(path, "analysisruns");
    assert_eq!(body["kind"], "AnalysisRun");
    assert_eq!(body["spec"]["args"], json!([{"name": "host", "value": "a=b"}, {"name": "port", "value": "80"}]));
    assert_eq!(body["metadata"], json!({"name": "r1", "namespace": "default", "labels": {"team": "a"}}));

    let output = world.run(&["create", "ar", "--from-file", &file, "--argument=host=h", "--instance-id", "blue"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(out.starts_with("analysisrun.argoproj.io/pass-") && out.ends_with(" created\n"), "{out}");
    let (_, _, body) = world.writes().remove(0);
    assert_eq!(body["metadata"]["generateName"], "pass-");
    let labels = json!({"team": "a", "argo-rollouts.argoproj.io/controller-instance-id": "blue"});
    assert_eq!(body["metadata"]["labels"], labels);
}

#[test]
fn a_run_that_cannot_be_made_says_why() {
    let world = World::new();
    let file = world.file("template.yaml", TEMPLATE);
    let one = "Error: one of --from or --from-file must be specified\n";
    world.says(&["create", "analysisrun"], 1, "", one);
    world.says(&["create", "analysisrun", "--from", "a", "--from-file", "b"], 1, "", one);
    let form = "Error: arguments must be in the form NAME=VALUE\n";
    world.says(&["create", "analysisrun", "--from-file", &file, "-a", "host"], 1, "", form);
    world.says(&["create", "analysisrun", "--from-file", &file], 1, "", "Error: args.host was not resolved\n");
    let gone = "Error: analysistemplates.argoproj.io \"gone\" not found\n";
    world.says(&["create", "analysisrun", "--from", "gone"], 1, "", gone);
    let gone = "Error: clusteranalysistemplates.argoproj.io \"gone\" not found\n";
    world.says(&["create", "analysisrun", "--from", "gone", "--global"], 1, "", gone);
    let nameless = world.file("nameless.yaml", &TEMPLATE.replace("name: pass, ", ""));
    world.says(&["create", "analysisrun", "--from-file", &nameless, "-a", "host=h"], 1, "", "Error: name is invalid\n");
}
