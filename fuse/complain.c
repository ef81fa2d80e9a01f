#include "fuse/complain.h"

#include "base/clean.h"
#include "base/log.h"
#include "base/when.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 128, QUIET = 60 /* s */, LENGTH = 1400 };

/* A line that was said, by its hash; which lines share a slot is chance, and then both are said. */
struct said {
	uint64_t hash;
	int64_t until;
	unsigned more;
};

static struct {
	pthread_mutex_t lock; /* guards the lines */
	struct said line[LINES];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t
hash(const char *text)
{
	uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return h;
}

/* Should it be said now? more: how often it was not, since it was last. */
static bool
say_now(const char *line, unsigned *more)
{
	uint64_t h = hash(line);
	int64_t now = when_now();
	bool say = false;
	LOCKED(&memory.lock) {
		struct said *s = &memory.line[h % LINES];
		say = s->hash != h || now >= s->until;
		if (!say) {
			s->more++;
		} else {
			*more = s->hash == h ? s->more : 0;
			*s = (struct said){h, now + QUIET * SECOND, 0};
		}
	}
	return say;
}

void
complain(const struct complaint *c)
{
	char line[LENGTH];
	unsigned more = 0;
	bool child = c->name && *c->name;
	const char *path = *c->path || child ? c->path : "/";
	snprintf(line, sizeof line, "cannot %s '%s%s%s': %s", c->verb, path,
		child && *path ? "/" : "", child ? c->name : "",
		*c->cause ? c->cause : "no reason given");
	if (!say_now(line, &more))
		return;
	if (more)
		log_error("%s (and %u times more since this was last said)", line, more);
	else
		log_error("%s", line);
}

void
complain_note(void *arg, const char *line)
{
	log_warn("%s", line);
}
