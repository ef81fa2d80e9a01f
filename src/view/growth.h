/* How long the arrays of a mount are: many threads may make some longer, from before their rows are
 * stored, through netCDF files or flat ones, until metadata count them; or one makes arrays
 * shorter. */
#pragma once

#include "base/clock.h"

struct cancel;

struct growth {
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t free;
	unsigned growing; /* threads between growth_begin and growth_end */
	unsigned waiting; /* threads in growth_stop */
	bool shrinking;
};

void growth_init(struct growth *);
void growth_free(struct growth *);
/* Until growth_end no array gets shorter. Waits for one that does. -EINTR. */
int growth_begin(struct growth *, struct cancel *);
void growth_end(struct growth *);
/* Until growth_go_on no thread is between growth_begin and growth_end. -EINTR. */
int growth_stop(struct growth *, struct cancel *);
void growth_go_on(struct growth *);
