//! Requests, what becomes of them, and what can be asked of a response.
//!
//! A [`Request`] is built once and may be sent often; the host keeps it, so sending it again costs one call. A
//! [`Response`]'s body stays with the host too, until a part of it, or all, is asked for.

mod pending;
mod request;
mod response;
mod timing;

pub use pending::{Pending, batch, wait_any};
pub use request::Request;
pub use response::Response;
pub use timing::{Stamp, Timing};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, Result};
    use crate::testing::{Host, Reply, Sent};
    use serde::{Deserialize, Serialize, Serializer};
    use std::time::Duration;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Item {
        product: String,
        quantity: u32,
    }

    /// A server that tells by the path what to answer.
    fn server(sent: &Sent) -> Reply {
        match sent.path() {
            "/cart" => Reply::json(&Item {
                product: "p-7".into(),
                quantity: 2,
            })
            .with_status(201)
            .header("Location", "/cart/1"),
            "/slow" => Reply::failure(ErrorKind::Timeout),
            "/text" => Reply::status(200).body("grün"),
            "/binary" => Reply::status(200).body([0xff, 0x00]),
            _ => Reply::status(404),
        }
    }

    fn get(path: &str) -> Request {
        Request::get(format!("http://shop{path}"))
    }

    #[test]
    fn a_request_leaves_as_it_was_built() {
        let (_, seen) = Host::new().run(|| {
            Request::post("http://shop/cart?x=1")
                .add_header("Accept", "text/plain")
                .header("Accept", "application/json")
                .add_header("accept", "text/html")
                .bearer("t-1")
                .json(&Item {
                    product: "p-7".into(),
                    quantity: 2,
                })
                .name("/cart")
                .tag("team", "payments")
                .timeout(Duration::from_millis(1500))
                .max_redirects(0)
                .expect_status(201..=201)
                .discard_body()
                .send()
        });
        let sent = &seen.requests[0];
        assert_eq!(
            (sent.method.as_str(), sent.path(), sent.name.as_deref()),
            ("POST", "/cart", Some("/cart"))
        );
        let accepted: Vec<_> = sent
            .headers
            .iter()
            .filter(|(name, _)| name == "accept")
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(
            accepted,
            ["application/json", "text/html"],
            "`header` replaces, `add_header` adds"
        );
        assert_eq!(sent.header("authorization"), Some("Bearer t-1"));
        assert_eq!(sent.header("content-type"), Some("application/json"));
        assert_eq!(
            sent.json::<Item>().unwrap(),
            Item {
                product: "p-7".into(),
                quantity: 2
            }
        );
        assert_eq!(
            (sent.timeout_ns, sent.max_redirects, sent.keeps_body),
            (Some(1_500_000_000), Some(0), false)
        );
        assert_eq!(
            (sent.expected_status.clone(), sent.tags[0].0.as_str()),
            (201..=201, "team")
        );
    }

    #[test]
    fn a_kept_request_can_be_changed_and_sent_again() {
        let (_, seen) = Host::new().run(|| {
            let mut request = get("/a").header("x-try", "1");
            let _ = request.send();
            request.set_url("http://shop/b");
            request.set_header("x-try", "2");
            request.set_body("again");
            let _ = request.send();
            request.remove_header("x-try");
            let _ = request.send();
        });
        let tries: Vec<_> = seen
            .requests
            .iter()
            .map(|sent| (sent.path(), sent.header("x-try"), sent.body.as_slice()))
            .collect();
        assert_eq!(
            tries,
            [
                ("/a", Some("1"), &b""[..]),
                ("/b", Some("2"), b"again"),
                ("/b", None, b"again")
            ]
        );
    }

    #[test]
    fn a_response_is_read_in_whatever_form_is_wanted() {
        Host::new().answer(server).run(|| {
            let cart = get("/cart").send().unwrap();
            assert_eq!(
                (cart.status(), cart.header("location").as_deref()),
                (201, Some("/cart/1"))
            );
            assert_eq!(cart.json::<Item>().unwrap().quantity, 2);
            assert_eq!(cart.length(), cart.bytes().unwrap().len() as u64);
            let text = get("/text").send().unwrap();
            assert_eq!(
                (text.text().unwrap().as_str(), text.slice(2, 2).unwrap()),
                ("grün", "ü".as_bytes().to_vec())
            );
            assert!(text.contains("ün").unwrap() && !text.contains("un").unwrap());
        });
    }

    #[test]
    fn what_cannot_be_read_is_an_error_of_its_kind() {
        Host::new().answer(server).run(|| {
            assert_eq!(get("/slow").send().unwrap_err().kind(), ErrorKind::Timeout);
            let binary = get("/binary").send().unwrap();
            assert_eq!(binary.text().unwrap_err().kind(), ErrorKind::Decode);
            let text = get("/text").send().unwrap();
            assert_eq!(
                text.json::<Item>().unwrap_err().to_string(),
                "decode: expected value at line 1 column 1"
            );
            let missing = get("/nowhere")
                .send()
                .unwrap()
                .error_for_status()
                .unwrap_err();
            assert_eq!(
                format!("{missing:?}"),
                "protocol: http://shop/nowhere answered 404 (code 404)"
            );
            assert_eq!(
                get("/text")
                    .discard_body()
                    .send()
                    .unwrap()
                    .text()
                    .unwrap_err()
                    .kind(),
                ErrorKind::Invalid
            );
        });
    }

    #[test]
    fn a_body_that_cannot_be_written_is_reported_when_sending() {
        struct Unwritable;
        impl Serialize for Unwritable {
            fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("never"))
            }
        }
        let (_, seen) = Host::new().answer(server).run(|| {
            let mut request = get("/cart").json(&Unwritable);
            assert_eq!(
                request.send().unwrap_err().to_string(),
                "invalid: the body cannot be written as JSON: never"
            );
            let pending = [get("/cart").start(), request.start()];
            assert_eq!(
                wait_any(&pending, None),
                Some(1),
                "what was never sent is ready at once"
            );
            request.set_body("mended");
            assert!(request.send().is_ok());
        });
        assert_eq!(seen.requests.len(), 2, "the broken one never left");
    }

    #[test]
    fn a_batch_answers_in_the_order_of_its_requests() {
        Host::new().answer(server).run(|| {
            let requests = ["/text", "/slow", "/cart"].map(get);
            let statuses: Vec<_> = batch(&requests)
                .into_iter()
                .map(|response| response.map(|response| response.status()).ok())
                .collect();
            assert_eq!(statuses, [Some(200), None, Some(201)]);
            assert_eq!(wait_any(&[], Some(Duration::from_secs(1))), None);
        });
    }
}
