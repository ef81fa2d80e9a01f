/* The names in a group or directory. Only model/ includes this. */
#pragma once

#include "model/listed.h"
#include "model/model.h"

struct cached_node;
struct discovery;

/* Names in a directory, sorted. */
struct name {
	const char *name;
	bool prefix; /* keys lie below it */
	bool known;  /* kind is certain */
	bool gone;   /* not to be shown */
	enum node_kind kind;
};

struct names {
	struct name *of;
	size_t count;
	struct listed_texts *texts;
};

void names_done(struct names *);
/* 0 or -ENOMEM. The text is copied, and what the listing says of an object beside it; stat: NULL if
 * it says nothing. */
int names_add(struct names *, const char *name, bool prefix, const struct zmap_stat *);
/* The same as a zmap_list_fn, with struct names as arg; names of metadata objects are none. */
int names_entry(void *arg, const char *name, bool prefix, const struct zmap_stat *);
/* In their order, each once: of a name that is both the prefix. */
void names_sort(struct names *);
/* A listing that is still good, if the store is remote or never looked at again. 0, ZMAP_ABSENT,
 * -ENOMEM. */
int names_remembered(struct model *, const char *path, struct names *ret);
/* begun: clock_now() before the store was asked. */
void names_remember(struct model *, const char *path, const struct names *, int64_t begun);
/* Above stores `ls -l` asks for each object next. Without memory it only asks more. */
void names_remember_listed(struct model *, const char *path, const struct names *, int64_t begun);

enum lack { LACK_UNKNOWN, LACK_NOT, LACK_SURELY };
/* What the names that a cached node was asked for tell. That of a version ("@tag.v1") no listing
 * shows. Lock held. */
enum lack names_tell(const struct cached_node *, const char *name);
/* Does the group above a path that lies in a hierarchy have keys below that name? Remote stores
 * that can be listed are asked once a TTL, for a page of names, if `ask`. A listing that says so is
 * as good as a look at the time when it was made: l->begun is that then. enum lack, or -errno. */
int names_lack(struct discovery *l, bool ask);
