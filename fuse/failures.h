/* The reads that failed last, one a file: what user.zarrfs.error says of it until these bytes have
 * been read well. Also whether a failure is a program's: the kernel reads ahead, and asks again for
 * what it did not get when a program wants that. So of bytes that the kernel may keep only the
 * second failure is told at once, or the first one a little later if they were not read well by
 * then. Of FAILURES files; the one that failed longest ago is forgotten first. Safe from every
 * thread. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"

enum { FAILURES = 64 };

struct failed_read {
	const char *path; /* in the mount */
	uint64_t off, end;
	bool paged; /* the kernel may ask again by itself */
};

/* True: it is to be told. */
bool failures_add(const struct failed_read *, const char *cause);
/* These bytes were read well. Takes no lock while nothing has failed. */
void failures_mend(const char *path, uint64_t off, uint64_t end);
/* Adds the cause of the last failure of a file, or nothing. 0 or -ENOMEM. */
int failures_find(const char *path, struct buf *ret);
/* Tells of what was held back for long enough; of all, if this is the end. */
void failures_tend(bool end);
