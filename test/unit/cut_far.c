/* An array that was made a billion rows long by mistake becomes short again: of the chunks that it
 * may have those are looked at that there are. */
#include "cut.h"

enum { ROWS = 1000000000, LEFT = 3, CALLS_MOST = 60 };

struct far {
	const char *chunks, *shape, *more;
	unsigned row;        /* bytes */
	const char *key[4];  /* of chunks: of the last row that stays, … */
	const char *fill[4]; /* and what it then has; NULL: it is gone */
};

/* Chunks of two rows, of which the second one is left in half. */
static const struct far stores[] = {
	{"[2]", "[%u]", "", 1, {"1", "7", "499999999"}, {"\1\11"}},
	{"[2,1]", "[%u,2]", "", 2, {"1.0", "1.1", "7.1", "499999999.0"}, {"\1\11", "\1\11"}},
	{"[2,1]", "[%u,2]", ", \"dimension_separator\": \"/\"", 2,
		{"1/0", "1/1", "7/1", "499999999/0"}, {"\1\11", "\1\11"}},
};

static void
put_rows(struct zmap *store, const struct far *f, unsigned rows)
{
	char shape[32], more[100];
	snprintf(shape, sizeof shape, f->shape, rows);
	snprintf(more, sizeof more, "\"fill_value\": 9%s", f->more);
	put_meta(store, "t", "\"|i1\"", shape, f->chunks, more);
}

static struct cut
begin(const char *url, const struct far *f, unsigned rows)
{
	struct cut c = cut_store("mem:far", f->row == 1 ? "[\"time\"]" : "[\"time\", \"x\"]");
	put_rows(c.store, f, rows);
	for (unsigned i = 0; i < 4 && f->key[i]; i++) {
		char key[64];
		snprintf(key, sizeof key, "t/%s", f->key[i]);
		put_bytes(c.store, key, "\1\1", 2);
	}
	cut_mount(&c, url, "t");
	return c;
}

static void
check_chunks(struct cut *c, const struct far *f)
{
	for (unsigned i = 0; i < 4 && f->key[i]; i++) {
		char key[64];
		snprintf(key, sizeof key, "t/%s", f->key[i]);
		cut_check_chunk(c, key, f->fill[i], 2);
	}
}

static unsigned long long
calls(struct mount *m)
{
	unsigned long long n = 0;
	for (unsigned k = 0; k < ZMAP_KINDS; k++)
		n += atomic_load(&m->zmap->counts.calls[k]);
	return n;
}

/* A program that is killed some time after it has begun: without that it would take for ever. */
struct killed {
	struct cancel cancel;
	atomic_uint looks;
};

static bool
look(struct cancel *c)
{
	return atomic_fetch_add(&((struct killed *)(void *)c)->looks, 1) >= 1000;
}

static void
shortened(const char *url, const struct far *f)
{
	struct cut c = begin(url, f, ROWS);
	struct killed k = {.cancel.look = look};
	const unsigned long long before = calls(c.mount);
	CHECK_INT(file_truncate(c.file, LEFT * f->row, RESIZE_HANDLE, &k.cancel), 0);
	CHECK(calls(c.mount) - before <= CALLS_MOST);
	check_chunks(&c, f);
	cut_end(&c);
}

/* Chunks are looked at one by one where they may not be listed, unless that takes for ever. */
static void
unlisted(const char *url)
{
	const struct far *f = &stores[0];
	struct cut c = begin(url, f, ROWS);
	struct killed k = {.cancel.look = look};
	const unsigned long long before = calls(c.mount);
	CHECK_INT(file_truncate(c.file, LEFT, RESIZE_HANDLE, &k.cancel), -EACCES);
	CHECK(strstr(err_text(), "behind 3 rows is not known"));
	CHECK(calls(c.mount) - before <= CALLS_MOST);
	cut_end(&c);
	c = begin(url, f, 100);
	CHECK_INT(file_truncate(c.file, LEFT, RESIZE_HANDLE, NULL), 0);
	cut_end(&c);
}

int
main(void)
{
	static const char remote[] = "fault+mem:far#fault.kind=none&fault.remote=1";
	for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
		shortened("mem:far", &stores[i]);
		shortened(remote, &stores[i]);
	}
	unlisted("fault+mem:far#fault.kind=eacces&fault.calls=list&fault.match=t/");
	unlisted("fault+mem:far#fault.kind=eacces&fault.calls=list&fault.match=t/&fault.remote=1");
	return check_end();
}
