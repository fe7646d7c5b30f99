//! Who asks, and whether that still holds: OIDC, exec plugins, a plugin that is older than what it talks to.

use serde_json::{Value, json};

use crate::world::{World, canary, steps};

/// URL-safe base64 without padding, as tokens have it.
fn encoded(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let digit = (bits >> (18 - 6 * place)) & 63;
            out.push(char::from(DIGITS[digit as usize]));
        }
    }
    out
}

/// A token that ends at this second. Nobody here checks signatures.
fn token(expires: i64) -> String {
    let parts =
        [r#"{"alg":"RS256"}"#.to_owned(), json!({"sub": "me", "exp": expires}).to_string(), "signed".to_owned()];
    parts.map(|part| encoded(&part)).join(".")
}

fn with_user(world: &World, user: Value) -> String {
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(world.kubeconfig()).unwrap()).unwrap();
    config["users"][0]["user"] = user;
    world.file("login", &config.to_string())
}

#[test]
fn an_oidc_token_is_sent_while_it_holds_and_named_when_it_has_expired() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let fresh = token(32_503_680_000);
    let login = |token: &str| {
        let config = json!({"idp-issuer-url": "https://issuer.example", "client-id": "kubectl", "id-token": token});
        json!({"auth-provider": {"name": "oidc", "config": config}})
    };
    let file = with_user(&world, login(&fresh));
    world.says(&["--kubeconfig", &file, "status", "web"], 0, "Healthy\n", "");
    let bearer = ("authorization".to_owned(), format!("Bearer {fresh}"));
    assert!(world.asked()[0].headers.contains(&bearer));

    let before = world.asked().len();
    let file = with_user(&world, login(&token(1_000_000_000)));
    let output = world.run(&["--kubeconfig", &file, "status", "web"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.starts_with(&format!("Error: no credentials for user \"me\" of kubeconfig {file}: ")), "{err}");
    assert!(err.contains("\nHint: log in again as user \"me\" "), "{err}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(world.asked().len(), before, "nothing is asked without credentials");
}

#[test]
fn a_plugin_that_is_older_than_the_controller_says_so_where_people_decide_by_it() {
    let world = World::new();
    let mut newer = canary("web", steps(), json!({"phase": "Healthy"}));
    newer["spec"]["strategy"]["canary"]["teleport"] = json!(true);
    newer["status"]["shields"] = json!("up");
    let answer = newer.clone();
    world.refuse(move |asked| {
        (asked.method == "GET" && asked.path.ends_with("/rollouts/web")).then(|| (200, answer.clone()))
    });
    let hint = "Hint: rollout \"web\" has a field that this plugin does not know (spec.strategy.canary.teleport and 1 more): \
                the controller may be newer than the plugin, and know better\n";
    for command in [&["why", "web"][..], &["plan", "web"]] {
        let output = world.run(command);
        assert_eq!(String::from_utf8_lossy(&output.stderr), hint, "{command:?}");
        assert_eq!(output.status.code(), Some(0), "{command:?}");
    }
    // Scripts see what they know.
    let output = world.run(&["status", "web"]);
    assert_eq!((String::from_utf8_lossy(&output.stderr).as_ref(), output.status.code()), ("", Some(0)));
}
