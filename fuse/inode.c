#include "fuse/inode.h"

#include "fuse/shown.h"

#include "base/clock.h"
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct inodes {
	pthread_mutex_t lock; /* guards all below, and the first members of every inode */
	struct map by_path;
	struct inode *root;
};

static struct inode_seen
seen_of(const struct entry *e)
{
	return (struct inode_seen){e->size, e->mtime, e->mode};
}

/* An id is the address of its inode, except the root's. */
struct inode *
inodes_at(struct inodes *t, uint64_t id)
{
	return id == INODE_ROOT ? t->root : (struct inode *)(uintptr_t)id;
}

uint64_t
inodes_id(struct inodes *t, const struct inode *i)
{
	return i == t->root ? INODE_ROOT : (uintptr_t)i;
}

static struct inode *
inode_new(const struct entry *e)
{
	size_t len = strlen(e->path) + 1;
	struct inode *i = calloc(1, sizeof *i + len);
	if (!i)
		return NULL;
	i->version = e->version;
	i->ino = e->ino;
	i->special = e->special;
	i->born = clock_now();
	memcpy(i->path, e->path, len);
	return i;
}

static void
insert(struct inodes *t, struct inode *i)
{
	map_add(&t->by_path, &i->by_path, hash_name(i->path));
}

/* An inode of the path: the first one, and the one behind it. */
static struct inode *
next_of(const struct inodes *t, const char *path, const struct inode *i)
{
	struct map_entry *e = i ? map_next(&i->by_path) : map_first(&t->by_path, hash_name(path));
	for (; e; e = map_next(e)) {
		struct inode *of = MAP_OF(e, struct inode, by_path);
		if (!strcmp(of->path, path))
			return of;
	}
	return NULL;
}

static void
free_inode(struct inode *i)
{
	free(i->pages); /* as page_coherence_free: */
	shown_free(i->shown);
	free(i);
}

/* Called with the lock held: frees inodes without references. */
static void
settle(struct inodes *t, struct inode *i)
{
	if (i->lookups || i->refs || i == t->root)
		return;
	map_remove(&t->by_path, &i->by_path);
	free_inode(i);
}

int
inodes_new(const struct entry *root, struct inodes **ret)
{
	struct inodes *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "no memory for inodes");
	pthread_mutex_init(&t->lock, NULL);
	t->root = inode_new(root);
	if (!t->root) {
		inodes_free(t);
		return err_set(-ENOMEM, "no memory for inodes");
	}
	t->root->seen = seen_of(root);
	insert(t, t->root);
	*ret = t;
	return 0;
}

