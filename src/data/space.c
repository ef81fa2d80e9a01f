#include "data/space.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/clock.h"
#include "base/links.h"
#include "base/map.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct space {
	struct link idle; /* among those without references */
	struct map_entry by_name;
	size_t refs;
	bool kept; /* one of the references is for good */
	uint64_t number;
	uint64_t extent;
	int64_t grown; /* when it was found to be another; 0: never */
	size_t len;
	char name[];
};

struct spaces {
	pthread_mutex_t lock; /* guards all below */
	struct map by_name;
	struct links idle; /* the first one is in it for longest */
	size_t idle_bytes;
	uint64_t last;
};

int
spaces_new(struct spaces **ret)
{
	struct spaces *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory");
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

struct spaces *
spaces_free(struct spaces *s)
{
	if (!s)
		return NULL;
	for (struct map_entry *e = map_walk(&s->by_name, NULL), *next; e; e = next) {
		next = map_walk(&s->by_name, e);
		free(MAP_OF(e, struct space, by_name));
	}
	map_done(&s->by_name);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

static struct space *
find(const struct spaces *s, const struct space_name *n, uint64_t hash)
{
	for (struct map_entry *e = map_first(&s->by_name, hash); e; e = map_next(e)) {
		struct space *a = MAP_OF(e, struct space, by_name);
		if (a->len == n->len && !memcmp(a->name, n->name, n->len))
			return a;
	}
	return NULL;
}

/* Of memory. */
static size_t
size_of(const struct space *e)
{
	return sizeof *e + e->len;
}

static void
forget(struct spaces *s, struct space *e)
{
	map_remove(&s->by_name, &e->by_name);
	links_remove(&s->idle, &e->idle);
	s->idle_bytes -= size_of(e);
	free(e);
}

int
spaces_get(struct spaces *s, const struct space_name *n, struct space **ret, int64_t *ret_grown)
{
	const uint64_t hash = hash_end(hash_bytes(HASH_START, n->name, n->len));
	struct space *new = malloc(sizeof *new + n->len), *e = NULL;
	if (!new)
		return err_set(-ENOMEM, "no memory for the name of an array");
	LOCKED(&s->lock) {
		e = find(s, n, hash);
		if (!e) {
			*new = (struct space){
				.number = ++s->last, .extent = n->extent, .len = n->len};
			memcpy(new->name, n->name, n->len);
			e = MOVE(new);
			map_add(&s->by_name, &e->by_name, hash);
		} else if (!e->refs) {
			links_remove(&s->idle, &e->idle);
			s->idle_bytes -= size_of(e);
		}
		e->refs++;
		if (e->extent != n->extent) {
			e->extent = n->extent;
			e->grown = clock_now();
		}
		*ret = e;
		*ret_grown = e->grown;
	}
	free(new);
	return 0;
}

uint64_t
space_number(const struct space *e)
{
	return e->number;
}

struct space *
spaces_put(struct spaces *s, struct space *e)
{
	if (!e)
		return NULL;
	LOCKED(&s->lock) {
		if (!--e->refs) {
			links_append(&s->idle, &e->idle);
			s->idle_bytes += size_of(e);
		}
		while (s->idle_bytes > SPACES_IDLE)
			forget(s, (struct space *)s->idle.first);
	}
	return NULL;
}

void
spaces_keep(struct spaces *s, struct space *e)
{
	LOCKED(&s->lock) {
		e->refs += !e->kept;
		e->kept = true;
	}
}
