/* What one handle of a file has read and written lately. netCDF libraries write whole blocks back,
 * in which they have changed a few bytes: those that are as the handle has seen them are not what
 * its program writes. Not locked: its owner does that. An empty one is {.most = …,
 * .all = …}. */
#pragma once

#include "view/image/held.h"

#include <stdatomic.h>

/* What the handles of all files have noted. */
struct viewed_all {
	atomic_size_t bytes;
	atomic_size_t most; /* from there on each handle forgets of its own what it noted before */
};

struct viewed {
	struct viewed *next;    /* of the same file */
	struct viewed_all *all; /* NULL: it is the only one … */
	size_t counted;         /* … of it, what this one takes */
	struct held young, old; /* what was noted before the last so many bytes goes */
	size_t most;            /* bytes that either may take */
	unsigned file;          /* which bytes the file had then: see viewed_of */
};

void viewed_free(struct viewed *); /* what it holds, not itself */
/* All is forgotten if the file was cut since: `file` is another number then. */
void viewed_of(struct viewed *, unsigned file);
void viewed_note(struct viewed *, uint64_t off, struct span bytes);
/* By another handle it has become something else. */
void viewed_drop(struct viewed *, uint64_t from, uint64_t to);
/* Was each of [from, to) seen? */
bool viewed_has(const struct viewed *, uint64_t from, uint64_t to);
/* Lays what was seen of [off, off + n) over the bytes at `to`. */
void viewed_lay(const struct viewed *, uint64_t off, size_t n, uint8_t *to);
/* What bytes that are written at `off` are compared with: those that were seen there, and others
 * where none were. s NULL: nowhere. */
void viewed_show(const struct viewed *s, uint64_t off, struct span bytes, uint8_t *to);
