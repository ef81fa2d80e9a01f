/* An archive that was written here, from when it has its name until it is read: what was pending is
 * in it, and stays pending until then, so that reads find one or the other. */
#pragma once

#include "backends/zip/write.h"

struct zip_renewed {
	struct zmap_stat stat; /* what the store beneath says of it; from zip_renewed_named on */
	struct archive *base;  /* what it was made of, and what lay over that */
	struct zip_layer layer;
	uint64_t last; /* zip_writer.serial: of the last put that is in it */
};

/* Of what is pending now. Store's lock held. */
int zip_renewed_new(struct zip_store *, struct zip_renewed **ret);
struct zip_renewed *zip_renewed_free(struct zip_renewed *); /* NULL is allowed; returns NULL */
CLEAN_DEFINE(struct zip_renewed, zip_renewed_free)
/* It is the file fd and has the archive's name. Taken over. Between zip_look_begin and _end. */
void zip_renewed_named(struct zip_store *, struct zip_renewed *, int fd);
/* What is in it is not pending any more, unless it was put again meanwhile. Store's lock held.
 * *ret_spill: for the caller. */
void zip_renewed_forget(
	struct zip_store *, const struct zip_renewed *, struct zip_spill **ret_spill);
/* Of the thread that looks: members of the archive, which was just read, have the versions that
 * they had, if it is the one that was written here. 0 or -ENOMEM. */
int zip_renewed_versions(const struct zip_store *, struct archive *);
/* That archive is the store's from now on. Store's lock held. What is returned, which may be NULL,
 * and the spill are the caller's. */
struct zip_renewed *zip_renewed_taken(
	struct zip_store *, const struct archive *, struct zip_spill **ret_spill);
