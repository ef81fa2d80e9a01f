/* What a client counts. Any thread. */
#pragma once

#include "backends/net/client.h"

enum {
	HTTP_METRICS_STEPS = 4,
	HTTP_METRICS_BUCKETS = 30 * HTTP_METRICS_STEPS
}; /* a quarter of an octave each, from 1 us on */

struct http_metrics {
	atomic_ullong requests[CLIENT_KINDS], failed[CLIENT_KINDS];
	atomic_ullong took[CLIENT_KINDS][HTTP_METRICS_BUCKETS];
	atomic_ullong bytes_in, bytes_out, retries, resumed, slowed, connects;
};

static inline void
http_metrics_add(atomic_ullong *count, unsigned long long n)
{
	atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* One attempt is over. */
void http_metrics_end(struct http_metrics *, enum client_kind, bool failed, int64_t ns);
int http_metrics_print(struct http_metrics *, struct buf *ret);
