//! Repositories, as people and Git name them.

/// A repository of GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) owner: String,
    pub(super) name: String,
}

impl Repository {
    /// From `https://host/owner/name`, `ssh://git@host/owner/name.git` or `git@host:owner/name.git`.
    pub(super) fn read(url: &str) -> Option<Self> {
        let url = url.trim();
        let path = match url.split_once("://") {
            Some(("https" | "http" | "ssh" | "git" | "git+ssh", rest)) => rest.split_once('/')?.1,
            Some(_) => return None,
            // What scp and Git understand: a host, a colon, a path.
            None => url.split_once(':').filter(|(place, _)| !place.is_empty() && !place.contains('/'))?.1,
        };
        let path = path.trim_matches('/');
        let (owner, name) = path.strip_suffix(".git").unwrap_or(path).split_once('/')?;
        let is_name = |text: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !text.is_empty() && text.chars().all(fits) && !text.chars().all(|c| c == '.')
        };
        (is_name(owner) && is_name(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_names_its_repository() {
        let wanted = Repository { owner: "shop".to_owned(), name: "web.app".to_owned() };
        for url in [
            "https://github.com/shop/web.app",
            " https://github.com/shop/web.app.git\n",
            "https://user:token@github.com/shop/web.app/",
            "http://ghe.example:8080/shop/web.app.git",
            "ssh://git@github.com/shop/web.app.git",
            "ssh://git@github.com:22/shop/web.app",
            "git@github.com:shop/web.app.git",
            "github.com:/shop/web.app.git",
        ] {
            assert_eq!(Repository::read(url), Some(wanted.clone()), "{url}");
        }
    }

    #[test]
    fn what_names_no_repository_is_none() {
        for url in [
            "",
            "<no value>",
            "shop/web",
            "github.com/shop/web",
            "https://github.com",
            "https://github.com/shop",
            "https://github.com/shop/..",
            "https://github.com/shop/web/tree/main",
            "https://github.com/shop/web?x=y",
            "file:///shop/web",
            "git@github.com:web",
            ":shop/web",
        ] {
            assert_eq!(Repository::read(url), None, "{url}");
        }
    }
}
