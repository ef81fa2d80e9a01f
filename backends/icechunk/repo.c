#include "backends/icechunk/repo.h"

#include "base/err.h"
#include "base/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	/* slots of Repo */
	P_TAGS = 1,
	P_BRANCHES,
	P_SNAPSHOTS = 4,
	P_STATUS,
	P_CONFIG = 9,
	/* slots of SnapshotInfo */
	I_ID = 0,
	I_PARENT,
	I_TIME,
	I_MESSAGE,
	OFFLINE = 2,
	NANOSECONDS = 1000, /* of a microsecond */
	REF_MAX = 64 << 10,
};

struct ice_repo {
	struct buf bytes;
	struct flat_vector tags, branches, snapshots;
};

/* --- names --- */

/* ".5" in nanoseconds; nothing where no '.' is. What is behind it, or NULL. */
static const char *
parse_fraction(const char *s, int64_t *ret)
{
	int64_t unit = SECOND;
	*ret = 0;
	if (*s != '.')
		return s;
	if (!isdigit((unsigned char)*++s))
		return NULL;
	for (; isdigit((unsigned char)*s) && unit > 1; s++)
		*ret += (unit /= 10) * (*s - '0');
	return s;
}

static bool
parse_time(const char *text, int64_t *ret)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct tm tm = {0};
		int64_t fraction = 0;
		const char *end = strptime(text, forms[i], &tm);
		if (end && !i)
			end = parse_fraction(end, &fraction);
		if (end && (!*end || !strcmp(end, "Z"))) {
			const int64_t most = INT64_MAX / SECOND - 1;
			int64_t s = timegm(&tm);
			s = s > most ? most : s < -most ? -most : s;
			*ret = s * SECOND + fraction;
			return true;
		}
	}
	return false;
}

bool
ice_ref_parse(const char *text, struct ice_ref_name *ret)
{
	static const char branch[] = "branch.", tag[] = "tag.";
	uint8_t id[ICE_ID];
	*ret = (struct ice_ref_name){.name = text};
	if (!strncmp(text, branch, sizeof branch - 1)) {
		ret->kind = ICE_REF_BRANCH;
		ret->name += sizeof branch - 1;
	} else if (!strncmp(text, tag, sizeof tag - 1)) {
		ret->kind = ICE_REF_TAG;
		ret->name += sizeof tag - 1;
	} else if (ice_id_parse(text, strlen(text), id)) {
		ret->kind = ICE_REF_ID;
	} else {
		ret->kind = ICE_REF_TIME;
		return parse_time(text, &ret->time);
	}
	return *ret->name;
}

/* --- spec 2 --- */

static int
check_status(const struct flat_table *root)
{
	struct flat_table status;
	struct span why = {0};
	uint64_t availability = 0;
	int r = flat_required(flat_sub(root, P_STATUS, &status), "status");
	if (r == 0)
		r = flat_number(&status, 0, 1, &availability);
	if (r == 0)
		r = flat_bytes(&status, 2, &why);
	if (r < 0 || availability != OFFLINE)
		return r < 0 ? r : 0;
	return err_set(-EIO, "the repository is offline: %.*s", why.len < 200 ? (int)why.len : 200,
		why.data ? (const char *)why.data : "");
}

int
ice_repo_new(struct buf *payload, struct ice_repo **ret)
{
	CLEAN(ice_repo_freep) struct ice_repo *p = calloc(1, sizeof *p);
	struct flat_table root;
	if (!p) {
		buf_free(payload);
		return err_set(-ENOMEM, "no memory for a repository");
	}
	p->bytes = *payload;
	*payload = (struct buf){0};
	int r = flat_root(buf_span(&p->bytes), &root);
	if (r == 0)
		r = flat_required(flat_vector(&root, P_TAGS, 4, &p->tags), "tags");
	if (r == 0)
		r = flat_required(flat_vector(&root, P_BRANCHES, 4, &p->branches), "branches");
	if (r == 0)
		r = flat_required(flat_vector(&root, P_SNAPSHOTS, 4, &p->snapshots), "snapshots");
	if (r == 0)
		r = check_status(&root);
	if (r == 0)
		*ret = MOVE(p);
	return r;
}

