//! Conversations of one request, and of the same request to several places.

use crate::message::{Conversation, Failure, HttpRequest, Response, Turn};

/// What an answer means.
pub(super) type Judge = fn(&Response) -> Result<(), Failure>;

/// One request.
pub(super) struct Single {
    request: Option<HttpRequest>,
    judge: Judge,
}

impl Single {
    pub(super) fn open(request: HttpRequest, judge: Judge) -> super::Opened {
        Ok(Box::new(Self { request: Some(request), judge }))
    }
}

impl Conversation for Single {
    fn begin(&mut self) -> Result<Turn, Failure> {
        self.request.take().map(Turn::Ask).ok_or_else(|| Failure::lasting("the conversation has begun already"))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        (self.judge)(response).map(|()| Turn::Done(Vec::new()))
    }
}

/// Any status of success will do.
pub(super) fn any_success(response: &Response) -> Result<(), Failure> {
    if response.is_success() {
        return Ok(());
    }
    let (status, body) = (response.status, response.text());
    Err(Failure::of_status(status, format!("the service answered with status {status}: {body}")))
}
