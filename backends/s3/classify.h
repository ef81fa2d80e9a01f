/* What answers of S3 mean, and what can be done about them. */
#pragma once

#include "backends/s3/s3_request.h"

/* The client's hook; arg is a struct s3_request. */
enum client_verdict s3_classify(void *request, const struct client_reply *, int *ret);
/* err_set with what the answer says of itself. Returns the code: `fallback`, or what fits
 * better. */
int s3_response_explain(struct s3_request *, const struct client_reply *, int fallback);
