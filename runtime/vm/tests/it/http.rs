//! Interface `http`, from a guest's side and from the host's.

use nettare_core::sample::{ErrorKind, Failure, IterationOutcome, Phases};
use nettare_vm::{HttpReply, LogLevel, Record};

use crate::support::{
    self, ARRIVAL, Stage, TIMING, block_on, counted, failure, notes, poll, reply,
};

const INVALID: f64 = 0.0;
const RESET: f64 = 6.0;
const DECODE: f64 = 9.0;
const CANCELLED: f64 = 11.0;

fn said(stage: &Stage) -> Vec<String> {
    stage
        .world()
        .logs
        .iter()
        .map(|(_, line)| line.clone())
        .collect()
}

#[test]
fn a_request_reaches_the_host_as_it_was_built() {
    let stage = Stage::new(
        r#"(local.set $a (call $request (str "POST") (str "http://x.test/a")))
           (call $set-url (local.get $a) (str "http://x.test/b"))
           (call $set-header (local.get $a) (str "X-One") (str "0"))
           (call $set-header (local.get $a) (str "x-one") (str "1"))
           (call $add-header (local.get $a) (str "X-One") (str "2"))
           (call $set-header (local.get $a) (str "gone") (str "1"))
           (call $remove-header (local.get $a) (str "Gone"))
           (call $set-body (local.get $a) (str "body"))
           (call $set-name (local.get $a) (str "/{x}"))
           (call $set-tag (local.get $a) (str "k") (str "v"))
           (call $set-timeout (local.get $a) (i64.const 5000000000))
           (call $set-max-redirects (local.get $a) (i32.const 3))
           (call $set-body-mode (local.get $a) (i32.const 1))
           (call $set-expected-status (local.get $a) (i32.const 200) (i32.const 404))
           (call $send (local.get $a) (i32.const 512)) (call $note-error)
           (call $drop-response (i32.load (i32.const 516))) (call $drop-request (local.get $a)) (call $ok)"#,
    );
    assert_eq!(stage.notes(), [-1.0]);
    let request = stage.world().requests[0].clone();
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "http://x.test/b")
    );
    let values: Vec<_> = request.headers.get_all("x-one").iter().collect();
    assert_eq!(values, ["1", "2"]);
    assert_eq!(request.headers.len(), 2);
    assert_eq!(
        (&request.body[..], request.name.as_deref()),
        (&b"body"[..], Some("/{x}"))
    );
    assert_eq!(request.tags, [("k".to_owned(), "v".to_owned())]);
    assert_eq!(
        (request.timeout_ns, request.max_redirects),
        (Some(5_000_000_000), Some(3))
    );
    assert_eq!(
        (request.keep_body, request.expected, request.group),
        (false, (200, 404), 0)
    );
}

#[test]
fn a_response_answers_all_that_is_asked_of_it() {
    let stage = Stage::new(
        r#"(local.set $a (call $share (call $get (str "http://x.test/"))))
           (call $note-i32 (call $status (local.get $a)))
           (call $note-i64 (call $length (local.get $a)))
           (call $header (local.get $a) (str "X-Two") (i32.const 512))
           (call $note-i32 (i32.load8_u (i32.const 512))) (call $say-at (i32.const 516))
           (call $header (local.get $a) (str "none") (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 512)))
           (call $url (local.get $a) (i32.const 512)) (call $say-at (i32.const 512))
           (call $bytes (local.get $a) (i64.const 1) (i32.const 3) (i32.const 512))
           (call $note-error) (call $say-at (i32.const 516))
           (call $text (local.get $a) (i32.const 512)) (call $say-at (i32.const 516))
           (call $contains (local.get $a) (str "ell") (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 516)))
           (call $contains (local.get $a) (str "elf") (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 516)))
           (call $headers (local.get $a) (i32.const 512)) (call $note-i32 (i32.load (i32.const 516)))
           (call $say-at (i32.load (i32.const 512)))
           (call $ok)"#,
    );
    assert_eq!(stage.notes(), [200.0, 5.0, 1.0, 0.0, -1.0, 1.0, 0.0, 3.0]);
    assert_eq!(
        said(&stage),
        ["a", "http://x.test/last", "ell", "hello", "content-type"]
    );
}

