/* What every store keeps to, whichever it is: the same rows over each of them. */
#include "battery.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

static void
whole_and_ranges(void)
{
	put("a", "0123456789");
	expect((struct zmap_get){.key = "a"}, 0, "0123456789");
	expect((struct zmap_get){.key = "a", .off = 3}, 0, "3456789");
	expect((struct zmap_get){.key = "a", .off = 3, .len = 4}, 0, "3456");
	expect((struct zmap_get){.key = "a", .off = 8, .len = 4}, 0, "89");
	expect((struct zmap_get){.key = "a", .off = 10, .len = 4}, 0, "");
	expect((struct zmap_get){.key = "a", .off = UINT64_MAX, .len = 4}, 0, "");
	expect((struct zmap_get){.key = "a", .len = 4, .from_end = true}, 0, "6789");
	expect((struct zmap_get){.key = "a", .len = 10, .from_end = true}, 0, "0123456789");
	expect((struct zmap_get){.key = "a", .len = 400, .from_end = true}, 0, "0123456789");
	put("a", "other");
	expect((struct zmap_get){.key = "a"}, 0, "other");
	put("empty", "");
	expect((struct zmap_get){.key = "empty"}, 0, "");
	expect((struct zmap_get){.key = "empty", .len = 4, .from_end = true}, 0, "");
}

static void
maximum(void)
{
	put("a", "0123456789");
	expect((struct zmap_get){.key = "a", .max = 10}, 0, "0123456789");
	expect((struct zmap_get){.key = "a", .max = 9}, -EFBIG, "");
	expect((struct zmap_get){.key = "a", .max = 9, .off = 1}, 0, "123456789");
	expect((struct zmap_get){.key = "a", .max = 3, .off = 1, .len = 4}, -EFBIG, "");
	expect((struct zmap_get){.key = "a", .max = 3, .len = 3, .from_end = true}, 0, "789");
}

static void
absence(void)
{
	struct zmap_stat s = {.size = 77};
	put("g/a", "1");
	expect((struct zmap_get){.key = "b"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "g"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "g/b"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "g/a/x"}, ZMAP_ABSENT, "");
	CHECK_INT(zmap_stat(z, "g", &s), ZMAP_ABSENT);
	CHECK_INT(zmap_stat(z, "b", &s), ZMAP_ABSENT);
	CHECK_INT(s.size, 77);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"b"}), ZMAP_ABSENT);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"h/b"}), ZMAP_ABSENT);
	CHECK_INT(zmap_del(w, &(struct zmap_del){"g/a"}), 0);
	expect((struct zmap_get){.key = "g/a"}, ZMAP_ABSENT, "");

	char name[400], deep[6000];
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = 0;
	expect((struct zmap_get){.key = name}, ZMAP_ABSENT, "");
	CHECK_INT(zmap_stat(z, name, &s), ZMAP_ABSENT);
	for (size_t i = 0; i < sizeof deep; i++)
		deep[i] = i % 2 ? '/' : 'd';
	deep[sizeof deep - 1] = 0;
	expect((struct zmap_get){.key = deep}, ZMAP_ABSENT, "");
}

static void
bad_keys(void)
{
	struct zmap_stat s;
	static const char *const bad[] = {
		"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		expect((struct zmap_get){.key = bad[i]}, -EINVAL, "");
		CHECK_INT(zmap_stat(z, bad[i], &s), -EINVAL);
		CHECK_INT(zmap_put(z, &(struct zmap_put){bad[i], {0}}, NULL), -EINVAL);
		CHECK_INT(zmap_del(z, &(struct zmap_del){bad[i]}), -EINVAL);
	}
}

static void
odd_keys(void)
{
	char longest[256];
	memset(longest, 'x', 255);
	longest[255] = 0;
	const char *const odd[] = {"with space", "100%25", "%2F", "été/日本", "c:0:1", ".zarray",
		"...", "..a", "a..", "#x?y&z=1", "-", "\\", "new\nline", "\xff\xfe", "g/.zgroup/x",
		"'q'", "\"q\"", "*", "~", longest};
	bool only_utf8 = z->ops->put && z->caps & ZMAP_REMOTE; /* S3 */
	if (no_spaces) {
		expect((struct zmap_get){.key = odd[0]}, -ENOTSUP, "");
		return;
	}
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (!only_utf8 || odd[i][0] != '\xff')
			put(odd[i], odd[i]);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (!only_utf8 || odd[i][0] != '\xff')
			expect((struct zmap_get){.key = odd[i]}, 0, odd[i]);
		else
			expect((struct zmap_get){.key = odd[i]}, ZMAP_ABSENT, "");
}

