//! ReplicaSets and Services of templates.

use serde_json::json;
use tidegate_api::raw::Raw;
use tidegate_api::wire::Text;
use tidegate_experiment::Part;

use crate::world::{World, template, template_with, words};

#[test]
fn a_new_experiment_gets_its_sets_without_pods_first_and_pods_in_the_next_look() {
    let mut world = World::new(json!({"templates": [template("a"), template_with("b", json!({"replicas": 2}))]}));
    world.look();
    assert_eq!(world.sizes(), [0, 0]);
    assert_eq!(world.phase(), words("Pending", ""));
    assert_eq!(world.template("a").status.text(), "Progressing");
    assert_eq!(
        world.told,
        [
            "- TemplateProgressing: Template 'a' transitioned from  -> Progressing",
            "- TemplateProgressing: Template 'b' transitioned from  -> Progressing",
            "- ExperimentPending: Experiment transitioned from  -> Pending",
        ]
    );
    world.look();
    assert_eq!(world.sizes(), [1, 2]);
    assert!(world.was_told("- ScalingReplicaSet: Scaled up ReplicaSet exp-b from 0 to 2"));
    world.settle();
    assert!(!world.look(), "nothing has changed, so nothing is written");
}

#[test]
fn a_set_carries_owner_marks_and_a_hash_in_labels_selector_and_pods() {
    let mut world = World::new(json!({"templates": [template_with("a", json!({"minReadySeconds": 7}))]}));
    world.look();
    let set = &world.sets[0];
    assert_eq!(set.metadata.name.text(), "exp-a");
    let owner = &set.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!((owner.kind.as_str(), owner.uid.as_str(), owner.controller), ("Experiment", "u", Some(true)));
    let marks = json!({"experiment.argoproj.io/name": "exp", "experiment.argoproj.io/template-name": "a"});
    assert_eq!(json!(set.metadata.annotations), marks);
    let hash = set.metadata.labels.as_ref().unwrap()["rollouts-pod-template-hash"].clone();
    let labels = json!({"app": "a", "rollouts-pod-template-hash": hash});
    assert_eq!(json!(set.metadata.labels), labels);
    assert_eq!(json!(set.spec.selector), json!({"matchLabels": labels}));
    assert_eq!(set.spec.template.as_ref().map(Raw::to_value).unwrap()["metadata"]["labels"], labels);
    assert_eq!(set.spec.min_ready_seconds, Some(7));
}

#[test]
fn equal_pods_of_two_templates_or_experiments_have_different_hashes_and_a_hash_in_the_template_does_not_count() {
    let same = |name: &str| {
        let mut fields = template("x");
        fields["name"] = json!(name);
        fields
    };
    let hash = |world: &World, at: usize| {
        world.sets[at].metadata.labels.as_ref().unwrap()["rollouts-pod-template-hash"].clone()
    };
    let mut world = World::new(json!({"templates": [same("a"), same("b")]}));
    world.look();
    let mut other = World::new(json!({"templates": [same("a")]}));
    other.experiment.metadata.name = Some("other".to_owned());
    other.look();
    let mut labelled = same("a");
    labelled["template"]["metadata"]["labels"]["rollouts-pod-template-hash"] = json!("abc");
    let mut third = World::new(json!({"templates": [labelled]}));
    third.look();
    assert_ne!(hash(&world, 0), hash(&world, 1));
    assert_ne!(hash(&world, 0), hash(&other, 0));
    assert_eq!(hash(&world, 0), hash(&third, 0));
}

#[test]
fn only_a_missing_set_is_made() {
    let mut world = World::new(json!({"templates": [template("a"), template("b")]}));
    world.begin();
    world.sets.remove(0);
    world.settle();
    assert_eq!(world.sets.len(), 2);
    assert_eq!(world.template("a").status.text(), "Progressing");
    assert_eq!(world.template("b").status.text(), "Running");
}