#[test]
fn timing_tells_the_last_hops_phases_and_the_whole_calls_gross_time() {
    let stage = Stage::new(
        r#"(call $timing (call $get (str "http://x.test/")) (i32.const 512))
           (local.set $a (i32.const 512))
           (loop $field
             (call $note-i64 (i64.load (local.get $a)))
             (br_if $field (i32.lt_u (local.tee $a (i32.add (local.get $a) (i32.const 8))) (i32.const 584))))
           (call $note-i32 (i32.load (i32.const 592))) (call $note-i32 (i32.load8_u (i32.const 596)))
           (call $note-i64 (i64.load (i32.const 584))) (call $ok)"#,
    );
    let (_, records) = stage.run();
    let notes = notes(&records);
    assert_eq!(
        notes[..9],
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 18.0, 8.0],
        "phases, net, decode"
    );
    assert_eq!(notes[9..11], [1.0, 1.0], "hops, and a bound");
    let gross = records.iter().find_map(|record| match record {
        Record::Call { gross_ns, .. } => Some(*gross_ns as f64),
        _ => None,
    });
    assert_eq!(Some(notes[11]), gross, "the guest is told what is recorded");
}

#[test]
fn gross_time_is_the_wires_and_tare() {
    let stage = Stage::new(r#"(drop (call $get (str "http://x.test/"))) (call $ok)"#);
    let (_, records) = stage.run();
    let [
        Record::Call {
            series,
            called_ns: Some(_),
            gross_ns,
            tare_ns,
        },
    ] = records[..]
    else {
        panic!("{records:?}")
    };
    assert_eq!(
        (series, gross_ns.saturating_sub(28)),
        (support::series(200), tare_ns)
    );
}

#[test]
fn a_call_shorter_than_its_phases_has_no_tare() {
    let stage =
        Stage::new(r#"(drop (call $get (str "http://x.test/"))) (call $ok)"#).answers(|_| {
            let mut reply = reply(200, b"");
            reply.timing.sum = Phases {
                waiting_ns: u64::MAX / 2,
                ..Phases::default()
            };
            Some(reply)
        });
    let (_, records) = stage.run();
    assert!(
        matches!(records[..], [Record::Call { tare_ns: 0, .. }]),
        "{records:?}"
    );
}

#[test]
fn a_failure_is_an_error_of_its_kind() {
    let stage = Stage::new(
        r#"(call $send (call $get-request (str "http://x.test/")) (i32.const 512))
           (call $note-error) (call $note-i32 (i32.load (i32.const 520))) (call $say-at (i32.const 524)) (call $ok)"#,
    )
    .answers(|_| Some(failure(ErrorKind::Reset)));
    let (end, records) = stage.run();
    assert_eq!(
        end.outcome,
        IterationOutcome::Completed,
        "the guest lives with it"
    );
    assert_eq!(notes(&records), [RESET, 5.0]);
    assert_eq!(said(&stage), ["no luck"]);
    assert!(
        matches!(records[0], Record::Call { .. }),
        "gross time is always recorded: {records:?}"
    );
}

#[test]
fn nonsense_is_told_by_send_and_by_wait_and_never_reaches_the_host() {
    let stage = Stage::new(
        r#"(local.set $a (call $get-request (str "http://x.test/")))
           (call $set-header (local.get $a) (str "a b") (str "1"))
           (call $send (local.get $a) (i32.const 512)) (call $note-error) (call $say-at (i32.const 524))
           (call $wait (call $start (local.get $a)) (i32.const 512)) (call $note-error) (call $ok)"#,
    );
    let (_, records) = stage.run();
    assert_eq!(notes(&records), [INVALID, INVALID]);
    assert_eq!(said(&stage), ["`a b` is not a header's name"]);
    assert!(stage.world().requests.is_empty());
    let refused = records
        .iter()
        .filter(|record| matches!(record, Record::Refused(_)))
        .count();
    assert_eq!(refused, 2);
}

#[test]
fn a_started_call_is_waited_for_once() {
    let stage = Stage::new(
        r#"(local.set $a (call $start (call $get-request (str "http://x.test/"))))
           (call $wait (local.get $a) (i32.const 512)) (call $note-error)
           (call $wait (local.get $a) (i32.const 512)) (call $note-error) (call $ok)"#,
    );
    assert_eq!(stage.notes(), [-1.0, INVALID]);
}

