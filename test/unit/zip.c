/* The zip store over a store in memory, whose requests are counted. */
#include "check.h"
#include "store.h"
#include "zip_make.h"

#include "backends/zip.h"

#include <errno.h>
#include <pthread.h>

static struct zmap *below; /* another handle of the store that the archive lies in */
static struct zmap *lower; /* the archive's own */
static struct zmap *z;

static void
put_archive(struct span bytes)
{
	CHECK_INT(zmap_put(below, "x.zip", bytes, NULL), 0);
}

static int
open_archive(struct span bytes)
{
	put_archive(bytes);
	lower = store_open("", "mem", "zip-test", false);
	int r = zip_open_over(lower, "x.zip", &z);
	if (r < 0)
		z = NULL;
	return r;
}

static void
must_open(struct zip_maker *m)
{
	CHECK_INT(open_archive(buf_span(&m->out)), 0);
	if (!z)
		exit(EXIT_FAILURE);
}

static void
done(struct zip_maker *m)
{
	z = zmap_close(z);
	zip_made(m);
	*m = (struct zip_maker){0};
}

static void
expect(struct zmap_get g, int want, const char *text)
{
	store_expect(z, g, want, text);
}

static void
refused(const char *key, const char *why)
{
	expect((struct zmap_get){.key = key}, -EIO, "");
	if (!strstr(err_text(), why))
		CHECK_STR(err_text(), why);
}

static int
note(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return buf_addf(arg, "%s%s ", name, prefix ? "/" : "");
}