#[test]
fn when_all_pods_are_available_the_experiment_runs() {
    let mut world = World::new(json!({"duration": "5m", "templates": [template("a")]}));
    world.settle();
    world.pass(7);
    world.run_pods();
    world.settle();
    assert_eq!(world.phase().0, "Running");
    assert_eq!(world.status().available_at.unwrap().0, "2026-03-01T12:00:07Z");
    let running = ["True", "NewReplicaSetAvailable", "Experiment \"exp\" is running."].map(str::to_owned);
    assert_eq!(world.condition("Progressing"), Some(running));
    assert_eq!(world.last.wake_at.unwrap().to_string(), "2026-03-01T12:05:08Z", "the second after its last");
}

#[test]
fn a_template_that_does_not_progress_in_time_fails_with_the_experiment() {
    let mut world = World::new(json!({"progressDeadlineSeconds": 30, "templates": [template("a"), template("b")]}));
    world.settle();
    world.sets[1].status.available_replicas = 1;
    world.look();
    world.pass(30);
    assert!(!world.look(), "not yet");
    world.pass(1);
    world.settle();
    let message = "Template 'a' exceeded its progressDeadlineSeconds (30)";
    assert_eq!(world.template("a").status.text(), "Failed");
    assert_eq!(world.phase(), words("Failed", message));
    assert!(
        world.was_told(&format!("! TemplateFailed: Template 'a' transitioned from Progressing -> Failed: {message}"))
    );
    assert!(world.was_told("! ExperimentFailed: Experiment transitioned from Pending -> Failed"));
    assert_eq!(world.template("b").status.text(), "Successful");
    assert_eq!(world.condition("Progressing").unwrap()[0], "False");
}

#[test]
fn a_running_template_that_loses_pods_gets_a_fresh_deadline() {
    let mut world = World::new(json!({"progressDeadlineSeconds": 30, "templates": [template("a")]}));
    world.begin();
    world.pass(1000);
    world.sets[0].status.available_replicas = 0;
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.template("a").status.text()), ("Pending", "Progressing"));
    world.run_pods();
    world.settle();
    assert_eq!(world.phase().0, "Running");
}

#[test]
fn a_set_or_size_that_is_refused_makes_the_template_an_error_with_its_cause() {
    let cases = [
        (Part::Set("a".to_owned()), "Failed to create ReplicaSet for template 'a': no"),
        (Part::Size("a".to_owned()), "Unable to scale ReplicaSet for template 'a' to desired replica count '1': no"),
    ];
    for (part, message) in cases {
        let mut world = World::new(json!({"templates": [template("a"), template("b")]}));
        world.refuse(part, "no");
        world.settle();
        assert_eq!(world.template("a").status.text(), "Error");
        assert_eq!(world.phase(), words("Error", message));
        assert!(world.sizes().iter().sum::<i32>() <= 1, "no more pods than the other template's");
        world.pass(31);
        world.settle();
        assert!(world.sizes().iter().all(|size| *size == 0), "{:?}", world.sizes());
    }
}

#[test]
fn a_pod_template_that_is_none_is_an_error_and_not_tried() {
    let mut broken = template("a");
    broken["template"] = json!("text");
    let mut world = World::new(json!({"templates": [broken]}));
    world.settle();
    assert_eq!(world.phase().0, "Error");
    assert!(world.sets.is_empty());
}

