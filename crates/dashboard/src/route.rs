//! What a path asks for.

use http::Method;
use tidegate_runtime::Key;

/// What is done to a Rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Promote,
    Abort,
    Retry,
    Restart,
    Pause,
    Resume,
    Undo(String),
    SetImage { container: String, image: String },
}

impl Action {
    /// The word for it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Abort => "abort",
            Self::Retry => "retry",
            Self::Restart => "restart",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Undo(_) => "undo",
            Self::SetImage { .. } => "set image",
        }
    }
}

/// What is asked for, below `/api/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Version,
    Namespaces,
    Session,
    LogIn,
    LogOut,
    Summaries,
    WatchSummaries,
    List(String),
    WatchList(String),
    Info(Key),
    WatchInfo(Key),
    Why(Key),
    Events(Key),
    Revisions(Key),
    Weights(Key),
    Rights(Key),
    Act(Key, Action),
}

impl Route {
    /// Finds out what a path below `/api/` asks for; nothing when there is no such thing.
    pub(crate) fn find(method: &Method, path: &str) -> Option<Self> {
        let segments: Vec<String> = path.split('/').map(decoded).collect::<Option<_>>()?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let method = if method == Method::HEAD { "GET" } else { method.as_str() };
        let rest = segments.strip_prefix(&["v1"])?;
        match (method, rest) {
            ("GET", ["version"]) => Some(Self::Version),
            ("GET", ["namespace"]) => Some(Self::Namespaces),
            ("GET", ["session"]) => Some(Self::Session),
            ("POST", ["session"]) => Some(Self::LogIn),
            ("DELETE", ["session"]) => Some(Self::LogOut),
            ("GET", ["summaries"]) => Some(Self::Summaries),
            ("GET", ["summaries", "watch"]) => Some(Self::WatchSummaries),
            (_, ["rollouts", rest @ ..]) => Self::of_rollouts(method, rest),
            _ => None,
        }
    }

    fn of_rollouts(method: &str, segments: &[&str]) -> Option<Self> {
        if segments.iter().take(2).any(|segment| segment.is_empty()) {
            return None;
        }
        match (method, segments) {
            ("GET", [namespace, "info"]) => Some(Self::List((*namespace).to_owned())),
            ("GET", [namespace, "info", "watch"]) => Some(Self::WatchList((*namespace).to_owned())),
            ("GET", [namespace, name, rest @ ..]) => {
                let key = Key::new(*namespace, *name);
                match rest {
                    ["info"] => Some(Self::Info(key)),
                    ["info", "watch"] => Some(Self::WatchInfo(key)),
                    ["why"] => Some(Self::Why(key)),
                    ["events"] => Some(Self::Events(key)),
                    ["revisions"] => Some(Self::Revisions(key)),
                    ["weights"] => Some(Self::Weights(key)),
                    ["rights"] => Some(Self::Rights(key)),
                    _ => None,
                }
            }
            ("PUT", [namespace, name, rest @ ..]) => Some(Self::Act(Key::new(*namespace, *name), action(rest)?)),
            _ => None,
        }
    }
}

fn action(segments: &[&str]) -> Option<Action> {
    match segments {
        ["promote"] => Some(Action::Promote),
        ["abort"] => Some(Action::Abort),
        ["retry"] => Some(Action::Retry),
        ["restart"] => Some(Action::Restart),
        ["pause"] => Some(Action::Pause),
        ["resume"] => Some(Action::Resume),
        ["undo", revision] => Some(Action::Undo((*revision).to_owned())),
        ["set", container, image @ .., tag] if !image.is_empty() && !container.is_empty() => {
            Some(Action::SetImage { container: (*container).to_owned(), image: format!("{}:{tag}", image.join("/")) })
        }
        _ => None,
    }
}

/// A part of a path with its escapes resolved; nothing when that gives no text.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits =
            std::str::from_utf8(&digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// The value of a parameter, with its escapes resolved.
pub(crate) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let pairs = query.unwrap_or_default().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut found = pairs.filter(|(key, _)| *key == name);
    found.next().and_then(|(_, value)| decoded(&value.replace('+', " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &str) -> Option<Route> {
        Route::find(&Method::PUT, path)
    }

    #[test]
    fn images_may_hold_slashes_escaped_or_not() {
        let wanted = |image: &str| {
            let action = Action::SetImage { container: "web".to_owned(), image: image.to_owned() };
            Some(Route::Act(Key::new("n", "x"), action))
        };
        assert_eq!(put("v1/rollouts/n/x/set/web/shop/cart/2.0"), wanted("shop/cart:2.0"));
        assert_eq!(put("v1/rollouts/n/x/set/web/shop%2Fcart/2.0"), wanted("shop/cart:2.0"));
        assert_eq!(put("v1/rollouts/n/x/set/web/repo@sha256/abc"), wanted("repo@sha256:abc"));
        assert_eq!(put("v1/rollouts/n/x/set/web/cart"), None, "a tag is needed");
    }

    #[test]
    fn the_same_words_at_other_places_mean_other_things() {
        let get = |path: &str| Route::find(&Method::GET, path);
        assert_eq!(get("v1/rollouts/n/info"), Some(Route::List("n".to_owned())));
        assert_eq!(get("v1/rollouts/n/info/watch"), Some(Route::WatchList("n".to_owned())));
        assert_eq!(get("v1/rollouts/n/info/info"), Some(Route::Info(Key::new("n", "info"))));
        assert_eq!(get("v1/rollouts/n/x/info/watch"), Some(Route::WatchInfo(Key::new("n", "x"))));
        for unknown in ["v1/rollouts//x/info", "v2/version", "v1/rollouts/n/x/promote", "v1/rollouts/n/%zz/info"] {
            assert_eq!(get(unknown), None, "{unknown}");
        }
        assert_eq!(put("v1/version"), None);
    }

    #[test]
    fn parameters_are_read_with_their_escapes() {
        assert_eq!(parameter(Some("a=1&fields=result.x%2Cresult.y"), "fields").as_deref(), Some("result.x,result.y"));
        assert_eq!(parameter(Some("a=1"), "fields"), None);
    }
}
