/* What a zip archive holds: names, prefixes, forms of archives, damaged ones. */
#include "zip_open.h"

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
		CHECK_INT(zmap_put(z, &(struct zmap_put){"a", {0}}, NULL), -EROFS);
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
	CHECK_INT(zip_open_over(lower, "none.zip", 0, NULL, &z), -ENOENT);
	z = NULL;
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
	damaged();
	zmap_close(below);
	return check_end();
}
