/* Metadata changed through the model while other writers, faults and readers come between. */
#include "edit_tree.h"

static struct meddling {
	const struct tree *tree;
	const char *key, *text; /* what another writer stores … */
	const char *before;     /* … right before a put of this key */
	int (*put)(struct zmap *, const struct zmap_put *, struct zmap_stat *);
	int fail; /* what the put itself comes to, instead of being done; 0: it is done */
	unsigned puts;
	struct model *mover; /* of another mount, which makes v w then; or NULL */
} meddling;

static int
meddle(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct meddling *m = &meddling;
	if (m->before && !strcmp(p->key, m->before)) {
		m->before = NULL;
		if (m->fail)
			return err_set(m->fail, "the disk is full");
		const struct zmap_put other = {
			.key = m->key, .bytes = {(const uint8_t *)m->text, strlen(m->text)}};
		struct zmap_stat st = {0};
		CHECK_INT(m->mover ? model_move_array(m->mover, "v", "w", NULL)
				   : m->put(z, &other, &st),
			0);
	}
	m->puts++;
	return m->put(z, p, ret);
}

static struct zmap_ops meddled;

static void
meddle_with(const struct tree *t, const char *before, const char *key, const char *text, int fail)
{
	if (t->z->ops != &meddled) {
		meddled = *t->z->ops;
		meddling.put = meddled.put;
		meddled.put = meddle;
		t->z->ops = &meddled;
	}
	meddling = (struct meddling){t, key, text, before, meddling.put, fail, 0, NULL};
}

static void
test_merged(void)
{
	struct tree t =
		tree_new(&never, (const char *const[]){".zgroup", ZGROUP, "v/.zarray", ZARRAY,
					 "v/.zattrs", "{\"a\": 1}", ".zmetadata",
					 "{\"metadata\": {\"v/.zarray\": " ZARRAY "}}", NULL});
	/* the same document, then the consolidated one */
	meddle_with(&t, "v/.zattrs", "v/.zattrs", "{\"a\": 2, \"theirs\": 3}", 0);
	struct attr a = text_attr("ours", "x");
	set_one(&t, "v", &a);
	stored_is(&t, "v/.zattrs", "{\"a\": 2, \"theirs\": 3, \"ours\": \"x\"}");
	meddle_with(&t, ".zmetadata", ".zmetadata",
		"{\"metadata\": {\"v/.zarray\": " ZARRAY ", \"w/.zarray\": {}}}", 0);
	a = text_attr("more", "y");
	set_one(&t, "v", &a);
	stored_is(&t, ".zmetadata",
		"{\"metadata\": {\"v/.zarray\": " ZARRAY
		", \"w/.zarray\": {}, \"v/.zattrs\": {\"a\": 2, "
		"\"theirs\": 3, \"ours\": \"x\", \"more\": \"y\"}}}");
	/* a newer document than ours goes into the consolidated ones */
	meddle_with(&t, ".zmetadata", "v/.zattrs", "{\"b\": 1}", 0);
	a = text_attr("last", "z");
	struct edit *e = begin_edit(&t, "v");
	CHECK_INT(edit_set_attr(e, &a), 0);
	end_edit(e);
	tree_put(&t, ".zmetadata", "{\"metadata\": {}}");
	a = text_attr("c", "z");
	set_one(&t, "v", &a);
	stored_is(&t, ".zmetadata", /* all of a node goes in */
		"{\"metadata\": {\"v/.zarray\": " ZARRAY
		", \"v/.zattrs\": {\"b\": 1, \"c\": \"z\"}}}");
	tree_free(&t);
}