static void
versions(void)
{
	struct zmap_stat a, b, c;
	put("a", "one");
	put("b", "one");
	CHECK_INT(zmap_stat(z, "a", &a), 0);
	CHECK_INT(zmap_stat(z, "a", &b), 0);
	CHECK_STR(a.version, b.version);
	CHECK(*a.version);
	CHECK_INT(a.size, 3);
	CHECK(a.mtime > 0);

	CLEAN(buf_free) struct buf into = {0};
	CHECK_INT(zmap_get(z, &(struct zmap_get){.key = "a", .into = &into, .max = 10}, &b), 0);
	CHECK_STR(b.version, a.version);
	CHECK_INT(b.size, 3);

	/* faster than any clock of a file system ticks; web servers say no more than seconds and
	 * lengths */
	for (int i = 0; i < 50 && w == z; i++) {
		CHECK_INT(zmap_stat(z, "a", &b), 0);
		put("a", i % 2 ? "one" : "two");
		CHECK_INT(zmap_stat(z, "a", &c), 0);
		CHECK(strcmp(b.version, c.version));
	}
	put("a", "seven");
	CHECK_INT(zmap_stat(z, "a", &c), 0);
	expect((struct zmap_get){.key = "a", .if_match = a.version}, keeps ? 0 : ZMAP_CHANGED,
		keeps ? "one" : "");
	expect((struct zmap_get){.key = "a", .if_match = c.version}, 0, "seven");
	expect((struct zmap_get){.key = "a", .if_match = c.version, .off = 4, .len = 1}, 0, "n");
	expect((struct zmap_get){.key = "a", .if_none_match = c.version}, ZMAP_SAME, "");
	expect((struct zmap_get){.key = "a", .if_none_match = a.version}, 0, "seven");
	expect((struct zmap_get){.key = "none", .if_none_match = a.version}, ZMAP_ABSENT, "");
}

struct seen {
	unsigned keys, prefixes, others, stop;
	char want_key, want_prefix; /* first letters of what is counted */
};

static int
see(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct seen *n = arg;
	if (prefix && *name == n->want_prefix)
		n->prefixes++;
	else if (!prefix && *name == n->want_key)
		n->keys++;
	else
		n->others++;
	return n->stop && n->keys + n->prefixes == n->stop ? -ECANCELED : 0;
}

static void
listing(void)
{
	char key[64];
	struct seen n = {.want_key = 'k', .want_prefix = 'p'};
	if (!(z->caps & ZMAP_LIST)) {
		CHECK_INT(zmap_list(z, "", see, &n), -ENOSYS);
		return;
	}
	int nothing = zmap_list(z, "", see, &n); /* a prefix without keys is nowhere in S3 */
	CHECK_INT(nothing, nothing == ZMAP_ABSENT && z->caps & ZMAP_REMOTE ? ZMAP_ABSENT : 0);
	CHECK_INT(n.keys + n.prefixes + n.others, 0);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "g/h/k%d", i);
		put(key, "x");
		snprintf(key, sizeof key, "g/h/p%d/below/it", i % 20);
		put(key, "x");
	}
	CHECK_INT(zmap_list(z, "g/h/", see, &n), 0);
	CHECK_INT(n.keys, 100);
	CHECK_INT(n.prefixes, 20);
	CHECK_INT(n.others, 0);

	n = (struct seen){.want_key = 'k', .want_prefix = 'g'};
	CHECK_INT(zmap_list(z, "", see, &n), 0);
	CHECK_INT(n.prefixes, 1);
	CHECK_INT(n.keys + n.others, 0);
	n = (struct seen){.want_key = 'k', .stop = 7};
	CHECK_INT(zmap_list(z, "g/h/", see, &n), -ECANCELED);
	CHECK_INT(n.keys, 7);

	CHECK_INT(zmap_list(z, "none/", see, &n), ZMAP_ABSENT);
	CHECK_INT(zmap_list(z, "g/h/k1/", see, &n), ZMAP_ABSENT);
	CHECK_INT(zmap_list(z, "g", see, &n), -EINVAL);
	CHECK_INT(zmap_list(z, "g//", see, &n), -EINVAL);
	CHECK_INT(zmap_list(z, "/", see, &n), -EINVAL);
}

struct wanted {
	const char *const *names;
	unsigned count, found, others;
};

static int
tick_off(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	struct wanted *all = arg;
	for (unsigned i = 0; i < all->count; i++)
		if (!strcmp(name, all->names[i])) {
			all->found |= 1u << (2 * i + prefix);
			return 0;
		}
	all->others++;
	return 0;
}

