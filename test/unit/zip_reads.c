/* What reading a zip archive asks of the store below, and an archive that is replaced meanwhile. */
#include "zip_open.h"

#include <pthread.h>

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

static void
make_small(struct zip_maker *m, const char *text)
{
	zip_add(m, (struct zip_file){.name = "s", .text = text, .extra = 9});
	zip_add(m, (struct zip_file){.name = "d", .text = text, .deflate = true});
	zip_end(m, false, "");
}

static void
all_small(const char *text)
{
	for (int i = 0; i < 2; i++) {
		const char *key = i ? "s" : "d";
		CLEAN(buf_free) struct buf b = {0};
		int r = -1;
		expect((struct zmap_get){.key = key}, 0, text);
		expect((struct zmap_get){.key = key, .off = 4, .len = 2}, 0,
			(char[]){text[4], text[5], 0});
		zmap_submit(
			z, &(struct zmap_get){.key = key, .into = &b, .max = 10}, submitted, &r);
		CHECK_INT(r, 0);
		CHECK_INT(b.len, 10);
		CHECK_MEM(b.data, text, b.len);
	}
}

/* A remote archive that came whole with its directory is not asked for again, until that is too
 * long ago. */
static void
kept(void)
{
	static const int64_t keep[] = {1, 3600 * SECOND, INT64_MAX};
	struct zip_maker m = {0}, n = {0};
	make_small(&n, "9876543210");
	for (int i = 0; i < 3; i++) {
		make_small(&m, "0123456789");
		must_open_kept(&m, keep[i]);
		atomic_ullong *calls = lower->counts.calls;
		CHECK_INT(calls[ZMAP_GET], 1);
		all_small("0123456789");
		CHECK(i ? calls[ZMAP_GET] == 1 : calls[ZMAP_GET] > 6);
		unsigned long long before = calls[ZMAP_GET];
		expect((struct zmap_get){.key = "s", .bypass_cache = true}, 0, "0123456789");
		CHECK(calls[ZMAP_GET] > before);
		put_archive(buf_span(&n.out));
		if (i)
			all_small("0123456789");
		CHECK_INT(i ? zmap_alive(z) : 0, 0);
		all_small("9876543210");
		CHECK_INT(zmap_del(below, &(struct zmap_del){"x.zip"}), 0);
		CHECK_INT(i ? zmap_alive(z) : -EIO, -EIO);
		refused("s", "is gone");
		done(&m);
	}
	zip_made(&n);
}

/* Of a larger one, what lies at its end. */
static void
kept_end(void)
{
	enum { BIG = 300000 };
	struct zip_maker m = {0};
	CLEAN(clean_free) char *text = malloc(BIG);
	memset(text, 'x', BIG);
	zip_add(&m, (struct zip_file){.name = "big", .text = text, .len = BIG});
	make_small(&m, "0123456789");
	must_open_kept(&m, 3600 * SECOND);
	all_small("0123456789");
	CHECK_INT(lower->counts.calls[ZMAP_GET], 1);
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(zmap_get(z, &(struct zmap_get){.key = "big", .into = &b, .max = BIG}, NULL), 0);
	CHECK_INT(b.len, BIG);
	CHECK_MEM(b.data, text, BIG);
	CHECK(lower->counts.calls[ZMAP_GET] > 1);
	done(&m);
}

/* What others are understood by is asked for, unless the archive was just looked at. */
static void
kept_fresh(void)
{
	struct zip_maker m = {0}, n = {0};
	make_small(&m, "0123456789");
	make_small(&n, "9876543210");
	must_open_kept(&m, 3600 * SECOND);
	put_archive(buf_span(&n.out));
	usleep(ZIP_LOOK_REMOTE / 1000 + 1000);
	expect((struct zmap_get){.key = "s"}, 0, "0123456789");
	expect((struct zmap_get){.key = "s", .revalidate = true}, 0, "9876543210");
	expect((struct zmap_get){.key = "d"}, 0, "9876543210");
	done(&m);
	zip_made(&n);
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
	CHECK_INT(zmap_del(below, &(struct zmap_del){"x.zip"}), 0);
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
		store_expect_one_letter(&b);
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
	requests();
	many_members();
	by_submit();
	kept();
	kept_end();
	kept_fresh();
	replaced();
	replaced_while_read();
	zmap_close(below);
	return check_end();
}
