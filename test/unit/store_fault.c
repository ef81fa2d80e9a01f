/* The wrapper that fails on purpose: only tests that can trust it are worth anything. */
#include "check.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

enum { MS = 1000000 };

static struct place here;
static char flag[sizeof here.path + 8];

static struct url_pair
pair(const char *key, const char *value)
{
	return (struct url_pair){(char *)key, (char *)value};
}

static struct zmap *
open_within(struct url_pair *pairs, int64_t timeout)
{
	const struct zmap_options o = {.writable = true, .timeout = timeout};
	struct zmap *z = store_open_with("fault", "mem", "fault", &o, pairs);
	if (z)
		for (int i = 0; i < 3; i++)
			zmap_put(z,
				&(struct zmap_put){
					&"a\0b\0c" [2 * i], { (const uint8_t *)"0123456789", 10 }},
				NULL);
	return z;
}

static struct zmap *
open_fault(struct url_pair *pairs)
{
	return open_within(pairs, 60 * MS);
}

/* Outcomes of n gets, as letters: o(k) a(bsent) e(rror). */
static const char *
gets(struct zmap *z, const char *key, int n)
{
	static char text[64];
	for (int i = 0; i < n; i++) {
		CLEAN(buf_free) struct buf b = {0};
		int r = zmap_get(z, &(struct zmap_get){.key = key, .into = &b, .max = 10}, NULL);
		text[i] = r < 0 ? 'e' : r == ZMAP_ABSENT ? 'a' : 'o';
		text[i + 1] = 0;
	}
	return text;
}

static void
check_gets(struct url_pair *pairs, const char *want_a, const char *want_b)
{
	CLEAN(zmap_closep) struct zmap *z = open_fault(pairs);
	if (!z)
		return;
	CHECK_STR(gets(z, "a", (int)strlen(want_a)), want_a);
	CHECK_STR(gets(z, "b", (int)strlen(want_b)), want_b);
}

static void
which_calls(void)
{
	struct url_pair eio = pair("fault.kind", "eio"), end = {0};
	check_gets((struct url_pair[]){end}, "oooo", "oo");
	check_gets((struct url_pair[]){pair("aws.profile", "x"), end}, "oooo", "oo");
	check_gets((struct url_pair[]){eio, end}, "eeee", "ee");
	check_gets((struct url_pair[]){eio, pair("fault.match", "b"), end}, "oooo", "ee");
	check_gets((struct url_pair[]){eio, pair("fault.nth", "3"), end}, "ooeoo", "oo");
	check_gets((struct url_pair[]){eio, pair("fault.every", "3"), end}, "ooeooeo", "oe");
	check_gets((struct url_pair[]){eio, pair("fault.after", "2"), end}, "ooeee", "ee");
	check_gets((struct url_pair[]){eio, pair("fault.after", "2"), pair("fault.nth", "2"), end},
		"oooeo", "oo");
	check_gets((struct url_pair[]){eio, pair("fault.calls", "stat,list"), end}, "oooo", "oo");
	check_gets((struct url_pair[]){pair("fault.kind", "absent"), pair("fault.nth", "2"), end},
		"oao", "o");
}

static void
other_calls(void)
{
	struct url_pair p[] = {pair("fault.kind", "eacces"),
		pair("fault.calls", "stat,list,put,del"), pair("fault.match", "x"), {0}};
	CLEAN(zmap_closep) struct zmap *z = open_fault(p);
	struct zmap_stat s;
	if (!z)
		return;
	CHECK_INT(zmap_stat(z, "x", &s), -EACCES);
	CHECK_STR(err_text(), "'x': injected fault");
	CHECK_INT(zmap_stat(z, "a", &s), 0);
	CHECK_INT(zmap_list(z, "x/", NULL, NULL), -EACCES);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"x", {0}}, NULL), -EACCES);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"x"}), -EACCES);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"a"}), 0);
	CHECK_INT(zmap_sync(z), 0);
	CHECK_INT(zmap_alive(z), 0);
}

static int
put_text(struct zmap *z, const char *key, const char *text)
{
	return zmap_put(z, &(struct zmap_put){key, {(const uint8_t *)text, strlen(text)}}, NULL);
}

/* Whichever of a load's puts fails, before the store took it or after: all others are there, and
 * this one as that says. */
static void
each_put(const char *late)
{
	for (int n = 1; n <= 4; n++) {
		char nth[16];
		snprintf(nth, sizeof nth, "%d", n);
		struct url_pair p[] = {pair("fault.kind", "eio"), pair("fault.calls", "put,del"),
			pair("fault.match", "v/"), pair("fault.nth", nth), pair("fault.late", late),
			{0}};
		CLEAN(zmap_closep) struct zmap *z = open_fault(p);
		bool gone[4], taken = *late == '1';
		if (!z)
			return;
		CHECK_INT(put_text(z, "v/1", "one"), n == 1 ? -EIO : 0);
		CHECK_INT(put_text(z, "v/2", "two"), n == 2 ? -EIO : 0);
		CHECK_INT(zmap_del(z, &(struct zmap_del){"v/1"}), n == 3             ? -EIO
								  : n == 1 && !taken ? ZMAP_ABSENT
										     : 0);
		CHECK_INT(put_text(z, "v/1", "three"), n == 4 ? -EIO : 0);
		gone[1] = n == 4 && !taken;
		gone[2] = n == 2 && !taken;
		store_expect(z, (struct zmap_get){.key = "v/1"}, gone[1] ? ZMAP_ABSENT : 0,
			gone[1] ? "" : "three");
		store_expect(z, (struct zmap_get){.key = "v/2"}, gone[2] ? ZMAP_ABSENT : 0,
			gone[2] ? "" : "two");
	}
}

