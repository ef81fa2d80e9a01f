/* What every store that can be written keeps to, whichever it is. */
#include "battery.h"

#include <pthread.h>

struct seen {
	unsigned keys, prefixes;
};

static int
count(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct seen *n = arg;
	*(prefix ? &n->prefixes : &n->keys) += 1;
	return 0;
}

/* version "": only if nothing is there. What it left is what is found there afterwards. */
static int
put_if(const char *key, const char *text, const char *version)
{
	struct zmap_stat left = {.size = 77}, now;
	const struct zmap_put p = {.key = key,
		.bytes = {(const uint8_t *)text, strlen(text)},
		.if_match = version && *version ? version : NULL,
		.if_absent = version && !*version};
	int r = zmap_put(w, &p, &left);
	if (r != 0) {
		CHECK_INT(left.size, 77);
		return r;
	}
	CHECK_INT(zmap_stat(w, key, &now), 0);
	CHECK_INT(left.size, strlen(text));
	if (*left.version)
		CHECK_STR(left.version, now.version);
	return 0;
}

/* Whether a store keeps its promises, as it says after it was tried. */
static bool
conditions(void)
{
	CLEAN(buf_free) struct buf said = {0};
	CHECK_INT(zmap_try_writing(w, &said), 0);
	CHECK_INT(!said.len, !!(w->caps & ZMAP_CONDITIONAL));
	if (w->caps & ZMAP_CONDITIONAL)
		return true;
	CHECK_INT(put_if("n/b", "2", ""), -ENOTSUP);
	CHECK_INT(put_if("n/b", "2", "1"), -ENOTSUP);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"n/b", .if_match = "1"}), -ENOTSUP);
	return false;
}

static void
tried(void)
{
	CLEAN(buf_free) struct buf said = {0};
	struct seen n = {0};
	put("n/b", "1");
	conditions();
	if (z != w)
		CHECK_INT(zmap_try_writing(z, &said), -EROFS);
	CHECK_INT(zmap_list(w, "", count, &n), 0);
	CHECK_INT(n.keys, 0); /* nothing is left of it */
	CHECK_INT(n.prefixes, 1);
	expect((struct zmap_get){.key = "n/b"}, 0, "1");
}

static void
conditional_put(void)
{
	struct zmap_stat s, t;
	CHECK_INT(put_if("n/b", "1", NULL), 0);
	CHECK_INT(put_if("n/b", "2", NULL), 0);
	if (!conditions())
		return;
	CHECK_INT(put_if("n/a", "1", ""), 0);
	CHECK_INT(put_if("n/a", "2", ""), ZMAP_CHANGED);
	CHECK_INT(zmap_stat(w, "n/a", &s), 0);
	CHECK_INT(put_if("n/a", "3", s.version), 0);
	CHECK_INT(put_if("n/a", "4", s.version), ZMAP_CHANGED);
	CHECK_INT(put_if("n/none", "4", s.version), ZMAP_CHANGED);
	CHECK_INT(zmap_stat(w, "n/a", &t), 0);
	CHECK(strcmp(s.version, t.version));
	expect((struct zmap_get){.key = "n/a"}, 0, "3");
	expect((struct zmap_get){.key = "n/none"}, ZMAP_ABSENT, "");
}

static void
conditional_del(void)
{
	struct zmap_stat s, t;
	if (!conditions())
		return;
	put("n/a", "1");
	CHECK_INT(zmap_stat(w, "n/a", &s), 0);
	put("n/a", "two");
	int r = zmap_del(w, &(struct zmap_del){"n/a", .if_match = s.version});
	if (r == -ENOTSUP)
		return;
	CHECK_INT(r, ZMAP_CHANGED);
	CHECK_INT(zmap_stat(w, "n/a", &t), 0);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"n/a", .if_match = t.version}), 0);
	expect((struct zmap_get){.key = "n/a"}, ZMAP_ABSENT, "");
	CHECK_INT(zmap_del(w, &(struct zmap_del){"n/a", .if_match = t.version}), ZMAP_ABSENT);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"no/a", .if_match = t.version}), ZMAP_ABSENT);
}