static void
lists(const char *prefix, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(buf_add(&b, "", 0), 0);
	CHECK_INT(zmap_list(z, prefix, note, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, want);
}

static void
whole_and_ranges(void)
{
	for (int deflate = 0; deflate < 2; deflate++) {
		struct zip_maker m = {0};
		zip_add(&m,
			(struct zip_file){.name = "a", .text = "0123456789", .deflate = deflate});
		zip_add(&m, (struct zip_file){.name = "empty", .deflate = deflate});
		zip_end(&m, false, "");
		must_open(&m);
		expect((struct zmap_get){.key = "a"}, 0, "0123456789");
		expect((struct zmap_get){.key = "a", .off = 3}, 0, "3456789");
		expect((struct zmap_get){.key = "a", .off = 3, .len = 4}, 0, "3456");
		expect((struct zmap_get){.key = "a", .off = 7, .len = 1}, 0, "7");
		expect((struct zmap_get){.key = "a", .off = 2, .len = 1}, 0, "2");
		expect((struct zmap_get){.key = "a", .off = 8, .len = 4}, 0, "89");
		expect((struct zmap_get){.key = "a", .off = 10, .len = 4}, 0, "");
		expect((struct zmap_get){.key = "a", .off = UINT64_MAX, .len = 4}, 0, "");
		expect((struct zmap_get){.key = "a", .len = 4, .from_end = true}, 0, "6789");
		expect((struct zmap_get){.key = "a", .len = 40, .from_end = true}, 0, "0123456789");
		expect((struct zmap_get){.key = "a", .max = 9}, -EFBIG, "");
		expect((struct zmap_get){.key = "a", .max = 3, .len = 3}, 0, "012");
		expect((struct zmap_get){.key = "empty"}, 0, "");
		expect((struct zmap_get){.key = "b"}, ZMAP_ABSENT, "");
		expect((struct zmap_get){.key = "a/b"}, ZMAP_ABSENT, "");
		CHECK_INT(zmap_put(z, "a", (struct span){0}, NULL), -EROFS);
		done(&m);
	}
}

static void
names(void)
{
	struct zip_maker m = {0};
	static const struct zip_file files[] = {
		{.name = ".zgroup", .text = "group"},
		{.name = "a/0", .text = "old"},
		{.name = "dir/"},
		{.name = "a/"},
		{.name = "a/1", .text = "one", .deflate = true},
		{.name = "./a/2", .text = "two"},
		{.name = "/etc/passwd", .text = "absolute"},
		{.name = "../up", .text = "up"},
		{.name = "a/../0", .text = "up"},
		{.name = "a//0", .text = "empty part"},
		{.name = "a/\0b", .name_len = 4, .text = "NUL"},
		{.name = "back\\slash", .text = "backslash"},
		{.name = "été", .text = "summer"},
		{.name = "b\x82"
			 "che",
			.text = "log",
			.utf8 = "bûche"},
		{.name = "__MACOSX/a/._0", .text = "junk"},
		{.name = "a/0", .text = "new"},
	};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		zip_add(&m, files[i]);
	zip_end(&m, false, "");
	must_open(&m);
	expect((struct zmap_get){.key = "a/0"}, 0, "new");
	expect((struct zmap_get){.key = "a/1"}, 0, "one");
	expect((struct zmap_get){.key = "a/2"}, 0, "two");
	expect((struct zmap_get){.key = "back\\slash"}, 0, "backslash");
	expect((struct zmap_get){.key = "été"}, 0, "summer");
	expect((struct zmap_get){.key = "etc/passwd"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "up"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "bûche"}, 0, "log");
	expect((struct zmap_get){.key = "bûche", .off = 1, .len = 1}, 0, "o");
	lists("", ".zgroup a/ back\\slash bûche dir/ été ");
	lists("a/", " b 0 1 2 "); /* NUL is shown as a space */
	lists("dir/", "");
	CHECK_INT(zmap_list(z, "b/", note, NULL), ZMAP_ABSENT);
	CHECK_INT(zmap_list(z, "a/0/", note, NULL), ZMAP_ABSENT);
	done(&m);
}

static void
prefix_is(const char *const *names, const char *want)
{
	struct zip_maker m = {0};
	for (; *names; names++)
		zip_add(&m, (struct zip_file){.name = *names, .text = *names});
	zip_end(&m, false, "");
	must_open(&m);
	CHECK_STR(((struct zip_store *)z)->now->index->prefix, want);
	done(&m);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void
prefixes(void)
{
	prefix_is(NAMES("x/", "x/.zgroup", "x/v/.zarray"), "x/");
	prefix_is(NAMES("x/.zgroup", "x/v/.zarray"), "x/");
	prefix_is(NAMES(".zgroup", "x/.zarray", "x/0"), "");
	prefix_is(NAMES("x/.zgroup", "x/v/.zarray", "readme"), "");
	prefix_is(NAMES("data/x/.zgroup", "data/x/v/.zarray"), "data/x/");
	prefix_is(NAMES("data/x/.zgroup", "data/y/.zgroup"), "data/");
	prefix_is(NAMES("x/.zgroup", "x/v/.zgroup", "x/v/w/.zgroup"), "x/");
	prefix_is(NAMES("v/.zarray", "v/0"), "");
	prefix_is(NAMES("data/v/.zarray", "data/v/0"), "data/");
	prefix_is(NAMES("x/zarr.json", "x/v/zarr.json", "x/v/c/0"), "x/");
	prefix_is(NAMES("v/zarr.json", "v/c/0"), "");
	prefix_is(NAMES("x/v/.zarray", "x/w/.zarray"), "x/");

	struct zip_maker m = {0};
	zip_add(&m, (struct zip_file){.name = "x/.zgroup", .text = "g"});
	zip_add(&m, (struct zip_file){.name = "x/v/0", .text = "zero"});
	zip_end(&m, false, "");
	must_open(&m);
	lists("", ".zgroup v/ ");
	lists("x/v/", "0 ");
	lists("x/", ".zgroup v/ ");
	expect((struct zmap_get){.key = "v/0"}, 0, "zero");
	expect((struct zmap_get){.key = "x/v/0"}, 0, "zero"); /* as other programs name it */
	expect((struct zmap_get){.key = "x/x/v/0"}, ZMAP_ABSENT, "");
	done(&m);
}

/* In one piece, and with something before it: a program, or another archive. */
static void
form(const struct buf *before, bool zip64)
{
	struct zip_maker m = {0};
	CLEAN(buf_free) struct buf both = {0};
	zip_add(&m, (struct zip_file){.name = "a", .text = "first", .extra = 9});
	zip_add(&m, (struct zip_file){.name = "b", .text = "other", .deflate = true});
	zip_add(&m, (struct zip_file){.name = "c", .text = "large", .zip64 = zip64});
	zip_add(&m, (struct zip_file){.name = "d", .text = "last", .extra = 77, .deflate = true});
	zip_end(&m, zip64, "a comment with PK\5\6 in it");
	CHECK_INT(buf_add(&both, before->data, before->len), 0);
	CHECK_INT(buf_add(&both, m.out.data, m.out.len), 0);
	CHECK_INT(open_archive(buf_span(&both)), 0);
	expect((struct zmap_get){.key = "a"}, 0, "first");
	expect((struct zmap_get){.key = "b"}, 0, "other");
	expect((struct zmap_get){.key = "c"}, 0, "large");
	expect((struct zmap_get){.key = "d"}, 0, "last");
	expect((struct zmap_get){.key = "d", .off = 1, .len = 2}, 0, "as");
	done(&m);
}

static void
forms(void)
{
	struct zip_maker old = {0};
	CLEAN(buf_free) struct buf program = {0};
	zip_add(&old, (struct zip_file){.name = "a", .text = "stale"});
	zip_end(&old, false, "");
	CHECK_INT(buf_addf(&program, "#!/bin/sh\n"), 0);
	for (int zip64 = 0; zip64 < 2; zip64++) {
		form(&(struct buf){.data = program.data}, zip64);
		form(&program, zip64);
		form(&old.out, zip64);
	}
	zip_made(&old);
}

static void
unreadable(void)
{
	struct zip_maker m = {0};
	zip_add(&m, (struct zip_file){.name = "secret", .text = "x", .encrypted = true});
	zip_add(&m, (struct zip_file){.name = "bzip2", .text = "x", .method = 12});
	zip_add(&m, (struct zip_file){.name = "short", .text = "text", .local_short = 1});
	zip_add(&m, (struct zip_file){.name = "two", .text = "textextextext", .method = 8});
	zip_add(&m, (struct zip_file){.name = "good", .text = "good"});
	zip_end(&m, false, "");
	must_open(&m);
	struct zmap_stat s;
	refused("secret", "encrypted");
	refused("bzip2", "method 12");
	expect((struct zmap_get){.key = "short", .off = 1, .len = 1}, -EIO, "");
	refused("two", "damaged");
	CHECK_INT(zmap_stat(z, "secret", &s), 0);
	expect((struct zmap_get){.key = "good"}, 0, "good");
	done(&m);

	CHECK_INT(open_archive((struct span){(const uint8_t *)"no zip", 6}), -EIO);
	CHECK_STR(err_text(), "no zip archive, or one that was cut short: Not a zip archive");
	CHECK_INT(open_archive((struct span){(const uint8_t *)"", 0}), -EIO);
	lower = store_open("", "mem", "zip-test", false);
	CHECK_INT(zip_open_over(lower, "none.zip", &z), -ENOENT);
	z = NULL;
}

/* The directory comes in one request, a whole member in another. */
static void
requests(void)
{
	enum { BIG = 200000 };
	struct zip_maker m = {0};
	char *text = malloc(BIG), name[32];
	uint32_t seed = 1;
	for (int i = 0; i < BIG; i++)
		text[i] = (char)check_random(&seed);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "a/%d", i);
		zip_add(&m, (struct zip_file){.name = name, .text = text, .len = BIG, .extra = 5});
	}
	zip_add(&m, (struct zip_file){
			    .name = "d", .text = text, .len = BIG, .deflate = true, .extra = 5});
	zip_end(&m, false, "");
	must_open(&m);
	atomic_ullong *calls = lower->counts.calls;
	CHECK_INT(calls[ZMAP_GET], 1);
	for (int i = 0; i < 20; i++) {
		CLEAN(buf_free) struct buf b = {0};
		snprintf(name, sizeof name, "a/%d", i);
		struct zmap_get g = {.key = name, .into = &b, .max = BIG};
		CHECK_INT(zmap_get(z, &g, NULL), 0);
		CHECK_INT(b.len, BIG);
		CHECK_MEM(b.data, text, BIG);
	}
	CHECK_INT(calls[ZMAP_GET], 1 + 20 + 2); /* the first one's header was not as guessed */
	unsigned long long before = calls[ZMAP_GET];
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_get g = {.key = "d", .into = &b, .max = BIG};
	CHECK_INT(zmap_get(z, &g, NULL), 0);
	CHECK_MEM(b.data, text, BIG);
	CHECK_INT(calls[ZMAP_GET], before + 1);
	for (size_t off = 0; off < BIG; off += 1000) { /* in order: inflated once */
		b.len = 0;
		g.off = off;
		g.len = 1000;
		CHECK_INT(zmap_get(z, &g, NULL), 0);
		CHECK_INT(b.len, 1000);
		CHECK_MEM(b.data, text + off, 1000);
	}
	CHECK(lower->counts.bytes_in < 22 * BIG + 300 * (256 << 10));
	CHECK_INT(calls[ZMAP_STAT], 0);
	free(text);
	done(&m);
}

