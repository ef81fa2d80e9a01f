#include "view/notes.h"

#include "base/err.h"
#include "base/hash.h"

#include <stdarg.h>
#include <stdio.h>

void
notes_init(struct notes *n)
{
	pthread_mutex_init(&n->lock, NULL);
}

void
notes_free(struct notes *n)
{
	pthread_mutex_destroy(&n->lock);
}

void
notes_set(struct notes *n, note_fn *fn, void *arg)
{
	LOCKED(&n->lock) {
		n->fn = fn;
		n->arg = arg;
	}
}

void
notes_add(struct notes *n, const char *fmt, ...)
{
	char line[ERR_TEXT];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	uint64_t h = hash_end(hash_text(HASH_START, line)) | 1;
	note_fn *fn = NULL;
	void *arg = NULL;
	LOCKED(&n->lock) {
		uint64_t *told = &n->told[h % NOTES];
		if (n->fn && *told != h) {
			*told = h;
			fn = n->fn;
			arg = n->arg;
		}
	}
	if (fn)
		fn(arg, line);
}
