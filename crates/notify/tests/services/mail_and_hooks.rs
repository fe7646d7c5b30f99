use tidegate_notify::Turn;

use super::{asked, header, mailed, talk};

#[test]
fn a_webhook_is_what_the_template_of_its_name_says() {
    let options = "url: http://h/base/\nheaders: [{name: X-Token, value: t}]\nbasicAuth: {username: u, password: p}\ninsecureSkipVerify: true";
    let template = "message: hi\nwebhook:\n  hook: {method: post, path: '/x/{{.rollout.metadata.name}}', body: '{\"a\": \"{{.recipient}}\"}'}\n  other: {body: no}";
    let mut hook = talk("webhook.hook", options, template, "me").unwrap();
    let request = asked(hook.begin());
    assert_eq!(
        (request.method.as_str(), request.url.as_str(), request.insecure),
        ("POST", "http://h/base/x/web", true)
    );
    assert_eq!((header(&request, "X-Token"), header(&request, "Authorization")), (Some("t"), Some("Basic dTpw")));
    assert_eq!(request.body, br#"{"a": "me"}"#);
    assert_eq!(hook.hear(&tidegate_notify::Response::new(204, "")), Ok(Turn::Done(Vec::new())));
    let refused = hook.hear(&tidegate_notify::Response::new(500, "no")).unwrap_err();
    assert_eq!(refused.text, "request to webhook has failed with error code 500 : no");
    let mut plain = talk("webhook.plain", "url: http://h", "message: hi", "").unwrap();
    let request = asked(plain.begin());
    assert_eq!(
        (request.method.as_str(), request.url.as_str(), request.body.as_slice()),
        ("GET", "http://h", b"hi".as_slice())
    );
}

#[test]
fn a_mail_has_subject_and_body_of_the_template_and_several_receivers() {
    let options = "host: smtp\nport: 465\nusername: u\npassword: p\nfrom: Rollouts <bot@x.org>\nhtml: true\ninsecure_skip_verify: true";
    let template = "message: hi\nemail: {subject: 'About {{.rollout.metadata.name}}', body: '<b>x</b>'}";
    let mail = mailed(talk("email", options, template, "a@x.org, b@x.org").unwrap().begin());
    assert_eq!((mail.host.as_str(), mail.port, mail.is_html, mail.insecure), ("smtp", 465, true, true));
    assert_eq!((mail.subject.as_str(), mail.body.as_str(), mail.to.len()), ("About web", "<b>x</b>", 2));
    assert!(!format!("{mail:?}").contains("\"p\""));
    let plain = mailed(talk("email", "host: smtp\nfrom: b@x", "message: hi", "a@x").unwrap().begin());
    assert_eq!((plain.port, plain.subject.as_str(), plain.body.as_str()), (587, "", "hi"));
}

#[test]
fn addresses_that_could_smuggle_commands_are_refused() {
    for recipient in ["", "a b@x", "a@x>\r\nDATA", "<a@x", " , "] {
        assert!(talk("email", "host: smtp\nfrom: b@x", "message: hi", recipient).is_err(), "{recipient:?}");
    }
    assert!(talk("email", "host: smtp\nport: 70000\nfrom: b@x", "message: hi", "a@x").is_err());
}