static void
test_conflicts(void)
{
	struct tree t = tree_new(&never, shared_tree);
	/* another one grew it further: growth is done */
	struct edit *e = begin_edit(&t, "v");
	resize(&t, "v", 20);
	CHECK_INT(edit_resize(e, 10), 0);
	CHECK_INT(edit_commit(e, 0, NULL), 0);
	CHECK_INT(edit_lead(e), 20);
	CHECK_INT(length_of(&t, "v", 0), 20);
	edit_free(e);
	/* but an edit that saw another length does not shorten it */
	e = begin_edit(&t, "v");
	resize(&t, "v", 30);
	CHECK_INT(edit_resize(e, 10), 0);
	CHECK_INT(edit_commit(e, 0, NULL), -EIO);
	CHECK(strstr(err_text(), "30"));
	CHECK_INT(length_of(&t, "v", 0), 30);
	edit_free(e);
	/* nor does one that is to make it longer, if it was longer already */
	e = begin_edit(&t, "v");
	CHECK_INT(edit_grow(e, 10), 0);
	CHECK_INT(edit_commit(e, 0, NULL), 0);
	CHECK_INT(edit_lead(e), 30);
	CHECK_INT(length_of(&t, "v", 0), 30);
	edit_free(e);
	/* rewritten, removed */
	struct attr a = text_attr("units", "K");
	e = begin_edit(&t, "v");
	CHECK_INT(edit_set_attr(e, &a), 0);
	tree_put(&t, "v/.zarray", ZARRAY);
	CHECK_INT(edit_commit(e, 0, NULL), -EIO);
	CHECK(strstr(err_text(), "rewritten"));
	edit_free(e);
	e = begin_edit(&t, "w");
	CHECK_INT(edit_set_attr(e, &a), 0);
	tree_del(&t, "w/.zarray");
	CHECK_INT(edit_commit(e, 0, NULL), -EIO);
	CHECK(strstr(err_text(), "removed"));
	edit_free(e);
	tree_free(&t);
}

/* A fault in the middle: what was stored is seen, and the same edit completes it. */
static void
test_fault(void)
{
	static const char *const at[] = {"v/.zarray", "w/.zarray", "g/u/.zarray", ".zattrs"};
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		struct tree t = tree_new(&never, shared_tree);
		CHECK_INT(length_of(&t, "v", 0), 4);
		meddle_with(&t, at[i], NULL, NULL, -ENOSPC);
		struct edit *e = begin_edit(&t, "v");
		CHECK_INT(edit_resize(e, 8), 0);
		CHECK_INT(edit_commit(e, 0, NULL), -ENOSPC);
		struct node *n = tree_node(&t, "");
		CHECK_INT(n ? n->group->dim[0].size : 0, 4); /* the dimension comes last */
		node_unref(n);
		CHECK_INT(edit_commit(e, 0, NULL), 0);
		CHECK_INT(length_of(&t, "v", 0), 8);
		CHECK_INT(length_of(&t, "w", 1), 8);
		CHECK_INT(length_of(&t, "g/u", 0), 8);
		n = tree_node(&t, "");
		CHECK_INT(n ? n->group->dim[0].size : 0, 8);
		node_unref(n);
		edit_free(e);
		tree_free(&t);
	}
}

static struct refusing {
	const char
		*key; /* of which no put is taken, as if another writer were faster; NULL: none */
	int (*put)(struct zmap *, const struct zmap_put *, struct zmap_stat *);
	unsigned puts;
} refusing;

static int
refuse(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	const bool refused = refusing.key && !strcmp(p->key, refusing.key);
	refusing.puts += refused;
	return refused ? ZMAP_CHANGED : refusing.put(z, p, ret);
}

