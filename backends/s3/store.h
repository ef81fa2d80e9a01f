/* What the parts of the store s3 share: s3.c (reading and listing), s3/head.c, s3/write.c and
 * s3/trial.c. */
#pragma once

#include "backends/s3/s3_request.h"
#include "store/zmap.h"

#include <stdatomic.h>

enum { S3_KEY_MAX = 1024 /* bytes of a key, of which there are no longer ones */ };

struct s3 {
	struct zmap z;
	struct bucket bucket;
	atomic_bool bare_versions; /* the server wants If-Match without quotation marks */
	/* Set before other threads use the store: it deletes on a condition; it keeps the id of a
	 * put, or refuses a put with one. */
	bool deletes_if, keeps_ids, refuses_ids;
};

/* A key that no object can have is absent without asking: too long, or no UTF-8, which servers
 * would call a bad request. */
bool s3_impossible(struct zmap *, const char *key);
int s3_stat_by(
	struct zmap *, const char *key, int64_t deadline, struct cancel *, struct zmap_stat *ret);

int s3_put(struct zmap *, const struct zmap_put *, struct zmap_stat *ret);
/* What no other put has. 0 or -errno. */
int s3_new_put_id(char ret[S3_PUT_ID]);
int s3_del(struct zmap *, const struct zmap_del *);
int s3_try_writing(struct zmap *, struct buf *said);
