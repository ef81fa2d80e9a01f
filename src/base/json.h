/* JSON as Zarr writers really write it.
 *
 * No strict parser can keep what stores need: the text of numbers (007, 1.0, 1e-5 against 0.00001,
 * integers above 2^63), bare words (NaN, Infinity, -Infinity, 0x10, +5, .5), `\'`, lone surrogates,
 * control characters. So the text is read here. Of duplicate keys the last counts, as in every
 * other reader. Members keep their order. Text that is not UTF-8 keeps its bytes.
 *
 * Values are immutable after parsing and may be read by many threads. They live as long as an owner
 * of their document does. */
#pragma once

#include "base/clean.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json; /* one value, borrowed from its document unless json_parse returned it */

enum json_type {
	JSON_TYPE_NULL,
	JSON_TYPE_BOOL,
	JSON_TYPE_WORD,
	JSON_TYPE_TEXT,
	JSON_TYPE_LIST,
	JSON_TYPE_DICT
};

/* Bounds: depth 512. -EINVAL with line and column in the text. The document is owned by the
 * caller. */
int json_parse(const char *text, size_t len, struct json **ret);
/* Is it JSON as the standard has it, so that every reader takes it? */
bool json_is_strict(const char *text, size_t len);
struct json *json_free(struct json *); /* NULL is allowed; returns NULL */
CLEAN_DEFINE(struct json, json_free)
/* Another owner of the same value, and of the whole document that it is of (reference counted,
 * thread-safe). */
struct json *json_ref(const struct json *);
/* The value as a document of its own. 0 or -ENOMEM. */
int json_copy_of(const struct json *, struct json **ret);

enum json_type json_type(const struct json *);
/* "a number", "text", … for messages. */
const char *json_type_name(const struct json *);

/* Text of a JSON_TYPE_TEXT (may hold NUL bytes: len) or the raw lexeme of a JSON_TYPE_WORD (a
 * number as it was written, or NaN …); NULL for other types. */
const char *json_text(const struct json *, size_t *len);
bool json_is(const struct json *, const char *text); /* a TEXT equal to text */
bool json_bool(const struct json *);

/* Numbers from a WORD, or from a TEXT that holds one ("-9999.5", "NaN": writers do that).
 * 0; -EINVAL not a number, or (json_int, json_uint) one with a fraction; -ERANGE does not fit. 3.0
 * and 1e3 are integers. */
int json_int(const struct json *, int64_t *ret);
int json_uint(const struct json *, uint64_t *ret);
int json_double(
	const struct json *, double *ret);  /* also NaN Infinity -Infinity in all their spellings */
bool json_word_is_int(const struct json *); /* a WORD written as an integer */

size_t json_count(const struct json *); /* members of a LIST or DICT, else 0 */
const struct json *json_at(const struct json *list, size_t i);
const struct json *json_get(
	const struct json *dict, const char *key); /* NULL: absent or not a dict */
/* Members of a dict in their order: for (void *i = json_first(d); i; i = json_next(d, i)) … */
void *json_first(const struct json *dict);
void *json_next(const struct json *dict, void *iter);
const char *json_key(void *iter);
const struct json *json_value(void *iter);

/* Compact text of a value with its raw lexemes, ", " and ": " as separators. Caller frees. NULL: no
 * memory. */
char *json_dump(const struct json *);
/* Goes on with a hash: the same for what json_dump writes alike, and in every run. */
uint64_t json_hash(uint64_t h, const struct json *);

/* The members of a dict in a text, without building any value: for documents of megabytes. path
 * leads from the top-level dict to one inside ("metadata", "consolidated_metadata/metadata"), or is
 * NULL; with a path, the whole text is looked at before the first member is told. Of a value only
 * strings and brackets are checked, so that a bad one costs no other; duplicate keys are told each
 * time. fn returns 0 to go on; anything else is returned. Slices point into text. -EINVAL:
 * malformed, or not a dict at the end of path; -ENOENT: path leads nowhere (or to null). */
struct json_slice {
	const char *key; /* raw, between its quotes */
	size_t key_len;
	bool has_escapes;
	const char *value;
	size_t value_len;
};
typedef int json_member_fn(const struct json_slice *, void *arg);
int json_scan(const char *text, size_t len, const char *path, json_member_fn *fn, void *arg);
/* The key with its escapes resolved. Caller frees. NULL: no memory. */
char *json_slice_key(const struct json_slice *);
