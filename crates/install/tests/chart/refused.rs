//! Values that cannot work are refused with the name of the field; unknown ones are not.

use crate::rendering::{chart, helm};

fn templated(setting: &str) -> Result<String, String> {
    let chart = chart();
    let output = helm(&["template", "web", chart.to_str().unwrap(), "--set", setting]);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_by_its_name() {
    let cases = [
        ("controller.replicas=two", "/controller/replicas"),
        ("controller.logging.level=loud", "/controller/logging/level"),
        ("controller.logging.format=xml", "/controller/logging/format"),
        ("controller.image.pullPolicy=Sometimes", "/controller/image/pullPolicy"),
        ("controller.containerPorts.metrics=70000", "/controller/containerPorts/metrics"),
        ("clusterInstall=maybe", "/clusterInstall"),
        ("dashboard.service.type=Cluster", "/dashboard/service/type"),
        ("dashboard.authMode=", "/dashboard/authMode"),
        ("providerRBAC.providers.istio=all", "/providerRBAC/providers/istio"),
        ("notifications.secret.items.token=1", "/notifications/secret/items/token"),
    ];
    for (setting, field) in cases {
        let complaint = templated(setting).expect_err(setting);
        assert!(complaint.contains(field), "{setting}: {complaint}");
    }
}

#[test]
fn a_value_that_the_chart_does_not_know_is_left_alone() {
    let usual = templated("controller.replicas=2").unwrap();
    assert_eq!(templated("controller.somethingOfMine.nested=1").unwrap(), usual);
}

#[test]
fn null_takes_a_list_or_a_map_away() {
    let usual = templated("controller.replicas=2").unwrap();
    for name in ["podLabels", "controller.podLabels", "controller.extraArgs", "controller.volumes", "global.dnsConfig"]
    {
        assert_eq!(templated(&format!("{name}=null")).unwrap(), usual, "{name}");
    }
    for name in ["notifications.triggers", "notifications.subscriptions", "extraObjects", "crdAnnotations"] {
        assert_eq!(templated(&format!("{name}=null")).unwrap(), usual, "{name}");
    }
    let routers = templated("providerRBAC.providers=null").unwrap();
    assert!(!routers.contains("networking.istio.io") && usual.contains("networking.istio.io"));
}
