/* The lines in front of an answer's body. Written by the thread that moves bytes while it has the
 * attempt. */
#pragma once

#include "backends/net/client.h"

struct head {
	struct client_reply *reply;
	bool has_length, has_range, has_total;
	uint64_t length;             /* Content-Length */
	uint64_t first, last, total; /* Content-Range; of a 416 only the total */
};

/* One line, with or without its CR LF. A status line begins anew: what was before it were the lines
 * of an interim answer. */
void head_line(struct head *, const char *line, size_t len);
