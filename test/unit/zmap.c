/* The wrapper around every store, against stores that misbehave. */
#include "store/zmap.h"
#include "check.h"
#include "store.h"

#include <errno.h>

/* What the store below was asked, and what it shall do. */
static struct {
	int result;
	size_t add; /* bytes given, whatever was asked */
	struct zmap_get asked;
	zmap_done_fn *done;
	void *done_arg;
} fake;

static int
fake_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	static const uint8_t bytes[64];
	fake.asked = *g;
	CHECK_INT(buf_add(g->into, bytes, fake.add), 0);
	ret->size = 99;
	if (fake.result < 0)
		err_set(fake.result, "it is broken");
	return fake.result;
}

static void
fake_submit(struct zmap *z, const struct zmap_get *g, zmap_done_fn *done, void *arg)
{
	fake.asked = *g;
	fake.done = done;
	fake.done_arg = arg;
}

static int
fake_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	static const char *const name[] = {"", "a", ".", "b/c", "..", "...", "/", "d"};
	int r = 0;
	for (size_t i = 0; i < sizeof name / sizeof *name && r == 0; i++)
		r = fn(arg, name[i], false, NULL);
	return r;
}

static const struct zmap_ops none = {.name = "none"},
			     sync_only = {.name = "fake", .get = fake_get, .list = fake_list},
			     with_submit = {.name = "fake", .get = fake_get, .submit = fake_submit};

static int
see(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return buf_addf(arg, "%s ", name);
}

static void
missing_hooks(void)
{
	struct zmap z = {.ops = &none}, w = {.ops = &none, .caps = ZMAP_WRITE};
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s;
	CHECK_INT(zmap_stat(&z, "a", &s), -ENOSYS);
	CHECK_INT(zmap_get(&z, &(struct zmap_get){.key = "a", .into = &b}, &s), -ENOSYS);
	CHECK_INT(zmap_list(&z, "", see, &b), -ENOSYS);
	CHECK_INT(zmap_put(&z, &(struct zmap_put){"a", {0}}, NULL), -EROFS);
	CHECK_INT(zmap_del(&z, &(struct zmap_del){"a"}), -EROFS);
	CHECK_INT(zmap_put(&w, &(struct zmap_put){"a", {0}}, NULL), -EROFS);
	CHECK_INT(zmap_put(&w, &(struct zmap_put){"a", {0}, .if_match = "1"}, NULL), -ENOTSUP);
	CHECK_INT(zmap_del(&w, &(struct zmap_del){"a"}), -EROFS);
	CHECK_INT(zmap_sync(&z), 0);
	CHECK_INT(zmap_alive(&z), 0);
	CHECK(!zmap_close(NULL));
}

static void
results_are_checked(void)
{
	struct zmap z = {.ops = &sync_only, .timeout = SECOND};
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s = {.size = 1};
	struct zmap_get g = {.key = "a", .into = &b, .max = 10};
	CHECK_INT(buf_add(&b, "x", 1), 0);

	fake.add = 10;
	CHECK_INT(zmap_get(&z, &g, &s), 0);
	CHECK_INT(s.size, 99);
	CHECK_INT(b.len, 11);
	CHECK_INT(zmap_get(&z, &g, NULL), 0);
	CHECK_INT(z.counts.bytes_in, 20);
	CHECK(fake.asked.deadline > clock_now() && fake.asked.deadline <= clock_now() + SECOND);
	g.deadline = clock_now() + 5 * SECOND;
	CHECK_INT(zmap_get(&z, &g, NULL), 0);
	CHECK_INT(fake.asked.deadline, g.deadline);

	b.len = 1;
	s.size = 1;
	fake.add = 11; /* more than asked for */
	CHECK_INT(zmap_get(&z, &g, &s), -EFBIG);
	CHECK_INT(b.len, 1);
	fake.add = 3; /* bytes and a failure */
	fake.result = -EIO;
	CHECK_INT(zmap_get(&z, &g, &s), -EIO);
	CHECK_STR(err_text(), "cannot read 'a': it is broken");
	CHECK_INT(b.len, 1);
	fake.result = ZMAP_ABSENT;
	CHECK_INT(zmap_get(&z, &g, &s), ZMAP_ABSENT);
	CHECK_INT(b.len, 1);
	CHECK_INT(s.size, 1);
	fake.result = ZMAP_CHANGED; /* says what it is now */
	CHECK_INT(zmap_get(&z, &g, &s), ZMAP_CHANGED);
	CHECK_INT(b.len, 1);
	CHECK_INT(s.size, 99);
	fake.result = 0;
	fake.add = 0;
	CHECK_INT(z.counts.calls[ZMAP_GET], 7);
	CHECK_INT(z.counts.failed[ZMAP_GET], 2);
	CHECK_INT(z.counts.absent[ZMAP_GET], 1);
}

