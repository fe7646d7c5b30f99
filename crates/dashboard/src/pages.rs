//! The files of the pages, which are part of this program.

use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};

use crate::answer::{Answer, full, gzip, header_text, mark_packed, not_found, reads_gzip, redirect, typed};
use crate::route::decoded;

/// A file of the pages.
struct Page {
    name: &'static str,
    content: &'static [u8],
}

macro_rules! pages {
    ($($name:literal),* $(,)?) => {
        &[$(Page { name: $name, content: include_bytes!(concat!("../pages/", $name)) }),*]
    };
}

const PAGES: &[Page] = pages![
    "index.html",
    "icon.svg",
    "base.css",
    "list.css",
    "rollout.css",
    "main.js",
    "router.js",
    "server.js",
    "dom.js",
    "header.js",
    "keys.js",
    "dialog.js",
    "notice.js",
    "phases.js",
    "list.js",
    "filter.js",
    "cards.js",
    "favourites.js",
    "rollout.js",
    "actions.js",
    "steps.js",
    "weights.js",
    "revisions.js",
    "history.js",
    "diff.js",
    "yaml.js",
    "analysis.js",
    "thresholds.js",
    "plot.js",
    "images.js",
    "why.js",
    "events.js",
    "login.js",
];

const INDEX: &str = "index.html";
/// The tag that says where everything else is, as it stands in the file.
const BASE: &str = "<base href=\"/\" />";

struct Packed {
    tag: String,
    small: Option<Bytes>,
}

/// Tags and compressed forms, made when first asked for.
fn packed() -> &'static [Packed] {
    static MADE: OnceLock<Vec<Packed>> = OnceLock::new();
    MADE.get_or_init(|| {
        let pack = |page: &Page| {
            let digest = ring::digest::digest(&ring::digest::SHA256, page.content);
            let tag: String = digest.as_ref().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
            Packed { tag: format!("\"{tag}\""), small: gzip(page.content) }
        };
        PAGES.iter().map(pack).collect()
    })
}

/// `/` and the path everything is below, or just `/`.
pub(crate) fn root(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    format!("/{}", parts.join("/"))
}

/// Answers for a path that is no API. `root` begins with a slash and, unless it is one, does not end with one.
pub(crate) fn serve(root: &str, path: &str, asked: &HeaderMap) -> Answer {
    let Some(path) = decoded(path).and_then(|path| cleaned(&path)) else { return not_found() };
    if path == "/" && root != "/" {
        return redirect(&format!("{}{root}/", prefix(asked)));
    }
    let below = if root == "/" { Some(path.as_str()) } else { path.strip_prefix(root) };
    let Some(below) = below.filter(|rest| root == "/" || rest.is_empty() || rest.starts_with('/')) else {
        return not_found();
    };
    let name = below.trim_start_matches('/');
    match PAGES.iter().position(|page| page.name == name && name != INDEX) {
        Some(index) => file(index, asked),
        None => front(root, asked),
    }
}

/// The path without dots and double slashes; nothing when it leads above its beginning.
fn cleaned(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            other => parts.push(other),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

fn file(index: usize, asked: &HeaderMap) -> Answer {
    let (page, packed) = (&PAGES[index], &packed()[index]);
    let mut answer = match &packed.small {
        _ if header_text(asked, header::IF_NONE_MATCH) == packed.tag => {
            let mut answer = Response::new(full(Bytes::new()));
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            answer
        }
        Some(small) if reads_gzip(asked) => {
            let mut answer = typed(StatusCode::OK, content_type(page.name), small.clone());
            mark_packed(answer.headers_mut());
            answer
        }
        _ => typed(StatusCode::OK, content_type(page.name), Bytes::from_static(page.content)),
    };
    // Asked for again each time, and sent again only when it is another version.
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&packed.tag) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}

/// The one page; its script finds out what to show.
fn front(root: &str, asked: &HeaderMap) -> Answer {
    let page = PAGES.iter().find(|page| page.name == INDEX).map_or(&b""[..], |page| page.content);
    let slash = if root == "/" { "" } else { root };
    let base = format!("<base href=\"{}{slash}/\" />", prefix(asked));
    let text = String::from_utf8_lossy(page).replacen(BASE, &base, 1);
    let mut answer = typed(StatusCode::OK, content_type(INDEX), text);
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}

