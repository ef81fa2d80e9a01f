/* What lies on the disk of a disk cache: damaged, too large, left behind, taken away while it is
 * read. */
#include "diskcache_open.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

/* Changes every byte of the only file below the shelf in turn, and cuts it; what is read stays
 * right. */
static char found[600];

static int
note_file(const char *path, const struct stat *s, int type, struct FTW *f)
{
	if (type == FTW_F && strlen(strrchr(path, '/')) == 17)
		snprintf(found, sizeof found, "%s", path);
	return 0;
}

static void
damaged(void)
{
	begin();
	set("a", "some bytes");
	struct zmap *z = open_cache("1000", "1048576");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "some bytes");
	nftw(shelf.path, note_file, 16, FTW_PHYS);
	uint8_t good[1000], bad[1000];
	int fd = open(found, O_RDONLY);
	ssize_t n = read(fd, good, sizeof good);
	close(fd);
	CHECK(n > 10 && n < 1000);
	for (ssize_t i = 0; i < 2 * n; i++) {
		memcpy(bad, good, sizeof bad);
		bad[i % n] ^= 0xff;
		fd = open(found, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		CHECK(write(fd, bad, (size_t)(i < n ? n : i - n)) >= 0);
		close(fd);
		unsigned long long before = asked(z)->calls[ZMAP_GET];
		store_expect(z, (struct zmap_get){.key = "a"}, 0, "some bytes");
		CHECK_INT(asked(z)->calls[ZMAP_GET], before + 1);
	}
	/* nor does a FIFO in place of a file hold up a read */
	CHECK_INT(unlink(found), 0);
	CHECK_INT(mkfifo(found, 0600), 0);
	alarm(60);
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "some bytes");
	alarm(0);
	end(z);
}

static uint64_t total;

static int
add_size(const char *path, const struct stat *s, int type, struct FTW *f)
{
	if (type == FTW_F)
		total += ((uint64_t)s->st_size + 4095) / 4096 * 4096;
	return 0;
}

/* Two mounts that share the directory stay below its size together; what is used stays. */
static void
bounded(void)
{
	enum { OBJECTS = 300, LENGTH = 20000, SIZE = 2 << 20 };
	char key[32], size[32], *text = malloc(LENGTH + 1);
	begin();
	snprintf(size, sizeof size, "%d", SIZE);
	struct zmap *z = open_cache("1000", size), *y = open_cache("1000", size);
	memset(text, 'x', LENGTH);
	text[LENGTH] = 0;
	set("used", text);
	store_expect(z, (struct zmap_get){.key = "used"}, 0, text);
	for (int i = 0; i < OBJECTS; i++) {
		snprintf(key, sizeof key, "o%d", i);
		set(key, text);
		store_expect(i % 2 ? y : z, (struct zmap_get){.key = key}, 0, text);
		total = 0;
		nftw(shelf.path, add_size, 16, FTW_PHYS);
		CHECK(total <= SIZE + 8192);
		if (i % 20 == 0)
			blob_cache_settle(blob_cache_of(i % 40 ? y : z));
	}
	blob_cache_settle(blob_cache_of(z));
	CHECK(total > SIZE / 2);
	unsigned long long before = asked(z)->calls[ZMAP_GET];
	store_expect(z, (struct zmap_get){.key = key}, 0, text);
	CHECK(asked(z)->calls[ZMAP_GET] <= before + 1);
	free(text);
	zmap_close(y);
	end(z);
}

/* What a daemon that was killed had not yet written whole is taken away when no daemon can be
 * writing it any more. */
static void
left_behind(void)
{
	char old[sizeof shelf.path + 64], young[sizeof old];
	const struct timespec yesterday[2] = {{time(NULL) - 86400, 0}, {time(NULL) - 86400, 0}};
	begin();
	set("a", "text");
	struct zmap *z = open_cache("1000", "1048576");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "text");
	nftw(shelf.path, note_file, 16, FTW_PHYS);
	snprintf(old, sizeof old, "%.*s/new-0123456789abcdef", (int)(strrchr(found, '/') - found),
		found);
	snprintf(young, sizeof young, "%.*s/new-0123456789abcdee",
		(int)(strrchr(found, '/') - found), found);
	close(open(old, O_WRONLY | O_CREAT, 0600));
	close(open(young, O_WRONLY | O_CREAT, 0600));
	CHECK_INT(utimensat(AT_FDCWD, old, yesterday, 0), 0);
	blob_cache_settle(blob_cache_of(z)); /* while one cleans, others do not */
	struct zmap *y = open_cache("1000", "1048576");
	blob_cache_settle(blob_cache_of(y));
	CHECK_INT(access(old, F_OK), -1);
	CHECK_INT(access(young, F_OK), 0);
	CHECK_INT(access(found, F_OK), 0);
	zmap_close(y);
	end(z);
}