#[test]
fn a_service_is_there_before_the_pods_with_all_their_ports_and_goes_after_them() {
    let mut fields = template_with("a", json!({"service": {}}));
    fields["template"]["spec"]["containers"] = json!([
        {"name": "main", "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}]},
        {"name": "side", "ports": [{"containerPort": 53, "name": "dns", "protocol": "UDP"}]},
    ]);
    fields["template"]["spec"]["initContainers"] = json!([{"name": "i", "ports": [{"containerPort": 1}]}]);
    let mut world = World::new(json!({"duration": "10s", "scaleDownDelaySeconds": 5, "templates": [fields]}));
    world.look();
    assert_eq!((world.sizes(), world.services.len()), (vec![0], 0));
    world.look();
    let order: Vec<&Part> = world.last.actions.iter().map(|action| &action.part).collect();
    assert_eq!(order, [&Part::Service("a".to_owned()), &Part::Size("a".to_owned())]);
    let body = &world.bodies[0];
    assert_eq!(
        body["spec"]["ports"],
        json!([
            {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 80},
            {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 53},
        ])
    );
    assert_eq!(body["spec"]["selector"], json!(world.sets[0].metadata.labels));
    assert_eq!(body["metadata"]["labels"], json!(null));
    world.run_pods();
    world.settle();
    let status = world.template("a");
    assert_eq!(status.service_name.text(), "exp-a");
    assert_eq!(
        Some(&status.pod_template_hash.unwrap()),
        world.sets[0].metadata.labels.as_ref().unwrap().get("rollouts-pod-template-hash")
    );

    world.pass(11);
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.services.len()), ("Successful", 1));
    world.pass(6);
    world.settle();
    assert_eq!((world.sizes(), world.services.len()), (vec![0], 1), "one pod is still there");
    world.run_pods();
    world.settle();
    assert_eq!(world.services.len(), 0);
    assert_eq!((world.template("a").service_name, world.template("a").pod_template_hash), (None, None));
}

#[test]
fn a_service_has_the_name_it_was_given_and_is_made_once() {
    let mut world = World::new(json!({"templates": [template_with("a", json!({"service": {"name": "probe"}}))]}));
    world.begin();
    assert_eq!(world.services[0].metadata.name.text(), "probe");
    assert_eq!(world.template("a").service_name.text(), "probe");
    assert!(!world.look());
    world.experiment.spec.templates.as_mut().unwrap()[0].service = None;
    world.settle();
    assert_eq!(world.services.len(), 0, "nobody asks for it any more");
    assert_eq!(world.template("a").service_name, None);
}

#[test]
fn a_service_that_is_refused_or_has_no_ports_is_an_error_of_the_template() {
    let mut world = World::new(json!({"templates": [template_with("a", json!({"service": {}}))]}));
    world.refuse(Part::Service("a".to_owned()), "no");
    world.settle();
    assert_eq!(world.phase(), words("Error", "Failed to create Service exp-a for template 'a': no"));
    assert_eq!(world.sizes(), [0], "no pods that nobody can reach");

    let mut fields = template_with("a", json!({"service": {}}));
    fields["template"]["spec"]["containers"] = json!([{"name": "main"}]);
    let mut world = World::new(json!({"templates": [fields]}));
    world.settle();
    let message = "Failed to create Service exp-a for template 'a': template declares no container ports";
    assert_eq!(world.phase(), words("Error", message));
}

#[test]
fn pods_that_still_get_traffic_stay_and_their_delay_begins_when_it_has_left() {
    let fields = template_with("a", json!({"service": {}}));
    let mut world = World::new(json!({"duration": "10s", "scaleDownDelaySeconds": 0, "templates": [fields]}));
    world.begin();
    world.routed.insert("exp-a".to_owned());
    world.least_delay = 3;
    world.pass(11);
    world.settle();
    assert_eq!(world.phase().0, "Successful");
    world.pass(100);
    world.settle();
    assert_eq!((world.sizes(), world.deadline(0), world.services.len()), (vec![1], None, 1));
    assert!(world.last.wake_at.is_some(), "somebody looks when the traffic has left");
    world.routed.clear();
    world.settle();
    assert_eq!(world.sizes(), [1], "proxies have to see it");
    world.pass(4);
    world.settle();
    assert_eq!(world.sizes(), [0]);
}

#[test]
fn a_template_of_no_pods_runs_at_once_and_gets_no_service() {
    let mut world = World::new(json!({"templates": [template_with("a", json!({"replicas": 0, "service": {}}))]}));
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.services.len(), world.deadline(0)), ("Running", 0, None));
}