#[test]
fn a_call_that_was_ready_before_anybody_waited_ends_when_it_was_ready() {
    let stage = Stage::new(
        r#"(local.set $a (call $start (call $get-request (str "http://x.test/"))))
           (call $burn (i32.const 20000))
           (call $wait (local.get $a) (i32.const 512))
           (call $timing (i32.load (i32.const 516)) (i32.const 600)) (call $note-i64 (i64.load (i32.const 672)))
           (call $ok)"#,
    );
    // The host's clock is another guest's: it has the only one that a test may read.
    let clock = Stage::new("(call $note-i64 (call $now)) (call $ok)");
    let stage = stage.answers(move |_| {
        let mut reply = reply(200, b"");
        reply.timing.ready_at_ns = clock.notes()[0] as u64;
        Some(reply)
    });
    let mut vu = stage.vu(1);
    let end = block_on(vu.iterate(ARRIVAL));
    let noted = notes(nettare_vm::Host::records(vu.host_mut()))[0];
    assert!(
        noted < end.guest_segments_ns as f64 / 10.0,
        "{noted} ns gross, the guest burnt {}",
        end.guest_segments_ns
    );
}

#[test]
fn the_first_ready_of_several_calls_is_told() {
    let stage = Stage::new(
        r#"(local.set $a (call $start (call $get-request (str "http://x.test/0"))))
           (local.set $b (call $start (call $get-request (str "http://x.test/1"))))
           (i32.store (i32.const 600) (local.get $a)) (i32.store (i32.const 604) (local.get $b))
           (call $wait-any (i32.const 600) (i32.const 2) (i32.const 0) (i64.const 0) (i32.const 512))
           (call $note-i32 (i32.load8_u (i32.const 512))) (call $note-i32 (i32.load (i32.const 516)))
           (call $wait (local.get $b) (i32.const 512)) (call $note-error)
           (call $wait-any (i32.const 600) (i32.const 2) (i32.const 0) (i64.const 0) (i32.const 512))
           (call $note-i32 (i32.load (i32.const 516)))
           (call $ok)"#,
    )
    .answers(|_| None);
    let mut vu = stage.vu(1);
    let mut iteration = Box::pin(vu.iterate(ARRIVAL));
    assert!(poll(iteration.as_mut()).is_pending());
    let second = stage.world().pending[1].clone();
    second.fill(reply(204, b""));
    assert!(poll(iteration.as_mut()).is_ready());
    drop(iteration);
    let told = notes(nettare_vm::Host::records(vu.host_mut()));
    assert_eq!(
        told,
        [1.0, 1.0, -1.0, 1.0],
        "one that was waited for is ready at once"
    );
}

#[test]
fn waiting_for_any_ends_with_its_timeout_or_with_an_empty_list() {
    let stage = Stage::new(
        r#"(i32.store (i32.const 600) (call $start (call $get-request (str "http://x.test/0"))))
           (call $wait-any (i32.const 600) (i32.const 1) (i32.const 1) (i64.const 9) (i32.const 512))
           (call $note-i32 (i32.load8_u (i32.const 512)))
           (call $wait-any (i32.const 600) (i32.const 1) (i32.const 1) (i64.const 0) (i32.const 512))
           (call $note-i32 (i32.load8_u (i32.const 512)))
           (call $wait-any (i32.const 600) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 512))
           (call $note-i32 (i32.load8_u (i32.const 512)))
           (call $ok)"#,
    )
    .answers(|_| None);
    assert_eq!(stage.notes(), [0.0, 0.0, 0.0]);
    assert_eq!(stage.world().sleeps, [9], "a timeout of 0 only looks");
}

