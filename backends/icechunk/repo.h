/* Names of versions in an Icechunk repository: branches, tags and snapshots (spec 2: the file
 * `repo`; spec 1: objects below refs/). Values are immutable; any thread may use them. */
#pragma once

#include "backends/icechunk/file.h"

enum ice_ref_kind {
	ICE_REF_BRANCH,
	ICE_REF_TAG,
	ICE_REF_ID,
	ICE_REF_TIME, /* the last one up to that moment, of those that lead to the version that is
			 shown */
};

/* What a name means: "branch.NAME", "tag.NAME", an id, "2026-04-01[T12:00[:00[.5]]]" in UTC. */
struct ice_ref_name {
	enum ice_ref_kind kind;
	const char *name; /* without what says the kind */
	int64_t time;     /* ns since 1970 */
};

bool ice_ref_parse(const char *text, struct ice_ref_name *ret);

/* The file `repo`. */
struct ice_repo;
/* Takes the payload over, also on failure. -EIO with the reason. */
int ice_repo_new(struct buf *payload, struct ice_repo **ret);
struct ice_repo *ice_repo_free(struct ice_repo *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct ice_repo, ice_repo_free)
/* The configuration that lies in it; empty: there is none that can be read. */
struct span ice_repo_config(const struct ice_repo *);
/* The snapshot that a name means, but no moment. 0; ZMAP_ABSENT, also of a deleted tag; -EIO. */
int ice_repo_find(
	const struct ice_repo *, const struct ice_ref_name *, char ret[static ICE_ID_TEXT + 1]);

struct ice_commit {
	char id[ICE_ID_TEXT + 1];
	int64_t time; /* ns since 1970 */
	struct span message;
};
/* From a snapshot back to the first; what fn returned, if not 0. */
typedef int ice_commit_fn(void *arg, const struct ice_commit *);
int ice_repo_ancestry(const struct ice_repo *, const char *id, ice_commit_fn *, void *arg);
/* The last of these up to a moment. id: in: where to begin; out: that one. 0; ZMAP_ABSENT; -EIO. */
int ice_repo_before(const struct ice_repo *, int64_t time, char id[static ICE_ID_TEXT + 1]);

/* Spec 1: the same by an object below `root` of the store. hides: the store refuses what is not
 * there. version: in: what is known, or ""; out: what is there. Outcomes of zmap_get, ZMAP_SAME
 * among them. Not of ICE_REF_TIME. */
int ice_ref_read(struct zmap *, const char *root, bool hides, const struct ice_ref_name *,
	char version[static ZMAP_VERSION], char ret[static ICE_ID_TEXT + 1]);
/* The text of such an object. */
int ice_ref_text(struct span, char ret[static ICE_ID_TEXT + 1]);
