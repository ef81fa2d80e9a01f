/* What the disk cache gives back: of which version, and what it asks the store for. */
#include "diskcache_open.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

static void
revalidated(void)
{
	begin();
	set("a/b", "0123456789");
	struct zmap *z = open_cache("0", "1048576");
	for (int i = 0; i < 3; i++) {
		store_expect(z, (struct zmap_get){.key = "a/b"}, 0, "0123456789");
		store_expect(z, (struct zmap_get){.key = "a/b", .off = 2, .len = 3}, 0, "234");
		store_expect(
			z, (struct zmap_get){.key = "a/b", .len = 3, .from_end = true}, 0, "789");
		store_expect(z, (struct zmap_get){.key = "none"}, ZMAP_ABSENT, "");
		CHECK_INT(asked(z)->calls[ZMAP_GET], 4 * (i + 1));
		CHECK_INT(asked(z)->bytes_in, 16); /* once */
	}
	zmap_close(z);
	z = open_cache("0", "1048576"); /* as after a remount */
	store_expect(z, (struct zmap_get){.key = "a/b"}, 0, "0123456789");
	store_expect(z, (struct zmap_get){.key = "a/b", .max = 9}, -EFBIG, "");
	CHECK_INT(asked(z)->calls[ZMAP_GET], 2);
	CHECK_INT(asked(z)->bytes_in, 0);

	set("a/b", "changed");
	store_expect(z, (struct zmap_get){.key = "a/b"}, 0, "changed");
	CHECK_INT(asked(z)->bytes_in, 7);
	store_expect(z, (struct zmap_get){.key = "a/b"}, 0, "changed");
	CHECK_INT(asked(z)->bytes_in, 7);
	CHECK_INT(zmap_del(put, &(struct zmap_del){"a/b"}), 0);
	store_expect(z, (struct zmap_get){.key = "a/b"}, ZMAP_ABSENT, "");
	end(z);
}

static void
for_a_while(void)
{
	struct zmap_stat s, t;
	begin();
	set("a", "one");
	struct zmap *z = open_cache_for(store.path, "1000", "1048576", NULL, false);
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "one");
	set("a", "two");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "one");
	CHECK_INT(zmap_stat(z, "a", &s), 0);
	CHECK_INT(s.size, 3);
	CHECK_INT(asked(z)->calls[ZMAP_STAT], 0);
	CHECK_INT(asked(z)->calls[ZMAP_GET], 1);
	/* a reader that asks for news gets them */
	store_expect(z, (struct zmap_get){.key = "a", .if_none_match = s.version}, 0, "two");
	CHECK_INT(zmap_stat(z, "a", &t), 0);
	CHECK(strcmp(s.version, t.version));
	store_expect(z, (struct zmap_get){.key = "a", .if_none_match = t.version}, ZMAP_SAME, "");
	set("a", "three");
	CHECK_INT(zmap_alive(z), 0); /* told to look anew */
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "three");
	/* what is of the version that is wanted needs no question */
	unsigned long long before = asked(z)->calls[ZMAP_GET];
	CHECK_INT(zmap_stat(put, "a", &s), 0);
	store_expect(z, (struct zmap_get){.key = "a", .if_match = s.version}, 0, "three");
	CHECK_INT(asked(z)->calls[ZMAP_GET], before);
	store_expect(z, (struct zmap_get){.key = "a", .if_match = t.version}, ZMAP_CHANGED, "");
	set("a", "four");
	zmap_close(z);
	usleep(1100000);
	z = open_cache("1", "1048576");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "four");
	end(z);
}

/* One that writes compares what is there now: its copy may be of before another writer. */
static void
writer_looks(void)
{
	struct zmap_stat s, t;
	begin();
	set("a", "one");
	struct zmap *z = open_cache("1000", "1048576");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "one");
	CHECK_INT(zmap_stat(z, "a", &s), 0);
	set("a", "other");
	CHECK_INT(zmap_stat(z, "a", &t), 0);
	CHECK_INT(t.size, 5);
	CHECK(strcmp(s.version, t.version));
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "other");
	CHECK_INT(zmap_del(put, &(struct zmap_del){"a"}), 0);
	CHECK_INT(zmap_stat(z, "a", &t), ZMAP_ABSENT);
	end(z);
}