static void
odd_names(void)
{
	static const char *const odd[] = {"a b", "a+b", "a%20b", "%2F", "été", "<&>", "\"'",
		"new\nline", "a,b;c=d?e#f", "\\", "~*!()", "]]>", " ", "+"};
	enum { ODD = sizeof odd / sizeof *odd };
	char key[64];
	struct wanted n = {odd, ODD, 0, 0};
	if (!(z->caps & ZMAP_LIST) || no_spaces)
		return;
	for (unsigned i = 0; i < ODD; i++) {
		snprintf(key, sizeof key, "o+ &/keys/%s", odd[i]);
		put(key, "x");
		snprintf(key, sizeof key, "o+ &/prefixes/%s/x", odd[i]);
		put(key, "x");
	}
	CHECK_INT(zmap_list(z, "o+ &/keys/", tick_off, &n), 0);
	CHECK_INT(zmap_list(z, "o+ &/prefixes/", tick_off, &n), 0);
	CHECK_INT(n.found, (1u << 2 * ODD) - 1);
	CHECK_INT(n.others, 0);
}

static void
many_names(void)
{
	const int names = w->caps & ZMAP_REMOTE ? 1100 : 5000; /* pages of S3 have 1000 */
	char key[32], path[sizeof here.path + 32];
	const uint8_t x = 'x';
	if (!(z->caps & ZMAP_LIST))
		return;
	for (int i = 0; i < names; i++) {
		snprintf(key, sizeof key, "k%d", i);
		snprintf(path, sizeof path, "%s/%s", here.path, key);
		/* where files are keys, without the fsync of each put */
		if (!on_disk || mknod(path, S_IFREG | 0600, 0) != 0)
			CHECK_INT(zmap_put(z, &(struct zmap_put){key, {&x, 1}}, NULL), 0);
	}
	struct seen n = {.want_key = 'k'};
	CHECK_INT(zmap_list(z, "", see, &n), 0);
	CHECK_INT(n.keys, names);
	CHECK_INT(n.others + n.prefixes, 0);
}

static void
counting(void)
{
	struct zmap_stat s;
	put("a", "12345");
	expect((struct zmap_get){.key = "a"}, 0, "12345");
	expect((struct zmap_get){.key = "b"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "/"}, -EINVAL, "");
	CHECK_INT(zmap_stat(z, "a", &s), 0);
	CHECK_INT(z->counts.calls[ZMAP_GET], 3);
	CHECK_INT(z->counts.absent[ZMAP_GET], 1);
	CHECK_INT(z->counts.failed[ZMAP_GET], 1);
	CHECK_INT(z->counts.calls[ZMAP_STAT], 1);
	CHECK_INT(w->counts.calls[ZMAP_PUT], 1);
	CHECK_INT(z->counts.bytes_in, 5);
	CHECK_INT(w->counts.bytes_out, 5);
}

static void
nobody_waits(void)
{
	struct cancel c = {true};
	put("a", "1");
	expect((struct zmap_get){.key = "a", .cancel = &c}, -EINTR, "");
	c.wanted_no_more = false;
	expect((struct zmap_get){.key = "a", .cancel = &c}, 0, "1");
	expect((struct zmap_get){.key = "a", .deadline = clock_now() - 1}, -ETIMEDOUT, "");
	expect((struct zmap_get){.key = "a", .deadline = clock_now() + SECOND}, 0, "1");
}

/* One object that is always one letter all through, while others replace it by one of another
 * letter and length. */
enum { OBJECT = 300000 };

static void *
replacer(void *arg)
{
	const int rounds = w->caps & ZMAP_REMOTE ? 25 : 100;
	char *text = malloc(OBJECT + 64);
	for (int i = 0; i < rounds && text; i++) {
		size_t n = OBJECT + (size_t)i % 64;
		memset(text, 'a' + i % 26, n);
		CHECK_INT(zmap_put(w, &(struct zmap_put){"x/big", {(uint8_t *)text, n}}, NULL), 0);
	}
	free(text);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

static void *
reader(void *arg)
{
	do {
		CLEAN(buf_free) struct buf b = {0};
		struct zmap_stat s = {0};
		struct zmap_get g = {.key = "x/big", .into = &b, .max = 1 << 20};
		CHECK_INT(zmap_get(z, &g, &s), 0);
		CHECK_INT(b.len, s.size);
		store_expect_one_letter(&b);
	} while (!atomic_load((atomic_bool *)arg));
	return NULL;
}

static void
replaced_while_read(void)
{
	atomic_bool over = false;
	pthread_t t[3];
	put("x/big", "a");
	CHECK_INT(pthread_create(&t[0], NULL, replacer, &over), 0);
	CHECK_INT(pthread_create(&t[1], NULL, reader, &over), 0);
	CHECK_INT(pthread_create(&t[2], NULL, reader, &over), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

static void (*const row[])(void) = {
	whole_and_ranges,
	maximum,
	absence,
	bad_keys,
	odd_keys,
	versions,
	listing,
	odd_names,
	many_names,
	counting,
	nobody_waits,
	replaced_while_read,
};

int
main(void)
{
	return battery(row, sizeof row / sizeof *row);
}
