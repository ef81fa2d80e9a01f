/* One attempt as curl sees it: what is set before, what its callbacks do, and what its end means.
 * The loop's thread only. */
#pragma once

#include "backends/net/http_loop.h"

/* The connections that are open. */
struct sockets {
	int *fd;
	size_t n;
};

struct transfer_options {
	char *ca_file; /* NULL: what curl was built with */
	bool insecure;
	struct sockets sockets;
};

/* -errno: the bundle that was named cannot be read. */
int transfer_options(const struct client_options *, struct transfer_options *ret);
void transfer_options_free(struct transfer_options *);

/* Tells servers that what was read has come. The kernel saves such words for 40 ms, and a server
 * that sends the head of an answer by itself (radosgw) or its last bytes waits for them that long
 * (Nagle's algorithm). */
void transfer_acknowledge(const struct sockets *);
/* Everything but the start. 0 or -errno. */
int transfer_begin(struct client_attempt *, struct transfer_options *);
/* Fills in err and later, unless the attempt was given up, and counts. */
void transfer_end(struct client_attempt *, CURLcode, struct http_metrics *);
