//! What answers mean.

use std::collections::BTreeMap;

use super::Named;
use crate::xml::Element;

pub(super) fn text(element: &Element, name: &str) -> String {
    element.child(name).map(|child| child.text.clone()).unwrap_or_default()
}

pub(super) fn named(element: &Element, name: &str, arn: &str) -> Named {
    Named { name: text(element, name), arn: text(element, arn) }
}

/// The tags of a description.
pub(super) fn tags(description: &Element) -> BTreeMap<String, String> {
    description.members("Tags").iter().map(|tag| (text(tag, "Key"), text(tag, "Value"))).collect()
}

/// Where the forward actions of a rule lead.
pub(super) fn forwards(rule: &Element) -> Vec<BTreeMap<String, i64>> {
    let actions = rule.members("Actions").iter().filter(|action| text(action, "Type") == "forward");
    actions.map(forward).collect()
}

fn forward(action: &Element) -> BTreeMap<String, i64> {
    let groups = action.child("ForwardConfig").map(|config| config.members("TargetGroups")).unwrap_or_default();
    let weight = |group: &Element| text(group, "Weight").parse().unwrap_or_default();
    let weights: BTreeMap<String, i64> =
        groups.iter().map(|group| (text(group, "TargetGroupArn"), weight(group))).collect();
    match text(action, "TargetGroupArn") {
        // An action that only names a group sends everything there.
        arn if weights.is_empty() && !arn.is_empty() => BTreeMap::from([(arn, 100)]),
        _ => weights,
    }
}

/// Address and port of a target.
pub(super) fn target(health: &Element) -> Option<(String, i64)> {
    let target = health.child("Target")?;
    Some((text(target, "Id"), text(target, "Port").parse().ok()?))
}

/// The region that a host name of a load balancer names, or nothing.
pub(super) fn region_of_host(host: &str) -> &str {
    let mut parts = host.split('.').skip(1);
    match (parts.next(), parts.next()) {
        (Some("elb"), Some(region)) => region,
        (Some(region), Some("elb")) => region,
        _ => "",
    }
}

/// The region of `arn:aws:elasticloadbalancing:REGION:…`, or nothing.
pub(super) fn region_of_arn(arn: &str) -> &str {
    arn.split(':').nth(3).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::parse;

    #[test]
    fn forward_actions_give_their_weights_and_other_actions_none() {
        let rule = parse(
            "<member><Actions><member><Type>redirect</Type></member><member><Type>forward</Type><ForwardConfig><TargetGroups>\
             <member><TargetGroupArn>a</TargetGroupArn><Weight>20</Weight></member>\
             <member><TargetGroupArn>b</TargetGroupArn><Weight>80</Weight></member>\
             </TargetGroups></ForwardConfig></member><member><Type>forward</Type><TargetGroupArn>c</TargetGroupArn></member>\
             </Actions></member>",
        )
        .unwrap();
        let of = |pairs: &[(&str, i64)]| pairs.iter().map(|(arn, weight)| ((*arn).to_owned(), *weight)).collect();
        assert_eq!(forwards(&rule), [of(&[("a", 20), ("b", 80)]), of(&[("c", 100)])]);
    }

    #[test]
    fn host_names_and_arns_say_their_region() {
        let hosts = ["k8s-web-1.us-west-2.elb.amazonaws.com", "web.elb.eu-west-1.amazonaws.com", "web.example"];
        assert_eq!(hosts.map(region_of_host), ["us-west-2", "eu-west-1", ""]);
        assert_eq!(region_of_arn("arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/x/1"), "eu-west-1");
    }
}
