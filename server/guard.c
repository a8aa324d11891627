#include "server/guard.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool refuse(struct guard_refusal *refusal, enum http_fault fault, const char *detail) {
    refusal->fault = fault;
    refusal->detail = detail;
    return false;
}

static bool bad(struct guard_refusal *refusal, const char *detail) {
    return refuse(refusal, HTTP_FAULT_FRAMING, detail);
}

static bool is_token(const char *text) {
    if (!*text) return false;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x80 || (!isalnum(c) && !strchr("!#$%&'*+-.^_`|~", c))) return false;
    }
    return true;
}

static const char *after_scheme(const char *target) {
    if (strncasecmp(target, "http://", 7) == 0) return target + 7;
    if (strncasecmp(target, "https://", 8) == 0) return target + 8;
    return NULL;
}

const char *guard_path(const char *target, size_t *length) {
    const char *authority = after_scheme(target);
    const char *path = authority ? authority + strcspn(authority, "/?") : target;
    *length = strcspn(path, "?");
    return path;
}

/* -- the target ------------------------------------------------------------------------------- */

static bool is_escape(const char *at, const char *digits) {
    return at[0] == '%' && strncasecmp(at + 1, digits, 2) == 0;
}

static bool target_bytes(const char *target, size_t path_end, struct guard_refusal *refusal) {
    for (size_t i = 0; target[i]; i++) {
        unsigned char c = (unsigned char)target[i];
        if (c < 0x21 || c > 0x7e) {
            return bad(refusal, "the target holds a byte outside 0x21...0x7E; percent-encode it");
        }
        if (c == '#') return bad(refusal, "the target holds a fragment (#)");
        if (c == '\\' && i < path_end) return bad(refusal, "the path holds a backslash");
        if (c != '%') continue;
        if (!isxdigit((unsigned char)target[i + 1]) || !isxdigit((unsigned char)target[i + 2])) {
            return bad(refusal, "the target holds an escape that is not % and two hex digits");
        }
        if (is_escape(target + i, "00")) return bad(refusal, "the target holds %00");
        if (i >= path_end) continue;
        if (is_escape(target + i, "2f")) return bad(refusal, "the path holds %2F");
        if (is_escape(target + i, "5c")) return bad(refusal, "the path holds %5C");
    }
    return true;
}

/* Length of one dot at `at`, written plainly or as %2E; 0 when there is none. */
static size_t dot_length(const char *at) {
    if (at[0] == '.') return 1;
    return is_escape(at, "2e") ? 3 : 0;
}

static bool has_dot_segment(const char *path, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (path[i] != '/') continue;
        size_t at = i + 1;
        int dots = 0;
        for (size_t n; dots < 3 && (n = dot_length(path + at)) > 0; dots++) at += n;
        bool ends = at >= length || path[at] == '/' || path[at] == ';';
        if (ends && (dots == 1 || dots == 2)) return true;
    }
    return false;
}

static bool check_target(const struct guard_head *head, struct guard_refusal *refusal) {
    const char *target = head->target;
    if (strnlen(target, GUARD_MAX_TARGET_BYTES + 1) > GUARD_MAX_TARGET_BYTES) {
        return refuse(refusal, HTTP_FAULT_URI_TOO_LONG, "the target is longer than 8192 bytes");
    }
    size_t length;
    const char *path = guard_path(target, &length);
    if (!target_bytes(target, (size_t)(path - target) + length, refusal)) return false;
    if (path[0] != '/') return bad(refusal, "the target is not a path that begins with /");
    if (has_dot_segment(path, length)) return bad(refusal, "the path holds a . or .. segment");
    return true;
}

/* -- the fields ------------------------------------------------------------------------------- */

static const char *find_one(const struct guard_head *head, const char *name, int32_t *n_found) {
    const char *value = NULL;
    *n_found = 0;
    for (int32_t i = 0; i < head->n_fields; i++) {
        if (strcasecmp(head->fields[i].name, name) != 0) continue;
        if (!value) value = head->fields[i].value;
        (*n_found)++;
    }
    return value;
}

/* A folded line is glued to the name by the parser: "Content-Length31". */
static bool is_glued(const char *name) {
    static const char *const roots[] = {"content-length", "transfer-encoding", "host"};
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        size_t n = strlen(roots[i]);
        if (strncasecmp(name, roots[i], n) == 0 && name[n]) return true;
    }
    return false;
}

