//! Which hosts may be reached: tenants write addresses, and the controller sits where tenants do not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A host or addresses: `prometheus.monitoring.svc`, `*.example.com`, `10.0.0.0/8`, `192.0.2.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostRule {
    /// This host.
    Name(String),
    /// Every host below this name.
    Below(String),
    /// These addresses.
    Addresses {
        /// The network.
        network: IpAddr,
        /// How many leading bits count.
        bits: u8,
    },
}

/// Text that is no host rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no host rule; write a name, *.name, an address or a network such as 10.0.0.0/8")]
pub struct NoHostRule(String);

impl FromStr for HostRule {
    type Err = NoHostRule;

    fn from_str(text: &str) -> Result<Self, NoHostRule> {
        let bad = || NoHostRule(text.to_owned());
        let trimmed = text.trim();
        if let Some((network, bits)) = trimmed.split_once('/') {
            let network: IpAddr = network.parse().map_err(|_| bad())?;
            let most = if network.is_ipv4() { 32 } else { 128 };
            let bits = bits.parse().ok().filter(|bits: &u8| *bits <= most).ok_or_else(bad)?;
            return Ok(Self::Addresses { network, bits });
        }
        if let Ok(network) = trimmed.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self::Addresses { network, bits: if network.is_ipv4() { 32 } else { 128 } });
        }
        let (name, is_below) = trimmed.strip_prefix("*.").map_or((trimmed, false), |rest| (rest, true));
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if name.is_empty() || !name.chars().all(fits) {
            return Err(bad());
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        Ok(if is_below { Self::Below(name) } else { Self::Name(name) })
    }
}

impl HostRule {
    fn covers_name(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Below(own) => name.strip_suffix(own.as_str()).is_some_and(|rest| rest.ends_with('.')),
            Self::Addresses { .. } => false,
        }
    }

    fn covers_address(&self, address: IpAddr) -> bool {
        let Self::Addresses { network, bits } = self else { return false };
        let number = |address: IpAddr| match address {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
            IpAddr::V6(address) => (u128::from(address), 128),
        };
        let ((a, width), (b, other)) = (number(*network), number(address));
        width == other && (*bits == 0 || (a ^ b) >> (128 - u32::from(*bits)) == 0)
    }
}

/// Rules for hosts. A denied host is never reached; with any allowed ones, no other is. Link-local addresses, those of
/// cloud metadata services and those that are no host's are refused unless a rule allows the address itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// Hosts that may be reached; empty means all.
    pub allow: Vec<HostRule>,
    /// Hosts that may not.
    pub deny: Vec<HostRule>,
}

impl Hosts {
    /// Whether a name may be asked for at all; its addresses are looked at when they are known.
    pub(crate) fn check_name(&self, host: &str) -> Result<(), String> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if self.deny.iter().any(|rule| rule.covers_name(&host)) {
            return Err(format!("host {host} is on the controller's deny list"));
        }
        Ok(())
    }

    /// Whether a connection to an address of a host may be made.
    pub(crate) fn check_address(&self, host: &str, address: IpAddr) -> Result<(), String> {
        let address = plain(address);
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if self.deny.iter().any(|rule| rule.covers_address(address)) {
            return Err(format!("address {address} of host {host} is on the controller's deny list"));
        }
        let address_allowed = self.allow.iter().any(|rule| rule.covers_address(address));
        if !address_allowed && let Some(what) = sensitive(address) {
            return Err(format!(
                "address {address} of host {host} is {what}, which metrics may not reach unless the controller allows it"
            ));
        }
        let name_allowed = self.allow.iter().any(|rule| rule.covers_name(&host));
        if self.allow.is_empty() || address_allowed || name_allowed {
            return Ok(());
        }
        Err(format!("host {host} is not on the controller's allow list"))
    }

    /// As far as can be told when a proxy resolves the name.
    pub(crate) fn check_unresolved(&self, host: &str) -> Result<(), String> {
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => self.check_address(host, address),
            Err(_) => {
                let name = host.trim_end_matches('.').to_ascii_lowercase();
                let is_allowed = self.allow.is_empty() || self.allow.iter().any(|rule| rule.covers_name(&name));
                if is_allowed { Ok(()) } else { Err(format!("host {name} is not on the controller's allow list")) }
            }
        }
    }
}

