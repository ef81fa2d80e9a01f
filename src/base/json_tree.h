/* The values of JSON documents, for json*.c only. All that a document has lies in few pieces of
 * memory, which go at once with its last owner: a document of an array has a hundred values, and is
 * read and dropped. */
#pragma once

#include "base/json.h"

struct json_doc;

struct json {
	struct json_doc *doc;
	enum json_type type;
	bool is_true;
	size_t n; /* bytes of a text or word, members of a list or dict */
	union {
		const char *text; /* a NUL behind it */
		const struct json *const *at;
		struct json_member *member;
	};
};

struct json_member {
	const char *key; /* a NUL behind it, and none in it; NULL in a list */
	size_t key_len;
	const struct json *value;
};

/* A document without values that has one owner; room: bytes that they will take, roughly. NULL: no
 * memory. */
struct json_doc *json_doc_new(size_t room);
void json_doc_unref(struct json_doc *); /* NULL allowed */
/* NULL: no memory. */
struct json *json_doc_value(struct json_doc *, enum json_type);
const char *json_doc_text(struct json_doc *, const char *text, size_t len);
/* Takes n members in; their keys and values are the document's. Of members with one key the last
 * counts, where the first stands. 0 or -ENOMEM. */
int json_doc_list(struct json *, const struct json_member *, size_t n);
int json_doc_dict(struct json *, const struct json_member *, size_t n);
