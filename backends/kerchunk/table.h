/* Where the bytes of many keys are, in little memory: 24 bytes a reference, its key, and each URL
 * once. One thread fills a table and closes it; from then on it is immutable, and every thread may
 * ask. */
#pragma once

#include "base/buf.h"
#include "store/zmap.h"

enum kerchunk_kind {
	KERCHUNK_NOTHING, /* a row that holds no reference */
	KERCHUNK_BYTES,   /* the bytes themselves */
	KERCHUNK_RANGE,   /* bytes [off, off + len) of url */
	KERCHUNK_WHOLE,   /* all of url */
	KERCHUNK_BAD,     /* why is the reason */
};

struct kerchunk_ref {
	enum kerchunk_kind kind;
	struct span bytes;
	const char *url, *why;
	uint64_t off, len;
};

struct kerchunk_table;

/* most: bytes that it may come to hold; beyond that adding is -EFBIG. NULL: no memory. */
struct kerchunk_table *kerchunk_table_new(size_t most);
struct kerchunk_table *kerchunk_table_free(struct kerchunk_table *);
CLEAN_DEFINE(struct kerchunk_table, kerchunk_table_free)

/* Copies all that it is given. key: NULL in a table of rows. loose: see
 * kerchunk_table_drop_loose. */
int kerchunk_table_add(
	struct kerchunk_table *, const char *key, const struct kerchunk_ref *, bool loose);
/* Would so many more be too many, however short their keys? 0 or -EFBIG. */
int kerchunk_table_expect(const struct kerchunk_table *, uint64_t count);
size_t kerchunk_table_bytes(const struct kerchunk_table *);
size_t kerchunk_table_count(const struct kerchunk_table *);

/* Another text for each URL there is: fn appends it to ret; 1: it stays as it is; where it fails
 * with -EINVAL, what refers to the URL is KERCHUNK_BAD for its reason. */
typedef int kerchunk_rewrite_fn(void *arg, const char *url, struct buf *ret);
int kerchunk_table_rewrite(struct kerchunk_table *, kerchunk_rewrite_fn *, void *arg);

/* Of a row that is there: another offset, another length (0: all of the URL), bytes instead of a
 * URL, a reason why it makes no sense. */
void kerchunk_table_set_offset(struct kerchunk_table *, uint64_t i, uint64_t off);
void kerchunk_table_set_length(struct kerchunk_table *, uint64_t i, uint64_t len);
int kerchunk_table_set(struct kerchunk_table *, uint64_t i, const struct kerchunk_ref *);
int kerchunk_table_spoil(
	struct kerchunk_table *, uint64_t i, const char *why); /* if it has a URL */

/* Is the last part of any key such a name? */
bool kerchunk_table_any(const struct kerchunk_table *, bool (*is)(const char *name));
/* Forgets what was added as loose. */
void kerchunk_table_drop_loose(struct kerchunk_table *);
/* No more is added; of one key's references the last counts. */
void kerchunk_table_close(struct kerchunk_table *);

/* Of a closed table; ret borrows from it. 0 or ZMAP_ABSENT. */
int kerchunk_table_find(const struct kerchunk_table *, const char *key, struct kerchunk_ref *ret);
/* Row i, as they were added; ZMAP_ABSENT beyond the last, and for KERCHUNK_NOTHING. */
int kerchunk_table_row(const struct kerchunk_table *, uint64_t i, struct kerchunk_ref *ret);
/* As zmap_ops.list. */
int kerchunk_table_list(
	const struct kerchunk_table *, const char *prefix, zmap_list_fn *, void *arg);
