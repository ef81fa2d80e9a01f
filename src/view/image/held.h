/* Bytes that were written to a file and lie over what it shows: which they are, and what they are.
 * In memory, a page at a time, wherever they lie. Not locked: its owner does that. An empty one is
 * {0}. */
#pragma once

#include "base/buf.h"

struct held_page;

struct held {
	struct held_page **page; /* by where they lie */
	size_t pages;
};

void held_free(struct held *); /* what it holds, not itself */
/* Memory that it takes, roughly. */
size_t held_bytes(const struct held *);
/* was: what the writer had seen there; NULL: nothing. 0 or -ENOMEM; then some of the bytes may be
 * there. */
int held_put(struct held *, uint64_t off, struct span bytes, const uint8_t *was);
/* Bytes [from, to) were not written. */
void held_drop(struct held *, uint64_t from, uint64_t to);
/* Lays what was written of [off, off + n) over the bytes at `to`. */
void held_lay(const struct held *, uint64_t off, size_t n, uint8_t *to);
/* Was each of [from, to) written? */
bool held_has(const struct held *, uint64_t from, uint64_t to);
/* The first run of written bytes in [from, to). False: there is none. */
bool held_run(
	const struct held *, uint64_t from, uint64_t to, uint64_t *ret_from, uint64_t *ret_to);
/* The same of bytes that were not what their writer had seen there: in one of the writes. */
bool held_run_other(
	const struct held *, uint64_t from, uint64_t to, uint64_t *ret_from, uint64_t *ret_to);
/* Behind the last byte that was written; 0: there is none. */
uint64_t held_end(const struct held *);
