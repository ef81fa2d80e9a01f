#include "view/image/viewed.h"

#include "base/check.h"

enum { LAST = 256 << 10 }; /* bytes that are remembered however little memory there is */

static void
count(struct viewed *s)
{
	const size_t now = held_bytes(&s->young) + held_bytes(&s->old);
	if (s->all)
		atomic_fetch_add(&s->all->bytes, now - s->counted);
	s->counted = now;
}

void
viewed_free(struct viewed *s)
{
	held_free(&s->young);
	held_free(&s->old);
	count(s);
}

static bool
too_much(const struct viewed *s)
{
	return s->all && atomic_load(&s->all->bytes) > s->all->most;
}

void
viewed_of(struct viewed *s, unsigned file)
{
	if (s->file != file)
		viewed_free(s);
	s->file = file;
}

/* Where there is no memory, nothing was seen. */
void
viewed_note(struct viewed *s, uint64_t off, struct span bytes)
{
	const size_t last = min_u64(bytes.len, LAST);
	if (held_bytes(&s->young) >= s->most) {
		held_free(&s->old);
		s->old = s->young;
		s->young = (struct held){0};
	}
	if (held_put(&s->young, off, bytes, bytes.data) < 0)
		viewed_free(s);
	count(s);
	if (too_much(s)) {
		held_free(&s->old);
		count(s);
	}
	if (too_much(s) && held_bytes(&s->young) > 2 * LAST) {
		off += bytes.len - last;
		bytes = (struct span){bytes.data + bytes.len - last, last};
		held_free(&s->young);
		held_put(&s->young, off, bytes, bytes.data);
		count(s);
	}
}

void
viewed_drop(struct viewed *s, uint64_t from, uint64_t to)
{
	held_drop(&s->young, from, to);
	held_drop(&s->old, from, to);
	count(s);
}

bool
viewed_has(const struct viewed *s, uint64_t from, uint64_t to)
{
	uint64_t a, b;
	while (from < to) {
		if (held_run(&s->young, from, to, &a, &b) && a == from)
			from = b;
		else if (held_run(&s->old, from, to, &a, &b) && a == from)
			from = b;
		else
			return false;
	}
	return true;
}

void
viewed_lay(const struct viewed *s, uint64_t off, size_t n, uint8_t *to)
{
	held_lay(&s->old, off, n, to);
	held_lay(&s->young, off, n, to);
}

void
viewed_show(const struct viewed *s, uint64_t off, struct span bytes, uint8_t *to)
{
	for (size_t i = 0; i < bytes.len; i++)
		to[i] = (uint8_t)~bytes.data[i];
	if (s)
		viewed_lay(s, off, bytes.len, to);
}
