#include "fuse/log_once.h"

#include "base/clean.h"
#include "base/log.h"
#include "base/clock.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

enum { LINES = 128, KINDS = 64, QUIET = 60 /* s */, LENGTH = 1400 };
/* So many lines of one kind are said, whatever they are about: a bucket that is dropped fails each
 * file there is. */
enum { ALIKE = 8 };

/* A line that was said, by its hash; which lines share a slot is chance, and then both are said. */
struct once_said {
	uint64_t hash;
	int64_t until;
	unsigned more;
};

/* Of the lines with one kind of cause. */
struct cause_kind {
	uint64_t hash;
	int64_t until;
	unsigned said, more;
};

static struct {
	pthread_mutex_t lock; /* guards all below */
	struct once_said line[LINES];
	struct cause_kind kind[KINDS];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* How a line is to be said, if it is. */
struct saying {
	unsigned more;  /* how often it was not, since it was last */
	unsigned alike; /* how many of its kind were not */
	bool last;      /* further ones of its kind will not be */
};

/* Past the number that a server gave the request, if that is what comes now. */
static const char *
skip_request(const char *at)
{
	static const char start[] = "(request ";
	const char *end = strncmp(at, start, sizeof start - 1) ? NULL : strchr(at, ')');
	return end ? end + 1 : at;
}

static uint64_t
hash_line(const char *text)
{
	uint64_t h = HASH_START;
	for (; *(text = skip_request(text)); text++)
		h = hash_bytes(h, text, 1);
	return h;
}

static const char LETTERS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* A name in quotes, a number or an id, but for the three digits of an HTTP status: how long it is.
 * 0: something else. */
static size_t
particular(const char *at)
{
	enum { STATUS = 3 };
	size_t n = strspn(at, LETTERS);
	const char *end = *at == '\'' ? strchr(at + 1, '\'') : NULL;
	if (end)
		return (size_t)(end + 1 - at);
	return n > STATUS && strcspn(at, "0123456789") < n ? n : 0;
}

/* What two files have in common that fail for the same reason: the words. */
static uint64_t
hash_kind(const char *text)
{
	uint64_t h = HASH_START;
	while (*(text = skip_request(text))) {
		size_t skip = particular(text), n = skip ? 0 : strspn(text, LETTERS);
		const char *end = text + (skip + n ? skip + n : 1);
		text += skip;
		h = hash_bytes(h, text, (size_t)(end - text));
		text = end;
	}
	return h;
}

/* Should it be said now? */
static bool
say_now(const char *line, const char *cause, struct saying *ret)
{
	uint64_t h = hash_line(line), kind = hash_kind(cause);
	int64_t now = clock_now();
	LOCKED(&memory.lock) {
		struct once_said *s = &memory.line[h % LINES];
		struct cause_kind *k = &memory.kind[kind % KINDS];
		bool known = s->hash == h;
		if (known && now < s->until) {
			s->more++;
			return false;
		}
		if (k->hash != kind)
			*k = (struct cause_kind){.hash = kind};
		if (now >= k->until)
			*k = (struct cause_kind){kind, now + QUIET * SECOND, 0, k->more};
		if (k->said >= ALIKE) {
			k->more++;
			return false;
		}
		k->said++;
		*ret = (struct saying){known ? s->more : 0, k->more, k->said == ALIKE};
		k->more = 0;
		*s = (struct once_said){h, now + QUIET * SECOND, 0};
	}
	return true;
}

void
log_once(const struct log_once_line *c)
{
	char line[LENGTH], times[64] = "", alike[48] = "";
	struct saying how;
	bool child = c->name && *c->name;
	const char *path = *c->path || child ? c->path : "/";
	snprintf(line, sizeof line, "cannot %s '%s%s%s': %s", c->verb, path,
		child && *path ? "/" : "", child ? c->name : "",
		*c->cause ? c->cause : "no reason given");
	if (!say_now(line, c->cause, &how))
		return;
	if (how.more)
		snprintf(times, sizeof times, " (and %u times more since this was last said)",
			how.more);
	if (how.alike)
		snprintf(alike, sizeof alike, " (and %u other failures like it)", how.alike);
	log_error("%s%s%s%s", line, times, alike,
		how.last ? " (what else fails like this is counted for a minute)" : "");
}

void
log_once_note(void *arg, const char *line)
{
	log_warn("%s", line);
}
