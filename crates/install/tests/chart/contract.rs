//! The value names and defaults that users of the community chart expect, against `values.yaml`.

use serde_json::Value;

use crate::rendering::{answer, chart};

/// Names and defaults of the contract. Where it names no default, the one here means the same as leaving it out.
const VALUES: &str = r#"
installCRDs true
keepCRDs true
clusterInstall true
createClusterAggregateRoles true
nameOverride ""
fullnameOverride ""
namespaceOverride ""
apiVersionOverrides.ingress ""
kubeVersionOverride ""
extraObjects []
crdAnnotations {}
global.deploymentAnnotations {}
global.deploymentLabels {}
global.revisionHistoryLimit 10
global.dnsConfig {}
controller.component "rollouts-controller"
controller.replicas 2
controller.image.registry ""
controller.image.repository "tidegate/rollouts-controller"
controller.image.tag ""
controller.image.pullPolicy "IfNotPresent"
controller.logging.level "info"
controller.logging.kloglevel "0"
controller.logging.format "text"
controller.containerPorts.metrics 8090
controller.containerPorts.healthz 8080
controller.livenessProbe.httpGet {"path": "/healthz", "port": "healthz"}
controller.readinessProbe.httpGet {"path": "/metrics", "port": "metrics"}
controller.extraArgs []
controller.extraEnv []
controller.extraContainers []
controller.initContainers []
controller.resources {}
controller.nodeSelector {}
controller.tolerations []
controller.affinity {}
controller.topologySpreadConstraints []
controller.priorityClassName ""
controller.lifecycle {}
controller.terminationGracePeriodSeconds 30
controller.deploymentAnnotations {}
controller.podAnnotations {}
controller.podLabels {}
controller.createClusterRole true
controller.awsVerifyTargetGroup false
controller.awsTargetGroupBindingAPIVersion ""
controller.albTagKeyResourceID ""
controller.selfServiceNotification false
controller.pprofAddress ""
controller.metrics.enabled false
controller.metrics.service {"portName": "metrics", "port": 8090, "annotations": {}}
controller.metrics.serviceMonitor.enabled false
controller.metrics.serviceMonitor.namespace ""
controller.metrics.serviceMonitor.additionalLabels {}
controller.metrics.serviceMonitor.additionalAnnotations {}
controller.metrics.serviceMonitor.relabelings []
controller.metrics.serviceMonitor.metricRelabelings []
controller.metrics.serviceMonitor.tlsConfig {}
controller.pdb {"enabled": false, "minAvailable": null, "maxUnavailable": null, "labels": {}, "annotations": {}}
controller.volumes []
controller.volumeMounts []
controller.metricProviderPlugins []
controller.stepPlugins []
controller.trafficRouterPlugins []
controller.createConfigmap true
serviceAccount {"create": true, "annotations": {}, "name": ""}
podSecurityContext {"runAsNonRoot": true}
containerSecurityContext.readOnlyRootFilesystem true
containerSecurityContext.allowPrivilegeEscalation false
containerSecurityContext.capabilities {"drop": ["ALL"]}
containerSecurityContext.seccompProfile {"type": "RuntimeDefault"}
podAnnotations {}
podLabels {}
imagePullSecrets []
serviceAnnotations {}
providerRBAC.enabled true
providerRBAC.providers.istio true
providerRBAC.providers.smi true
providerRBAC.providers.ambassador true
providerRBAC.providers.awsLoadBalancerController true
providerRBAC.providers.awsAppMesh true
providerRBAC.providers.traefik true
providerRBAC.providers.apisix true
providerRBAC.providers.contour true
providerRBAC.providers.glooPlatform true
providerRBAC.providers.gatewayAPI true
providerRBAC.additionalRules []
dashboard.enabled false
dashboard.readonly false
dashboard.replicas 1
dashboard.component "rollouts-dashboard"
dashboard.image.registry ""
dashboard.image.repository "tidegate/kubectl-argo-rollouts"
dashboard.image.tag ""
dashboard.image.pullPolicy "IfNotPresent"
dashboard.rootPath ""
dashboard.extraArgs []
dashboard.service.type "ClusterIP"
dashboard.service.port 3100
dashboard.service.targetPort 3100
dashboard.service.portName "dashboard"
dashboard.ingress.enabled false
dashboard.ingress.ingressClassName ""
dashboard.ingress.hosts []
dashboard.ingress.paths ["/"]
dashboard.ingress.pathType "Prefix"
dashboard.ingress.tls []
dashboard.serviceAccount {"create": true, "annotations": {}, "name": ""}
dashboard.pdb {"enabled": false, "minAvailable": null, "maxUnavailable": null, "labels": {}, "annotations": {}}
dashboard.resources {}
dashboard.nodeSelector {}
dashboard.tolerations []
dashboard.affinity {}
notifications.configmap.create true
notifications.secret {"create": false, "items": {}, "annotations": {}}
notifications.notifiers {}
notifications.templates {}
notifications.triggers {}
notifications.subscriptions []
"#;

#[test]
fn every_value_of_the_contract_is_there_with_its_default() {
    let chart = chart();
    let text = answer(&["show", "values", chart.to_str().unwrap()]);
    let values: Value = serde_saphyr::from_str(&text).unwrap();
    for line in VALUES.trim().lines() {
        let (name, default) = line.split_once(' ').unwrap();
        let found = values.pointer(&format!("/{}", name.replace('.', "/"))).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(*found, serde_json::from_str::<Value>(default).unwrap(), "{name}");
    }
}

#[test]
fn every_value_is_explained() {
    let chart = chart();
    let text = answer(&["show", "values", chart.to_str().unwrap()]);
    let lines: Vec<&str> = text.lines().collect();
    let is_explained = |at: usize| at > 0 && lines[at - 1].trim_start().starts_with("# -- ");
    // A line that begins a group has no value of its own; what is in a value that is explained as a whole is part of it.
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut whole: Option<usize> = None;
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        if whole.is_some_and(|column| indent(line) > column) {
            continue;
        }
        whole = is_explained(at).then(|| indent(line));
        let begins_a_group = line.ends_with(':');
        assert!(whole.is_some() || begins_a_group, "line {} of values.yaml: {line}", at + 1);
    }
}