static void
closed_to_others(void)
{
	struct stat s;
	begin();
	char path[sizeof shelf.path + 40];
	struct blob_cache *d = NULL;
	snprintf(path, sizeof path, "%s/new", shelf.path);
	CHECK_INT(blob_cache_open(path, 1 << 20, NULL, &d), 0);
	CHECK_INT(stat(path, &s), 0);
	CHECK_INT(s.st_mode & 07777, 0700);
	blob_cache_close(d);
	chmod(path, 0777);
	CHECK_INT(blob_cache_open(path, 1 << 20, NULL, &d), -EACCES);
	chmod(path, 0755);
	CHECK_INT(blob_cache_open(path, 1 << 20, NULL, &d), 0); /* what is in it is closed */
	blob_cache_close(d);
	CHECK(blob_cache_open("/proc/none/x", 1 << 20, NULL, &d) < 0);
	end(NULL);
}

/* Readers of objects that are replaced all the time, through two caches in one directory: always
 * one version. */
static atomic_bool over;

static void *
reader(void *arg)
{
	struct zmap_get g = {.key = "x", .max = 1 << 20};
	while (!over) {
		CLEAN(buf_free) struct buf b = {0};
		struct zmap_stat s = {0};
		g.into = &b;
		CHECK_INT(zmap_get(arg, &g, &s), 0);
		CHECK_INT(b.len, s.size);
		store_expect_one_letter(&b);
	}
	return NULL;
}

static void
replaced_while_read(void)
{
	begin();
	set("x", "aaaa");
	struct zmap *z = open_cache("0", "1048576"), *y = open_cache("0", "1048576");
	pthread_t t[4];
	over = false;
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&t[i], NULL, reader, i % 2 ? z : y), 0);
	for (int i = 0; i < 60; i++) {
		char text[5000];
		size_t n = 1000 + (size_t)i % 26 * 100;
		memset(text, 'a' + i % 26, n);
		text[n] = 0;
		set("x", text);
		usleep(2000);
	}
	over = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	zmap_close(y);
	end(z);
}

/* Copies are taken away while others read them, or make them anew. */
static void *
read_many(void *arg)
{
	enum { OBJECTS = 64, READS = 400 };
	unsigned seed = (unsigned)(uintptr_t)arg;
	for (int i = 0; i < READS; i++) {
		CLEAN(buf_free) struct buf b = {0};
		char key[16];
		unsigned n = (unsigned)rand_r(&seed) % OBJECTS;
		struct zmap_get g = {.key = key, .into = &b, .max = 1 << 20};
		snprintf(key, sizeof key, "o%u", n);
		CHECK_INT(zmap_get(arg, &g, NULL), 0);
		CHECK_INT(b.len, 20000 + n * 1000);
		size_t same = 0;
		while (same < b.len && b.data[same] == ' ' + n)
			same++;
		CHECK_INT(same, b.len);
	}
	return NULL;
}

static void
evicted_while_read(void)
{
	char key[16], *text = malloc(90000);
	begin();
	for (int n = 0; n < 64; n++) {
		snprintf(key, sizeof key, "o%d", n);
		memset(text, ' ' + n, 90000);
		text[20000 + n * 1000] = 0;
		set(key, text);
	}
	struct zmap *z = open_cache("1000", "1048576"), *y = open_cache("1000", "1048576");
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&t[i], NULL, read_many, i % 2 ? z : y), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(asked(z)->calls[ZMAP_GET] + asked(y)->calls[ZMAP_GET] < 1600);
	free(text);
	zmap_close(y);
	end(z);
}

static void
errors_are_survived(void)
{
	begin();
	set("a", "text");
	struct zmap *z = open_cache("0", "1048576");
	place_remove(&shelf);
	CHECK_INT(warnings, 0);
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "text");
	store_expect(z, (struct zmap_get){.key = "a"}, 0, "text");
	CHECK_INT(warnings, 1);
	end(z);
}

int
main(void)
{
	damaged();
	bounded();
	left_behind();
	closed_to_others();
	replaced_while_read();
	evicted_while_read();
	errors_are_survived();
	return check_end();
}
