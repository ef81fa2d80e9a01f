/* Rows are appended and stored, and another program has stored the metadata and the chunks since,
 * with all rows in them: none is said to be lost when metadata count them. */
#include "cut.h"

#include "model/edit.h"

#include <stdatomic.h>
#include <time.h>

/* s. What the commit has, and what a look at its objects takes. */
enum { ROWS = 8, TIMEOUT = 60, LOOK = 100 };

static atomic_int passed;
int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	const int r = __real_clock_gettime(clock, ret);
	ret->tv_sec += clock == CLOCK_MONOTONIC ? atomic_load(&passed) : 0;
	return r;
}

static const struct array_want how;

static void
append(struct cut *c, const void *rows, size_t n)
{
	uint8_t got[ROWS * 8];
	const int64_t end = read_at(c->file, 0, sizeof got, got);
	const struct span b = {rows, n};
	CHECK_INT(file_write(c->file, (uint64_t)end, b, &how, 0), 0);
	cut_push(c->mount);
}

/* Its codecs make fill of what was written. */
static void
lossy(const char *filter)
{
	static const double small = 0.01;
	CLEAN(buf_free) struct buf object = {0};
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	char more[256];
	snprintf(more, sizeof more, "\"fill_value\": 0.0, \"filters\": [{\"id\": %s}]", filter);
	put_meta(c.store, "t", "\"<f8\"", "[8]", "[99]", more);
	cut_mount(&c, "mem:cut", "t");
	append(&c, &small, sizeof small);
	const struct zmap_get g = {.key = "t/0", .into = &object, .max = 4096};
	CHECK_INT(zmap_get(c.store, &g, NULL), 0);
	put_bytes(c.store, "t/0", object.data, object.len);
	put_meta(c.store, "t", "\"<f8\"", "[8]", "[99]", more);
	CHECK_INT(cut_settle(&c), 0);
	cut_end(&c);
}

static int
look(const struct node *n, void *arg)
{
	*(bool *)arg = true;
	atomic_fetch_add(&passed, LOOK);
	return 0;
}

/* To look at all objects takes longer than the commit has without. */
static void
many_objects(void)
{
	bool looked = false;
	struct edit *e = NULL;
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	put_meta(c.store, "t", "\"|i1\"", "[8]", "[5]", "\"fill_value\": 9");
	cut_mount(&c, "mem:cut", "t");
	CHECK_INT(model_edit(c.mount->model, "t", &e), 0);
	CHECK_INT(edit_grow(e, ROWS + 1), 0);
	edit_check(e, look, &looked);
	CHECK_INT(edit_commit(e, clock_now() + TIMEOUT * SECOND, NULL), 0);
	CHECK(looked);
	edit_free(e);
	cut_end(&c);
}

int
main(void)
{
	lossy("\"fixedscaleoffset\", \"offset\": 0, \"scale\": 10, \"dtype\": \"<f8\", \"astype\": "
	      "\"<i2\"");
	lossy("\"quantize\", \"digits\": 1, \"dtype\": \"<f8\"");
	many_objects();
	return check_end();
}
