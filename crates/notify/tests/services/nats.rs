use std::time::Duration;

use tidegate_notify::{Failure, NatsLogin, Nkey, Publication, Response, Turn};

use super::{problem, read_from, talk};

/// For tests only.
const SEED: &str = "SUAK2EUHHXSURZAU5T36IEYSR6WG755AWMH6GOANGPQL3K2M6Q6INQYJYI";

fn published(turn: Result<Turn, Failure>) -> Publication {
    match turn.unwrap() {
        Turn::Publish(publication) => publication,
        other => panic!("a publication is wanted, but it is {other:?}"),
    }
}

fn publication(options: &str) -> Publication {
    published(talk("nats", options, "message: hi {{.rollout.metadata.name}}", "rollouts.web").unwrap().begin())
}

fn user(username: &str, password: &str) -> NatsLogin {
    NatsLogin::User { username: username.to_owned(), password: password.to_owned() }
}

#[test]
fn nats_gets_the_message_for_the_subject_with_headers() {
    let options =
        "url: nats://nats.messaging:4333\nheaders: {X-Team: shop, X-Number: 5}\nusername: me\npassword: geheim";
    let found = publication(options);
    assert_eq!((found.subject.as_str(), found.payload.as_slice()), ("rollouts.web", b"hi web".as_slice()));
    let headers = [("X-Number", "5"), ("X-Team", "shop")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!((found.headers.as_slice(), found.timeout), (headers.as_slice(), Duration::from_secs(10)));
    let [server] = &found.servers[..] else { panic!("one server is named") };
    assert_eq!((server.host.as_str(), server.port, server.is_tls), ("nats.messaging", 4333, false));
    assert_eq!(server.login, user("me", "geheim"));
    let shown = format!("{:?}", Turn::Publish(found));
    assert!(!shown.contains("geheim") && !shown.contains("shop") && !shown.contains("hi web"), "{shown}");
    let listed = publication("url: h\nheaders: [{name: A, value: b}]\ntimeout: 2s");
    assert_eq!((listed.headers, listed.timeout), (vec![("A".to_owned(), "b".to_owned())], Duration::from_secs(2)));
    assert_eq!(publication("url: h\ntimeout: 2h").timeout, Duration::from_secs(60), "everything has an end");
}

#[test]
fn servers_of_nats_are_named_in_every_usual_form() {
    let found = publication("url: 'nats://a, tls://b:1 ,c:2,nats://[::1]:3/,[fd00::1]'");
    let found: Vec<(&str, u16, bool)> =
        found.servers.iter().map(|server| (server.host.as_str(), server.port, server.is_tls)).collect();
    let wanted = [("a", 4222, false), ("b", 1, true), ("c", 2, false), ("::1", 3, false), ("fd00::1", 4222, false)];
    assert_eq!(found, wanted);
    let logins =
        |options: &str| publication(options).servers.into_iter().map(|server| server.login).collect::<Vec<_>>();
    let with_login = "url: 'nats://me:a%40b@h,nats://token@h,nats://h'";
    assert_eq!(logins(with_login), [user("me", "a@b"), NatsLogin::Token("token".to_owned()), NatsLogin::Nobody]);
    let options = format!("{with_login}\nusername: other\npassword: p");
    assert_eq!(logins(&options), [user("other", "p"), user("other", "p"), user("other", "p")]);
}

#[test]
fn a_key_of_nats_is_a_seed_or_a_file_with_one() {
    let key = || NatsLogin::Key(Nkey::read(SEED).unwrap());
    assert_eq!(publication(&format!("url: h\nnkey: {SEED}\nusername: me")).servers[0].login, key());
    let open = || talk("nats", "url: 'a,b'\nnkey: /etc/nats/user.nk", "message: hi", "x").unwrap();
    let mut talk = open();
    assert_eq!(read_from(talk.begin()), "/etc/nats/user.nk");
    let found = published(talk.hear(&Response::new(200, format!("{SEED}\n"))));
    assert!(found.servers.iter().all(|server| server.login == key()));
    let mut wrong = open();
    wrong.begin().unwrap();
    let failure = wrong.hear(&Response::new(200, "geheim")).unwrap_err();
    assert_eq!(failure.text, "the file of the option nkey is no seed of a user, which begins with SU");
}

#[test]
fn subjects_that_nobody_can_write_to_are_refused() {
    for (subject, wanted) in [
        ("", "a message of NATS needs a subject, such as nats:rollouts.completed"),
        ("a b", "\"a b\" is no subject of NATS to write to: it holds blanks"),
        ("a\r\nPUB b 0", "\"a\\r\\nPUB b 0\" is no subject of NATS to write to: it holds blanks"),
        ("a.*", "\"a.*\" is no subject of NATS to write to: nobody can write to wildcards"),
        ("a.>", "\"a.>\" is no subject of NATS to write to: nobody can write to wildcards"),
        (".a", "\".a\" is no subject of NATS to write to: nothing stands beside one of its dots"),
        ("a..b", "\"a..b\" is no subject of NATS to write to: nothing stands beside one of its dots"),
    ] {
        assert_eq!(talk("nats", "url: h", "message: hi", subject).err().unwrap(), wanted);
    }
    let long = "x".repeat(2000);
    let error = talk("nats", "url: h", "message: hi", &long).err().unwrap();
    assert!(error.ends_with("it is too long") && error.len() < 200, "{error}");
}

#[test]
fn options_of_nats_that_cannot_work_are_named_before_anything_is_sent() {
    let url = "the option url is no address of NATS such as nats://host:4222 or tls://host:4222";
    for (options, wanted) in [
        ("username: me", "the option url is missing"),
        ("url: ' , '", "the option url must name one to 8 servers"),
        ("url: a,b,c,d,e,f,g,h,i", "the option url must name one to 8 servers"),
        ("url: http://geheim@h", url),
        ("url: nats://", url),
        ("url: nats://h:0", url),
        ("url: nats://h:70000", url),
        ("url: nats://a%zz:b@h", url),
        ("url: 'nats://a b'", url),
        (
            "url: h\nnkey: geheim",
            "the option nkey is no seed of a user, which begins with SU, and no path that begins with /",
        ),
        ("url: h\npassword: geheim", "the option username is missing"),
        ("url: h\nheaders: {'a b': c}", "the option headers has \"a b\", which is no name of a header"),
        ("url: h\nheaders: {'a:': c}", "the option headers has \"a:\", which is no name of a header"),
        ("url: h\nheaders: {a: \"x\\r\\nb: c\"}", "the option headers has a line break in the value of a"),
    ] {
        assert_eq!(problem("nats", options), wanted, "{options}");
    }
}