/* What is refused for ever is named after the timeout, until which it is tried now and then. */
static void
test_refused(void)
{
	static const char *const keys[] = {"v/.zattrs", ".zmetadata"};
	enum { TRIES_MOST = 20, BUSY_MOST = 100 }; /* a busy machine may get to one in that time */
	const struct model_options hasty = {.ttl = INT64_MAX, .timeout = SECOND / 5};
	struct tree t = tree_new(&hasty,
		(const char *const[]){".zgroup", ZGROUP, "v/.zarray", ZARRAY, "v/.zattrs", "{}",
			".zmetadata", "{\"metadata\": {\"v/.zarray\": " ZARRAY "}}", NULL});
	struct zmap_ops ops = *t.z->ops;
	refusing.put = ops.put;
	ops.put = refuse;
	t.z->ops = &ops;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		CLEAN(edit_freep) struct edit *e = NULL;
		const struct attr a = text_attr("ours", keys[i]);
		refusing.key = keys[i];
		CHECK_INT(model_edit(t.m, "v", &e), 0);
		CHECK_INT(edit_set_attr(e, &a), 0);
		refusing.puts = 0;
		for (int n = 0; n < BUSY_MOST && refusing.puts < 2; n++) {
			refusing.puts = 0;
			CHECK_INT(edit_commit(e, 0, NULL), -ETIMEDOUT);
			CHECK(strstr(err_text(), keys[i]));
		}
		CHECK(refusing.puts > 1 && refusing.puts <= TRIES_MOST);
		refusing.key = NULL;
		CHECK_INT(edit_commit(e, 0, NULL), 0); /* the same edit completes it */
	}
	tree_free(&t);
}

static struct told {
	struct model *model;
	unsigned own, foreign;
} told;

static void
note_change(void *arg, struct node *old, struct node *new)
{
	bool own = model_is_own(told.model, old->path, new);
	*(own ? &told.own : &told.foreign) += 1;
}

static void
test_own(void)
{
	const struct model_options always = {.ttl = 0, .timeout = 10 * SECOND};
	struct tree t = tree_new(&always, shared_tree);
	told = (struct told){.model = t.m};
	model_on_change(t.m, note_change, NULL);
	CHECK_INT(length_of(&t, "v", 0), 4);
	CHECK_INT(length_of(&t, "w", 0), 3);
	CHECK_INT(length_of(&t, "g/u", 0), 4);
	resize(&t, "v", 8);
	CHECK_INT(told.own, 4); /* three arrays and the group */
	CHECK_INT(told.foreign, 0);
	tree_put(&t, "v/.zattrs", "{\"theirs\": 1}");
	shown_is(&t, "v", "theirs", NC_TYPE_INT, "1");
	CHECK_INT(told.foreign, 1);
	CHECK_INT(told.own, 4);
	tree_free(&t);
}

/* A listing that is under way while a commit adds a name. */
static struct overtaken {
	struct model *model; /* NULL: the listing is let alone */
	int (*list)(struct zmap *, const char *prefix, zmap_list_fn *, void *arg);
	struct zmap_ops ops;
} overtaken;

static int
list_and_make(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	const int r = overtaken.list(z, prefix, fn, arg);
	struct model *m = overtaken.model;
	const struct new_group pure = {.zarr_format = 2};
	overtaken.model = NULL;
	if (m)
		CHECK_INT(model_new_group(m, "new", &pure, 0, NULL), 0);
	return r;
}

static void
test_overtaken(void)
{
	struct tree t = tree_new(
		&never, (const char *const[]){".zgroup", ZGROUP, "v/.zarray", ZARRAY, NULL});
	CHECK_INT(length_of(&t, "v", 0), 4);
	overtaken = (struct overtaken){t.m, t.z->ops->list, *t.z->ops};
	overtaken.ops.list = list_and_make;
	t.z->ops = &overtaken.ops;
	CHECK_STR(tree_names(&t, ""), "v*");
	CHECK(!overtaken.model);
	CHECK_STR(tree_names(&t, ""), "new/ v*"); /* the store is asked again */
	tree_free(&t);
}

/* v becomes w: what another writer has made there stays, and so does what it writes to v meanwhile.
 */
