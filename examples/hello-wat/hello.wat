;; One request, one check, in WebAssembly's own text: every byte that crosses the border can be seen.
;;
;; The names are those of sdk/wit/load.wit, the types those of the component model's canonical ABI; examples/hello-c says
;; the same in C, with the rules. Memory, in bytes:
;;
;;      0..12   result<_, string> of `run`: 0 or 1; text, length of why
;;     16..28   option<string> of `env`: 0 or 1; text, length
;;     32..52   result<response, error> of `send`: 0 and the handle, or 1 and kind, code, text, length
;;     64..96   the description: three lists (address, count), then the options (text, length)
;;     96..104  the list of scenarios: one string (text, length)
;;    128..320  constants
;;    320..580  what the kinds of errors are called, 20 bytes each
;;    592..605  how long these are
;;   1024..     what the host writes, and what is put together, from the front again in each iteration
(module
  (import "nettare:load/vu@0.1.0" "env" (func $env (param i32 i32 i32)))
  (import "nettare:load/http@0.1.0" "[constructor]request" (func $request (param i32 i32 i32 i32) (result i32)))
  (import "nettare:load/http@0.1.0" "[method]request.set-name" (func $set_name (param i32 i32 i32)))
  (import "nettare:load/http@0.1.0" "[method]request.send" (func $send (param i32 i32)))
  (import "nettare:load/http@0.1.0" "[method]response.status" (func $status (param i32) (result i32)))
  (import "nettare:load/http@0.1.0" "[resource-drop]request" (func $drop_request (param i32)))
  (import "nettare:load/http@0.1.0" "[resource-drop]response" (func $drop_response (param i32)))
  (import "nettare:load/check@0.1.0" "register" (func $register (param i32 i32) (result i32)))
  (import "nettare:load/check@0.1.0" "begin" (func $begin (param i32)))
  (import "nettare:load/check@0.1.0" "end" (func $end (param i32 i32)))

  (memory (export "memory") 1)
  (data (i32.const 64) "\60\00\00\00\01\00\00\00")  ;; scenarios: at 96, one; no checks, no options
  (data (i32.const 96) "\80\00\00\00\05\00\00\00")  ;; at 128, five bytes
  (data (i32.const 128) "hello")
  (data (i32.const 144) "GET")
  (data (i32.const 160) "TARGET")
  (data (i32.const 176) "/products?count=3")       ;; 17 bytes; its first 9 are the request's name
  (data (i32.const 208) "status is 200")
  (data (i32.const 256) "the variable TARGET is not set: give it with -e TARGET=VALUE")
  (data (i32.const 320)
    "invalid: \00\00\00\00\00\00\00\00\00\00\00denied: \00\00\00\00\00\00\00\00\00\00\00\00"
    "dns: \00\00\00\00\00\00\00\00\00\00\00\00\00\00\00connect: \00\00\00\00\00\00\00\00\00\00\00"
    "tls: \00\00\00\00\00\00\00\00\00\00\00\00\00\00\00timeout: \00\00\00\00\00\00\00\00\00\00\00"
    "reset: \00\00\00\00\00\00\00\00\00\00\00\00\00protocol: \00\00\00\00\00\00\00\00\00\00"
    "body-limit: \00\00\00\00\00\00\00\00decode: \00\00\00\00\00\00\00\00\00\00\00\00"
    "too-many-redirects: cancelled: \00\00\00\00\00\00\00\00\00"
    "generator-limit: \00\00\00")
  (data (i32.const 592) "\09\08\05\09\05\09\07\0a\0c\08\14\0b\11")

  (global $top (mut i32) (i32.const 1024))
  (global $check (mut i32) (i32.const -1))

  ;; Room for what the host hands over. Memory is one page: a run of this guest needs a few hundred bytes of it, and what
  ;; does not fit is a trap at the host's first byte beyond.
  (func $cabi_realloc (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $alignment i32) (param $size i32) (result i32)
    (local $start i32)
    (local.set $start
      (i32.and
        (i32.sub (i32.add (global.get $top) (local.get $alignment)) (i32.const 1))
        (i32.sub (i32.const 0) (local.get $alignment))))
    (global.set $top (i32.add (local.get $start) (local.get $size)))
    (local.get $start))

  (func (export "describe") (result i32)
    (i32.const 64))

  (func $fail (param $text i32) (param $length i32) (result i32)
    (i32.store8 (i32.const 0) (i32.const 1))
    (i32.store (i32.const 4) (local.get $text))
    (i32.store (i32.const 8) (local.get $length))
    (i32.const 0))

  ;; Two texts side by side. Gives the address; the length is that of both.
  (func $join (param $one i32) (param $one_length i32) (param $two i32) (param $two_length i32) (result i32)
    (local $start i32)
    (local.set $start
      (call $cabi_realloc
        (i32.const 0) (i32.const 0) (i32.const 1) (i32.add (local.get $one_length) (local.get $two_length))))
    (memory.copy (local.get $start) (local.get $one) (local.get $one_length))
    (memory.copy (i32.add (local.get $start) (local.get $one_length)) (local.get $two) (local.get $two_length))
    (local.get $start))

  ;; Fails with the kind and the message of the error at 36.
  (func $fail_with_error (result i32)
    (local $kind i32) (local $kind_length i32)
    (local.set $kind (i32.load8_u (i32.const 36)))
    (local.set $kind_length (i32.load8_u (i32.add (i32.const 592) (local.get $kind))))
    (call $fail
      (call $join
        (i32.add (i32.const 320) (i32.mul (i32.const 20) (local.get $kind))) (local.get $kind_length)
        (i32.load (i32.const 44)) (i32.load (i32.const 48)))
      (i32.add (local.get $kind_length) (i32.load (i32.const 48)))))

  (func $check_status (param $response i32)
    (if (i32.eq (global.get $check) (i32.const -1))
      (then (global.set $check (call $register (i32.const 208) (i32.const 13)))))
    (call $begin (global.get $check))
    (call $end (global.get $check) (i32.eq (call $status (local.get $response)) (i32.const 200))))

  (func (export "run") (param $scenario i32) (param $sequence i64) (param $due i64) (param $started i64) (result i32)
    (local $request i32)
    (global.set $top (i32.const 1024))

    (call $env (i32.const 160) (i32.const 6) (i32.const 16))
    (if (i32.eqz (i32.load8_u (i32.const 16)))
      (then (return (call $fail (i32.const 256) (i32.const 60)))))

    (local.set $request
      (call $request
        (i32.const 144) (i32.const 3)
        (call $join (i32.load (i32.const 20)) (i32.load (i32.const 24)) (i32.const 176) (i32.const 17))
        (i32.add (i32.load (i32.const 24)) (i32.const 17))))
    (call $set_name (local.get $request) (i32.const 176) (i32.const 9))
    (call $send (local.get $request) (i32.const 32))
    (call $drop_request (local.get $request))
    (if (i32.load8_u (i32.const 32))
      (then (return (call $fail_with_error))))

    (call $check_status (i32.load (i32.const 36)))
    (call $drop_response (i32.load (i32.const 36)))
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.const 0)))
