/* What a client counts. Any thread. */
#pragma once

#include "backends/net/client.h"

enum {
	GAUGE_STEPS = 4,
	GAUGE_BUCKETS = 30 * GAUGE_STEPS
}; /* a quarter of an octave each, from 1 us on */

struct gauge {
	atomic_ullong requests[CLIENT_KINDS], failed[CLIENT_KINDS];
	atomic_ullong took[CLIENT_KINDS][GAUGE_BUCKETS];
	atomic_ullong bytes_in, bytes_out, retries, resumed, slowed, connects;
};

static inline void
gauge_add(atomic_ullong *count, unsigned long long n)
{
	atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* One attempt is over. */
void gauge_end(struct gauge *, enum client_kind, bool failed, int64_t ns);
int gauge_print(struct gauge *, struct buf *ret);