static bool check_fields(const struct guard_head *head, struct guard_refusal *refusal) {
    if (head->n_fields > GUARD_MAX_FIELDS) {
        return refuse(refusal, HTTP_FAULT_HEADERS_TOO_LARGE, "more than 64 header fields");
    }
    if (head->head_bytes > GUARD_MAX_HEAD_BYTES) {
        return refuse(refusal, HTTP_FAULT_HEADERS_TOO_LARGE, "the header block is above 32 KiB");
    }
    for (int32_t i = 0; i < head->n_fields; i++) {
        const struct guard_field *field = &head->fields[i];
        if (strnlen(field->name, GUARD_MAX_NAME_BYTES + 1) > GUARD_MAX_NAME_BYTES) {
            return refuse(refusal, HTTP_FAULT_HEADERS_TOO_LARGE,
                          "a header name is longer than 64 bytes");
        }
        if (!is_token(field->name)) {
            return bad(refusal, "a header name holds a blank or another byte that is no token");
        }
        if (is_glued(field->name)) return bad(refusal, "a header name is not a known framing name");
        for (const char *at = field->value; *at; at++) {
            unsigned char c = (unsigned char)*at;
            if ((c < 0x20 && c != '\t') || c == 0x7f) {
                return bad(refusal, "a header value holds a control byte");
            }
        }
    }
    return true;
}

static bool check_framing(const struct guard_head *head, struct guard_framing *framing,
                          struct guard_refusal *refusal) {
    int32_t n_lengths, n_codings;
    const char *length = find_one(head, "Content-Length", &n_lengths);
    const char *coding = find_one(head, "Transfer-Encoding", &n_codings);
    memset(framing, 0, sizeof *framing);
    if (n_lengths > 1) return bad(refusal, "more than one Content-Length");
    if (n_codings > 1) return bad(refusal, "more than one Transfer-Encoding");
    if (length && coding) return bad(refusal, "both Content-Length and Transfer-Encoding");
    if (length) {
        size_t digits = strspn(length, "0123456789");
        if (digits == 0 || digits > 18 || length[digits]) {
            return bad(refusal, "Content-Length is not a number of at most 18 digits");
        }
        for (size_t i = 0; i < digits; i++) {
            framing->content_length = framing->content_length * 10 + (uint64_t)(length[i] - '0');
        }
    }
    if (coding) {
        if (strcasecmp(coding, "chunked") != 0) {
            return bad(refusal, "Transfer-Encoding is not exactly \"chunked\"");
        }
        if (strcmp(head->version, "HTTP/1.0") == 0) {
            return bad(refusal, "Transfer-Encoding on HTTP/1.0");
        }
        framing->chunked = true;
    }
    framing->has_body = framing->chunked || framing->content_length > 0;
    bool bodyless = strcmp(head->method, "GET") == 0 || strcmp(head->method, "HEAD") == 0 ||
                    strcmp(head->method, "DELETE") == 0;
    if (framing->has_body && bodyless) {
        return bad(refusal, "GET, HEAD and DELETE requests have no body");
    }
    return true;
}

/* -- Host and Origin -------------------------------------------------------------------------- */

/* Splits "name:port", "[::1]:port"; false when it is neither. The length excludes brackets. */
static bool split_authority(const char *text, size_t length, const char **name, size_t *n_name) {
    const char *end = text + length;
    const char *rest;
    if (length > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', length);
        if (!close) return false;
        *name = text + 1;
        *n_name = (size_t)(close - text - 1);
        rest = close + 1;
    } else {
        const char *colon = memchr(text, ':', length);
        *name = text;
        *n_name = (size_t)((colon ? colon : end) - text);
        rest = colon ? colon : end;
    }
    if (*n_name == 0) return false;
    if (rest == end) return true;
    if (*rest++ != ':' || end - rest > 5) return false;
    for (; rest < end; rest++) {
        if (*rest < '0' || *rest > '9') return false;
    }
    return true;
}

static bool same_text(const char *text, size_t length, const char *other) {
    return strlen(other) == length && strncasecmp(text, other, length) == 0;
}

