/* The inside of an edit: documents as they are changed, and the commit that stores them. Only
 * src/model/edit*.c include this. */
#pragma once

#include "model/edit.h"
#include "model/node_cache.h"

/* One document. The bytes are those that it is to have. */
struct edit_doc {
	char *key;
	struct buf text, was;
	bool there;    /* the store has one … */
	bool want;     /* … and is to have one */
	bool ascii;    /* what is put in is: zarr-python 2 reads no more */
	unsigned turn; /* order of storing; 0: it does not change */
	bool together; /* with those before and behind it that are, too */
	bool held;     /* stored also as it is, where others of the commit change */
	bool put;      /* this attempt stored it, as `version` over `over` */
	char version[ZMAP_VERSION], over[ZMAP_VERSION];
	int64_t mtime;
};

/* A node whose documents are changed. */
struct edit_part {
	char *path;
	struct path_walk walk;
	bool v3, array, nczarr;
	bool reals;                    /* an array of floats */
	struct edit_doc *main, *attrs; /* .zarray, .zgroup or zarr.json; .zattrs, or NULL */
	struct node *before, *after;   /* before NULL: it is new; after NULL: it goes */
};

/* The document of an array that an attempt stored. */
struct left_length {
	char *key, version[ZMAP_VERSION];
	uint64_t was; /* elements of its leading dimension before */
};

struct commit {
	struct model *model;
	int64_t deadline;
	struct cancel *cancel;
	struct edit_doc **doc;
	size_t docs;
	int64_t read_at;  /* clock_now() before documents were read that it begins with; 0: none
			     were */
	unsigned commits; /* of the model, then */
	struct edit_part **part;
	size_t parts;
	unsigned turns;
	bool together;      /* what is touched now may be stored at once */
	atomic_bool stored; /* anything */
	_Atomic(const struct edit_doc *)
		refused; /* of this attempt: one that another writer had changed; or NULL */
	bool plan;       /* nothing is stored, and unlimited dimensions may grow before it is */
	bool emptying;   /* what goes still has chunks: it is not looked at yet */
	struct left_length *left; /* what attempts stored that broke off */
	size_t nleft;
	char **consolidated; /* groups whose consolidated metadata were stored */
	size_t nconsolidated;
};

/* What a commit does each time it begins anew: reads parts and changes their documents.
 * ZMAP_CHANGED: it is to begin anew, nothing more is stored. */
typedef int commit_fn(struct commit *, void *arg);
/* edit_commit.c: until the documents could be stored as fn leaves them. */
int commit_run(struct commit *, commit_fn *, void *arg);
/* Before the next attempt, so many having been made: longer each time. -ETIMEDOUT names what was
 * refused; -EINTR. */
int commit_wait(struct commit *, unsigned attempts);
/* How many of them there were, so that it can be seen whether one came between. */
unsigned commits_so_far(struct model *);
void commit_done(struct commit *);

/* edit_doc.c: reads it, unless it is as it was; … */
int doc_read(struct commit *, struct edit_doc *);
/* … stores it, on that condition: 0, ZMAP_CHANGED, -errno; … */
int doc_put(struct commit *, struct edit_doc *);
/* … all of an attempt, forgotten. */
void docs_forget(struct commit *);
/* Several of them, read at once. */
int docs_read(struct commit *, struct edit_doc **, size_t n);
/* Documents that will be asked for next, read at once but for those that this attempt has
 * already. */
struct doc_name {
	const char *path, *name;
};
int commit_read(struct commit *, const struct doc_name *, size_t n);
/* The document of that key, read now unless this attempt has it already. */
int commit_doc(struct commit *, const char *path, const char *name, struct edit_doc **ret);
/* It is stored after all that were touched before. */
void commit_touch(struct commit *, struct edit_doc *);
/* Stores what was touched. 0, ZMAP_CHANGED, -errno. */
int commit_store(struct commit *);
/* The document as an attempt of this commit has stored it, or NULL. */
const struct left_length *commit_left(
	const struct commit *, const struct edit_doc *, const char *version);
int doc_set(struct commit *, struct edit_doc *, const char *const *path, struct span value);
/* Element `at` of the list at path; the text is quoted. */
int doc_set_text_at(
	struct commit *, struct edit_doc *, const char *const *path, size_t at, const char *text);
int doc_set_number(struct commit *, struct edit_doc *, const char *const *path, uint64_t);
int doc_del(struct commit *, struct edit_doc *, const char *const *path);
/* The value at path, as bytes; len 0: there is none. */
struct span doc_find(const struct edit_doc *, const char *const *path);
/* A document as a node is made of it; data NULL: there is none. */
int doc_meta(const struct edit_doc *, struct meta *ret);

/* edit_part.c: what commit_part will read of these arrays, read at once. */
int commit_read_arrays(struct commit *, char *const *path, size_t n, bool v3);
/* A group or array that there is. Its documents are read now. ZMAP_ABSENT: there is none (any
 * more). */
int commit_part(struct commit *, const char *path, struct edit_part **ret);
/* One that is to be, below what the walk ends with, which is taken over. */
int commit_new_part(struct commit *, struct path_walk *, const char *path,
	const struct edit_part *kind, struct edit_part **ret);