struct span
ice_repo_config(const struct ice_repo *p)
{
	struct flat_table root;
	struct span s = {0};
	return flat_root(buf_span(&p->bytes), &root) == 0 && flat_bytes(&root, P_CONFIG, &s) == 0
		       ? s
		       : (struct span){0};
}

struct ice_repo *
ice_repo_free(struct ice_repo *p)
{
	if (p)
		buf_free(&p->bytes);
	free(p);
	return NULL;
}

/* *ret_parent: < 0: it has none. */
static int
commit_at(const struct ice_repo *p, uint64_t i, struct ice_commit *ret, int64_t *ret_parent)
{
	struct flat_table t;
	const uint8_t *id;
	uint64_t parent = 0, time = 0;
	if (i >= p->snapshots.count)
		return err_set(-EIO, "damaged: snapshot %llu of %u", (unsigned long long)i,
			p->snapshots.count);
	ret->message = (struct span){0};
	int r = flat_table_of(&p->snapshots, (uint32_t)i, &t);
	if (r == 0)
		r = flat_required(flat_struct(&t, I_ID, ICE_ID, &id), "id");
	if (r == 0)
		r = flat_number(&t, I_PARENT, 4, &parent);
	if (r == 0)
		r = flat_number(&t, I_TIME, 8, &time);
	if (r == 0)
		r = flat_bytes(&t, I_MESSAGE, &ret->message);
	if (r < 0)
		return r;
	ice_id_text(id, ret->id);
	ret->time = (int64_t)(time < INT64_MAX / NANOSECONDS ? time * NANOSECONDS : 0);
	*ret_parent = (int32_t)(uint32_t)parent;
	return 0;
}

static int
find_named(const struct ice_repo *p, const struct flat_vector *refs, const char *name,
	char ret[static ICE_ID_TEXT + 1])
{
	for (uint32_t i = 0; i < refs->count; i++) {
		struct flat_table t;
		struct span s;
		struct ice_commit c;
		uint64_t at = 0;
		int64_t parent;
		int r = flat_table_of(refs, i, &t);
		if (r == 0)
			r = flat_required(flat_bytes(&t, 0, &s), "name");
		if (r == 0 && (s.len != strlen(name) || memcmp(s.data, name, s.len)))
			continue;
		if (r == 0)
			r = flat_number(&t, 1, 4, &at);
		if (r == 0)
			r = commit_at(p, at, &c, &parent);
		if (r == 0)
			memcpy(ret, c.id, sizeof c.id);
		return r;
	}
	return ZMAP_ABSENT;
}

static int
find_id(const struct ice_repo *p, const char *id, int64_t *ret)
{
	struct ice_commit c;
	int64_t parent;
	for (uint32_t i = 0; i < p->snapshots.count; i++) {
		int r = commit_at(p, i, &c, &parent);
		if (r < 0)
			return r;
		if (!strcmp(c.id, id)) {
			*ret = i;
			return 0;
		}
	}
	return ZMAP_ABSENT;
}

int
ice_repo_ancestry(const struct ice_repo *p, const char *id, ice_commit_fn *fn, void *arg)
{
	int64_t at;
	int r = find_id(p, id, &at);
	for (uint32_t n = 0; r == 0 && at >= 0 && n < p->snapshots.count; n++) { /* once round */
		struct ice_commit c;
		r = commit_at(p, (uint64_t)at, &c, &at);
		if (r == 0)
			r = fn(arg, &c);
	}
	return r;
}

struct moment {
	int64_t time;
	char *id;
};

static int
is_before(void *arg, const struct ice_commit *c)
{
	struct moment *m = arg;
	if (c->time > m->time)
		return 0;
	memcpy(m->id, c->id, sizeof c->id);
	return ZMAP_SAME;
}

int
ice_repo_before(const struct ice_repo *p, int64_t time, char id[static ICE_ID_TEXT + 1])
{
	struct moment m = {time, id};
	int r = ice_repo_ancestry(p, id, is_before, &m);
	return r == ZMAP_SAME ? 0 : r == 0 ? ZMAP_ABSENT : r;
}

