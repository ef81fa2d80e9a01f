/* Taking away the copies that were not used for longest, in a thread of its own. */
#include "backends/diskcache/blob_cache_impl.h"

#include "base/check.h"
#include "base/err.h"
#include "base/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FOLDERS = 256,
	BEGIN_AT = 94,        /* percent of what may be, a little less than it is woken at */
	END_AT = 85,          /* and down to this */
	REST = 10,            /* times longer than a cleaning took: until the next one */
	TEMPORARY_AGE = 3600, /* s: the process that was writing it died */
};

struct blob_file {
	int64_t used;
	uint64_t bytes, name;
};

struct files {
	struct blob_file *of;
	size_t count;
	uint64_t bytes;
};

static void
files_done(struct files *f)
{
	free(f->of);
}

static void
clean_dir(DIR **p)
{
	if (*p)
		closedir(*p);
}

static int
add_file(struct files *f, uint64_t name, const struct stat *s)
{
	uint64_t bytes = round_up((uint64_t)s->st_size, BLOB_CACHE_BLOCK);
	int64_t used = (int64_t)s->st_atim.tv_sec * SECOND + s->st_atim.tv_nsec;
	int r = LIST_ADD(f->of, f->count, "names", (struct blob_file){used, bytes, name});
	f->bytes += r == 0 ? bytes : 0;
	return r;
}

static int
see(DIR *dir, const char *name, struct files *f)
{
	struct stat s;
	char *end;
	if (*name == '.' || fstatat(dirfd(dir), name, &s, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (!strncmp(name, BLOB_CACHE_TEMPORARY, sizeof BLOB_CACHE_TEMPORARY - 1)) {
		if (s.st_mtim.tv_sec < time(NULL) - TEMPORARY_AGE)
			unlinkat(dirfd(dir), name, 0);
		else
			f->bytes += round_up((uint64_t)s.st_size, BLOB_CACHE_BLOCK);
		return 0;
	}
	uint64_t number = strtoull(name, &end, 16);
	return strlen(name) == BLOB_CACHE_NAME && !*end ? add_file(f, number, &s) : 0;
}

static int
scan(struct blob_cache *d, struct files *f)
{
	for (unsigned i = 0; i < FOLDERS; i++) {
		char folder[3];
		snprintf(folder, sizeof folder, "%02x", i);
		int fd = openat(d->dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		CLEAN(clean_dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
		if (!dir && fd >= 0)
			close(fd);
		for (const struct dirent *e; dir && (e = readdir(dir));) {
			int r = atomic_load(&d->ending) ? err_set(-EINTR, "it ends")
							: see(dir, e->d_name, f);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int
by_use(const void *x, const void *y)
{
	const struct blob_file *a = x, *b = y;
	return a->used < b->used ? -1 : a->used > b->used;
}

/* What all copies may take: what was said, and no more than lets the spare part of the disk be. */
static uint64_t
limit(const struct blob_cache *d, uint64_t bytes)
{
	uint64_t room = blob_cache_room(d);
	return min_u64(d->size, bytes + room > bytes ? bytes + room : bytes);
}

static void
take_away(struct blob_cache *d, struct files *f)
{
	uint64_t most = limit(d, f->bytes);
	/* a disk that is full to its spare part gives nothing back by itself: some is made free */
	if (f->bytes <= most / 100 * BEGIN_AT)
		return;
	qsort(f->of, f->count, sizeof *f->of, by_use);
	for (size_t i = 0; i < f->count && f->bytes > most / 100 * END_AT; i++) {
		char name[3 + BLOB_CACHE_NAME + 1];
		snprintf(name, sizeof name, "%02x/%016" PRIx64, (unsigned)(f->of[i].name >> 56),
			f->of[i].name);
		if (atomic_load(&d->ending))
			return;
		if (unlinkat(d->dir, name, 0) != 0 && errno != ENOENT) {
			err_sys(errno, "unlink");
			blob_cache_tell(d, "take away old copies");
			return;
		}
		f->bytes -= f->of[i].bytes;
		atomic_fetch_add(&d->count[BLOB_CACHE_REMOVED], 1);
	}
}

static void
clean(struct blob_cache *d)
{
	CLEAN(files_done) struct files f = {0};
	if (flock(d->lock_file, LOCK_EX | LOCK_NB) != 0)
		return; /* another process is about it */
	uint64_t before = atomic_load(&d->tally->bytes);
	int r = scan(d, &f);
	if (r == 0) {
		uint64_t since =
			atomic_load(&d->tally->bytes); /* what came meanwhile, seen or not */
		take_away(d, &f);
		atomic_store(&d->tally->bytes, f.bytes + (since > before ? since - before : 0));
	} else if (r != -EINTR) {
		blob_cache_tell(d, "look for old copies");
	}
	flock(d->lock_file, LOCK_UN);
}

static void *
run(void *arg)
{
	struct blob_cache *d = arg;
	int64_t next = 0; /* what there is no room for until then is not kept */
	for (bool end = false; !end;) {
		LOCKED(&d->lock) {
			d->cleaning = false;
			pthread_cond_broadcast(&d->rested);
			while (!d->wanted && !atomic_load(&d->ending))
				pthread_cond_wait(&d->woken, &d->lock);
			end = atomic_load(&d->ending);
			d->cleaning = d->wanted;
			d->wanted = false;
		}
		int64_t begin = clock_now();
		if (!end && begin >= next) {
			clean(d);
			next = clock_now() + REST * (clock_now() - begin);
		}
	}
	return NULL;
}

void
blob_cache_wake_cleaner(struct blob_cache *d)
{
	LOCKED(&d->lock) {
		if (!d->cleaning) /* else it is about it */
			d->wanted = true;
		pthread_cond_signal(&d->woken);
	}
}

void
blob_cache_settle(struct blob_cache *d)
{
	LOCKED(&d->lock) {
		while (d->wanted || d->cleaning)
			pthread_cond_wait(&d->rested, &d->lock);
	}
}

int
blob_cache_start_cleaner(struct blob_cache *d)
{
	d->wanted = true; /* others may have left too much */
	int e = pthread_create(&d->cleaner, NULL, run, d);
	d->started = e == 0;
	return e ? err_sys(e, "cannot start a thread") : 0;
}

void
blob_cache_stop_cleaner(struct blob_cache *d)
{
	if (!d->started)
		return;
	LOCKED(&d->lock) {
		atomic_store(&d->ending, true);
		pthread_cond_signal(&d->woken);
	}
	pthread_join(d->cleaner, NULL);
}