static void
syncs(void)
{
	struct url_pair p[] = {pair("fault.kind", "enospc"), pair("fault.calls", "sync"),
		pair("fault.nth", "2"), {0}};
	CLEAN(zmap_closep) struct zmap *z = open_fault(p);
	if (!z)
		return;
	CHECK_INT(zmap_sync(z), 0);
	CHECK_INT(zmap_sync(z), -ENOSPC);
	CHECK_INT(zmap_sync(z), 0);
}

static void
what_comes(const char *kind, struct zmap_get g, const char *want, uint64_t want_size)
{
	struct url_pair p[] = {pair("fault.kind", kind), {0}};
	CLEAN(zmap_closep) struct zmap *z = open_fault(p);
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s = {0};
	if (!z)
		return;
	CHECK_INT(buf_add(&b, "head", 4), 0);
	g.key = "a";
	g.into = &b;
	g.max = 10;
	CHECK_INT(zmap_get(z, &g, &s), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data + 4, want);
	CHECK_INT(s.size, want_size);
}

static void
bad_bytes(void)
{
	what_comes("none", (struct zmap_get){0}, "0123456789", 10);
	what_comes("truncate", (struct zmap_get){0}, "01234", 5);
	what_comes("truncate", (struct zmap_get){.off = 2, .len = 4}, "23", 10);
	what_comes("corrupt", (struct zmap_get){0}, "01234`6789", 10);
}

static int64_t
timed(struct zmap *z, struct cancel *c, int want)
{
	CLEAN(buf_free) struct buf b = {0};
	int64_t start = clock_now();
	CHECK_INT(zmap_get(z, &(struct zmap_get){.key = "a", .into = &b, .max = 10, .cancel = c},
			  NULL),
		want);
	return (clock_now() - start) / MS;
}

static void
delays(void)
{
	struct url_pair p[] = {pair("fault.kind", "delay"), pair("fault.ms", "30"), {0}};
	CLEAN(zmap_closep) struct zmap *z = open_within(p, 60 * SECOND);
	if (z)
		CHECK(timed(z, NULL, 0) >= 30);
	struct url_pair q[] = {pair("fault.kind", "delay"), pair("fault.ms", "60000"), {0}};
	CLEAN(zmap_closep) struct zmap *y = open_fault(q);
	if (y)
		CHECK(timed(y, NULL, -ETIMEDOUT) < 5000);
}

static void *
cancel_soon(void *arg)
{
	struct cancel *c = arg;
	usleep(20000);
	atomic_store(&c->wanted_no_more, true);
	return NULL;
}

static void
hangs(void)
{
	struct url_pair p[] = {pair("fault.kind", "hang"), pair("fault.calls", "get,stat"), {0}};
	CLEAN(zmap_closep) struct zmap *z = open_fault(p);
	struct cancel c = {0};
	struct zmap_stat s;
	pthread_t t;
	if (!z)
		return;
	int64_t took = timed(z, NULL, -ETIMEDOUT);
	CHECK(took >= 60 && took < 5000);
	CHECK_INT(zmap_stat(z, "a", &s), -ETIMEDOUT);
	z->timeout = 0;
	pthread_create(&t, NULL, cancel_soon, &c);
	CHECK(timed(z, &c, -EINTR) < 5000);
	pthread_join(t, NULL);
}

static void *
heal_soon(void *arg)
{
	usleep(200000);
	unlink(flag);
	return NULL;
}

static void
switched(void)
{
	struct url_pair p[] = {pair("fault.kind", "hang"), pair("fault.file", flag),
		pair("fault.deaf", "1"), pair("fault.after", "1"), {0}};
	CLEAN(zmap_closep) struct zmap *z = open_fault(p);
	pthread_t t;
	if (!z)
		return;
	CHECK_STR(gets(z, "a", 4), "oooo");
	int fd = open(flag, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0 && close(fd) == 0);
	CHECK_STR(gets(z, "a", 1), "o");
	int64_t start = clock_now();
	pthread_create(&t, NULL, heal_soon, NULL);
	z->timeout = 0;
	timed(z, NULL, 0);
	CHECK((clock_now() - start) / MS >= 200); /* deaf, until the file goes */
	pthread_join(t, NULL);
	CHECK_STR(gets(z, "a", 2), "oo");
}

static void
bad_options(void)
{
	static const char *const bad[][2] = {{"fault.kind", "gremlin"}, {"fault.nth", ""},
		{"fault.nth", "-1"}, {"fault.ms", "1s"}, {"fault.calls", "get,"},
		{"fault.calls", "peek"}, {"fault.colour", "red"}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct url_pair p = pair(bad[i][0], bad[i][1]);
		struct url u = {.wrappers = (char *)"fault",
			.backend = (char *)"mem",
			.path = (char *)"x",
			.pair = &p,
			.npairs = 1};
		struct zmap *z = NULL;
		CHECK_INT(zmap_open(&u, &(struct zmap_options){0}, &z), -EINVAL);
	}
}

int
main(void)
{
	here = place_new();
	snprintf(flag, sizeof flag, "%s/flag", here.path);
	which_calls();
	other_calls();
	syncs();
	each_put("0");
	each_put("1");
	bad_bytes();
	delays();
	hangs();
	switched();
	bad_options();
	place_remove(&here);
	return check_end();
}
