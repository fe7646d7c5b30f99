//! Load balancers of AWS, asked over real connections: signed requests, pages, patience.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tidegate_clock::Clock;
use tidegate_providers::aws::{AwsCredentials, sign};
use tidegate_providers::client::Roots;
use tidegate_providers::elb::LoadBalancers;
use tidegate_providers::{Client, Hosts, Method, Proxies, Request, Surroundings};
use tokio::net::TcpListener;

const HOST: &str = "web-1.eu-west-1.elb.amazonaws.com";

/// A stand-in for AWS: holds every request to its signature, and answers in turn.
struct Stand {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

fn keys() -> AwsCredentials {
    let text = str::to_owned;
    AwsCredentials { access_key_id: text("AKID"), secret_access_key: text("secret"), session_token: text("session") }
}

/// What the signature must be, by the date that the request names.
fn expected(url: &str, body: &str, date: &str) -> String {
    let form = "application/x-www-form-urlencoded; charset=utf-8";
    let request = Request::new(Method::Post, url).header("Content-Type", form).body(body);
    let at =
        jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", date).unwrap().to_zoned(jiff::tz::TimeZone::UTC).unwrap();
    let signed = sign(request, &keys(), "elasticloadbalancing", "eu-west-1", at.timestamp());
    signed.header_value("authorization").unwrap().to_owned()
}

impl Stand {
    async fn start(answers: Vec<(u16, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, own) = (Arc::clone(&asked), url.clone());
        let answers = Arc::new(Mutex::new(answers.into_iter()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (noted, own, answers) = (Arc::clone(&noted), own.clone(), Arc::clone(&answers));
                let service = service_fn(move |request: http::Request<Incoming>| {
                    let (noted, own, answers) = (Arc::clone(&noted), own.clone(), Arc::clone(&answers));
                    async move {
                        let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
                        let (signature, date) = (header("authorization"), header("x-amz-date"));
                        assert_eq!(header("x-amz-security-token"), "session");
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        let body = String::from_utf8(body.to_vec()).unwrap();
                        let is_signed = signature == expected(&own, &body, &date);
                        noted.lock().unwrap().push(format!("{body} signed={is_signed}"));
                        let (status, text) = answers.lock().unwrap().next().unwrap();
                        let response = http::Response::builder().status(status).body(Full::new(Bytes::from(text)));
                        Ok::<_, Infallible>(response.unwrap())
                    }
                });
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(async move { connection.await.unwrap() });
            }
        });
        Self { url, asked }
    }

    fn asks(&self) -> LoadBalancers {
        let variables = [
            ("AWS_ACCESS_KEY_ID", "AKID"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_SESSION_TOKEN", "session"),
            ("AWS_ENDPOINT_URL", self.url.as_str()),
        ];
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let client = Client::new(Hosts::default(), Proxies::default(), Roots::System).unwrap();
        LoadBalancers::new(Arc::new(client), Surroundings { environment, ..Surroundings::default() }, Clock::system())
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn ok(list: &str) -> (u16, String) {
    (200, format!("<Response><Result>{list}</Result></Response>"))
}

fn balancer(host: &str, name: &str) -> String {
    format!(
        "<member><DNSName>{host}</DNSName><LoadBalancerName>{name}</LoadBalancerName><LoadBalancerArn>arn:{name}</LoadBalancerArn></member>"
    )
}

#[tokio::test]
async fn every_page_is_asked_for_with_a_signature_of_its_own() {
    let groups = "<TargetGroups><member><TargetGroupName>g</TargetGroupName><TargetGroupArn>arn:g</TargetGroupArn></member></TargetGroups>";
    let tags = "<TagDescriptions><member><ResourceArn>arn:g</ResourceArn><Tags><member><Key>k</Key><Value>v</Value></member></Tags></member></TagDescriptions>";
    let listeners = "<Listeners><member><ListenerArn>arn:l</ListenerArn></member></Listeners>";
    let rules = "<Rules><member><Actions><member><Type>forward</Type><ForwardConfig><TargetGroups><member><TargetGroupArn>arn:g</TargetGroupArn><Weight>30</Weight></member></TargetGroups></ForwardConfig></member></Actions></member></Rules>";
    let stand = Stand::start(vec![
        ok(&format!("<LoadBalancers>{}</LoadBalancers><NextMarker>2&amp;x</NextMarker>", balancer("other", "o"))),
        ok(&format!("<LoadBalancers>{}</LoadBalancers>", balancer(&HOST.to_uppercase(), "web"))),
        ok(groups),
        ok(tags),
        ok(listeners),
        ok(rules),
    ])
    .await;
    let found = stand.asks().describe(HOST).await.unwrap();
    let balancer = found.load_balancer.unwrap();
    assert_eq!((balancer.name.as_str(), balancer.arn.as_str()), ("web", "arn:web"));
    assert_eq!((found.groups[0].named.name.as_str(), found.groups[0].tags["k"].as_str()), ("g", "v"));
    assert_eq!(found.forwards[0]["arn:g"], 30);
    let version = "Version=2015-12-01";
    assert_eq!(
        stand.asked(),
        [
            format!("Action=DescribeLoadBalancers&{version}&PageSize=300 signed=true"),
            format!("Action=DescribeLoadBalancers&{version}&PageSize=300&Marker=2%26x signed=true"),
            format!("Action=DescribeTargetGroups&{version}&LoadBalancerArn=arn%3Aweb signed=true"),
            format!("Action=DescribeTags&{version}&ResourceArns.member.1=arn%3Ag signed=true"),
            format!("Action=DescribeListeners&{version}&LoadBalancerArn=arn%3Aweb signed=true"),
            format!("Action=DescribeRules&{version}&ListenerArn=arn%3Al signed=true"),
        ]
    );
}

#[tokio::test]
async fn whoever_is_asked_too_often_is_asked_again_a_little_later() {
    let throttled =
        "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>";
    let stand = Stand::start(vec![(400, throttled.to_owned()), ok("<LoadBalancers/>")]).await;
    assert_eq!(stand.asks().describe(HOST).await.unwrap().load_balancer, None);
    assert_eq!(stand.asked().len(), 2);
}

#[tokio::test]
async fn a_refusal_names_the_question_and_the_reason() {
    let denied = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>";
    let stand = Stand::start(vec![(403, denied.to_owned())]).await;
    let error = stand.asks().describe(HOST).await.unwrap_err().to_string();
    assert_eq!(error, "DescribeLoadBalancers answered 403: AccessDenied: not you");
    let stand = Stand::start(vec![(200, "no XML at all".to_owned())]).await;
    let error = stand.asks().targets("arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/g/1").await.unwrap_err();
    assert!(error.to_string().starts_with("DescribeTargetHealth: the answer is no XML"), "{error}");
}

#[tokio::test]
async fn targets_are_addresses_with_ports() {
    let health = "<TargetHealthDescriptions><member><Target><Id>10.0.0.1</Id><Port>8080</Port></Target></member>\
                  <member><Target><Id>i-1</Id></Target></member></TargetHealthDescriptions>";
    let stand = Stand::start(vec![ok(health)]).await;
    let found = stand.asks().targets("arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/g/1").await.unwrap();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [("10.0.0.1".to_owned(), 8080)]);
}
