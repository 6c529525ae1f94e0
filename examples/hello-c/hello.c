/* One request, one check, in C without any library: what the contract looks like underneath.
 *
 * A guest needs no bindings. It imports and exports functions by the names in sdk/wit/load.wit, passes values as the
 * component model's canonical ABI says, and Nettare makes a component of it when it loads it:
 *
 *   - A string or list is two arguments, address and length.
 *   - A resource is a number, its handle; `[method]request.send` takes it first, `[resource-drop]request` gives it back.
 *   - A result that is not one plain value is written to memory: the caller of an import passes the address as the last
 *     argument, an export returns it. Fields lie as in a C struct; a variant is its case's number, then its content.
 *   - What the host hands over (a string, a list) it writes to memory that it gets from `cabi_realloc`.
 */
#include <stdint.h>

typedef struct {
    const char *text;
    uint32_t length;
} string_t;

#define STRING(literal) { literal, sizeof literal - 1 }
#define IMPORT(interface, name) __attribute__((import_module("nettare:load/" interface "@0.1.0"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

/* ---- What is imported. ---------------------------------------------------------------------------------------------- */

typedef uint32_t request_t, response_t;

/* option<string> */
typedef struct {
    uint8_t is_some;
    string_t value;
} option_string_t;

typedef struct {
    uint8_t kind;
    uint32_t code;
    string_t message;
} error_t;

/* result<response, error> */
typedef struct {
    uint8_t is_error;
    union {
        response_t response;
        error_t error;
    };
} send_result_t;

IMPORT("vu", "env") void vu_env(const char *name, uint32_t name_length, option_string_t *result);
IMPORT("http", "[constructor]request")
request_t http_request(const char *method, uint32_t method_length, const char *url, uint32_t url_length);
IMPORT("http", "[method]request.set-name") void http_request_set_name(request_t, const char *name, uint32_t name_length);
IMPORT("http", "[method]request.send") void http_request_send(request_t, send_result_t *result);
IMPORT("http", "[method]response.status") uint32_t http_response_status(response_t);
IMPORT("http", "[resource-drop]request") void http_request_drop(request_t);
IMPORT("http", "[resource-drop]response") void http_response_drop(response_t);
IMPORT("check", "register") uint32_t check_register(const char *name, uint32_t name_length);
IMPORT("check", "begin") void check_begin(uint32_t check);
IMPORT("check", "end") void check_end(uint32_t check, uint32_t passed);

/* ---- Memory: a stack that an iteration empties. ---------------------------------------------------------------------- */

enum { PAGE_SIZE = 65536 };

extern uint8_t __heap_base; /* The linker's: the first byte that is nobody's. */
static uint8_t *heap_top = &__heap_base;

static void *allocate(uint32_t size, uint32_t alignment) {
    uintptr_t start = ((uintptr_t)heap_top + alignment - 1) & ~(uintptr_t)(alignment - 1);
    uintptr_t end = start + size;
    uintptr_t have = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE_SIZE;
    if (end > have && __builtin_wasm_memory_grow(0, (end - have + PAGE_SIZE - 1) / PAGE_SIZE) == (uintptr_t)-1)
        __builtin_trap();
    heap_top = (uint8_t *)end;
    return (void *)start;
}

static char *append(char *to, string_t piece) {
    for (uint32_t i = 0; i < piece.length; i++)
        to[i] = piece.text[i];
    return to + piece.length;
}

/* Called by the host for room. Nothing is ever resized here, so there is nothing to copy. */
EXPORT("cabi_realloc") void *cabi_realloc(void *old, uint32_t old_size, uint32_t alignment, uint32_t size) {
    (void)old, (void)old_size;
    return allocate(size, alignment);
}

/* ---- What is exported. A guest may leave out all but `run`. ----------------------------------------------------------- */

typedef struct {
    const string_t *items;
    uint32_t count;
} list_t;

typedef struct {
    list_t scenarios, checks, deferred_checks;
    string_t options;
} description_t;

/* result<_, string> */
typedef struct {
    uint8_t is_error;
    string_t why;
} run_result_t;

EXPORT("describe") const description_t *describe(void) {
    static const string_t scenarios[] = { STRING("hello") };
    static const description_t description = { .scenarios = { scenarios, 1 } };
    return &description;
}

static run_result_t *failed(string_t why) {
    static run_result_t result;
    result = (run_result_t){ 1, why };
    return &result;
}

static string_t join(string_t one, string_t two) {
    char *both = allocate(one.length + two.length, 1);
    append(append(both, one), two);
    return (string_t){ both, one.length + two.length };
}

static run_result_t *failed_with(error_t error) {
    static const string_t kinds[] = {
        STRING("invalid: "), STRING("denied: "), STRING("dns: "), STRING("connect: "), STRING("tls: "),
        STRING("timeout: "), STRING("reset: "), STRING("protocol: "), STRING("body-limit: "), STRING("decode: "),
        STRING("too-many-redirects: "), STRING("cancelled: "), STRING("generator-limit: "),
    };
    return failed(join(kinds[error.kind], error.message));
}

static void check_status(response_t response) {
    static const string_t name = STRING("status is 200");
    static uint32_t check, is_registered;
    if (!is_registered) {
        check = check_register(name.text, name.length);
        is_registered = 1;
    }
    check_begin(check);
    check_end(check, http_response_status(response) == 200);
}

/* The arrival's fields (scenario, sequence, due, started) come as arguments, as they are no more than 16. */
EXPORT("run") const run_result_t *run(uint32_t scenario, uint64_t sequence, uint64_t due, uint64_t started) {
    (void)scenario, (void)sequence, (void)due, (void)started;
    static const run_result_t ok;
    static const string_t unset = STRING("the variable TARGET is not set: give it with -e TARGET=VALUE");
    static const string_t path = STRING("/products?count=3");
    heap_top = &__heap_base;

    option_string_t target;
    vu_env("TARGET", 6, &target);
    if (!target.is_some)
        return failed(unset);

    string_t url = join(target.value, path);
    request_t request = http_request("GET", 3, url.text, url.length);
    http_request_set_name(request, "/products", 9);
    send_result_t sent;
    http_request_send(request, &sent);
    http_request_drop(request);
    if (sent.is_error)
        return failed_with(sent.error);

    check_status(sent.response);
    http_response_drop(sent.response);
    return &ok;
}