#[test]
fn a_cancelled_call_is_gone_from_the_host_and_answers_cancelled() {
    let stage = Stage::new(
        r#"(local.set $a (call $start (call $get-request (str "http://x.test/0"))))
           (call $cancel (local.get $a)) (call $cancel (local.get $a))
           (call $wait (local.get $a) (i32.const 512)) (call $note-error)
           (local.set $b (call $start (call $get-request (str "http://x.test/1"))))
           (call $drop-pending (local.get $b)) (call $ok)"#,
    )
    .answers(|_| None);
    let (end, records) = stage.run();
    assert_eq!(
        notes(&records),
        [CANCELLED],
        "the cancelled result can be taken once, as any other"
    );
    assert_eq!(end.outcome, IterationOutcome::Completed);
    assert!(stage.world().pending.iter().all(|slot| slot.is_dropped()));
    assert!(
        !records
            .iter()
            .any(|record| matches!(record, Record::Call { .. })),
        "they never ended: {records:?}"
    );
}

#[test]
fn a_ready_call_that_nobody_takes_is_recorded() {
    let stage = Stage::new(
        r#"(call $drop-pending (call $start (call $get-request (str "http://x.test/0"))))
           (call $cancel (call $start (call $get-request (str "http://x.test/0")))) (call $ok)"#,
    );
    let (_, records) = stage.run();
    assert_eq!(
        records
            .iter()
            .filter(|record| matches!(record, Record::Call { .. }))
            .count(),
        2,
        "{records:?}"
    );
}

#[test]
fn the_stopping_run_is_an_error_of_every_wait_and_interrupts_who_fails_by_it() {
    let stage = Stage::new(
        r#"(call $send (call $get-request (str "http://x.test/")) (i32.const 512)) (call $note-error)
           (call $sleep (i64.const 5) (i32.const 512))
           (call $note-i32 (i32.load8_u (i32.const 516)))
           (call $failed (str "stopped"))"#,
    )
    .answers(|_| None);
    stage.world().sleeps_end = false;
    let mut vu = stage.vu(1);
    let mut iteration = Box::pin(vu.iterate(ARRIVAL));
    assert!(poll(iteration.as_mut()).is_pending());
    let call = stage.world().pending[0].clone();
    call.fill(failure(ErrorKind::Cancelled));
    assert!(poll(iteration.as_mut()).is_pending());
    let sleep = stage.world().sleeping[0].clone();
    sleep.fill(Err(nettare_vm::Cancelled));
    let end = block_on(iteration);
    assert_eq!(end.outcome, IterationOutcome::Interrupted);
    assert_eq!(end.why.as_deref(), Some("stopped"));
    assert_eq!(
        notes(nettare_vm::Host::records(vu.host_mut())),
        [CANCELLED, CANCELLED]
    );
}

#[test]
fn a_broken_content_coding_fails_the_body_alone() {
    let stage = Stage::new(
        r#"(local.set $a (call $get (str "http://x.test/")))
           (call $note-i32 (call $status (local.get $a)))
           (call $text (local.get $a) (i32.const 512)) (call $note-error)
           (call $bytes (local.get $a) (i64.const 0) (i32.const 1) (i32.const 512)) (call $note-error)
           (call $contains (local.get $a) (str "x") (i32.const 512)) (call $note-error) (call $ok)"#,
    )
    .answers(|_| {
        let HttpReply { result, series, .. } = reply(200, b"");
        let mut response = result.unwrap();
        let message = "gzip: bad checksum".to_owned();
        response.body_failure = Some(Failure { kind: ErrorKind::Decode, code: 0, message });
        Some(HttpReply { result: Ok(response), timing: TIMING, series })
    });
    assert_eq!(stage.notes(), [200.0, DECODE, DECODE, DECODE]);
}

#[test]
fn a_body_larger_than_the_guests_memory_costs_the_guest_nothing_until_it_asks() {
    let body: &'static [u8] = vec![b'x'; 1 << 20].leak();
    let stage = Stage::new(
        r#"(local.set $a (call $get (str "http://x.test/")))
           (call $note-i64 (call $length (local.get $a)))
           (call $note-i32 (memory.size))
           (call $bytes (local.get $a) (i64.const 1048570) (i32.const 1000) (i32.const 512))
           (call $note-i32 (i32.load (i32.const 520)))
           (call $bytes (local.get $a) (i64.const 0) (i32.const 1048576) (i32.const 512))
           (call $note-i32 (i32.load (i32.const 520)))
           (call $note-i32 (i32.load8_u (i32.add (i32.load (i32.const 516)) (i32.const 1048575))))
           (call $ok)"#,
    )
    .answers(move |_| Some(reply(200, body)));
    assert_eq!(
        stage.notes(),
        [1_048_576.0, 2.0, 6.0, 1_048_576.0, f64::from(b'x')]
    );
}

