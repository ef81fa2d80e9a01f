/* Which snapshot a name means now, and the snapshots that are kept: those that names mean, and for
 * a while those that they meant. */
#include "backends/icechunk/impl.h"

#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	KEPT_LEAST = 4,
	KEPT_MOST = 64,
	KEPT_BYTES = 32 << 20,
};

struct ice_version *
ice_find_version(struct ice *p, const char *name)
{
	struct ice_version *v = p->versions;
	while (v && strcmp(v->name, name))
		v = v->next;
	return v;
}

/* What is known of a version; NULL: nothing, or nothing that is fresh. */
static struct ice_tree *
known(struct ice *p, const char *name, bool fresh)
{
	struct ice_tree *t = NULL;
	LOCKED(&p->lock) {
		struct ice_version *v = ice_find_version(p, name);
		if (v && (!fresh || clock_now() < v->due))
			t = ice_tree_ref(v->tree);
	}
	return t;
}

/* Names that mean a tree that is not kept, but those of branches and the one that is shown: they
 * are looked at again when asked for. Lock held. */
static void
forget_versions(struct ice *p, const struct ice_tree *t)
{
	static const char branch[] = "branch.";
	for (struct ice_version **at = &p->versions, *v; (v = *at);) {
		if (v->tree != t || !strcmp(v->name, p->ref) ||
			!strncmp(v->name, branch, sizeof branch - 1)) {
			at = &v->next;
			continue;
		}
		*at = v->next;
		ice_tree_unref(v->tree);
		free(v);
	}
}

static uint64_t
former_hash(const char *path, const char *version)
{
	return hash_end(hash_text(hash_text(HASH_START, path), version)) | 1;
}

/* The arrays of a tree that goes, so that they can be found again. Without memory they cannot. Lock
 * held. */
static void
remember(struct ice *p, const struct ice_tree *t)
{
	if (!p->former)
		p->former = calloc(ICE_FORMER, sizeof *p->former);
	for (size_t i = 0; p->former && i < t->count; i++) {
		if (!t->node[i].array)
			continue;
		const uint64_t array = former_hash(t->node[i].path, t->node[i].version);
		struct ice_former *f = &p->former[array / 2 % ICE_FORMER];
		f->array = array;
		memcpy(f->id, t->id, sizeof f->id);
	}
}

/* A tree stays for a while, as it may be asked for again. was_shown: a name meant it and now means
 * another, so files of it may be open; such trees are counted apart. Lock held. */
static void
keep(struct ice *p, struct ice_tree *t, bool was_shown)
{
	struct ice_kept *new = calloc(1, sizeof *new), *k;
	if (!new)
		return;
	*new = (struct ice_kept){p->kept, ice_tree_ref(t), was_shown};
	p->kept = new;
	size_t n[2] = {0}, bytes[2] = {0};
	for (struct ice_kept **at = &p->kept; (k = *at);) {
		const bool again = k != new && k->tree == t, of = k->was_shown;
		n[of] += !again;
		bytes[of] += again ? 0 : k->tree->bytes.cap;
		if (!again &&
			(n[of] <= KEPT_LEAST || (n[of] <= KEPT_MOST && bytes[of] <= KEPT_BYTES))) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		if (!again)
			forget_versions(p, k->tree);
		if (!again && k->was_shown)
			remember(p, k->tree);
		ice_tree_unref(k->tree);
		free(k);
	}
}

static struct ice_tree *
kept(struct ice *p, const char *id)
{
	struct ice_tree *t = NULL;
	LOCKED(&p->lock)
		for (struct ice_kept *k = p->kept; k && !t; k = k->next)
			if (!strcmp(k->tree->id, id))
				t = ice_tree_ref(k->tree);
	return t;
}

/* Nodes that are not shown are named, once as long as they are the same. */
static void
tell_odd(struct ice *p, const struct ice_tree *t)
{
	const uint64_t now = hash_end(hash_text(HASH_START, t->odd));
	CLEAN(clean_free) char *line = NULL;
	bool told = false;
	LOCKED(&p->lock) {
		told = p->told == now;
		p->told = now;
	}
	if (told || !p->warn)
		return;
	if (asprintf(&line, "not shown of snapshot %s: %s", t->id, t->odd) < 0)
		line = NULL;
	if (line)
		p->warn(line);
}