int
ice_repo_find(
	const struct ice_repo *p, const struct ice_ref_name *n, char ret[static ICE_ID_TEXT + 1])
{
	int64_t at;
	int r = ZMAP_ABSENT;
	switch (n->kind) {
	case ICE_REF_BRANCH: return find_named(p, &p->branches, n->name, ret);
	case ICE_REF_TAG: return find_named(p, &p->tags, n->name, ret);
	case ICE_REF_ID:
		r = find_id(p, n->name, &at);
		if (r == 0)
			memcpy(ret, n->name, ICE_ID_TEXT + 1);
		break;
	case ICE_REF_TIME: break;
	}
	return r;
}

/* --- spec 1 --- */

int
ice_ref_text(struct span s, char ret[static ICE_ID_TEXT + 1])
{
	CLEAN(json_freep) struct json *doc = NULL;
	uint8_t id[ICE_ID];
	int r = json_parse((const char *)s.data, s.len, &doc);
	const struct json *v =
		r == 0 && json_type(doc) == JSON_TYPE_DICT ? json_get(doc, "snapshot") : NULL;
	const char *text = v && json_type(v) == JSON_TYPE_TEXT ? json_text(v, NULL) : "";
	if (!ice_id_parse(text, strlen(text), id))
		return err_set(-EIO, "it names no snapshot");
	memcpy(ret, text, ICE_ID_TEXT + 1);
	return 0;
}

/* As names stand in keys, but for stores that take them as they are. */
static int
encode(const char *name, struct buf *ret)
{
	int r = 0;
	for (; *name && r == 0; name++) {
		unsigned char c = (unsigned char)*name;
		bool plain = c >= ' ' && c < 0x7f && !strchr("\\{^}%`]\">[~<#|*?", c);
		r = buf_addf(ret, plain ? "%c" : "%%%02X", c);
	}
	return r == 0 ? buf_terminate(ret) : r;
}

static int
read_object(struct zmap *z, const char *key, char version[static ZMAP_VERSION], struct buf *into)
{
	struct zmap_stat s;
	struct zmap_get g = {.key = key,
		.into = into,
		.max = REF_MAX,
		.revalidate = true,
		.if_none_match = *version ? version : NULL};
	int r = zmap_get(z, &g, &s);
	if (r == 0)
		memcpy(version, s.version, ZMAP_VERSION);
	return r;
}

/* A tag that was deleted has a mark. 0: this one has none. */
static int
check_mark(struct zmap *z, const char *key, bool hides)
{
	CLEAN(clean_free) char *mark = NULL;
	struct zmap_stat s;
	if (asprintf(&mark, "%s.deleted", key) < 0) {
		mark = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	int r = zmap_stat(z, mark, &s);
	bool nothing = r == ZMAP_ABSENT || (hides && r == -EACCES);
	return r == 0 ? ZMAP_ABSENT : nothing ? 0 : r;
}

int
ice_ref_read(struct zmap *z, const char *root, bool hides, const struct ice_ref_name *n,
	char version[static ZMAP_VERSION], char ret[static ICE_ID_TEXT + 1])
{
	const char *kind = n->kind == ICE_REF_TAG ? "tag" : "branch";
	CLEAN(buf_free) struct buf bytes = {0};
	CLEAN(buf_free) struct buf coded = {0};
	CLEAN(clean_free) char *key = NULL;
	int r = encode(n->name, &coded);
	if (r < 0)
		return r;
	bool twice = strcmp((char *)coded.data, n->name);
	r = ZMAP_ABSENT;
	for (int i = 0; i <= twice && r == ZMAP_ABSENT; i++) {
		free(key);
		if (asprintf(&key, "%srefs/%s.%s/ref.json", root, kind,
			    i ? n->name : (char *)coded.data) < 0) {
			key = NULL;
			return err_set(-ENOMEM, "no memory for a key");
		}
		r = strchr(n->name, '/') ? ZMAP_ABSENT : read_object(z, key, version, &bytes);
	}
	if (r == 0)
		r = ice_ref_text(buf_span(&bytes), ret);
	if (r == 0 && n->kind == ICE_REF_TAG)
		r = check_mark(z, key, hides);
	return r < 0 && key ? err_add(r, "'%s'", key) : r;
}