#[test]
fn the_host_answers_by_patterns_and_paths() {
    let stage = Stage::new(
        r#"(local.set $a (call $get (str "http://x.test/")))
           (call $compile-pattern (str "x([0-9]+)") (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 512)))
           (local.set $b (i32.load (i32.const 516)))
           (call $matches (local.get $a) (local.get $b) (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 516)))
           (call $capture (local.get $a) (local.get $b) (i32.const 512)) (call $say-at (i32.const 520))
           (call $compile-json-path (str "$.ids[*]") (i32.const 512)) (call $note-i32 (i32.load8_u (i32.const 512)))
           (local.set $b (i32.load (i32.const 516)))
           (call $json (local.get $a) (local.get $b) (i32.const 512)) (call $note-i32 (i32.load (i32.const 520)))
           (call $compile-pattern (str "(") (i32.const 512)) (call $note-error) (call $say-at (i32.const 524))
           (call $compile-json-path (str "ids") (i32.const 512)) (call $note-error) (call $ok)"#,
    )
    .answers(|_| Some(reply(200, br#"{"ids":[3,5],"name":"x17"}"#)));
    assert_eq!(stage.notes(), [0.0, 1.0, 0.0, 2.0, INVALID, INVALID]);
    let said = said(&stage);
    assert_eq!(said[0], "17");
    assert!(said[1].contains("regular expression"), "{said:?}");
}

#[test]
fn a_check_that_nobody_can_judge_is_refused_with_a_sentence() {
    let stage = Stage::new(
        r#"(call $defer (i32.const 0) (call $get (str "http://x.test/")) (str "context") (i32.const 512))
           (call $note-i32 (i32.load8_u (i32.const 516))) (call $say-at (i32.const 524)) (call $ok)"#,
    );
    assert_eq!(stage.notes(), [INVALID]);
    let (_, records) = stage.run();
    assert_eq!(counted(&records, "deferred-check-unknown"), 1);
    let said = said(&stage);
    assert!(said[0].contains("`judge`"), "{said:?}");
}

#[test]
fn requests_carry_the_group_and_the_users_tags_of_their_time() {
    let stage = Stage::new(
        r#"(local.set $a (call $get-request (str "http://x.test/")))
           (call $send (local.get $a) (i32.const 512))
           (call $group-begin (call $group (str "cart")))
           (call $tag (str "team") (str "red"))
           (call $send (local.get $a) (i32.const 512))
           (call $group-end)
           (call $send (local.get $a) (i32.const 512)) (call $ok)"#,
    );
    let mut vu = stage.vu(1);
    for _ in 0..2 {
        block_on(vu.iterate(ARRIVAL));
    }
    let world = stage.world();
    let groups: Vec<_> = world.requests.iter().map(|request| request.group).collect();
    let tags: Vec<_> = world
        .requests
        .iter()
        .map(|request| request.tags.len())
        .collect();
    assert_eq!(groups, [0, 1, 0, 0, 1, 0]);
    assert_eq!(tags, [0, 1, 1, 0, 1, 1], "tags end with the iteration");
    let ids: Vec<_> = world.requests.iter().map(|request| request.id).collect();
    assert_eq!(ids[..3], ids[3..], "the same in the next iteration");
}

#[test]
fn abort_and_log_reach_the_host() {
    let stage = Stage::new(
        r#"(call $log (i32.const 0) (str "d")) (call $log (i32.const 3) (str "e")) (call $abort (str "enough")) (call $ok)"#,
    );
    let (end, records) = stage.run();
    assert_eq!(end.outcome, IterationOutcome::Completed);
    assert_eq!(stage.world().aborts, ["enough"]);
    assert_eq!(
        stage.world().logs,
        [
            (LogLevel::Debug, "d".to_owned()),
            (LogLevel::Error, "e".to_owned())
        ]
    );
    assert_eq!(counted(&records, "log-lines"), 0);
}
