/* Attributes set and deleted in documents. */
#include "base/base64.h"
#include "base/err.h"
#include "base/json_edit.h"
#include "model/attr_edit.h"
#include "model/edit_impl.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* A path of names inside the document that holds the attributes. */
struct attrs_inside {
	const char *name[6];
};

static struct attrs_inside
inside(const struct edit_part *p, const char *a, const char *b, const char *c)
{
	return p->v3 ? (struct attrs_inside){{"attributes", a, b, c}}
		     : (struct attrs_inside){{a, b, c}};
}

/* xarray's fill value of floats in Zarr V3: base64 of the little-endian double. */
static int
pack_fill(const struct attr *a, struct buf *ret)
{
	const double d = attr_number(a, 0).d;
	uint64_t bits;
	memcpy(&bits, &d, sizeof bits);
	bits = htole64(bits);
	int r = buf_add(ret, "\"", 1);
	if (r == 0)
		r = base64_encode((struct span){(const uint8_t *)&bits, sizeof bits}, ret);
	return r < 0 ? r : buf_add(ret, "\"", 1);
}

static bool
is_packed(const struct edit_part *p, const struct attr *a, struct span was)
{
	const bool real = a->type == NC_TYPE_FLOAT || a->type == NC_TYPE_DOUBLE;
	return p->v3 && p->reals && real && a->count == 1 && !strcmp(a->name, "_FillValue") &&
	       (!was.len || *was.data == '"');
}

static enum attr_spelling
spelling(const char *types)
{
	return !types ? ATTR_PURE : *types && types[1] == 'N' ? ATTR_RECORDED_1 : ATTR_RECORDED;
}

static int
set_type(struct commit *c, struct edit_part *p, const char *types, const struct attr *a)
{
	CLEAN(buf_free) struct buf name = {0};
	int r = buf_add(&name, "\"", 1);
	if (r == 0)
		r = attr_type_name(a, spelling(types), &name);
	if (r == 0)
		r = buf_add(&name, "\"", 1);
	const struct attrs_inside at = inside(p, types, "types", a->name);
	return r < 0 ? r : doc_set(c, p->attrs, at.name, buf_span(&name));
}

static int
set_attr(struct commit *c, struct edit_part *p, const struct attr *wanted, const struct attr *old)
{
	CLEAN(attr_clear) struct attr a = {0};
	CLEAN(buf_free) struct buf value = {0};
	const char *types = part_types(p);
	const struct attrs_inside at = inside(p, wanted->name, NULL, NULL);
	const struct span was = doc_find(p->attrs, at.name);
	int r = attr_keep_type(wanted, old, &a);
	if (r < 0)
		return r;
	if (old && attr_same(&a, old) && old->recorded == (types != NULL)) {
		commit_touch(c, p->attrs);
		return 0;
	}
	r = is_packed(p, &a, was) ? pack_fill(&a, &value)
				  : attr_json(&a, spelling(types), was, &value);
	if (r == 0)
		r = doc_set(c, p->attrs, at.name, buf_span(&value));
	return r == 0 && types ? set_type(c, p, types, &a) : r;
}

static int
del_attr(struct commit *c, struct edit_part *p, const char *name)
{
	const char *types = part_types(p);
	const struct attrs_inside at = inside(p, name, NULL, NULL);
	int r = doc_del(c, p->attrs, at.name);
	if (r == 0 && types) {
		const struct attrs_inside type = inside(p, types, "types", name);
		if (doc_find(p->attrs, type.name).len)
			r = doc_del(c, p->attrs, type.name);
	}
	return r;
}

static void
clean_attrs(struct attrs *as)
{
	attrs_free(as);
}

int
part_change_attrs(struct commit *c, struct edit_part *p, const struct edit_change *change, size_t n)
{
	CLEAN(clean_attrs) struct attrs now = {0};
	int r = p->before ? node_attrs(p->before, &now) : 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct attr *a = &change[i].attr;
		r = change[i].del ? del_attr(c, p, a->name)
				  : set_attr(c, p, a, attrs_find(&now, a->name));
	}
	return r < 0 ? err_add(r, "'%s'", *p->path ? p->path : "/") : r;
}