/* A directory that is more than the archive's end comes in one request more. */
static void
many_members(void)
{
	enum { COUNT = 3000 };
	struct zip_maker m = {0};
	char name[200];
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof name, "a/%0150d", i);
		zip_add(&m, (struct zip_file){.name = name, .text = name + 140});
	}
	zip_end(&m, false, "");
	must_open(&m);
	CHECK_INT(lower->counts.calls[ZMAP_GET], 2);
	for (int i = 0; i < COUNT; i += 599) {
		snprintf(name, sizeof name, "a/%0150d", i);
		expect((struct zmap_get){.key = name}, 0, name + 140);
	}
	done(&m);
}

static void
submitted(void *arg, int r, const struct zmap_stat *s)
{
	*(int *)arg = r;
	CHECK_INT(s->size, r ? 0 : 10);
}

/* Also where the first guess of where its bytes are is wrong, and where it cannot be guessed. */
static void
by_submit(void)
{
	struct zip_maker m = {0};
	zip_add(&m, (struct zip_file){.name = "a", .text = "0123456789", .extra = 4});
	zip_add(&m, (struct zip_file){.name = "b", .text = "0123456789", .extra = 4});
	zip_add(&m, (struct zip_file){.name = "d", .text = "0123456789", .deflate = true});
	zip_end(&m, false, "");
	must_open(&m);
	for (int i = 0; i < 5; i++) {
		static const char *const keys[] = {"a", "b", "d", "b", "none"};
		CLEAN(buf_free) struct buf b = {0};
		CHECK_INT(buf_add(&b, "head", 4), 0);
		int r = -1;
		struct zmap_get g = {.key = keys[i], .into = &b, .max = 10};
		zmap_submit(z, &g, submitted, &r);
		CHECK_INT(r, i < 4 ? 0 : ZMAP_ABSENT);
		CHECK_INT(b.len, i < 4 ? 14 : 4);
		CHECK_MEM(b.data, "head0123456789", b.len);
	}
	done(&m);
}

