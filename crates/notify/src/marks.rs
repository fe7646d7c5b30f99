//! What was told, remembered in an annotation of the Rollout.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ring::digest;
use tidegate_expr::base64;

use crate::subscriptions::Destination;

/// Marks that are kept; older ones are forgotten.
pub const MOST_MARKS: usize = 100;

/// Marks: when what was told to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(BTreeMap<String, i64>);

impl Marks {
    /// From the annotation. What cannot be read is no mark: being told twice is better than never.
    pub fn read(annotation: Option<&str>) -> Self {
        let read = annotation.and_then(|text| serde_json::from_str::<BTreeMap<String, serde_json::Value>>(text).ok());
        let marks = read.into_iter().flatten().filter_map(|(key, at)| Some((key, at.as_i64()?)));
        Self(marks.collect())
    }

    /// As the annotation; nothing when there are none, and then the annotation goes.
    pub fn annotation(&self) -> Option<String> {
        let mut newest: Vec<(&String, &i64)> = self.0.iter().collect();
        newest.sort_by_key(|(_, at)| std::cmp::Reverse(**at));
        newest.truncate(MOST_MARKS);
        let kept: BTreeMap<&String, &i64> = newest.into_iter().collect();
        if kept.is_empty() { None } else { serde_json::to_string(&kept).ok() }
    }

    /// Whether there is a mark.
    pub fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets a mark.
    pub fn set(&mut self, key: &str, at: Timestamp) {
        self.0.insert(key.to_owned(), at.as_second());
    }

    /// Takes a mark away; whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        self.0.remove(key).is_some()
    }
}

/// The name of a condition: its place and a digest of its text, so that a changed condition is told anew.
pub(crate) fn condition_key(index: usize, when: &str) -> String {
    let digest = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, when.as_bytes());
    let text = base64::encode(digest.as_ref()).replace('+', "-").replace('/', "_");
    format!("[{index}].{}", text.trim_end_matches('='))
}

/// The key of a mark.
pub(crate) fn mark_key(
    namespace: Option<&str>,
    once_per: Option<&str>,
    trigger: &str,
    condition: &str,
    destination: &Destination,
) -> String {
    let namespace = namespace.map(|namespace| format!("{namespace}:")).unwrap_or_default();
    let once_per = once_per.map(|value| format!("{value}:")).unwrap_or_default();
    format!("{once_per}{namespace}{trigger}:{condition}:{}:{}", destination.service, destination.recipient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_named_by_trigger_condition_service_and_recipient() {
        let destination = Destination { service: "slack".to_owned(), recipient: "chan".to_owned() };
        // printf 'a' | sha1sum | xxd -r -p | base64, with - and _ and no padding.
        let condition = condition_key(0, "a");
        assert_eq!(condition, "[0].hvfkN_qlp_zhXR3cuerq6jd2Z7g");
        let key = |namespace, once| mark_key(namespace, once, "on-x", &condition, &destination);
        assert_eq!(key(None, None), "on-x:[0].hvfkN_qlp_zhXR3cuerq6jd2Z7g:slack:chan");
        assert_eq!(key(Some("shop"), None), "shop:on-x:[0].hvfkN_qlp_zhXR3cuerq6jd2Z7g:slack:chan");
        assert_eq!(key(Some("shop"), Some("5d")), "5d:shop:on-x:[0].hvfkN_qlp_zhXR3cuerq6jd2Z7g:slack:chan");
    }

    #[test]
    fn of_101_marks_the_oldest_is_dropped_and_none_is_no_annotation() {
        let mut marks = Marks::default();
        assert_eq!(marks.annotation(), None);
        for number in 0..101 {
            marks.set(&format!("key-{number}"), Timestamp::from_second(1000 + number).unwrap());
        }
        let kept = Marks::read(marks.annotation().as_deref());
        assert_eq!((kept.0.len(), kept.contains("key-0"), kept.contains("key-1")), (MOST_MARKS, false, true));
        let mut one = Marks::read(Some(r#"{"a":1,"b":"x","c":2.5}"#));
        assert_eq!(one.annotation().as_deref(), Some(r#"{"a":1}"#));
        assert!(one.remove("a") && !one.remove("a"));
        assert_eq!((Marks::read(Some("{not json")), Marks::read(None)), (Marks::default(), Marks::default()));
    }
}
