/* The thread that looks after submitted requests between their attempts, and calls their `done`. */
#pragma once

#include "backends/net/http_request.h"

struct dispatcher;

int dispatcher_new(struct http_loop *, struct http_metrics *, struct dispatcher **ret);
struct dispatcher *dispatcher_free(struct dispatcher *);
void dispatcher_submit(
	struct dispatcher *, const struct client_ask *, client_done_fn *done, void *done_arg);
