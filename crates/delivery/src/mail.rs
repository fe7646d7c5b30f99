//! A mail as text (RFC 5322), with a body that survives every server (base64).

use jiff::Timestamp;
use tidegate_expr::base64;
use tidegate_notify::Mail;

/// Characters of a line of the body.
const LINE: usize = 76;
/// Bytes of one encoded word of a header; encoded words may have 75 characters.
const WORD: usize = 42;

/// The address in `Name <address>`.
pub(crate) fn bare(address: &str) -> &str {
    address.split_once('<').map_or(address, |(_, rest)| rest.trim_end().trim_end_matches('>')).trim()
}

/// The whole message, lines ended as SMTP wants them.
pub(crate) fn text(mail: &Mail, now: Timestamp) -> String {
    let from = bare(&mail.from);
    let domain = from.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
    let kind = if mail.is_html { "text/html" } else { "text/plain" };
    let to: Vec<String> = mail.to.iter().map(|address| named(address)).collect();
    let headers = [
        ("From", named(&mail.from)),
        ("To", to.join(", ")),
        ("Subject", encoded(&mail.subject)),
        ("Date", now.strftime("%a, %d %b %Y %H:%M:%S +0000").to_string()),
        ("Message-ID", format!("<{}.{:x}@{domain}>", now.as_nanosecond(), sum(mail))),
        ("MIME-Version", "1.0".to_owned()),
        ("Content-Type", format!("{kind}; charset=UTF-8")),
        ("Content-Transfer-Encoding", "base64".to_owned()),
    ];
    let mut out: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    out.push_str("\r\n");
    let body = base64::encode(mail.body.as_bytes());
    for line in body.as_bytes().chunks(LINE) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push_str("\r\n");
    }
    out
}

/// Tells mails of one moment apart.
fn sum(mail: &Mail) -> u64 {
    let parts = mail.to.iter().chain([&mail.subject, &mail.body]);
    parts
        .flat_map(|text| text.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `Name <address>` with the name encoded where it must be.
fn named(address: &str) -> String {
    match address.split_once('<') {
        Some((name, _)) if !name.trim().is_empty() => format!("{} <{}>", encoded(name.trim()), bare(address)),
        _ => bare(address).to_owned(),
    }
}

/// A header of plain signs as it is, any other as encoded words (RFC 2047). No line breaks get through.
fn encoded(text: &str) -> String {
    if text.len() <= 900 && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && !text.contains("=?") {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for c in text.chars().map(|c| if matches!(c, '\r' | '\n') { ' ' } else { c }) {
        if words.last().is_some_and(|word| word.len() + c.len_utf8() > WORD) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let words: Vec<String> =
        words.iter().map(|word| format!("=?UTF-8?B?{}?=", base64::encode(word.as_bytes()))).collect();
    words.join("\r\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_hold_one_line_each_whatever_a_template_writes() {
        let mail = Mail {
            host: "h".to_owned(),
            port: 25,
            username: String::new(),
            password: String::new(),
            insecure: false,
            from: "Rollouts <bot@x.org>".to_owned(),
            to: vec!["a@x.org".to_owned(), "Zoë <z@x.org>".to_owned()],
            subject: "done\r\nBcc: evil@x.org".to_owned(),
            body: "hello\n.\nworld ü".to_owned(),
            is_html: false,
        };
        let text = text(&mail, "2026-03-01T12:00:00Z".parse().unwrap());
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(
            "From: Rollouts <bot@x.org>\r\nTo: a@x.org, =?UTF-8?B?Wm/Dqw==?= <z@x.org>\r\nSubject: =?UTF-8?B?"
        ));
        assert!(head.contains("\r\nDate: Sun, 01 Mar 2026 12:00:00 +0000\r\n"), "{head}");
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        assert_eq!(body, "aGVsbG8KLgp3b3JsZCDDvA==\r\n");
    }
}
