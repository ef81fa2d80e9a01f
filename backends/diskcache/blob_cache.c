#include "backends/diskcache/blob_cache_impl.h"

#include "base/hash.h"
#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

/* The last part of its name changes with what is written into it. */
static const char FOLDER[] = "zarrfs-objects-2", LOCK[] = "lock", TALLY[] = "tally";

enum {
	HEAD_MAX = 8192,   /* head and id */
	PIECE = 256 << 10, /* of which sums are taken while it lies in the processor's cache */
	SHARE_MAX = 4,     /* one copy is at most this part of all */
};

/* Of a copy's file, in this machine's byte order; magic tells if another wrote it. Behind it the
 * id, then the bytes. */
struct blob_head {
	uint64_t magic;
	uint32_t head_crc; /* of what follows it up to the end of the id */
	uint32_t bytes_crc;
	uint64_t len, size;
	int64_t mtime, since;
	char version[ZMAP_VERSION];
	uint32_t id_len, zero;
};

static const uint64_t MAGIC = 0x317466735272617a;
static const size_t SUMMED = offsetof(struct blob_head, bytes_crc);

static void
clean_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void
add(struct blob_cache *d, enum blob_cache_count which)
{
	atomic_fetch_add_explicit(&d->count[which], 1, memory_order_relaxed);
}

void
blob_cache_tell(struct blob_cache *d, const char *doing)
{
	long long now = clock_now(), due = atomic_load(&d->next_word);
	add(d, BLOB_CACHE_FAILED);
	if (!d->warn || now < due ||
		!atomic_compare_exchange_strong(&d->next_word, &due, now + 60 * SECOND))
		return;
	err_add(-EIO, "the disk cache cannot %s", doing);
	d->warn(err_text());
}

/* --- names --- */

/* "ab/abcdef…": by two sums that together are as good as one of 64 bits. A reader that finds
 * another id there finds nothing. */
static void
name_of(const char *id, char name[3 + BLOB_CACHE_NAME + 1])
{
	uint64_t h = hash_bytes(HASH_START, id, strlen(id));
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93;
	h ^= h >> 32;
	snprintf(name, 3 + BLOB_CACHE_NAME + 1, "%02x/%016" PRIx64, (unsigned)(h >> 56), h);
}

/* What a file takes of the disk. */
static uint64_t
footprint(uint64_t bytes)
{
	return round_up(bytes, BLOB_CACHE_BLOCK);
}

static void
tally_add(struct blob_cache *d, uint64_t bytes)
{
	atomic_fetch_add(&d->tally->bytes, bytes);
}

static void
tally_sub(struct blob_cache *d, uint64_t bytes)
{
	unsigned long long is = atomic_load(&d->tally->bytes);
	while (!atomic_compare_exchange_weak(&d->tally->bytes, &is, is > bytes ? is - bytes : 0))
		;
}

/* --- finding and reading --- */