struct inodes *
inodes_free(struct inodes *t)
{
	if (!t)
		return NULL;
	for (struct map_entry *e = map_walk(&t->by_path, NULL), *next; e; e = next) {
		next = map_walk(&t->by_path, e);
		free_inode(MAP_OF(e, struct inode, by_path));
	}
	map_done(&t->by_path);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

static struct inode *
find(struct inodes *t, const char *path, uint64_t version)
{
	struct inode *i = next_of(t, path, NULL);
	while (i && (i->version != version || i->retired))
		i = next_of(t, path, i);
	return i;
}

/* In whatever layout, retired or not. */
static bool
is_known(struct inodes *t, const char *path)
{
	return next_of(t, path, NULL);
}

/* The kernel is about to be told what the entry says, and drops its pages where the time or the
 * size is another one. The lock is held. */
static void
see(struct inode *i, const struct entry *e)
{
	struct inode_seen s = seen_of(e);
	atomic_fetch_add(&i->answered, 1);
	if (s.mtime != i->seen.mtime || s.size != i->seen.size)
		atomic_store(&i->changed, clock_now());
	if (atomic_exchange(&i->known, s.size) != s.size) {
		atomic_store(&i->resized, clock_now());
		i->fresh = !i->seen.mode;
	}
	i->seen = s;
}

static void
raise_to(_Atomic uint64_t *to, uint64_t n)
{
	uint64_t was = atomic_load(to);
	while (n > was && !atomic_compare_exchange_weak(to, &was, n))
		;
}

void
inode_reach(struct inode *i, uint64_t end)
{
	atomic_fetch_add(&i->answered, 1);
	raise_to(&i->reached, end);
	raise_to(&i->known, end);
}

void
inodes_arrived(struct inodes *t, struct inode *i)
{
	LOCKED(&t->lock) {
		if (i->fresh)
			atomic_store(&i->resized, 0);
		i->fresh = false;
	}
}

int
inodes_look_up(struct inodes *t, const struct entry *e, uint64_t *ret)
{
	CLEAN(clean_free) struct inode *fresh = inode_new(e);
	if (!fresh)
		return err_set(-ENOMEM, "no memory for an inode");
	LOCKED(&t->lock) {
		struct inode *i = *e->path ? find(t, e->path, e->version) : t->root;
		if (!i) {
			i = MOVE(fresh);
			i->beside = is_known(t, e->path);
			insert(t, i);
		}
		i->lookups++;
		see(i, e);
		*ret = inodes_id(t, i);
	}
	return 0;
}

void
inodes_forget(struct inodes *t, uint64_t id, uint64_t lookups)
{
	struct inode *i = inodes_at(t, id);
	LOCKED(&t->lock) {
		assert(i == t->root || i->lookups >= lookups);
		i->lookups -= lookups < i->lookups ? lookups : i->lookups;
		settle(t, i);
	}
}

struct inode *
inodes_get(struct inodes *t, uint64_t id)
{
	struct inode *i = inodes_at(t, id);
	LOCKED(&t->lock)
		i->refs++;
	return i;
}

void
inodes_put(struct inodes *t, struct inode *i)
{
	if (!i)
		return;
	LOCKED(&t->lock) {
		i->refs--;
		settle(t, i);
	}
}

bool
inodes_see(struct inodes *t, struct inode *i, const struct entry *e)
{
	bool is = e->version == i->version || i == t->root;
	LOCKED(&t->lock) {
		is = is && !i->dead;
		if (is)
			see(i, e);
	}
	return is;
}

bool
inodes_takes_end(struct inodes *t, struct inode *i, uint64_t off, uint64_t len)
{
	bool takes = false;
	LOCKED(&t->lock) {
		const unsigned told = atomic_load(&i->told);
		const struct inode_refused was = i->refused,
					   now = {off, off + len, told + atomic_load(&i->answered),
						   told == atomic_load(&i->heard) &&
							   atomic_load(&i->answering) == 1};
		takes = now.quiet && was.quiet && now.known == was.known && was.from <= off &&
			off < was.to;
		if (takes)
			atomic_store(&i->resized, clock_now());
		else
			i->refused = now;
	}
	return takes;
}

struct inode_seen
inodes_seen(struct inodes *t, struct inode *i)
{
	struct inode_seen s = {0};
	LOCKED(&t->lock)
		s = i->seen;
	return s;
}

/* Sets a flag and tells what it was. */
static bool
exchange(struct inodes *t, bool *flag, bool now)
{
	bool was = false;
	LOCKED(&t->lock) {
		was = *flag;
		*flag = now;
	}
	return was;
}

bool
inodes_retire(struct inodes *t, struct inode *i)
{
	return !exchange(t, &i->retired, true);
}

void
inodes_end(struct inodes *t, struct inode *i)
{
	LOCKED(&t->lock)
		i->retired = i->dead = true;
}

bool
inodes_ended(struct inodes *t, struct inode *i)
{
	bool ended = false;
	LOCKED(&t->lock)
		ended = i->dead;
	return ended;
}

size_t
inodes_of_path(struct inodes *t, const char *path, struct inode **ret, size_t max)
{
	size_t n = 0;
	LOCKED(&t->lock) {
		for (struct inode *i = next_of(t, path, NULL); i && n < max;
			i = next_of(t, path, i)) {
			i->refs++;
			ret[n++] = i;
		}
	}
	return n;
}

uint64_t
inodes_ino(struct inodes *t, const char *path)
{
	uint64_t ino = 0;
	LOCKED(&t->lock) {
		for (struct inode *i = next_of(t, path, NULL); i && !ino; i = next_of(t, path, i))
			ino = i->ino;
	}
	return ino;
}

size_t
inodes_count(struct inodes *t)
{
	size_t n = 0;
	LOCKED(&t->lock)
		n = t->by_path.n;
	return n;
}
