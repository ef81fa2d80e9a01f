/* One attempt as curl sees it: what is set before, what its callbacks do, and what its end means. The wire's thread only. */
#pragma once

#include "backends/net/wire.h"

/* The connections that are open. */
struct sockets {
	int *fd;
	size_t n, room;
};

struct easy_options {
	char *ca_file; /* NULL: what curl was built with */
	bool insecure;
	struct sockets sockets;
};

/* -errno: the bundle that was named cannot be read. */
int easy_options(const struct client_options *, struct easy_options *ret);
void easy_options_free(struct easy_options *);

/* Tells servers that what was read has come. The kernel saves such words for 40 ms, and a server that sends the head of an answer by itself
 * (radosgw) or its last bytes waits for them that long (Nagle's algorithm). */
void easy_acknowledge(const struct sockets *);
/* Everything but the start. 0 or -errno. */
int easy_begin(struct client_attempt *, struct easy_options *);
/* Fills in err and later, unless the attempt was given up, and counts. */
void easy_end(struct client_attempt *, CURLcode, struct gauge *);