static void
test_moved(void)
{
	static const char *const objects[] = {".zgroup", ZGROUP, "v/.zarray", ZARRAY, "v/0", "one",
		"v/1", "two", "w/.zarray", ZARRAY, "w/0", "mine", NULL};
	struct tree t = tree_new(&never, objects);
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EEXIST);
	stored_is(&t, "w/0", "mine");
	stored_is(&t, "w/1", NULL);
	stored_is(&t, "v/0", "one");
	tree_del(&t, "w/.zarray"); /* chunks of something that is about to be, or that broke off */
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EEXIST);
	stored_is(&t, "w/0", "mine");
	stored_is(&t, "w/1", NULL);
	tree_del(&t, "w/0");
	/* while it is copied */
	meddle_with(&t, "w/1", "w/1", "mine", 0);
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EEXIST);
	stored_is(&t, "w/0", NULL);
	stored_is(&t, "w/1", "mine");
	tree_del(&t, "w/1");
	meddle_with(&t, "w/1", "w/.zarray", "{}", 0);
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EEXIST);
	stored_is(&t, "w/0", NULL);
	stored_is(&t, "v/1", "two");
	tree_del(&t, "w/.zarray");
	meddle_with(&t, "w/1", "v/.zarray",
		"{" ZARRAY_BODY ", \"dtype\": \"<i2\", \"fill_value\": 0}", 0);
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EIO);
	stored_is(&t, "w/0", NULL);
	tree_put(&t, "v/.zarray", ZARRAY);
	meddle_with(&t, "w/1", "v/0", "three", 0);
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), 0);
	stored_is(&t, "w/0", "three");
	stored_is(&t, "w/1", "two");
	stored_is(&t, "v/0", NULL);
	tree_free(&t);
}

/* An attempt that broke off, as by the daemon's death, has left what it had copied. */
static void
test_moved_again(void)
{
	static const char *const objects[] = {".zgroup", ZGROUP, "v/.zarray", ZARRAY, "v/0", "one",
		"v/1", "two", "w/0", "one", NULL};
	struct tree t = tree_new(&never, objects);
	tree_put(&t, "w/2", "one"); /* that is not of v */
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EEXIST);
	stored_is(&t, "w/2", "one");
	tree_del(&t, "w/2");
	meddle_with(&t, "w/1", "w/1", "new", 0);
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EEXIST);
	stored_is(&t, "w/0", "one");
	stored_is(&t, "w/1", "new");
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), -EEXIST); /* of the same size */
	tree_put(&t, "w/1", "two");
	meddle_with(&t, "w/.zarray", "w/1", "changed", 0); /* by another program, which stays */
	CHECK_INT(model_move_array(t.m, "v", "w", NULL), 0);
	stored_is(&t, "w/.zarray", ZARRAY);
	stored_is(&t, "w/0", "one");
	stored_is(&t, "w/1", "changed");
	stored_is(&t, "v/.zarray", NULL);
	stored_is(&t, "v/0", NULL);

	tree_put(&t, "v/0", "one"); /* the last attempt broke off when the old ones were to go */
	CHECK_INT(model_move_array(t.m, "w", "v", NULL), 0);
	stored_is(&t, "v/0", "one");
	stored_is(&t, "v/1", "changed");
	stored_is(&t, "w/0", NULL);
	tree_free(&t);
}

/* Another mount makes v w, too: it takes for its own what this one has copied, which then stays,
 * whatever this one comes to. */
static void
test_moved_by_two(const char *before)
{
	static const char *const objects[] = {
		".zgroup", ZGROUP, "v/.zarray", ZARRAY, "v/0", "one", "v/1", "two", NULL};
	struct tree t = tree_new(&never, objects);
	struct model *other = NULL;
	CHECK_INT(model_open(t.z, &never, &other), 0);
	meddle_with(&t, before, "", "", 0);
	meddling.mover = other;
	model_move_array(t.m, "v", "w", NULL);
	CHECK(!meddling.before);
	stored_is(&t, "w/.zarray", ZARRAY);
	stored_is(&t, "w/0", "one");
	stored_is(&t, "w/1", "two");
	stored_is(&t, "v/.zarray", NULL);
	stored_is(&t, "v/0", NULL);
	model_close(other);
	tree_free(&t);
}

int
main(void)
{
	test_merged();
	test_conflicts();
	test_fault();
	test_refused();
	test_own();
	test_overtaken();
	test_moved();
	test_moved_again();
	test_moved_by_two("w/1");
	test_moved_by_two("w/.zarray");
	return check_end();
}
