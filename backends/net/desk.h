/* The thread that looks after submitted errands between their attempts, and calls their `done`. */
#pragma once

#include "backends/net/errand.h"

struct desk;

int desk_new(struct wire *, struct gauge *, struct desk **ret);
struct desk *desk_free(struct desk *);
void desk_submit(struct desk *, const struct client_ask *, client_done_fn *done, void *done_arg);
