/* Changes the metadata of a store, for tests: storeedit STORE COMMAND ARGUMENT…
 *
 *   group PATH v2|v3|nczarr    makes a group
 *   array PATH TYPE SHAPE CHUNKS DIMS [CODECS [SHARD]]
 *                              an array: float32 4,3 2,3 +time,x (+: unlimited); fill value 0
 *   set PATH NAME TEXT         sets an attribute; TEXT as users write it ("K", "1.5f", "1s, 2s")
 *   del PATH NAME | resize PATH N [WITH…] | remove PATH */
#include "base/err.h"
#include "model/attr_edit.h"
#include "model/edit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct store {
	struct url url;
	struct zmap *zmap;
	struct model *model;
};

static int
open_store(const char *name, struct store *s)
{
	const struct zmap_options o = {.writable = true, .timeout = 30 * SECOND};
	struct model_options m = {.ttl = INT64_MAX, .timeout = 30 * SECOND};
	CLEAN(buf_free) struct buf said = {0};
	int r = url_parse(name, &s->url);
	m.mode = s->url.mode;
	if (r == 0)
		r = zmap_open(&s->url, &o, &s->zmap);
	if (r == 0)
		r = zmap_try_writing(s->zmap, &said);
	return r == 0 ? model_open(s->zmap, &m, &s->model) : r;
}

static int
close_store(struct store *s, int r)
{
	model_close(s->model);
	if (r == 0)
		r = zmap_sync(s->zmap);
	zmap_close(s->zmap);
	url_free(&s->url);
	return r;
}

static int
make_group(struct store *s, char **arg)
{
	const bool v3 = !strcmp(arg[1], "v3");
	const struct new_group top = {v3 ? 3 : 2, !strcmp(arg[1], "nczarr")};
	return model_new_group(s->model, arg[0], &top, 0, NULL);
}

static unsigned
sizes(char *text, uint64_t *ret)
{
	unsigned n = 0;
	for (char *word; (word = strsep(&text, ",")) && *word && n < RANK_MAX;)
		ret[n++] = strtoull(word, NULL, 10);
	return n;
}

static int
make_array(struct store *s, char **arg)
{
	uint64_t shape[RANK_MAX], chunk[RANK_MAX], shard[RANK_MAX];
	const char *dim[RANK_MAX] = {NULL};
	bool unlimited[RANK_MAX] = {false};
	const uint64_t zero[2] = {0};
	struct new_array a = {.shape = shape, .chunk = chunk, .fill = (const uint8_t *)zero};
	int r = dtype_parse_name(arg[1], &a.dtype);
	a.rank = sizes(arg[2], shape);
	sizes(arg[3], chunk);
	char *names = arg[4];
	unsigned n = 0;
	for (char *word; (word = strsep(&names, ",")) && *word && n < RANK_MAX; n++) {
		unlimited[n] = *word == '+';
		dim[n] = word + unlimited[n];
	}
	a.dim = n ? dim : NULL;
	a.unlimited = unlimited;
	a.codecs = arg[5] && *arg[5] ? arg[5] : NULL;
	if (arg[5] && arg[6] && sizes(arg[6], shard))
		a.shard = shard;
	return r == 0 ? model_new_array(s->model, arg[0], &a, 0, NULL) : r;
}

static int
set_attr(struct edit *e, char **arg)
{
	struct attrs as = {0};
	struct attr a = {0};
	int r = node_attrs(edit_node(e), &as);
	if (r == 0)
		r = attr_of_text(arg[1], arg[2], strlen(arg[2]), attrs_find(&as, arg[1]), &a);
	if (r == 0)
		r = edit_set_attr(e, &a);
	attr_clear(&a);
	attrs_free(&as);
	return r;
}

static int
resize(struct edit *e, char **arg)
{
	int r = edit_resize(e, strtoull(arg[1], NULL, 10));
	for (unsigned i = 2; r == 0 && arg[i]; i++)
		r = edit_resize_with(e, arg[i]);
	return r;
}

static int
change(struct store *s, const char *command, char **arg)
{
	CLEAN(edit_freep) struct edit *e = NULL;
	int r = model_edit(s->model, arg[0], &e);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "no '%s'", arg[0]);
	if (r == 0 && !strcmp(command, "set"))
		r = set_attr(e, arg);
	else if (r == 0 && !strcmp(command, "del"))
		r = edit_del_attr(e, arg[1]);
	else if (r == 0)
		r = resize(e, arg);
	return r == 0 ? edit_commit(e, 0, NULL) : r;
}

static const struct {
	const char *name;
	int arguments;
} commands[] = {{"group", 2}, {"array", 5}, {"set", 3}, {"del", 2}, {"resize", 2}, {"remove", 1}};

static bool
is_command(int argc, char **argv)
{
	for (size_t i = 0; argc > 2 && i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(commands[i].name, argv[2]))
			return argc - 3 >= commands[i].arguments;
	return false;
}

int
main(int argc, char **argv)
{
	struct store s = {0};
	if (!is_command(argc, argv)) {
		fprintf(stderr, "usage: storeedit STORE COMMAND ARGUMENT...\n");
		return 2;
	}
	char **arg = argv + 3;
	int r = open_store(argv[1], &s);
	if (r == 0 && !strcmp(argv[2], "group"))
		r = make_group(&s, arg);
	else if (r == 0 && !strcmp(argv[2], "array"))
		r = make_array(&s, arg);
	else if (r == 0 && !strcmp(argv[2], "remove"))
		r = model_remove(s.model, arg[0], 0, NULL);
	else if (r == 0)
		r = change(&s, argv[2], arg);
	r = close_store(&s, r);
	if (r < 0)
		fprintf(stderr, "storeedit: %s\n", err_text());
	return r < 0;
}
