//! Amazon SQS, with its JSON protocol.
//!
//! Documentation: <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>,
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueUrl.html>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened};
use crate::message::{AwsKeys, Conversation, Failure, HttpRequest, Response, Turn};

struct Sqs {
    endpoint: String,
    keys: AwsKeys,
    queue: Json,
    message: Map<String, Json>,
    has_url: bool,
}

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let region = options.text("region");
    let name = options.some_text("queue").unwrap_or_else(|| delivery.recipient.to_owned());
    if name.is_empty() {
        return Err(Failure::lasting("a queue must be named by the option queue or the recipient"));
    }
    let mut queue = Map::new();
    queue.insert("QueueName".to_owned(), json!(name));
    if let Some(account) = options.some_text("account") {
        queue.insert("QueueOwnerAWSAccountId".to_owned(), json!(account));
    }
    let mut message = Map::new();
    message.insert("MessageBody".to_owned(), json!(notification.message));
    if let Some(Json::Object(attributes)) = notification.data("awssqs", "messageAttributes")? {
        let attribute = |(name, value): (String, Json)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (name, json!({"DataType": "String", "StringValue": text}))
        };
        message.insert("MessageAttributes".to_owned(), Json::Object(attributes.into_iter().map(attribute).collect()));
    }
    if let Some(group) = notification.text("awssqs", "messageGroupId") {
        message.insert("MessageGroupId".to_owned(), json!(group));
    }
    let endpoint = options.some_text("endpointUrl").unwrap_or_else(|| format!("https://sqs.{region}.amazonaws.com"));
    Ok(Box::new(Sqs {
        endpoint: super::joined(&endpoint, ""),
        keys: AwsKeys { service: "sqs", region, key: options.text("key"), secret: options.text("secret") },
        queue: Json::Object(queue),
        message,
        has_url: false,
    }))
}

impl Sqs {
    fn request(&self, action: &str, body: &Json) -> HttpRequest {
        let mut request = HttpRequest::new("POST", self.endpoint.clone())
            .header("Content-Type", "application/x-amz-json-1.0")
            .header("X-Amz-Target", format!("AmazonSQS.{action}"))
            .body(body.to_string());
        request.aws = Some(self.keys.clone());
        request
    }
}

impl Conversation for Sqs {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(self.request("GetQueueUrl", &self.queue)))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        super::single::any_success(response)?;
        if self.has_url {
            return Ok(Turn::Done(Vec::new()));
        }
        self.has_url = true;
        let answer = response.json();
        let Some(url) = answer["QueueUrl"].as_str() else {
            return Err(Failure::lasting("the answer of SQS names no queue"));
        };
        let mut message = self.message.clone();
        message.insert("QueueUrl".to_owned(), json!(url));
        Ok(Turn::Ask(self.request("SendMessage", &Json::Object(message))))
    }
}
