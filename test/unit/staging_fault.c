/* A fixed load of writes over a store whose n-th call fails, for every n: what is stored then is
 * right, or an error was told; and after data_retry it is right. */
#include "staging.h"

#include "data/space.h"

#include <errno.h>

enum { CALLS = 40, LONGEST = 9, WRITES = 12 };

#define BYTES "\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]"
#define INDEX                                                                                      \
	", \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]"

static const struct written_kind kinds[] = {
	{"chunks", {.kind = DTYPE_INT, .size = 4}, {{"zlib", "{\"level\": 1}"}}, false},
	{"shards", {.kind = DTYPE_INT, .size = 4}, {{"sharding_indexed", BYTES INDEX}}, true},
};

static const struct data_options options = {
	.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX, .timeout = 2000000000};

static bool
is_stored(struct written_array *w, struct zmap *z)
{
	struct written other;
	written_open(w, z, &options, &other);
	bool same = written_same(w, &other, 0, w->bytes);
	written_close(&other);
	return same;
}

/* The same writes for each seed. Has anything been refused? */
static bool
write_all(struct written_array *w, struct written *side)
{
	bool told = false;
	for (int i = 0; i < WRITES; i++) {
		uint64_t off = written_pick(w, 0, w->bytes - 1);
		size_t len = written_pick(w, 1, w->bytes - off);
		told |= written_write(w, side, off, len) < 0;
		written_same(w, side, 0, w->bytes);
		if (i % 3 == 2)
			told |= array_flush(side->array, NULL) < 0;
	}
	return told;
}