/// What a proxy in front of us has cut off the path; nothing when it is not plain.
fn prefix(asked: &HeaderMap) -> &str {
    let given = header_text(asked, HeaderName::from_static("x-forwarded-prefix")).trim_end_matches('/');
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let is_path = given.starts_with('/') && !given.contains("//") && !given.contains("..");
    if is_path && given.bytes().all(is_plain) { given } else { "" }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn get(root: &str, path: &str, headers: &[(&'static str, &str)]) -> (u16, HeaderMap, String) {
        let mut asked = HeaderMap::new();
        for (name, value) in headers {
            asked.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        let answer = serve(root, path, &asked);
        let (head, body) = answer.into_parts();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let body = runtime.block_on(body.collect()).unwrap().to_bytes();
        (head.status.as_u16(), head.headers, String::from_utf8_lossy(&body).into_owned())
    }

    #[test]
    fn every_path_below_the_root_is_the_front_page_or_a_file() {
        for path in
            ["/rollouts", "/rollouts/", "/rollouts/index.html", "/rollouts/x/../index.html", "/rollouts/rollout/n/x"]
        {
            let (status, _, body) = get("/rollouts", path, &[]);
            assert_eq!(status, 200, "{path}");
            assert!(body.contains("<base href=\"/rollouts/\" />"), "{path}");
        }
        let (status, headers, body) = get("/rollouts", "/rollouts/main.js", &[]);
        assert_eq!((status, headers[header::CONTENT_TYPE].to_str().unwrap()), (200, "text/javascript; charset=utf-8"));
        assert!(body.contains("import"));
    }

    #[test]
    fn nothing_outside_the_root_is_served() {
        for path in [
            "/index.html",
            "/etc/passwd",
            "/rollouts/../etc/passwd",
            "/rollouts/%2e%2e/etc/passwd",
            "/../../etc/passwd",
            "/rolloutsx",
            "/rollouts/..%2f..%2fetc/passwd",
            "/rollouts/..\\..\\etc\\passwd",
            "/%ff",
        ] {
            assert_eq!(get("/rollouts", path, &[]).0, 404, "{path}");
        }
        let (status, headers, _) = get("/rollouts", "/", &[]);
        assert_eq!((status, headers[header::LOCATION].to_str().unwrap()), (302, "/rollouts/"));
    }

    #[test]
    fn the_root_may_be_the_root_of_the_server_or_behind_a_prefix() {
        assert_eq!(root(""), "/");
        assert_eq!(root("/"), "/");
        assert_eq!(root("/a/b/"), "/a/b");
        assert!(get("/", "/", &[]).2.contains("<base href=\"/\" />"));
        assert!(get("/a", "/a/", &[("x-forwarded-prefix", "/tools/")]).2.contains("<base href=\"/tools/a/\" />"));
        for bad in ["//evil.example", "/\"><script>", "https://evil.example", "/.."] {
            let (_, _, body) = get("/a", "/a/", &[("x-forwarded-prefix", bad)]);
            assert!(body.contains("<base href=\"/a/\" />"), "{bad}");
        }
    }

    #[test]
    fn a_file_that_is_known_already_is_not_sent_again() {
        let (_, headers, _) = get("/", "/main.js", &[]);
        let tag = headers[header::ETAG].to_str().unwrap().to_owned();
        let (status, _, body) = get("/", "/main.js", &[("if-none-match", &tag)]);
        assert_eq!((status, body.as_str()), (304, ""));
        let (_, headers, _) = get("/", "/main.js", &[("accept-encoding", "gzip, br")]);
        assert_eq!(headers[header::CONTENT_ENCODING], "gzip");
    }

    #[test]
    fn pages_load_nothing_from_elsewhere_and_hold_no_script_of_their_own() {
        for page in PAGES {
            let text = String::from_utf8_lossy(page.content);
            for (number, line) in text.lines().enumerate() {
                let is_name = line.contains("http://www.w3.org/") || line.contains("href: \"https://");
                assert!(
                    is_name || !(line.contains("http://") || line.contains("https://")),
                    "{}:{}",
                    page.name,
                    number + 1
                );
                assert!(!line.contains("innerHTML"), "{}:{}: text must not become markup", page.name, number + 1);
            }
            if page.name == INDEX {
                assert!(!text.contains("<script>") && !text.contains(" style=") && !text.contains("onclick"));
                assert!(text.contains(BASE));
            }
        }
    }
}