static int64_t
ns(struct timespec t)
{
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* Is this the head of a copy of id, in a file of that size? */
static bool
sound(const struct blob_head *h, size_t got, const char *id, uint64_t file_size)
{
	size_t len = strlen(id);
	return got >= sizeof *h + len && h->magic == MAGIC && h->id_len == len &&
	       h->len <= file_size && file_size - h->len == sizeof *h + len &&
	       memchr(h->version, 0, sizeof h->version) && !memcmp(h + 1, id, len) &&
	       h->head_crc ==
		       libdeflate_crc32(0, (const uint8_t *)h + SUMMED, sizeof *h + len - SUMMED);
}

bool
blob_cache_find(struct blob_cache *d, const char *id, struct blob_cache_copy *ret)
{
	char name[3 + BLOB_CACHE_NAME + 1];
	_Alignas(struct blob_head) uint8_t bytes[HEAD_MAX];
	const struct blob_head *h = (const void *)bytes;
	struct stat s;
	*ret = (struct blob_cache_copy){.fd = -1};
	name_of(id, name);
	CLEAN(clean_fd)
	int fd = openat(d->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
		return false;
	ssize_t got = pread(fd, bytes, sizeof bytes, 0);
	if (got < (ssize_t)sizeof *h || !sound(h, (size_t)got, id, (uint64_t)s.st_size))
		return false;
	*ret = (struct blob_cache_copy){
		.fd = fd,
		.stat = {.size = h->size, .mtime = h->mtime},
		.len = h->len,
		.checked = ns(s.st_mtim),
		.since = h->since,
		.used = ns(s.st_atim),
		.crc = h->bytes_crc,
		.at = sizeof *h + h->id_len,
	};
	memcpy(ret->stat.version, h->version, sizeof h->version);
	fd = -1;
	return true;
}

void
blob_cache_done(struct blob_cache_copy *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static bool
read_bytes(const struct blob_cache_copy *c, uint8_t *to)
{
	uint32_t crc = 0;
	for (size_t done = 0; done < c->len;) {
		size_t n = min_u64(PIECE, c->len - done);
		ssize_t got = pread(c->fd, to + done, n, (off_t)(c->at + done));
		if (got <= 0)
			return false;
		crc = libdeflate_crc32(crc, to + done, (size_t)got);
		done += (size_t)got;
	}
	return crc == c->crc;
}

/* Being used is what keeps a copy; noted in the file's time of access, whatever the file system
 * does by itself. */
static void
note_use(struct blob_cache_copy *c)
{
	const int64_t often = 60 * SECOND;
	const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
	if (clock_wall() - c->used > often)
		futimens(c->fd, times);
}

bool
blob_cache_read(struct blob_cache *d, const char *id, struct blob_cache_copy *c, struct buf *into)
{
	if (buf_reserve(into, into->len + c->len) < 0)
		return false;
	if (!read_bytes(c, into->data + into->len)) {
		add(d, BLOB_CACHE_DAMAGED);
		blob_cache_drop(d, id);
		return false;
	}
	into->len += c->len;
	add(d, BLOB_CACHE_FOUND);
	note_use(c);
	return true;
}

/* When the store was asked, in the file's time of modification. */
static void
note_check(int fd, int64_t checked)
{
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_NOW}, {checked / SECOND, checked % SECOND}};
	futimens(fd, times); /* failing, it is asked about again, or was a little later */
}

void
blob_cache_still_right(struct blob_cache_copy *c, int64_t checked)
{
	note_check(c->fd, checked);
}

/* --- keeping --- */

uint64_t
blob_cache_room(const struct blob_cache *d)
{
	struct statvfs s;
	if (fstatvfs(d->dir, &s) != 0)
		return 0;
	uint64_t spare = ceil_div(s.f_blocks, BLOB_CACHE_SPARE_SHARE), free = s.f_bavail;
	return free > spare ? (free - spare) * s.f_frsize : 0;
}

static int
write_all(int fd, struct iovec *part, int parts)
{
	while (parts) {
		ssize_t n = writev(fd, part, parts);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(n ? errno : EIO, "write");
		for (; parts && (size_t)n >= part->iov_len; part++, parts--)
			n -= (ssize_t)part->iov_len;
		if (parts) {
			part->iov_base = (uint8_t *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* A new file in the directory that name lies in, which is made if need be. */
static int
make_file(struct blob_cache *d, const char *name, char temp[40], int *ret)
{
	uint64_t random = 0;
	char folder[3] = {name[0], name[1]};
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return err_sys(errno, "getrandom");
	snprintf(temp, 40, "%.3s" BLOB_CACHE_TEMPORARY "%016" PRIx64, name, random);
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = openat(d->dir, temp, flags, 0600);
	if (fd < 0 && errno == ENOENT) {
		if (mkdirat(d->dir, folder, 0700) != 0 && errno != EEXIST)
			return err_sys(errno, "make a directory");
		fd = openat(d->dir, temp, flags, 0600);
	}
	if (fd < 0)
		return err_sys(errno, "make a file");
	*ret = fd;
	return 0;
}

static int
write_copy(struct blob_cache *d, const char *name, struct iovec *part, int parts, int64_t checked)
{
	char temp[40];
	CLEAN(clean_fd) int fd = -1;
	struct stat old;
	int r = make_file(d, name, temp, &fd);
	if (r < 0)
		return r;
	r = write_all(fd, part, parts);
	note_check(fd, checked);
	bool replaces = fstatat(d->dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0;
	if (r == 0 && renameat(d->dir, temp, d->dir, name) != 0)
		r = err_sys(errno, "rename");
	if (r < 0)
		unlinkat(d->dir, temp, 0);
	else if (replaces)
		tally_sub(d, footprint((uint64_t)old.st_size));
	return r;
}

/* Is there room, by what is known of all? Taken if so. others: bytes that are under way besides. */
static bool
take_room(struct blob_cache *d, uint64_t need, uint64_t others)
{
	if (need > d->size / SHARE_MAX)
		return false;
	if (blob_cache_room(d) < need + others) {
		blob_cache_wake_cleaner(d);
		return false;
	}
	tally_add(d, need);
	uint64_t all = atomic_load(&d->tally->bytes);
	if (all > d->size / 100 * BLOB_CACHE_WAKE_AT)
		blob_cache_wake_cleaner(d);
	if (all <= d->size)
		return true;
	tally_sub(d, need);
	return false;
}

static void
keep(struct blob_cache *d, const char *name, struct iovec part[2], int64_t checked)
{
	uint64_t need = footprint(part[0].iov_len + part[1].iov_len);
	uint64_t others = atomic_fetch_add(&d->under_way, need);
	if (!take_room(d, need, others)) {
		add(d, BLOB_CACHE_FULL);
	} else if (write_copy(d, name, part, part[1].iov_len ? 2 : 1, checked) < 0) {
		tally_sub(d, need);
		blob_cache_tell(d, "keep a copy");
	} else {
		add(d, BLOB_CACHE_KEPT);
	}
	atomic_fetch_sub(&d->under_way, need);
}

void
blob_cache_keep(struct blob_cache *d, const char *id, const struct zmap_stat *s, struct span bytes,
	int64_t checked)
{
	char name[3 + BLOB_CACHE_NAME + 1];
	size_t id_len = strlen(id);
	CLEAN(clean_free) struct blob_head *h = calloc(1, sizeof *h + id_len);
	if (!h || sizeof *h + id_len > HEAD_MAX)
		return;
	*h = (struct blob_head){
		.magic = MAGIC,
		.bytes_crc = libdeflate_crc32(0, bytes.data, bytes.len),
		.len = bytes.len,
		.size = s->size,
		.mtime = s->mtime,
		.since = clock_wall(),
		.id_len = (uint32_t)id_len,
	};
	memcpy(h->version, s->version, sizeof h->version);
	memcpy(h + 1, id, id_len);
	h->head_crc = libdeflate_crc32(0, (uint8_t *)h + SUMMED, sizeof *h + id_len - SUMMED);
	name_of(id, name);
	keep(d, name,
		(struct iovec[]){
			{h, sizeof *h + id_len}, {(void *)(uintptr_t)bytes.data, bytes.len}},
		checked);
}

void
blob_cache_drop(struct blob_cache *d, const char *id)
{
	char name[3 + BLOB_CACHE_NAME + 1];
	struct stat s;
	name_of(id, name);
	if (fstatat(d->dir, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(d->dir, name, 0) == 0)
		tally_sub(d, footprint((uint64_t)s.st_size));
}

/* --- opening --- */

/* No other user may read what credentials were needed for, or put something in. */
static int
open_own(int at, const char *path, bool private, int *ret)
{
	struct stat s;
	if (mkdirat(at, path, 0700) != 0 && errno != EEXIST)
		return err_sys(errno, "cannot make '%s'", path);
	CLEAN(clean_fd) int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s) != 0)
		return err_sys(errno, "cannot open '%s'", path);
	mode_t others = private ? 077 : 022;
	if (s.st_uid != geteuid() || s.st_mode & others)
		return err_set(
			-EACCES, "'%s' must be yours, and closed to others (mode 0700)", path);
	*ret = fd;
	fd = -1;
	return 0;
}

/* Its place on the disk is taken now: a page that is mapped and finds none later is a deadly
 * signal. */
static int
map_tally(struct blob_cache *d)
{
	CLEAN(clean_fd) int fd = openat(d->dir, TALLY, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int e = posix_fallocate(fd, 0, sizeof *d->tally);
	if (e)
		return -e;
	void *p = mmap(NULL, sizeof *d->tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	d->tally = p;
	return 0;
}

int
blob_cache_open(
	const char *dir, uint64_t size, void (*warn)(const char *what), struct blob_cache **ret)
{
	CLEAN(clean_fd) int above = -1;
	struct blob_cache *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(-ENOMEM, "no memory for a cache");
	d->dir = d->lock_file = -1;
	d->size = size;
	d->warn = warn;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->woken, NULL);
	pthread_cond_init(&d->rested, NULL);
	int r = open_own(AT_FDCWD, dir, false, &above);
	if (r == 0)
		r = open_own(above, FOLDER, true, &d->dir);
	if (r == 0) {
		d->lock_file = openat(d->dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		r = d->lock_file < 0 ? -errno : map_tally(d);
		if (r < 0)
			err_sys(-r, "cannot write to '%s'", dir);
	}
	if (r == 0)
		r = blob_cache_start_cleaner(d);
	if (r < 0) {
		blob_cache_close(d);
		return err_add(r, "disk cache");
	}
	*ret = d;
	return 0;
}

struct blob_cache *
blob_cache_close(struct blob_cache *d)
{
	if (!d)
		return NULL;
	blob_cache_stop_cleaner(d);
	if (d->tally)
		munmap(d->tally, sizeof *d->tally);
	clean_fd(&d->lock_file);
	clean_fd(&d->dir);
	pthread_cond_destroy(&d->rested);
	pthread_cond_destroy(&d->woken);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return NULL;
}

int
blob_cache_stats(struct blob_cache *d, struct buf *ret)
{
	static const char *const what[BLOB_CACHE_COUNTS] = {
		[BLOB_CACHE_FOUND] = "read",
		[BLOB_CACHE_KEPT] = "kept",
		[BLOB_CACHE_DAMAGED] = "damaged",
		[BLOB_CACHE_FULL] = "no_room",
		[BLOB_CACHE_FAILED] = "failed",
		[BLOB_CACHE_REMOVED] = "removed",
	};
	int r = buf_addf(ret, "# TYPE zarrfs_disk_cache_objects_total counter\n");
	for (unsigned i = 0; i < BLOB_CACHE_COUNTS && r == 0; i++)
		r = buf_addf(ret, "zarrfs_disk_cache_objects_total{what=\"%s\"} %llu\n", what[i],
			atomic_load(&d->count[i]));
	return r < 0 ? r
		     : buf_addf(ret,
			       "# TYPE zarrfs_disk_cache_bytes gauge\nzarrfs_disk_cache_bytes "
			       "%llu\n",
			       atomic_load(&d->tally->bytes));
}
