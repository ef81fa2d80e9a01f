#include "data/space.h"

#include "base/clean.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

enum { BUCKETS = 1 << 10 };

struct space {
	struct space *next;
	uint64_t number;
	size_t len;
	char name[];
};

struct spaces {
	pthread_mutex_t lock; /* guards all below */
	struct space *bucket[BUCKETS];
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
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
	return &s->bucket[h % BUCKETS];
}

int
spaces_number(struct spaces *s, const char *name, size_t len, uint64_t *ret)
{
	struct space *new = malloc(sizeof *new + len), *e = NULL, **b = bucket_of(s, name, len);
	if (!new)
		return err_set(-ENOMEM, "no memory for the name of an array");
	LOCKED(&s->lock) {
		for (e = *b; e && (e->len != len || memcmp(e->name, name, len)); e = e->next)
			;
		if (!e) {
			*new = (struct space){.next = *b, .number = ++s->last, .len = len};
			memcpy(new->name, name, len);
			*b = e = MOVE(new);
		}
		*ret = e->number;
	}
	free(new);
	return 0;
}
