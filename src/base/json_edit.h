/* Changes of a JSON document in its text: what is not touched stays byte for byte, order, blanks
 * and spelling of numbers included.
 *
 * A path is the names of dicts inside each other, NULL last. Of duplicate keys the last counts, as
 * for all readers. What is put in is laid out as the members beside it are: on lines of their own
 * where these are. The document is the caller's; any thread. */
#pragma once

#include "base/buf.h"

/* Sets the member that path leads to. Dicts that are lacking on the way are made; what is there and
 * is none is -EINVAL, like text that is no JSON. value: one JSON value. The document is untouched
 * on failure. */
int json_edit_set(struct buf *doc, const char *const *path, struct span value);
/* The same, and that member, its name too, is in ASCII then, as json_to_ascii has it. */
int json_edit_set_ascii(struct buf *doc, const char *const *path, struct span value);
/* Deletes it, all of that name. What is not there is deleted already. */
int json_edit_del(struct buf *doc, const char *const *path);
/* Sets element `at` of the list that path leads to; the one behind its end is added. -EINVAL: no
 * such list or element. */
int json_edit_at(struct buf *doc, const char *const *path, size_t at, struct span value);
/* Takes that element out. -EINVAL: there is none. */
int json_edit_take(struct buf *doc, const char *const *path, size_t at);
/* Where the value lies that path leads to, an empty path being the whole. 0, -ENOENT (nothing
 * there), -EINVAL (no JSON on the way). */
int json_edit_find(struct span doc, const char *const *path, struct span *ret);

/* Appends text as JSON has it, between quotes. Bytes that are no UTF-8 become "\udcXX", as Python
 * writes them; json_parse gives them back. */
int json_quote(const char *text, size_t len, struct buf *ret);
/* A JSON value without characters beyond ASCII: as \uXXXX, which is all that zarr-python 2 reads.
 * Untouched on failure. */
int json_to_ascii(struct buf *value);