static void
names_are_checked(void)
{
	struct zmap z = {.ops = &sync_only};
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(zmap_list(&z, "p/", see, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, "a ... d ");
}

static int done_result = 1000;

static void
done(void *arg, int r, const struct zmap_stat *s)
{
	CHECK(arg == &done_result);
	CHECK_INT(done_result, 1000); /* once */
	done_result = r;
}

static int
finish(int r)
{
	struct zmap_stat s = {0};
	if (fake.done)
		fake.done(fake.done_arg, r, &s);
	fake.done = NULL;
	r = done_result;
	done_result = 1000;
	return r;
}

static void
submitting(void)
{
	struct zmap z = {.ops = &with_submit, .timeout = SECOND}, plain = {.ops = &sync_only};
	CLEAN(buf_free) struct buf b = {0};
	struct cancel c = {true};
	struct zmap_get g = {.key = "a", .into = &b, .max = 4};

	zmap_submit(&plain, &g, done, &done_result);
	CHECK_INT(finish(0), 0);

	zmap_submit(&z, &g, done, &done_result);
	CHECK_INT(done_result, 1000);
	CHECK(fake.asked.deadline > clock_now());
	CHECK_INT(buf_add(&b, "1234", 4), 0);
	CHECK_INT(finish(0), 0);
	CHECK_INT(b.len, 4);
	CHECK_INT(z.counts.bytes_in, 4);

	zmap_submit(&z, &g, done, &done_result);
	CHECK_INT(buf_add(&b, "12345", 5), 0);
	CHECK_INT(finish(0), -EFBIG);
	CHECK_INT(b.len, 4);

	zmap_submit(&z, &g, done, &done_result);
	CHECK_INT(finish(ZMAP_ABSENT), ZMAP_ABSENT);
	g.cancel = &c;
	zmap_submit(&z, &g, done, &done_result);
	CHECK(!fake.done);
	CHECK_INT(finish(0), -EINTR);
	g.key = "a//b";
	zmap_submit(&z, &g, done, &done_result);
	CHECK_INT(finish(0), -EINVAL);
	CHECK_INT(z.counts.calls[ZMAP_GET], 5);
	CHECK_INT(z.counts.failed[ZMAP_GET], 3);
	CHECK_INT(z.counts.absent[ZMAP_GET], 1);
}

static bool
good_key(const char *key)
{
	char text[64];
	snprintf(text, sizeof text, "/%s/", key);
	return !strstr(text, "//") && !strstr(text, "/./") && !strstr(text, "/../");
}

static void
keys(void)
{
	uint32_t seed = 7;
	unsigned good = 0;
	for (int i = 0; i < 200000; i++) {
		char key[12];
		size_t n = check_random(&seed) % sizeof key;
		for (size_t j = 0; j < n; j++)
			key[j] = "/..a\xff "[check_random(&seed) % 6];
		key[n] = 0;
		bool want = good_key(key);
		good += want;
		if ((zmap_check_key(key) == 0) != want) {
			CHECK_STR(key, want ? "a good key" : "a bad key");
			return;
		}
	}
	CHECK(good > 1000);
}

static void
opening(void)
{
	struct zmap *z;
	const struct zmap_options o = {0};
	struct url u = {.wrappers = (char *)"",
		.backend = (char *)"tape",
		.path = (char *)"/x",
		.shown = (char *)"tape:/x"};
	CHECK_INT(zmap_open(&u, &o, &z), -ENOTSUP);
	CHECK_STR(err_text(), "no kind of store 'tape' in this build");
	u.backend = (char *)"mem";
	u.wrappers = (char *)"trace+mem";
	CHECK_INT(zmap_open(&u, &o, &z), -ENOTSUP);
	CHECK_STR(err_text(), "no wrapper 'mem' in this build");
	u.wrappers = (char *)"trace+fault+trace";
	CHECK_INT(zmap_open(&u, &o, &z), 0);
	zmap_close(z);
	u.wrappers = (char *)"";
	u.backend = (char *)"trace";
	CHECK_INT(zmap_open(&u, &o, &z), -ENOTSUP);
	u.backend = (char *)"dir";
	u.path = u.shown = (char *)"/nowhere/at/all";
	CHECK_INT(zmap_open(&u, &o, &z), -ENOENT);
	CHECK_STR(err_text(), "cannot open store '/nowhere/at/all': No such file or directory");
	u.path = (char *)"/dev/null";
	CHECK_INT(zmap_open(&u, &o, &z), -ENOTDIR);
}

int
main(void)
{
	missing_hooks();
	results_are_checked();
	names_are_checked();
	submitting();
	keys();
	opening();
	return check_end();
}
