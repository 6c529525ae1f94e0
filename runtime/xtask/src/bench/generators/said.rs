//! Reading what other programs print at their end.

use anyhow::Context as _;
use serde_json::Value;

use super::Served;

/// wrk: `  70456 requests in 3.04s, 12.36MB read`. Responses with other statuses than 2xx and 3xx have a line of their own.
pub(super) fn wrk(text: &str) -> anyhow::Result<Served> {
    anyhow::ensure!(
        !text.contains("Non-2xx") && !text.contains("Socket errors"),
        "wrk tells of failures: {text}"
    );
    let line = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in "))
        .context("wrk did not say how many requests it sent")?;
    let time = line.1.split(',').next().unwrap_or_default();
    Ok(Served {
        requests: line
            .0
            .parse()
            .context("wrk's number of requests is no number")?,
        seconds: seconds(time).context("wrk's time is no time")?,
    })
}

/// wrk prints `59.97s`, and past two minutes `2.00m`.
fn seconds(text: &str) -> Option<f64> {
    let scale = |suffix: &str, seconds: f64| {
        Some(text.strip_suffix(suffix)?.parse::<f64>().ok()? * seconds)
    };
    scale("ms", 1e-3)
        .or_else(|| scale("s", 1.0))
        .or_else(|| scale("m", 60.0))
        .or_else(|| scale("h", 3600.0))
}

/// hey: `Total: 5.0023 secs`, and for each status `[200] 12345 responses`; a tab follows what is before the figure.
pub(super) fn hey(text: &str) -> anyhow::Result<Served> {
    let total = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Total:"))
        .context("hey did not say how long it took")?;
    let responses = text.lines().filter_map(|line| {
        let (status, count) = line.trim().strip_prefix('[')?.split_once("]\t")?;
        Some((
            status,
            count.strip_suffix(" responses")?.parse::<f64>().ok()?,
        ))
    });
    let by_status: Vec<(&str, f64)> = responses.collect();
    anyhow::ensure!(
        by_status.iter().all(|&(status, _)| status == "200"),
        "hey tells of failures: {text}"
    );
    Ok(Served {
        requests: by_status.iter().map(|&(_, count)| count).sum(),
        seconds: total
            .trim()
            .trim_end_matches(" secs")
            .parse()
            .context("hey's time is no number")?,
    })
}

/// oha: JSON with `summary.total` in seconds and `statusCodeDistribution`.
pub(super) fn oha(text: &str) -> anyhow::Result<Served> {
    let value: Value = serde_json::from_str(text).context("oha did not print JSON")?;
    let statuses = value["statusCodeDistribution"]
        .as_object()
        .context("oha did not say how many responses it got")?;
    Ok(Served {
        requests: statuses.get("200").and_then(Value::as_f64).unwrap_or(0.0),
        seconds: value["summary"]["total"]
            .as_f64()
            .context("oha did not say how long it took")?,
    })
}

/// k6: an exported summary with the count of requests and their rate.
pub(super) fn k6(text: &str) -> anyhow::Result<Served> {
    let value: Value = serde_json::from_str(text).context("k6 did not write JSON")?;
    let requests = &value["metrics"]["http_reqs"];
    let count = requests["count"]
        .as_f64()
        .context("k6 did not say how many requests it sent")?;
    let rate = requests["rate"]
        .as_f64()
        .context("k6 did not say how long it took")?;
    Ok(Served {
        requests: count,
        seconds: count / rate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "\
Running 3s test @ http://127.0.0.1:18081/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     3.62ms    4.30ms  51.14ms   87.03%
    Req/Sec    23.37k     3.90k   29.70k    66.67%
  70456 requests in 3.04s, 12.36MB read
Requests/sec:  23174.61
Transfer/sec:      4.07MB
";
    const HEY: &str = "
Summary:
  Total:\t5.0023 secs
  Slowest:\t0.0312 secs
  Requests/sec:\t6607.8983

Latency distribution:
  50% in 0.0018 secs

Status code distribution:
  [200]\t33054 responses
";

    #[test]
    fn the_usual_output_is_read() {
        let served = |requests, seconds| Served { requests, seconds };
        assert_eq!(wrk(WRK).expect("it is wrk's"), served(70_456.0, 3.04));
        assert_eq!(hey(HEY).expect("it is hey's"), served(33_054.0, 5.0023));
        let text = r#"{"summary": {"total": 5.5, "successRate": 1}, "statusCodeDistribution": {"200": 77}}"#;
        assert_eq!(oha(text).expect("it is oha's"), served(77.0, 5.5));
        let text = r#"{"metrics": {"http_reqs": {"count": 100, "rate": 20}}}"#;
        assert_eq!(k6(text).expect("it is k6's"), served(100.0, 5.0));
    }

    #[test]
    fn failures_are_not_taken_for_requests() {
        let failed = WRK.to_owned() + "  Non-2xx or 3xx responses: 7\n";
        assert!(wrk(&failed).is_err());
        let failed = HEY.to_owned() + "  [503]\t7 responses\n";
        assert!(hey(&failed).is_err());
    }

    #[test]
    fn output_of_another_kind_is_refused_with_the_name_of_the_program() {
        for (name, result) in [
            ("wrk", wrk("")),
            ("hey", hey("")),
            ("oha", oha("")),
            ("k6", k6("{}")),
        ] {
            let error = result.expect_err("there is nothing to read");
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }

    #[test]
    fn times_have_units() {
        let rows = [
            ("3.04s", Some(3.04)),
            ("500.00ms", Some(0.5)),
            ("2.00m", Some(120.0)),
            ("1.00h", Some(3600.0)),
            ("soon", None),
        ];
        for (text, expected) in rows {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
