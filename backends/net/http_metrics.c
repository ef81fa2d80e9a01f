#include "backends/net/http_metrics.h"

#include <math.h>

static const char *const kind_name[CLIENT_KINDS] = {
	[CLIENT_GET] = "get",
	[CLIENT_HEAD] = "head",
	[CLIENT_LIST] = "list",
	[CLIENT_PUT] = "put",
	[CLIENT_DELETE] = "delete",
	[CLIENT_OTHER] = "other",
};

static unsigned
bucket(int64_t ns)
{
	double us = (double)ns / 1000;
	double n = us < 1 ? 0 : log2(us) * HTTP_METRICS_STEPS;
	return n < HTTP_METRICS_BUCKETS - 1 ? (unsigned)n : HTTP_METRICS_BUCKETS - 1;
}

void
http_metrics_end(struct http_metrics *g, enum client_kind kind, bool failed, int64_t ns)
{
	http_metrics_add(&g->requests[kind], 1);
	if (failed)
		http_metrics_add(&g->failed[kind], 1);
	http_metrics_add(&g->took[kind][bucket(ns)], 1);
}

/* Seconds that the share q of all took at most, to a quarter of an octave. */
static double
quantile(atomic_ullong *took, double q)
{
	unsigned long long all = 0, below = 0;
	unsigned i;
	for (i = 0; i < HTTP_METRICS_BUCKETS; i++)
		all += took[i];
	for (i = 0; i < HTTP_METRICS_BUCKETS - 1; i++) {
		below += took[i];
		if ((double)below >= q * (double)all)
			break;
	}
	return exp2((i + 1.0) / HTTP_METRICS_STEPS) / 1e6;
}

static int
print_kind(struct http_metrics *g, enum client_kind k, struct buf *ret)
{
	const char *name = kind_name[k];
	unsigned long long n = g->requests[k];
	int r = buf_addf(ret, "zarrfs_http_requests_total{kind=\"%s\"} %llu\n", name, n);
	if (r == 0)
		r = buf_addf(ret, "zarrfs_http_failures_total{kind=\"%s\"} %llu\n", name,
			(unsigned long long)g->failed[k]);
	for (unsigned i = 0; i < 2 && n && r == 0; i++) {
		double q = i ? 0.99 : 0.5;
		r = buf_addf(ret, "zarrfs_http_latency_seconds{kind=\"%s\",quantile=\"%g\"} %.6f\n",
			name, q, quantile(g->took[k], q));
	}
	return r;
}

int
http_metrics_print(struct http_metrics *g, struct buf *ret)
{
	const struct {
		const char *name;
		unsigned long long value;
	} row[] = {
		{"read_bytes", g->bytes_in},
		{"written_bytes", g->bytes_out},
		{"retries", g->retries},
		{"resumed", g->resumed},
		{"slowed", g->slowed},
		{"connects", g->connects},
	};
	int r = 0;
	for (unsigned k = 0; k < CLIENT_KINDS && r == 0; k++)
		r = print_kind(g, k, ret);
	for (size_t i = 0; i < sizeof row / sizeof *row && r == 0; i++)
		r = buf_addf(ret, "zarrfs_http_%s_total %llu\n", row[i].name, row[i].value);
	return r;
}
