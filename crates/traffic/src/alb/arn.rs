//! Names inside ARNs, as metrics of AWS use them.

/// `lb-name/123` of a load balancer's ARN; empty when it is none.
pub fn load_balancer_name(arn: &str) -> String {
    after_slash(arn, 2)
}

/// `name/123` of a target group's ARN; empty when it is none.
pub fn target_group_name(arn: &str) -> String {
    after_slash(arn, 1)
}

fn after_slash(arn: &str, count: usize) -> String {
    arn.splitn(count + 1, '/').nth(count).filter(|_| arn.starts_with("arn:")).unwrap_or_default().to_owned()
}
