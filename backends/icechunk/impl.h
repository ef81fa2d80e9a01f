/* What icechunk.c (keys and chunks), icechunk_probe.c, icechunk_version.c, icechunk_config.c and
 * icechunk_history.c share, and no other file includes. */
#pragma once

#include "backends/container/container.h"
#include "backends/icechunk/manifest.h"
#include "backends/icechunk/places.h"
#include "backends/icechunk/repo.h"
#include "backends/icechunk/tree.h"

enum {
	ICE_SHARE = 4, /* manifests take a fourth of the memory, a repo or snapshot no more */
	ICE_FILE_LEAST = 64 << 20, /* … unless it is no larger than this */
	ICE_HISTORY_MAX = 10000,   /* snapshots of spec 1, a request each */
	ICE_FORMER = 32 << 10,     /* arrays of snapshots that are no longer kept */
};

/* A name that was asked for, and the snapshot that it means. */
struct ice_version {
	struct ice_version *next;
	struct ice_tree *tree;
	int64_t due;             /* when to look again; INT64_MAX: never */
	char seen[ZMAP_VERSION]; /* spec 1: of the object that says it */
	char name[];
};

struct ice_kept {
	struct ice_kept *next;
	struct ice_tree *tree;
	bool was_shown; /* a name meant it before */
};

/* An array as it was, and the last snapshot that has it so, which was shown once: a file of it may
 * be open still. */
struct ice_former {
	uint64_t array; /* a hash of path and version; 0: nothing */
	char id[ICE_ID_TEXT + 1];
};

struct ice {
	struct container container;
	struct zmap *lower;
	char *root;
	char *ref;  /* the version that is shown */
	char *name; /* what a root that is an array is called; NULL: nothing, as it is no root of
		       the mount */
	void (*warn)(const char *); /* or NULL */
	int64_t every;              /* ns; INT64_MAX: never */
	bool hides; /* spec 1: the store refuses `repo`, which is not there: it does so with all
		       that is not */
	size_t file_max; /* bytes of a repo or snapshot */
	struct ice_manifests *manifests;

	pthread_mutex_t turn;  /* held by the thread that looks for changes; guards repo and what is
				  known of it */
	struct ice_repo *repo; /* NULL: spec 1 */
	char repo_version[ZMAP_VERSION];
	int64_t repo_due;
	/* Spec 1: what branch main was when the repository was found, until it is asked for; "":
	 * nothing */
	char main_id[ICE_ID_TEXT + 1], main_version[ZMAP_VERSION];
	char config_version[ZMAP_VERSION]; /* spec 1: of config.yaml */

	pthread_mutex_t lock;      /* guards all below; taken under turn */
	struct ice_places *places; /* NULL: nothing is known yet */
	int64_t places_due; /* when to look again; INT64_MAX: never, as of spec 2's, which come with
			       repo */
	struct ice_version *versions;
	struct ice_kept *kept;     /* the newest first */
	struct ice_former *former; /* ICE_FORMER of them, each at the place that its hash says;
				      NULL: none yet */
	uint64_t told; /* fingerprint of what was said last of nodes that are not shown */
};

extern const struct container_ops container_icechunk;

/* What is known of a version. Lock held. */
struct ice_version *ice_find_version(struct ice *, const char *name);
/* The snapshot that a name means now. 0 and a reference; ZMAP_ABSENT; -errno. */
int ice_version_tree(struct ice *, const char *name, struct ice_tree **ret);
/* Opens what there is. 0; ZMAP_ABSENT: there is none. Before others know of it. */
int ice_probe(struct ice *);
/* Takes what `repo` says now. Turn held, or before others know of it. */
int ice_take_repo(struct ice *, struct ice_repo *, const char *version);
int ice_load_tree(struct ice *, const char *id, struct ice_tree **ret);
/* A snapshot that was kept and had that array in that version. ZMAP_ABSENT: none is known. */
int ice_former_tree(struct ice *, const char *path, const char *version, struct ice_tree **ret);

int ice_history(struct container *, struct buf *ret);
int ice_explain(struct container *, int64_t deadline, struct cancel *, struct chunk_place *);
/* Takes them over. */
void ice_take_places(struct ice *, struct ice_places *, int64_t due);
