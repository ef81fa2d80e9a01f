/* What answers of S3 mean, and what can be done about them. */
#pragma once

#include "backends/s3/exchange.h"

/* The client's hook; arg is a struct exchange. */
enum client_verdict judge(void *request, const struct client_reply *, int *ret);
/* err_set with what the answer says of itself. Returns the code: `fallback`, or what fits better. */
int judge_explain(struct exchange *, const struct client_reply *, int fallback);
