/* What is left out of a mount, told once each to the log. Any thread. */
#pragma once

#include "base/clean.h"

#include <stdint.h>

typedef void note_fn(void *arg, const char *line);

enum { NOTES = 4096 };

struct notes {
	pthread_mutex_t lock; /* guards all below */
	note_fn *fn;
	void *arg;
	uint64_t told[NOTES]; /* fingerprints; 0: free. A full place is overwritten: then a line may
				 come twice */
};

void notes_init(struct notes *);
void notes_free(struct notes *);
void notes_set(struct notes *, note_fn *, void *arg);
/* Starts lower case, no full stop, as errors do. */
void notes_add(struct notes *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