/* Mounted as pure Zarr, NCZarr's metadata would no longer be true. 0 or -ENOTSUP. */
int part_check_pure(const struct commit *, const struct edit_part *);
/* The node that the part's documents make as they stand. */
int part_node(const struct commit *, const struct edit_part *, struct node **ret);
/* Makes `after` of every part: -EINVAL where a document would no longer make sense. */
int commit_check(struct commit *);
void parts_forget(struct commit *);
/* Where the recorded types of attributes stand: "_nczarr_attr", "_NCZARR_ATTR", or NULL: there are
 * none. */
const char *part_types(const struct edit_part *);
/* edit_attrs.c */
struct edit_change {
	bool del;
	struct attr attr; /* del: only its name */
};
int part_change_attrs(struct commit *, struct edit_part *, const struct edit_change *, size_t n);

/* A group is about to have changes: what says that it is one is there, or will be. */
int part_need_group(struct commit *, struct edit_part *);

/* edit_dims.c: where a group declares a dimension, in each of NCZarr's generations. */
struct declared_dim {
	struct edit_doc *doc;
	const char *path[6];
	uint64_t size;
};
bool find_declared_dim(struct edit_part *group, const char *name, struct declared_dim *ret);
/* A group of NCZarr that gets something new. -ENOTSUP: of a generation that is no longer
 * written. */
int part_need_nczarr(struct commit *, struct edit_part *group);
/* The names of what is in a group. */
int part_add_name(struct commit *, struct edit_part *group, bool array, const char *name);
int part_drop_name(struct commit *, struct edit_part *group, bool array, const char *name);
/* The full name of a dimension that an array of the group is to have, declared if it is not. Caller
 * frees. */
int part_use_dim(struct commit *, struct edit_part *group, const char *name, uint64_t size,
	bool unlimited, char **ret);

/* edit_new.c: a new array in a group that is a part. again: what is there may be what this edit
 * stored before. */
int commit_new_array(struct commit *, struct edit_part *group, const char *name,
	const struct new_array *, bool again, struct edit_part **ret);

/* What new documents begin with: the part of an array or group that is to be; … */
int commit_open_part(struct commit *, const struct edit_part *group, const char *path,
	const struct edit_part *kind, struct edit_part **ret);
/* … is there anything that says that the path is a node? again: what this edit itself has stored is
 * nothing; … */
int commit_check_free(
	struct commit *, const struct edit_part *, const struct buf *text, bool again);
/* … can a node be called that? */
int commit_check_name(const char *path, const char *name);
int commit_set_text(struct commit *, struct edit_doc *, const struct buf *text);

/* edit_remove.c: what a listing shows. */
struct edit_keys {
	char **of;
	bool *prefix;
	size_t count;
};
int keys_keep(void *keys, const char *name, bool prefix, const struct zmap_stat *);
void keys_free(struct edit_keys *);
void commit_drop_doc(struct commit *, struct edit_doc *);
/* What is left of a node that was removed goes. */
int commit_empty(struct commit *, const char *path);

/* edit_fill.c: has the store every chunk of an array of Zarr V2? 0, -EINVAL: one is missing. */
int fill_is_free(struct model *, const struct node *);
int part_set_fill(struct commit *, struct edit_part *, const uint8_t *fill);

/* edit_share.c: by its full name where it has one to go by, else by its simple one alone. array
 * NULL: has none. */
bool dim_is_called(const struct dim *, const char *fqn, const char *name);
bool array_has_dim(const struct array_meta *, const char *fqn, const char *name);
/* All arrays that have the dimension become parts. ret_group: the one that declares it, NULL: none
 * does; ret->doc NULL: nor does that. */
int commit_share(struct commit *, const struct edit_part *array, const char *fqn,
	struct edit_part **ret_group, struct declared_dim *ret);
/* The same of pure Zarr, in the array's group. */
int commit_share_named(struct commit *, const struct edit_part *array, const char *name);

/* edit_size.c: the leading dimension of an array, and of what shares it. */
struct edit_size {
	const char *path;
	uint64_t lead, seen;  /* wanted; when the edit began, or 0: it is to become no shorter */
	uint64_t least;       /* it has so many before */
	edit_check_fn *check; /* or NULL */
	void *check_arg;
	char *const *with; /* other arrays, of pure Zarr */
	size_t nwith;
	uint64_t ret;   /* the length that it gets */
	bool overtaken; /* that failed, for by now it is not as long as it was seen */
};
int commit_resize(struct commit *, struct edit_size *);

/* edit_all.c: consolidated metadata above all parts. */
int commit_consolidate(struct commit *);
/* edit_own.c: the model's nodes follow. */
void commit_renew(struct commit *);
/* Before anything is stored: what model_is_own is to know. */
void commit_note_own(struct commit *);
/* All was stored: arrays that are as long again as this mount had made them before are another
 * writer's, also where the bytes of their documents are the same. */
void commit_own_stored(struct commit *);
/* What the array is from now on is not this mount's. */
void commit_disown(struct commit *, const struct edit_part *);