/* What is said at once, and what takes a round trip. */
static void
near(void)
{
	begin();
	set("a", "one");
	struct zmap *z = open_cache("1000", "1048576");
	CHECK(z->caps & ZMAP_LOCAL_COPIES);
	store_expect(z, (struct zmap_get){.key = "a", .local_only = true}, ZMAP_NOT_LOCAL, "");
	CHECK_INT(asked(z)->calls[ZMAP_GET], 0);
	CHECK_INT(z->counts.calls[ZMAP_GET], 0);
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "one");
	store_expect(z, (struct zmap_get){.key = "a", .local_only = true}, 0, "one");
	store_expect(z, (struct zmap_get){.key = "a", .local_only = true, .bypass_cache = true},
		ZMAP_NOT_LOCAL, "");
	store_expect(z, (struct zmap_get){.key = "a", .local_only = true, .revalidate = true},
		ZMAP_NOT_LOCAL, "");
	store_expect(
		z, (struct zmap_get){.key = "a", .local_only = true, .max = 2}, ZMAP_NOT_LOCAL, "");
	CHECK_INT(asked(z)->calls[ZMAP_GET], 1);
	CHECK_INT(z->counts.calls[ZMAP_GET], 2);
	zmap_close(z);
	usleep(1100000);
	z = open_cache("1", "1048576");
	store_expect(z, (struct zmap_get){.key = "a", .local_only = true}, ZMAP_NOT_LOCAL, "");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "one");
	CHECK_INT(asked(z)->calls[ZMAP_GET], 1);
	CHECK_INT(asked(z)->bytes_in, 0);
	end(z);
	z = store_open("trace", "mem", "near", true);
	CHECK(!(z->caps & ZMAP_LOCAL_COPIES));
	zmap_close(z);
}

/* What other objects are understood by is never older than they are. */
static void
understood(void)
{
	const struct zmap_get meta = {.key = "meta", .revalidate = true};
	begin();
	set("meta", "one");
	set("chunk", "of one");
	struct zmap *z = open_cache("1000", "1048576");
	store_expect(z, meta, 0, "one");
	store_expect(z, (struct zmap_get){.key = "chunk"}, 0, "of one");
	set("chunk", "of two");
	set("meta", "two");
	struct zmap *y = open_cache("1000", "1048576"); /* as another mount */
	store_expect(y, meta, 0, "two");
	store_expect(y, (struct zmap_get){.key = "other"}, ZMAP_ABSENT, "");
	zmap_close(y);
	y = open_cache("1000", "1048576"); /* a third one, which sees no change */
	store_expect(y, meta, 0, "two");
	CHECK_INT(asked(y)->bytes_in, 0);
	store_expect(y, (struct zmap_get){.key = "chunk"}, 0, "of two");
	unsigned long long before = asked(y)->calls[ZMAP_GET];
	store_expect(y, (struct zmap_get){.key = "chunk"}, 0, "of two");
	CHECK_INT(asked(y)->calls[ZMAP_GET], before);
	zmap_close(y);
	end(z);
}

/* What can be right is decided by what the store has, not by what it had. */
static void
grown(void)
{
	begin();
	set("a", "a long text");
	struct zmap *z = open_cache("1000", "1048576");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "a long text");
	set("a", "short");
	store_expect(z, (struct zmap_get){.key = "a", .max = 5}, 0, "short");
	end(z);
}

/* What is put through the cache is seen at once, whole and in parts, and nothing else is asked for
 * again. */
static void
written_here(void)
{
	begin();
	set("a", "one");
	set("b", "1");
	struct zmap *z = open_cache("1000", "1048576");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "one");
	store_expect(z, (struct zmap_get){.key = "a", .off = 1, .len = 1}, 0, "n");
	store_expect(z, (struct zmap_get){.key = "b"}, 0, "1");
	CHECK_INT(zmap_put(z, &(struct zmap_put){"a", {(const uint8_t *)"two", 3}}, NULL), 0);
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "two");
	store_expect(z, (struct zmap_get){.key = "a", .off = 1, .len = 1}, 0, "w");
	CHECK_INT(asked(z)->calls[ZMAP_GET], 5);
	store_expect(z, (struct zmap_get){.key = "b"}, 0, "1");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "two");
	CHECK_INT(asked(z)->calls[ZMAP_GET], 5);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"a"}), 0);
	store_expect(z, (struct zmap_get){.key = "a"}, ZMAP_ABSENT, "");
	store_expect(z, (struct zmap_get){.key = "b"}, 0, "1");
	CHECK_INT(asked(z)->calls[ZMAP_GET], 6);
	end(z);
}

