/* Bytes with an owner: data[0..len) of cap. An empty buf is {0}. The owner frees it with buf_free.
 * A span is borrowed bytes. */
#pragma once

#include "base/clean.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
};

struct span {
	const uint8_t *data;
	size_t len;
};

/* Is it nothing but this item, which has `size` bytes, once or more often? size 0: no. */
bool span_repeats(struct span, const void *item, size_t size);
/* The first run of bytes, from *from on, that are others than those at `was`. False: there is
 * none. */
bool span_differs(struct span, const uint8_t *was, size_t *from, size_t *ret_to);

/* At least cap bytes of room; contents up to len are kept. 0 or -ENOMEM. */
int buf_reserve(struct buf *, size_t cap);
/* The same where cap is what it may become, and mostly will not. */
int buf_reserve_most(struct buf *, size_t cap);
/* Gives back room that is not needed, if that is much. */
void buf_fit(struct buf *);
/* Appends; grows by doubling. 0 or -ENOMEM. */
int buf_add(struct buf *, const void *data, size_t len);
int buf_addf(struct buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A NUL behind the bytes, not counted in len. */
int buf_terminate(struct buf *);
void buf_free(struct buf *);

static inline struct span
buf_span(const struct buf *b)
{
	return (struct span){b->data, b->len};
}
