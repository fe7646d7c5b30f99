//! Mail, over SMTP.

use super::{Delivery, Opened};
use crate::message::{Conversation, Failure, Mail, Response, Turn};

/// Where mail is handed in when nobody says another port (RFC 6409).
const SUBMISSION: i64 = 587;

struct Email(Option<Mail>);

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    let port = options.number("port").filter(|port| *port != 0).unwrap_or(SUBMISSION);
    let port =
        u16::try_from(port).map_err(|_| Failure::lasting(format!("the option port is {port}, which is no port")))?;
    let to: Vec<String> =
        delivery.recipient.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect();
    if to.is_empty() {
        return Err(Failure::lasting("a mail needs a recipient, such as email:team@example.com"));
    }
    let notification = delivery.notification;
    let mail = Mail {
        host: options.text("host"),
        port,
        username: options.text("username"),
        password: options.text("password"),
        insecure: options.flag("insecure_skip_verify"),
        from: options.text("from"),
        to,
        subject: notification.text("email", "subject").unwrap_or_default().to_owned(),
        body: notification.text("email", "body").unwrap_or(&notification.message).to_owned(),
        is_html: options.flag("html"),
    };
    for address in mail.to.iter().chain([&mail.from]) {
        let bare = bare(address);
        if bare.is_empty() || bare.contains(|c: char| c.is_whitespace() || c.is_control() || c == '<' || c == '>') {
            return Err(Failure::lasting(format!("{address:?} is no mail address")));
        }
    }
    Ok(Box::new(Email(Some(mail))))
}

/// The address in `Name <address>`.
fn bare(address: &str) -> &str {
    match address.split_once('<') {
        Some((_, rest)) => rest.trim_end().strip_suffix('>').unwrap_or(""),
        None => address,
    }
}

impl Conversation for Email {
    fn begin(&mut self) -> Result<Turn, Failure> {
        self.0.take().map(Turn::Mail).ok_or_else(|| Failure::lasting("the conversation has begun already"))
    }

    fn hear(&mut self, _: &Response) -> Result<Turn, Failure> {
        Ok(Turn::Done(Vec::new()))
    }
}