/* Every byte of an archive changed: what comes is right, or an error. */
static void
damaged(void)
{
	static const char text[] =
		"some text that is long enough to be deflated, deflated, deflated";
	struct zip_maker m = {0};
	zip_add(&m, (struct zip_file){.name = "QQ", .text = text});
	zip_add(&m, (struct zip_file){.name = "zz", .text = text, .deflate = true});
	zip_add(&m, (struct zip_file){.name = "&&", .text = text, .zip64 = true});
	zip_end(&m, true, "comment");
	unsigned good = 0;
	for (size_t i = 0; i < 2 * m.out.len; i++) {
		CLEAN(buf_free) struct buf bad = {0};
		CHECK_INT(buf_add(&bad, m.out.data, m.out.len), 0);
		if (i < bad.len)
			bad.data[i] ^= 0xff;
		else
			bad.len = i - bad.len;
		if (open_archive(buf_span(&bad)) < 0)
			continue;
		static const char *const keys[] = {"QQ", "zz", "&&"};
		for (int k = 0; k < 3; k++) {
			CLEAN(buf_free) struct buf b = {0};
			struct zmap_get g = {.key = keys[k], .into = &b, .max = 1 << 20};
			if (zmap_get(z, &g, NULL) != 0)
				continue;
			good++;
			CHECK_INT(b.len, sizeof text - 1);
			CHECK_MEM(b.data, text, sizeof text - 1);
		}
		z = zmap_close(z);
	}
	CHECK(good > 100);
	done(&m);
}