/* A key may be what others begin with, or cannot be put; what lies below it stays. */
static void
over_a_prefix(void)
{
	put("g/a", "1");
	int r = put_if("g", "2", NULL);
	CHECK(r == 0 || r == -EISDIR);
	expect((struct zmap_get){.key = "g"}, r == 0 ? 0 : ZMAP_ABSENT, r == 0 ? "2" : "");
	expect((struct zmap_get){.key = "g/a"}, 0, "1");
	r = put_if("g/a/b", "3", NULL);
	CHECK(r == 0 || r == -ENOTDIR);
	expect((struct zmap_get){.key = "g/a/b"}, r == 0 ? 0 : ZMAP_ABSENT, r == 0 ? "3" : "");
	expect((struct zmap_get){.key = "g/a"}, 0, "1");
}

/* What lay below a prefix goes with the last key. */
static void
last_key(void)
{
	struct seen n = {0};
	put("g/h/a", "1");
	put("g/b", "1");
	CHECK_INT(zmap_del(w, &(struct zmap_del){"g/h/a"}), 0);
	CHECK_INT(zmap_list(w, "g/", count, &n), 0);
	CHECK_INT(n.prefixes, 0);
	CHECK_INT(n.keys, 1);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"g/b"}), 0);
	int r = zmap_list(w, "", count, &n);
	CHECK(r == 0 || r == ZMAP_ABSENT);
	CHECK_INT(n.prefixes, 0);
	put("g/h/a", "2");
	expect((struct zmap_get){.key = "g/h/a"}, 0, "2");
}

static void
synced(void)
{
	CHECK_INT(zmap_sync(w), 0);
	put("a", "1");
	put("g/b", "2");
	CHECK_INT(zmap_sync(w), 0);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"a"}), 0);
	CHECK_INT(zmap_sync(w), 0);
	expect((struct zmap_get){.key = "a"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "g/b"}, 0, "2");
}

static void
nobody_waits(void)
{
	struct cancel c = {true};
	const uint8_t x = 'x';
	put("a", "1");
	struct zmap_put p = {.key = "a", .bytes = {&x, 1}, .cancel = &c};
	struct zmap_del d = {.key = "a", .cancel = &c};
	CHECK_INT(zmap_put(w, &p, NULL), -EINTR);
	CHECK_INT(zmap_del(w, &d), -EINTR);
	p.cancel = d.cancel = NULL;
	p.deadline = d.deadline = clock_now() - 1;
	CHECK_INT(zmap_put(w, &p, NULL), -ETIMEDOUT);
	CHECK_INT(zmap_del(w, &d), -ETIMEDOUT);
	expect((struct zmap_get){.key = "a"}, 0, "1");
}

/* Each writer has a letter of its own in one object. Of a put whose answer is lost it may only be
 * seen there that it was done. */
enum { WRITERS = 3, ROUNDS = 12 };

static void *
write_letter(void *arg)
{
	const size_t mine = *(const size_t *)arg;
	uint8_t is = 'a';
	while (is < 'a' + ROUNDS) {
		CLEAN(buf_free) struct buf b = {0};
		struct zmap_stat s = {0};
		struct zmap_get g = {.key = "v/0", .into = &b, .max = WRITERS, .revalidate = true};
		CHECK_INT(zmap_get(w, &g, &s), 0);
		if (b.len != WRITERS)
			break;
		CHECK(b.data[mine] == is ||
			b.data[mine] == is + 1); /* no writer has overwritten it */
		is = b.data[mine];
		if (is == 'a' + ROUNDS)
			break;
		b.data[mine] = (uint8_t)(is + 1);
		int r = zmap_put(w,
			&(struct zmap_put){
				.key = "v/0", .bytes = buf_span(&b), .if_match = s.version},
			NULL);
		CHECK(r == 0 || r == ZMAP_CHANGED);
		if (r < 0)
			break;
		is = (uint8_t)(is + (r == 0));
	}
	return NULL;
}

static void
nothing_lost(void)
{
	pthread_t t[WRITERS];
	size_t number[WRITERS];
	put("v/0", "aaa");
	put("v/.zarray", "{}");
	if (!conditions())
		return;
	for (size_t i = 0; i < WRITERS; i++) {
		number[i] = i;
		CHECK_INT(pthread_create(&t[i], NULL, write_letter, &number[i]), 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	expect((struct zmap_get){.key = "v/0", .revalidate = true}, 0, "mmm");
}

static void (*const row[])(void) = {
	tried,
	conditional_put,
	conditional_del,
	over_a_prefix,
	last_key,
	synced,
	nobody_waits,
	nothing_lost,
};

int
main(void)
{
	return battery(row, sizeof row / sizeof *row);
}