static void
test_nth(const struct written_kind *k, const char *call, unsigned n)
{
	struct written_array w;
	struct written side;
	char nth[16];
	snprintf(nth, sizeof nth, "%u", n);
	struct url_pair pairs[] = {{(char *)"fault.kind", (char *)"eio"},
		{(char *)"fault.calls", (char *)call}, {(char *)"fault.nth", nth}, {NULL, NULL}};
	const struct zmap_options o = {.writable = true};
	struct zmap *z = store_open_with("fault", "mem", "fault", &o, pairs);
	written_begin(&w, k, 5, LONGEST);
	w.may_fail = !strcmp(call, "get");
	written_open(&w, z, &options, &side);
	bool told = write_all(&w, &side);
	told |= array_flush(side.array, NULL) < 0;
	CHECK_INT(array_stuck(side.array) < 0, told);
	if (!told)
		CHECK(is_stored(&w, z));
	CLEAN(buf_free) struct buf said = {0};
	CHECK_INT(data_retry(side.data, &said), 0);
	CHECK_INT(said.len, 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	CHECK(!array_is_staged(side.array));
	CHECK(is_stored(&w, z));
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

static size_t
occurrences(const char *text, const char *what)
{
	size_t n = 0;
	while ((text = strstr(text, what)) && ++n)
		text += strlen(what);
	return n;
}

/* What cannot be stored at all is kept and shown, and after a retry it is gone and named. */
static void
test_never(const struct written_kind *k)
{
	struct written_array w;
	struct written side;
	struct place p = place_new();
	char file[300];
	snprintf(file, sizeof file, "%s/broken", p.path);
	struct url_pair pairs[] = {{(char *)"fault.kind", (char *)"eacces"},
		{(char *)"fault.calls", (char *)"put"}, {(char *)"fault.file", file}, {NULL, NULL}};
	const struct zmap_options o = {.writable = true};
	struct zmap *z = store_open_with("fault", "mem", "never", &o, pairs);
	written_begin(&w, k, 6, LONGEST);
	written_open(&w, z, &options, &side);
	CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	uint8_t *before = malloc(w.bytes);
	memcpy(before, w.flat, w.bytes);
	fclose(fopen(file, "w"));
	CHECK_INT(written_write(&w, &side, 1, w.bytes - 1), 0);
	CHECK_INT(array_flush(side.array, NULL), -EACCES);
	CHECK_INT(written_write(&w, &side, 0, 1), -EACCES);
	CHECK_INT(array_stuck(side.array), -EACCES);
	CHECK_INT(occurrences(err_text(), "'v/"), 1);
	written_same(&w, &side, 0, w.bytes);
	CLEAN(buf_free) struct buf said = {0};
	CHECK_INT(data_retry(side.data, &said), 0);
	CHECK(said.len > 0 && !memcmp(said.data, "v: ", 3));
	CHECK_INT(buf_add(&said, "", 1), 0);
	CHECK_INT(occurrences((const char *)said.data, "'v/"),
		occurrences((const char *)said.data, "\n"));
	CHECK(!strstr((const char *)said.data, "stored"));
	memcpy(w.flat, before, w.bytes);
	written_same(&w, &side, 0, w.bytes);
	CHECK_INT(array_stuck(side.array), 0);
	unlink(file);
	CHECK_INT(written_write(&w, &side, 0, 1), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	CHECK(is_stored(&w, z));
	free(before);
	written_close(&side);
	written_end(&w);
	zmap_close(z);
	place_remove(&p);
}

/* What a retry drops each handle hears once that was not told before that it was refused, by a
 * write or a flush; one that comes after it only if no program was told. */
static void
test_unheard(const struct written_kind *k, bool flushes, bool writes)
{
	struct written_array w;
	struct written side;
	struct place p = place_new();
	char file[300];
	snprintf(file, sizeof file, "%s/broken", p.path);
	struct url_pair pairs[] = {{(char *)"fault.kind", (char *)"eacces"},
		{(char *)"fault.calls", (char *)"put"}, {(char *)"fault.file", file}, {NULL, NULL}};
	const struct zmap_options o = {.writable = true};
	struct zmap *z = store_open_with("fault", "mem", "unheard", &o, pairs);
	written_begin(&w, k, 6, LONGEST);
	written_open(&w, z, &options, &side);
	_Atomic(uint64_t) heard = data_begin_writer(side.data),
			  other = data_begin_writer(side.data);
	fclose(fopen(file, "w"));
	CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
	CHECK_INT(data_flush(side.data, NULL), -EACCES);
	const uint64_t upto = data_errors(side.data);
	if (flushes)
		CHECK_INT(array_flush(side.array, NULL), -EACCES);
	if (writes)
		CHECK_INT(written_write(&w, &side, 0, 1), -EACCES);
	array_know(side.array, -ERANGE, upto, &other); /* which says nothing of that */
	if (flushes || writes)
		array_know(side.array, -EACCES, upto, &heard);
	CHECK_INT(data_retry(side.data, NULL), 0);
	unlink(file);
	CHECK_INT(array_stuck(side.array), 0);
	CHECK_INT(data_retry(side.data, NULL), 0);
	const int unheard = flushes || writes ? 0 : -EACCES;
	_Atomic(uint64_t) late = data_begin_writer(side.data);
	CHECK_INT(array_flush(side.array, NULL), 0);
	CHECK_INT(array_hear(side.array, true, &late), unheard);
	CHECK_INT(array_hear(side.array, true, NULL), 0);
	CHECK_INT(array_hear(side.array, true, &heard), unheard);
	CHECK_INT(array_hear(side.array, true, &heard), 0);
	CHECK_INT(array_stuck(side.array), 0);
	CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	CHECK_INT(array_hear(side.array, true, &heard), 0);
	CHECK_INT(array_hear(side.array, true, &other), -EACCES);
	CHECK_INT(array_hear(side.array, true, &other), 0);
	for (int i = 0; i < 3; i++)
		data_end_writer(side.data);
	CHECK(is_stored(&w, z));
	written_close(&side);
	written_end(&w);
	zmap_close(z);
	place_remove(&p);
}

/* Opens so many arrays that the names of all others that no array has are forgotten. */
static void
forget_names(const struct written_array *w, struct written *side)
{
	enum { LONG = 1000 };
	char path[LONG + 1];
	for (unsigned i = 0; i < SPACES_IDLE / LONG; i++) {
		struct array *a = NULL;
		snprintf(path, sizeof path, "%0*u", LONG, i);
		CHECK_INT(
			array_open(side->data, side->zmap, path, &w->meta, w->meta.dtype.size, &a),
			0);
		array_unref(a);
	}
}

/* What a retry drops and no program was told waits for the next one, whatever is opened meanwhile.
 */
static void
test_unheard_for_long(const struct written_kind *k)
{
	struct written_array w;
	struct written side;
	struct url_pair pairs[] = {{(char *)"fault.kind", (char *)"eacces"},
		{(char *)"fault.calls", (char *)"put"}, {NULL, NULL}};
	const struct zmap_options o = {.writable = true};
	struct zmap *z = store_open_with("fault", "mem", "long", &o, pairs);
	written_begin(&w, k, 6, LONGEST);
	written_open(&w, z, &options, &side);
	CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
	CHECK_INT(data_flush(side.data, NULL), -EACCES);
	CHECK_INT(data_retry(side.data, NULL), 0);
	side.stream = stream_free(side.stream);
	side.array = array_unref(side.array);
	forget_names(&w, &side);
	written_array_open(&w, &side);
	_Atomic(uint64_t) late = data_begin_writer(side.data);
	CHECK_INT(array_hear(side.array, true, &late), -EACCES);
	CHECK_INT(array_hear(side.array, true, &late), 0);
	data_end_writer(side.data);
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

/* A store where what was put becomes durable later, or does not; or that takes nothing, as if
 * another writer were faster. */
struct late {
	struct zmap zmap;
	struct zmap *inner;
	bool lost, refuses;
	atomic_bool once; /* that it is lost is told a single time */
	atomic_uint refused;
	void (*before_told)(void *);
	void *arg;
};

static int
late_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	return zmap_get(((struct late *)z)->inner, g, ret);
}

static int
late_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct late *l = (struct late *)z;
	if (l->refuses)
		atomic_fetch_add(&l->refused, 1);
	return l->refuses ? ZMAP_CHANGED : zmap_put(l->inner, p, ret);
}

static int
late_sync(struct zmap *z)
{
	struct late *l = (struct late *)z;
	const bool once = atomic_exchange(&l->once, false);
	if (once && l->before_told)
		l->before_told(l->arg);
	return once || l->lost ? err_set(-EIO, "it was replaced") : 0;
}

static const struct zmap_ops late_ops = {
	.name = "late", .get = late_get, .put = late_put, .sync = late_sync};

/* What was put and is lost is told to all writers, until a retry. */
static void
test_late(void)
{
	struct written_array w;
	struct written side;
	struct late late = {.zmap = {.ops = &late_ops, .caps = ZMAP_WRITE | ZMAP_CONDITIONAL},
		.inner = store_open("", "mem", "late", true),
		.lost = true};
	written_begin(&w, &kinds[0], 7, LONGEST);
	written_open(&w, &late.zmap, &options, &side);
	CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
	CHECK_INT(array_flush(side.array, NULL), -EIO);
	CHECK_INT(array_stuck(side.array), -EIO);
	CHECK_INT(written_write(&w, &side, 0, 1), -EIO);
	CHECK_INT(array_flush(side.array, NULL), -EIO);
	late.lost = false;
	CHECK_INT(data_retry(side.data, NULL), 0);
	CHECK_INT(written_write(&w, &side, 0, 1), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	written_close(&side);
	written_end(&w);
	zmap_close(late.inner);
}

/* A file that is closed by another thread. */
struct closing {
	struct array *array;
	pthread_t thread;
	atomic_bool over;
	int r;
};

static void *
close_it(void *arg)
{
	struct closing *c = arg;
	c->r = array_flush(c->array, NULL);
	atomic_store(&c->over, true);
	return NULL;
}

/* It may come to its end before the first caller is told that all is lost, or waits for that. */
static void
begin_closing(void *arg)
{
	struct closing *c = arg;
	CHECK_INT(pthread_create(&c->thread, NULL, close_it, c), 0);
	for (int i = 0; i < 200 && !atomic_load(&c->over); i++)
		usleep(1000);
}

/* A store that has lost what was put says so to the first caller that asks. All are told: those
 * that ask at the same time, and those that come when another one than an array asked. */
static void
test_told_once(void)
{
	struct written_array w;
	struct written side;
	struct late late = {.zmap = {.ops = &late_ops, .caps = ZMAP_WRITE | ZMAP_CONDITIONAL},
		.inner = store_open("", "mem", "once", true)};
	written_begin(&w, &kinds[0], 9, LONGEST);
	written_open(&w, &late.zmap, &options, &side);
	struct closing c = {.array = side.array};
	for (int meanwhile = 0; meanwhile < 2; meanwhile++) {
		CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
		array_flush_begin(side.array);
		while (array_is_staged(side.array))
			usleep(1000);
		late.before_told = meanwhile ? begin_closing : NULL;
		late.arg = &c;
		atomic_store(&late.once, true);
		CHECK_INT(data_sync(side.data, &late.zmap), -EIO);
		if (meanwhile)
			pthread_join(c.thread, NULL);
		else
			c.r = array_flush(side.array, NULL);
		CHECK_INT(c.r, -EIO);
		CHECK_INT(array_stuck(side.array), -EIO);
		CHECK_INT(data_sync(side.data, &late.zmap), 0);
		CHECK_INT(data_retry(side.data, NULL), 0);
		CHECK_INT(array_flush(side.array, NULL), 0);
	}
	written_close(&side);
	written_end(&w);
	zmap_close(late.inner);
}

/* What is refused for ever, though nothing has changed, is an error after the timeout; until then
 * it is tried now and then. */
static void
test_refused(const struct written_kind *k)
{
	enum { TIMEOUT = 200, TRIES_MOST = 60 /* of them all */ }; /* ms */
	struct written_array w;
	struct written side;
	struct late late = {.zmap = {.ops = &late_ops, .caps = ZMAP_WRITE | ZMAP_CONDITIONAL},
		.inner = store_open("", "mem", "refused", true)};
	struct data_options hasty = options;
	hasty.timeout = TIMEOUT * (SECOND / 1000);
	written_begin(&w, k, 8, LONGEST);
	written_open(&w, &late.zmap, &hasty, &side);
	for (int part = 0; part < 2; part++) {
		late.refuses = true;
		atomic_store(&late.refused, 0);
		CHECK_INT(written_write(&w, &side, 0, part ? 1 : w.bytes), 0);
		CHECK_INT(array_flush(side.array, NULL), -EIO);
		CHECK(strstr(err_text(), "'v/"));
		CHECK(atomic_load(&late.refused) <= TRIES_MOST);
		late.refuses = false;
		CHECK_INT(data_retry(side.data, NULL), 0);
		CHECK(is_stored(&w, late.inner));
	}
	written_close(&side);
	written_end(&w);
	zmap_close(late.inner);
}

int
main(void)
{
	test_late();
	test_told_once();
	test_refused(&kinds[0]);
	test_refused(&kinds[1]);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		for (unsigned n = 1; n <= CALLS; n++) {
			test_nth(&kinds[i], "put", n);
			test_nth(&kinds[i], "get", n);
		}
		test_never(&kinds[i]);
		test_unheard(&kinds[i], false, false);
		test_unheard(&kinds[i], true, false);
		test_unheard(&kinds[i], false, true);
		test_unheard_for_long(&kinds[i]);
	}
	return check_failed != 0;
}