static void
make_letter(struct zip_maker *m, int i)
{
	enum { SIZE = 100000 };
	char *text = malloc(SIZE);
	memset(text, 'a' + i % 26, SIZE);
	for (int pad = 0; pad < i % 7; pad++)
		zip_add(m, (struct zip_file){.name = "pad", .text = "moves the others"});
	zip_add(m, (struct zip_file){.name = "s", .text = text, .len = SIZE});
	zip_add(m, (struct zip_file){.name = "d", .text = text, .len = SIZE, .deflate = true});
	zip_end(m, false, "");
	free(text);
}

static void
replaced(void)
{
	struct zip_maker m = {0}, n = {0};
	struct zmap_stat a, b;
	zip_add(&m, (struct zip_file){.name = "a", .text = "old"});
	zip_add(&m, (struct zip_file){.name = "b", .text = "gone"});
	zip_end(&m, false, "");
	zip_add(&n, (struct zip_file){.name = "c", .text = "new too"});
	zip_add(&n, (struct zip_file){.name = "a", .text = "new"});
	zip_end(&n, false, "");
	must_open(&m);
	CHECK_INT(zmap_stat(z, "a", &a), 0);
	put_archive(buf_span(&n.out));
	expect((struct zmap_get){.key = "a", .if_match = a.version}, ZMAP_CHANGED, "");
	expect((struct zmap_get){.key = "a"}, 0, "new");
	expect((struct zmap_get){.key = "b"}, ZMAP_ABSENT, "");
	expect((struct zmap_get){.key = "c"}, 0, "new too");
	CHECK_INT(zmap_stat(z, "a", &b), 0);
	CHECK(strcmp(a.version, b.version));
	expect((struct zmap_get){.key = "a", .if_none_match = b.version}, ZMAP_SAME, "");

	put_archive((struct span){(const uint8_t *)"rubbish", 7});
	CHECK_INT(zmap_alive(z), -EIO);
	refused("a", "no zip archive");
	CHECK_INT(zmap_stat(z, "a", &b), -EIO);
	CHECK_INT(zmap_del(below, "x.zip"), 0);
	CHECK_INT(zmap_alive(z), -EIO);
	refused("a", "is gone");
	put_archive(buf_span(&m.out));
	CHECK_INT(zmap_alive(z), 0);
	expect((struct zmap_get){.key = "b"}, 0, "gone");
	done(&m);
	zip_made(&n);
}

static atomic_bool over;

static void *
reader(void *arg)
{
	struct zmap_get g = {.key = arg, .max = 1 << 20};
	for (unsigned i = 0; !over; i++) {
		CLEAN(buf_free) struct buf b = {0};
		g.into = &b;
		g.off = i % 3 * 1000;
		int r = zmap_get(z, &g, NULL);
		if (r < 0) { /* it changes all the time */
			CHECK_INT(r, -EIO);
			continue;
		}
		CHECK_INT(b.len, 100000 - g.off);
		size_t same = 0;
		while (same < b.len && b.data[same] == b.data[0])
			same++;
		CHECK_INT(same, b.len);
	}
	return NULL;
}

static void
replaced_while_read(void)
{
	struct zip_maker m = {0};
	pthread_t t[4];
	static char stored[] = "s", deflated[] = "d";
	make_letter(&m, 0);
	must_open(&m);
	over = false;
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&t[i], NULL, reader, i % 2 ? stored : deflated), 0);
	for (int i = 1; i < 100; i++) {
		zip_made(&m);
		m = (struct zip_maker){0};
		make_letter(&m, i);
		put_archive(buf_span(&m.out));
		usleep(2000);
	}
	over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	done(&m);
}

int
main(void)
{
	below = store_open("", "mem", "zip-test", true);
	if (!below)
		return EXIT_FAILURE;
	whole_and_ranges();
	names();
	prefixes();
	forms();
	unreadable();
	requests();
	many_members();
	by_submit();
	damaged();
	replaced();
	replaced_while_read();
	zmap_close(below);
	return check_end();
}
