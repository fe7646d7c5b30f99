//! Providers against requests and answers from the public documentation of each service, and against a real server.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod any_answer;
mod cloudwatch;
mod datadog;
mod dialog;
mod elb;
mod graphite_influxdb;
mod jobs;
mod jsonpath;
mod kayenta;
mod live;
mod newrelic_skywalking_wavefront;
mod prometheus;
mod round;
mod server;
mod tls;
mod web;
