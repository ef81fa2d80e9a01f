#include "model/meta.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const meta_name[META_KINDS][2] = {
	[META_ARRAY] = {".zarray"},
	[META_GROUP] = {".zgroup"},
	[META_ATTRS] = {".zattrs"},
	[META_ALL] = {".zmetadata"},
	[META_NC_GROUP] = {".nczgroup"},
	[META_NC_ARRAY] = {".nczvar", ".nczarray"},
	[META_NC_ATTRS] = {".nczattr", ".nczattrs"},
	[META_V3] = {"zarr.json"},
};

bool
meta_is_name(const char *name)
{
	if (!strcmp(name, ".nczarr"))
		return true;
	for (unsigned k = 0; k < META_KINDS; k++)
		for (unsigned i = 0; i < 2 && meta_name[k][i]; i++)
			if (!strcmp(name, meta_name[k][i]))
				return true;
	return false;
}

void
metas_done(struct metas *m)
{
	for (unsigned k = 0; k < META_KINDS; k++)
		text_unref(m->of[k].owner);
	*m = (struct metas){0};
}

/* The documents of a node, parsed, for as long as it is made. */
struct parsed {
	struct json *doc[META_KINDS];
	uint64_t hash;
};

static void
parsed_done(struct parsed *p)
{
	for (unsigned k = 0; k < META_KINDS; k++)
		json_freep(&p->doc[k]);
}

/* Takes document k in. -EINVAL: it is no JSON dict; its bytes count for the version all the same. */
static int
parse(const struct metas *m, enum meta_kind k, struct parsed *p)
{
	const struct meta *meta = &m->of[k];
	if (!meta->data)
		return 0;
	CLEAN(json_freep) struct json *doc = NULL;
	int r = json_parse(meta->data, meta->len, &doc);
	if (r == 0 && json_type(doc) != JSON_TYPE_DICT)
		r = err_set(-EINVAL, "%s instead of a dict", json_type_name(doc));
	if (r < 0) {
		p->hash = hash_more(p->hash, meta->data, meta->len);
		return err_add(r, "bad %s", meta_name[k][0]);
	}
	/* Without blanks, and an empty one as none, so that a consolidated copy and the object itself compare equal. */
	if (k == META_ATTRS && !json_count(doc))
		return 0;
	CLEAN(clean_free) char *canonical = json_dump(doc);
	if (!canonical)
		return err_set(-ENOMEM, "no memory for metadata");
	p->hash = hash_more(p->hash, &k, sizeof k);
	p->hash = hash_more(p->hash, canonical, strlen(canonical));
	p->doc[k] = MOVE(doc);
	return 0;
}

static int
keep_attrs(const struct metas *m, bool pure, struct node *n)
{
	const struct meta *attrs = &m->of[META_ATTRS], *types = &m->of[META_NC_ATTRS];
	if (!attrs->data)
		return 0;
	struct attr_context *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for attributes");
	n->attr_context = c;
	n->attrs_text = attrs->data;
	n->attrs_len = attrs->len;
	c->attrs = text_ref(attrs->owner);
	c->pure = pure;
	if (types->data && !pure) {
		c->types = text_ref(types->owner);
		c->types_text = types->data;
		c->types_len = types->len;
	}
	return 0;
}

static int
finish(const struct metas *m, const struct parsed *p, const struct scope *s, struct node *n)
{
	snprintf(n->version, sizeof n->version, "%016" PRIx64, p->hash);
	for (unsigned k = 0; k < META_KINDS; k++)
		if (m->of[k].data && m->of[k].mtime > n->mtime &&
			(k != META_ALL || n->kind == NODE_GROUP))
			n->mtime = m->of[k].mtime;
	bool pure = scope_pure(s);
	n->nczarr = !pure && p->doc[META_ATTRS] &&
		    nczarr_types(p->doc[META_ATTRS], p->doc[META_NC_ATTRS]);
	return keep_attrs(m, pure, n);
}

int
meta_v2_array(const char *path, const struct metas *m, const struct scope *s, struct node **ret)
{
	CLEAN(parsed_done) struct parsed p = {.hash = HASH_START};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = node_new(NODE_ARRAY, path, &n);
	if (r < 0)
		return r;
	n->made_of = meta_name[META_ARRAY][0];
	/* What is bad in these only costs what they would have said. */
	const enum meta_kind minor[] = {META_ATTRS, META_NC_ARRAY, META_NC_ATTRS};
	for (unsigned i = 0; i < sizeof minor / sizeof *minor; i++) {
		r = parse(m, minor[i], &p);
		if (r < 0 && !n->flaw)
			n->flaw = strdup(err_text());
		if (r == -ENOMEM || (r < 0 && !n->flaw))
			return err_set(-ENOMEM, "no memory for metadata");
	}
	r = parse(m, META_ARRAY, &p);
	const struct nczarr_docs docs = {
		p.doc[META_ATTRS], p.doc[META_ARRAY], p.doc[META_NC_ARRAY]};
	if (r == 0)
		r = array_v2(&docs, s, n);
	if (r < 0) {
		array_meta_free(n->array);
		n->array = NULL;
		r = node_mark(n, r);
	}
	if (r == 0)
		r = finish(m, &p, s, n);
	if (r == 0)
		*ret = MOVE(n);
	return r;
}

int
meta_v2_group(const char *path, const struct metas *m, const struct scope *s, struct node **ret)
{
	CLEAN(parsed_done) struct parsed p = {.hash = HASH_START};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = node_new(NODE_GROUP, path, &n);
	const enum meta_kind docs[] = {META_GROUP, META_ATTRS, META_NC_GROUP, META_NC_ATTRS};
	for (unsigned i = 0; r == 0 && i < sizeof docs / sizeof *docs; i++) {
		int bad = parse(m, docs[i], &p);
		if (bad < 0)
			r = node_mark(n, bad);
	}
	if (r == 0) {
		const struct nczarr_docs d = {
			p.doc[META_ATTRS], p.doc[META_GROUP], p.doc[META_NC_GROUP]};
		r = nczarr_group(&d, scope_parent(s), scope_pure(s), &n->group);
	}
	if (r == 0)
		r = finish(m, &p, s, n);
	if (r == 0)
		*ret = MOVE(n);
	return r;
}

int
meta_v3(const char *path, const struct metas *m, struct node **ret)
{
	CLEAN(parsed_done) struct parsed p = {.hash = HASH_START};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = parse(m, META_V3, &p);
	if (r == -ENOMEM)
		return r;
	const struct json *type = r == 0 ? json_get(p.doc[META_V3], "node_type") : NULL;
	if (r == 0)
		r = err_set(-ENOTSUP, "Zarr version 3 is not supported");
	bool array = type && json_is(type, "array");
	int made = node_new(array ? NODE_ARRAY : NODE_GROUP, path, &n);
	if (made == 0)
		made = node_mark(n, r);
	if (made == 0 && !array && !(n->group = calloc(1, sizeof *n->group)))
		made = err_set(-ENOMEM, "no memory for a group");
	if (made < 0)
		return made;
	n->made_of = array ? meta_name[META_V3][0] : NULL;
	snprintf(n->version, sizeof n->version, "%016" PRIx64, p.hash);
	n->mtime = m->of[META_V3].mtime;
	*ret = MOVE(n);
	return 0;
}