int
ice_load_tree(struct ice *p, const char *id, struct ice_tree **ret)
{
	CLEAN(buf_free) struct buf payload = {0};
	CLEAN(clean_free) char *key = NULL;
	if ((*ret = kept(p, id)))
		return 0;
	if (asprintf(&key, "%ssnapshots/%s", p->root, id) < 0) {
		key = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	struct zmap_get g = {.key = key, .max = p->file_max};
	int r = ice_read(p->lower, &g, ICE_SNAPSHOT, 0, &payload, NULL, NULL);
	if (r == ZMAP_ABSENT)
		r = err_set(-EIO, "the snapshot '%s' is not there (expired?)", key);
	if (r == 0)
		r = ice_tree_new(&payload, id, p->name, ret);
	if (r == 0)
		LOCKED(&p->lock)
			keep(p, *ret, false);
	if (r == 0 && (*ret)->odd)
		tell_odd(p, *ret);
	return r;
}

int
ice_former_tree(struct ice *p, const char *path, const char *version, struct ice_tree **ret)
{
	const uint64_t array = former_hash(path, version);
	char id[ICE_ID_TEXT + 1] = "";
	LOCKED(&p->lock) {
		const struct ice_former *f = p->former ? &p->former[array / 2 % ICE_FORMER] : NULL;
		if (f && f->array == array)
			memcpy(id, f->id, sizeof id);
	}
	return *id ? ice_load_tree(p, id, ret) : ZMAP_ABSENT;
}

/* Spec 1: the last one up to a moment. id: in: where to begin; out: that one. */
static int
find_before(struct ice *p, int64_t time, char id[static ICE_ID_TEXT + 1])
{
	int r = 0;
	for (int i = 0; r == 0 && i < ICE_HISTORY_MAX; i++) {
		CLEAN(ice_tree_unrefp) struct ice_tree *t = NULL;
		r = ice_load_tree(p, id, &t);
		if (r < 0 || t->time <= time)
			return r;
		if (!t->has_parent)
			break;
		ice_id_text(t->parent, id);
	}
	return r < 0 ? r : ZMAP_ABSENT;
}

/* Which snapshot a name that is no moment means now. ZMAP_SAME: the one that it meant (spec 1). */
static int
find_named(struct ice *p, const struct ice_ref_name *n, char version[static ZMAP_VERSION],
	char ret[static ICE_ID_TEXT + 1])
{
	if (p->repo)
		return ice_repo_find(p->repo, n, ret);
	if (*p->main_id && n->kind == ICE_REF_BRANCH && !strcmp(n->name, "main")) {
		memcpy(version, p->main_version, ZMAP_VERSION);
		memcpy(ret, p->main_id, ICE_ID_TEXT + 1);
		p->main_id[0] = 0;
		return 0;
	}
	if (n->kind != ICE_REF_ID)
		return ice_ref_read(p->lower, p->root, p->hides, n, version, ret);
	memcpy(ret, n->name, ICE_ID_TEXT + 1);
	return 0;
}

/* Likewise of any name. Moments are looked for back from the version that is shown; where that is
 * one itself, from branch main. */
static int
find_snapshot(struct ice *p, const struct ice_ref_name *n, char version[static ZMAP_VERSION],
	char ret[static ICE_ID_TEXT + 1])
{
	static const char otherwise[] = "branch.main";
	struct ice_ref_name from;
	char begin[ZMAP_VERSION] = "";
	const char *name = p->ref;
	if (n->kind != ICE_REF_TIME)
		return find_named(p, n, version, ret);
	if (!ice_ref_parse(name, &from) || from.kind == ICE_REF_TIME)
		ice_ref_parse(name = otherwise, &from);
	CLEAN(ice_tree_unrefp) struct ice_tree *t = p->repo ? NULL : known(p, name, true);
	int r = t ? 0 : find_named(p, &from, begin, ret);
	if (t)
		memcpy(ret, t->id, sizeof t->id);
	if (r != 0)
		return r;
	return p->repo ? ice_repo_before(p->repo, n->time, ret) : find_before(p, n->time, ret);
}

int
ice_take_repo(struct ice *p, struct ice_repo *now, const char *version)
{
	struct ice_places *places = NULL;
	int r = ice_places_new(ice_config_flex, ice_repo_config(now), &places);
	if (r < 0) {
		ice_repo_free(now);
		return r;
	}
	memcpy(p->repo_version, version, sizeof p->repo_version);
	ice_repo_free(p->repo);
	p->repo = now;
	ice_take_places(p, places, INT64_MAX);
	return 0;
}

/* Spec 2: reads `repo`, if it changed. Turn held. */
static int
read_repo(struct ice *p)
{
	CLEAN(buf_free) struct buf payload = {0};
	CLEAN(clean_free) char *key = NULL;
	struct zmap_stat s;
	if (asprintf(&key, "%srepo", p->root) < 0) {
		key = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	struct zmap_get g = {.key = key,
		.max = p->file_max,
		.revalidate = true,
		.if_none_match = *p->repo_version ? p->repo_version : NULL};
	struct ice_repo *now = NULL;
	int r = ice_read(p->lower, &g, ICE_REPO, 0, &payload, NULL, &s);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "the repository is gone: no '%s'", key);
	if (r == 0)
		r = ice_repo_new(&payload, &now);
	if (r < 0 || r == ZMAP_SAME)
		return r < 0 ? r : 0;
	return ice_take_repo(p, now, s.version);
}

static int
put_version(struct ice *p, const char *name, struct ice_tree *t, const char *seen, int64_t due)
{
	struct ice_version *new = calloc(1, sizeof *new + strlen(name) + 1), *v = NULL;
	struct ice_tree *old = NULL;
	if (!new)
		return err_set(-ENOMEM, "no memory for a version");
	LOCKED(&p->lock) {
		v = ice_find_version(p, name);
		if (!v) {
			v = MOVE(new);
			memcpy(v->name, name, strlen(name) + 1);
			v->next = p->versions;
			p->versions = v;
		}
		old = v->tree;
		v->tree = ice_tree_ref(t);
		v->due = due;
		memcpy(v->seen, seen, sizeof v->seen);
		if (old && old != t)
			keep(p, old, true);
	}
	ice_tree_unref(old);
	free(new);
	return 0;
}

/* Turn held. */
static int
look(struct ice *p, const char *name, const struct ice_ref_name *n, struct ice_tree **ret)
{
	char seen[ZMAP_VERSION] = "", id[ICE_ID_TEXT + 1];
	CLEAN(ice_tree_unrefp) struct ice_tree *t = known(p, name, false);
	const int64_t began = clock_now();
	int r = 0;
	LOCKED(&p->lock) {
		struct ice_version *v = ice_find_version(p, name);
		if (v)
			memcpy(seen, v->seen, sizeof seen);
	}
	if (p->repo && began >= p->repo_due) {
		r = read_repo(p);
		p->repo_due = p->every == INT64_MAX ? INT64_MAX : began + p->every;
	}
	if (r == 0)
		r = find_snapshot(p, n, seen, id);
	if (r == 0 && !(t && !strcmp(t->id, id))) {
		t = ice_tree_unref(t);
		r = ice_load_tree(p, id, &t);
	}
	if (r != 0 && r != ZMAP_SAME)
		return r;
	bool fixed = n->kind == ICE_REF_ID || p->every == INT64_MAX;
	r = put_version(p, name, t, seen, fixed ? INT64_MAX : began + p->every);
	if (r == 0)
		*ret = MOVE(t);
	return r;
}

int
ice_version_tree(struct ice *p, const char *name, struct ice_tree **ret)
{
	struct ice_ref_name n;
	int r = 0;
	if (!ice_ref_parse(name, &n))
		return ZMAP_ABSENT;
	if ((*ret = known(p, name, true)))
		return 0;
	LOCKED(&p->turn) { /* one asks for all, as long as its requests may take */
		if (!(*ret = known(p, name, true)))
			r = look(p, name, &n, ret);
	}
	return r;
}