static bool is_loopback_v4(const char *name, size_t length) {
    if (length < 9 || length > 15 || strncmp(name, "127.", 4) != 0) return false;
    int dots = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '.') {
            dots++;
        } else if (name[i] < '0' || name[i] > '9') {
            return false;
        }
    }
    return dots == 3;
}

/* The port is not compared: a tunnel or a container maps it, and rebinding attacks need the name.
 */
static bool host_allowed(const char *authority, size_t length, const struct guard_policy *policy) {
    const char *name;
    size_t n;
    if (!split_authority(authority, length, &name, &n)) return false;
    if (same_text(name, n, "localhost") || same_text(name, n, "::1")) return true;
    if (is_loopback_v4(name, n)) return true;
    for (const char *const *host = policy->public_hosts; host && *host; host++) {
        if (same_text(name, n, *host) || same_text(authority, length, *host)) return true;
    }
    return false;
}

static bool check_host(const struct guard_head *head, const struct guard_policy *policy,
                       struct guard_refusal *refusal) {
    static const char foreign[] =
        "this host name is not served here; start the service with --public-host NAME to allow it";
    int32_t n_hosts, n_origins;
    const char *host = find_one(head, "Host", &n_hosts);
    const char *origin = find_one(head, "Origin", &n_origins);
    if (n_hosts > 1) return bad(refusal, "more than one Host");
    if (!host && strcmp(head->version, "HTTP/1.1") == 0) return bad(refusal, "Host is missing");
    if (host && !host_allowed(host, strlen(host), policy)) {
        return refuse(refusal, HTTP_FAULT_HOST, foreign);
    }
    const char *authority = after_scheme(head->target);
    if (authority && !host_allowed(authority, strcspn(authority, "/?"), policy)) {
        return refuse(refusal, HTTP_FAULT_HOST, foreign);
    }
    if (!origin) return true;
    const char *from = after_scheme(origin);
    if (n_origins > 1 || !host || !from || strcasecmp(from, host) != 0) {
        return refuse(refusal, HTTP_FAULT_ORIGIN,
                      "the Origin of the request is another site than its Host");
    }
    return true;
}

/* -- layout ----------------------------------------------------------------------------------- */

/* The contiguity rule: in the receive buffer an honest head is one run. The version starts one byte
 * after the raw target; each line ends in two zeroed bytes (CR, LF); a value lies behind its name
 * with only blanks between; the next name starts right after the line end. Folds, bare LF, values
 * cut by NUL, nameless fields and doubled blanks leave another distance. All pointers lie in one
 * buffer, so that they can be compared. What stays invisible is a bare LF behind the last field. */
static bool ends_line(const char *at) { return at[0] == 0 && at[1] == 0; }

static bool check_layout(const struct guard_head *head, struct guard_refusal *refusal) {
    static const char broken[] =
        "the header block holds a folded line, a bare LF, a NUL or a field without a name";
    const char *at = head->target_at;
    if (!at) return true;
    if (head->version != at + strlen(head->target) + 1) return bad(refusal, broken);
    if (at != head->method + strlen(head->method) + 1) return bad(refusal, broken);
    at = head->version + strlen(head->version) + 2;
    for (int32_t i = 0; i < head->n_fields; i++) {
        const struct guard_field *field = &head->fields[i];
        if (field->name != at) return bad(refusal, broken);
        at += strlen(field->name) + 1;
        while (*at == ' ' || *at == '\t') at++;
        if (field->value != at) return bad(refusal, broken);
        at += strlen(field->value);
        if (!ends_line(at)) return bad(refusal, broken);
        at += 2;
    }
    return ends_line(at) || bad(refusal, broken); /* the empty line */
}

bool guard_check(const struct guard_head *head, const struct guard_policy *policy,
                 struct guard_framing *framing, struct guard_refusal *refusal) {
    memset(framing, 0, sizeof *framing);
    if (!is_token(head->method)) return bad(refusal, "the method is not a token");
    if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0) {
        return bad(refusal, "the version is neither HTTP/1.0 nor HTTP/1.1");
    }
    return check_target(head, refusal) && check_fields(head, refusal) &&
           check_layout(head, refusal) && check_framing(head, framing, refusal) &&
           check_host(head, policy, refusal);
}
