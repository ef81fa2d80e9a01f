/* A mount makes an array shorter, and another writer appends rows as soon as the metadata say so,
 * before what lies behind the end is removed: its rows stay. */
#include "told.h"

enum { ROWS = 8 };

static const char *chunks = "[2]";
static struct zmap *other;
static void (*append)(void); /* what it does then; NULL: it has */

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, chunks, "\"fill_value\": 9");
}

/* The metadata were committed; chunks are not removed yet. */
static void
committed(void *arg, struct node *old, struct node *now)
{
	const struct told *t = arg;
	void (*fn)(void) = append;
	append = NULL;
	if (fn)
		fn();
	t->tell(t->mount, old, now);
}

static void
check_chunk(const char *key, const char *bytes, size_t len)
{
	CLEAN(buf_free) struct buf got = {0};
	const struct zmap_get g = {.key = key, .into = &got, .max = 64};
	CHECK_INT(zmap_get(other, &g, NULL), bytes ? 0 : ZMAP_ABSENT);
	CHECK(!bytes || (got.len == len && !memcmp(got.data, bytes, len)));
}

/* Whole chunks: one in the place of a former one, and one whose length comes later. */
static void
append_chunks(void)
{
	put_bytes(other, "t/1", "\5\5", 2);
	put_rows(other, 4);
	put_bytes(other, "t/3", "\6\6", 2);
}

/* A row in the chunk that holds the last one. */
static void
append_row(void)
{
	put_bytes(other, "t/1", "\1\5\1\1", 4);
	put_rows(other, 6);
}

static void
nothing(void)
{
}

static void
check(void (*fn)(void))
{
	if (fn == append_chunks) {
		check_chunk("t/0", "\1\1", 2);
		check_chunk("t/1", "\5\5", 2);
		check_chunk("t/2", NULL, 0);
		check_chunk("t/3", "\6\6", 2);
	} else {
		check_chunk("t/0", "\1\1\1\1", 4);
		check_chunk("t/1", fn == append_row ? "\1\5\1\1" : "\1\11\11\11", 4);
	}
}

/* All rows are 1, `rows` are left. */
static void
shorten(const char *form, unsigned rows, void (*fn)(void))
{
	struct node *was;
	chunks = form;
	struct told t = told_begin(put_rows, ROWS, &was);
	const uint8_t all[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
	other = t.store;
	CHECK_INT(file_write(t.file, 0, (struct span){all, ROWS}, &(struct array_want){0}, 0), 0);
	append = fn;
	model_on_change(t.mount->model, committed, &t);
	CHECK_INT(file_truncate(t.file, rows, RESIZE_HANDLE, NULL), 0);
	CHECK(!append);
	check(fn);
	node_unref(was);
	told_end(&t);
}

int
main(void)
{
	shorten("[2]", 2, append_chunks);
	shorten("[4]", 5, append_row);
	shorten("[4]", 5, nothing);
	return check_end();
}
