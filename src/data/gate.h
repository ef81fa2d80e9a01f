/* Limits what several do at once by what it costs them: memory that loads need besides the pieces they make. What fits beside the
 * others enters; alone, anything does, so that one thing larger than the limit is done by itself. Any thread may call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gate;

int gate_new(size_t limit, struct gate **ret);
struct gate *gate_free(struct gate *);
/* Enters if it need not wait. */
bool gate_try(struct gate *, size_t cost);
void gate_enter(struct gate *, size_t cost);
/* cost: what it entered with. */
void gate_leave(struct gate *, size_t cost);