/* Two stores and keys that would be one, if they were only written one behind the other. */
static void
names_with_newlines(void)
{
	char path[sizeof store.path + 8];
	begin();
	snprintf(path, sizeof path, "%s?\nx", store.path);
	CHECK_INT(mkdir(path, 0700), 0);
	struct zmap *w = store_open("", "dir", path, true);
	set("x?\na", "one");
	CHECK_INT(zmap_put(w, &(struct zmap_put){"a", {(const uint8_t *)"two", 3}}, NULL), 0);
	struct zmap *z = open_cache("1000", "1048576");
	struct zmap *y = open_cache_of(path, "1000", "1048576", NULL);
	store_expect(z, (struct zmap_get){.key = "x?\na"}, 0, "one");
	store_expect(y, (struct zmap_get){.key = "a"}, 0, "two");
	CHECK_INT(zmap_del(w, &(struct zmap_del){"a"}), 0);
	rmdir(path);
	zmap_close(w);
	zmap_close(y);
	end(z);
}

static void *
read_old(void *arg)
{
	store_expect(arg, (struct zmap_get){.key = "a"}, 0, "old");
	return NULL;
}

/* What was asked for before doubts came is in doubt when it comes after them. */
static void
doubted_under_way(void)
{
	pthread_t t;
	begin();
	set("a", "old");
	struct zmap *z = open_cache_of(store.path, "1000", "1048576", "300");
	CHECK_INT(pthread_create(&t, NULL, read_old, z), 0);
	for (int i = 0; i < 600 && !asked(z)->calls[ZMAP_GET]; i++)
		usleep(100000);
	CHECK_INT(zmap_alive(z), 0);
	pthread_join(t, NULL);
	set("a", "new");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "new");
	end(z);
}

static void
immutable(void)
{
	begin();
	set("a", "one");
	struct zmap_options o = {.timeout = 10 * SECOND,
		.cache_dir = shelf.path,
		.cache_size = 1 << 20,
		.cache_ttl = INT64_MAX};
	struct url_pair pairs[] = {{(char *)"diskcache.dir", shelf.path}, {0}};
	for (int i = 0; i < 2; i++) {
		struct zmap *z = store_open_with("diskcache+fault", "dir", store.path, &o, pairs);
		store_expect(z, (struct zmap_get){.key = "a"}, 0, "one");
		CHECK_INT(asked(z)->calls[ZMAP_GET], !i);
		zmap_close(z);
	}
	/* stores on local disks are left alone */
	struct zmap *z = store_open_with("", "dir", store.path, &o, NULL);
	CHECK_STR(z->ops->name, "dir");
	end(z);
}

static void
submitted(void *arg, int r, const struct zmap_stat *s)
{
	*(int *)arg = r;
	CHECK_INT(s->size, 4);
}

static void
by_submit(void)
{
	begin();
	set("a", "text");
	struct zmap *z = open_cache("0", "1048576");
	for (int i = 0; i < 2; i++) {
		CLEAN(buf_free) struct buf b = {0};
		int r = -1;
		struct zmap_get g = {.key = "a", .into = &b, .max = 10};
		zmap_submit(z, &g, submitted, &r);
		CHECK_INT(r, 0);
		CHECK_INT(b.len, 4);
		CHECK_MEM(b.data, "text", 4);
	}
	CHECK_INT(asked(z)->bytes_in, 4);
	end(z);
}

int
main(void)
{
	revalidated();
	for_a_while();
	writer_looks();
	near();
	understood();
	grown();
	written_here();
	names_with_newlines();
	doubted_under_way();
	immutable();
	by_submit();
	return check_end();
}