/// IPv4 in the clothes of IPv6 (mapped, compatible, or through a NAT64 gateway) is IPv4.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    let [a, b, c, d, e, f, high, low] = six.segments();
    let is_compatible = [a, b, c, d, e, f] == [0; 6] && (high, low) > (0, 1);
    let is_translated = (a, b) == (0x64, 0xff9b);
    if six.to_ipv4_mapped().is_some() || is_compatible || is_translated {
        return IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    }
    address
}

/// What makes an address one that tenants should not make the controller reach.
fn sensitive(address: IpAddr) -> Option<&'static str> {
    const METADATA_V4: [Ipv4Addr; 3] =
        [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];
    const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    match address {
        IpAddr::V4(address) if address.is_link_local() => Some("link-local (cloud metadata)"),
        IpAddr::V4(address) if METADATA_V4.contains(&address) => Some("that of a cloud metadata service"),
        IpAddr::V4(address) if address.is_unspecified() || address.is_multicast() || address.is_broadcast() => {
            Some("no host's")
        }
        IpAddr::V6(address) if (address.segments()[0] & 0xffc0) == 0xfe80 => Some("link-local"),
        IpAddr::V6(METADATA_V6) => Some("that of a cloud metadata service"),
        IpAddr::V6(address) if address.is_unspecified() || address.is_multicast() => Some("no host's"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(allow: &[&str], deny: &[&str]) -> Hosts {
        let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Hosts { allow: rules(allow), deny: rules(deny) }
    }

    fn may(hosts: &Hosts, host: &str, address: &str) -> bool {
        hosts.check_name(host).is_ok() && hosts.check_address(host, address.parse().unwrap()).is_ok()
    }

    #[test]
    fn metadata_and_link_local_addresses_are_refused_unless_allowed_by_address() {
        let open = hosts(&[], &[]);
        for address in [
            "169.254.169.254",
            "169.254.1.1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "fe80::1",
            "fd00:ec2::254",
            "0.0.0.0",
            "100.100.100.200",
        ] {
            assert!(!may(&open, "innocent.example", address), "{address}");
        }
        assert!(may(&open, "x", "10.1.2.3") && may(&open, "x", "127.0.0.1") && may(&open, "x", "2001:db8::1"));
        assert!(may(&hosts(&["169.254.0.0/16"], &[]), "x", "169.254.169.254"));
        assert!(!may(&hosts(&["x"], &[]), "x", "169.254.169.254"));
    }

    #[test]
    fn deny_wins_and_any_allow_rule_closes_the_rest() {
        let rules = hosts(&["*.example.com", "10.0.0.0/8"], &["bad.example.com", "10.9.0.0/16"]);
        assert!(may(&rules, "a.example.com", "192.0.2.1") && may(&rules, "A.Example.com.", "192.0.2.1"));
        assert!(may(&rules, "other", "10.1.1.1"));
        assert!(!may(&rules, "bad.example.com", "192.0.2.1") && !may(&rules, "other", "10.9.1.1"));
        assert!(!may(&rules, "example.com", "192.0.2.1") && !may(&rules, "notexample.com", "192.0.2.1"));
        assert_eq!(
            rules.check_unresolved("elsewhere"),
            Err("host elsewhere is not on the controller's allow list".to_owned())
        );
        assert!(rules.check_unresolved("a.example.com").is_ok());
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in ["", "*.", "a b", "10.0.0.0/33", "10.0.0/8", "http://x"] {
            assert!(text.parse::<HostRule>().is_err(), "{text}");
        }
    }
}
