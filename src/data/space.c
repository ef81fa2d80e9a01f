#include "data/space.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/clock.h"
#include "base/links.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { BUCKETS = 1 << 13 };

struct space {
	struct link idle; /* among those without references */
	struct space *next;
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
	struct space *bucket[BUCKETS];
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
	for (int i = 0; i < BUCKETS; i++)
		for (struct space *e; (e = s->bucket[i]);) {
			s->bucket[i] = e->next;
			free(e);
		}
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

static struct space **
bucket_of(struct spaces *s, const char *name, size_t len)
{
	return &s->bucket[hash_bytes(HASH_START, name, len) % BUCKETS];
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
	struct space **at = bucket_of(s, e->name, e->len);
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	links_remove(&s->idle, &e->idle);
	s->idle_bytes -= size_of(e);
	free(e);
}

int
spaces_get(struct spaces *s, const struct space_name *n, struct space **ret, int64_t *ret_grown)
{
	const char *name = n->name;
	size_t len = n->len;
	struct space *new = malloc(sizeof *new + len), *e = NULL, **b = bucket_of(s, name, len);
	if (!new)
		return err_set(-ENOMEM, "no memory for the name of an array");
	LOCKED(&s->lock) {
		for (e = *b; e && (e->len != len || memcmp(e->name, name, len)); e = e->next)
			;
		if (!e) {
			*new = (struct space){
				.next = *b, .number = ++s->last, .extent = n->extent, .len = len};
			memcpy(new->name, name, len);
			*b = e = MOVE(new);
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
