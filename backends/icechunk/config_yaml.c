/* The configuration of spec 1, `config.yaml`: event by event, since of a document libyaml would
 * keep every node. Aliases stand for nothing. */
#include "backends/icechunk/places.h"
#include "backends/icechunk/libyaml.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

enum {
	KEY_MAX = 64,   /* none that is read is half as long */
	DEPTH_MAX = 32, /* libyaml's time grows by the square of what is nested; a configuration has
			   5 */
};

struct yaml_walk {
	yaml_parser_t parser;
	yaml_event_t at;
	unsigned depth;
	struct ice_places *into;
	bool no_memory;
};

static bool
next(struct yaml_walk *w)
{
	yaml_event_delete(&w->at);
	if (!yaml_parser_parse(&w->parser, &w->at))
		return false;
	const yaml_event_type_t t = w->at.type;
	w->depth += t == YAML_MAPPING_START_EVENT || t == YAML_SEQUENCE_START_EVENT;
	w->depth -= t == YAML_MAPPING_END_EVENT || t == YAML_SEQUENCE_END_EVENT;
	return t != YAML_STREAM_END_EVENT && w->depth <= DEPTH_MAX;
}

/* From the first event of a value to its last. */
static bool
skip(struct yaml_walk *w)
{
	for (size_t depth = 0;;) {
		const yaml_event_type_t t = w->at.type;
		if (t == YAML_MAPPING_START_EVENT || t == YAML_SEQUENCE_START_EVENT)
			depth++;
		else if (t == YAML_MAPPING_END_EVENT || t == YAML_SEQUENCE_END_EVENT)
			depth--;
		if (!depth)
			return true;
		if (!next(w))
			return false;
	}
}

static bool
is_null(const char *text)
{
	return !*text || !strcmp(text, "~") || !strcasecmp(text, "null");
}

/* The scalar that the walk is at, "" where it is none, or null. */
static const char *
scalar(const struct yaml_walk *w)
{
	if (w->at.type != YAML_SCALAR_EVENT)
		return "";
	const char *text = (const char *)w->at.data.scalar.value;
	bool plain = w->at.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return plain && is_null(text) ? "" : text;
}

/* A value, from its first event to its last. */
typedef bool entry_fn(struct yaml_walk *, const char *key, void *arg);

/* All values of a mapping; what is none has no entries. */
static bool
each(struct yaml_walk *w, entry_fn *fn, void *arg)
{
	char key[KEY_MAX];
	if (w->at.type != YAML_MAPPING_START_EVENT)
		return skip(w);
	while (next(w) && w->at.type != YAML_MAPPING_END_EVENT) {
		const char *text = scalar(w);
		const size_t len = strlen(text) < sizeof key ? strlen(text) : 0;
		memcpy(key, text, len);
		key[len] = 0;
		if (!skip(w) || !next(w) || !fn(w, key, arg))
			return false;
	}
	return w->at.type == YAML_MAPPING_END_EVENT;
}

/* Copies of what was met: events do not stay. */
struct yaml_texts {
	char *name, *prefix, *region, *endpoint;
	bool anonymous;
};

static bool
keep(struct yaml_walk *w, char **to)
{
	free(*to);
	*to = strdup(scalar(w));
	w->no_memory |= !*to;
	return *to && skip(w);
}

static bool
option_entry(struct yaml_walk *w, const char *key, void *arg)
{
	struct yaml_texts *t = arg;
	if (!strcmp(key, "region"))
		return keep(w, &t->region);
	if (!strcmp(key, "endpoint_url"))
		return keep(w, &t->endpoint);
	if (!strcmp(key, "anonymous"))
		t->anonymous = !strcmp(scalar(w), "true");
	return skip(w);
}

/* The kind of store is a tag of its value: "store: !s3". */
static bool
field_entry(struct yaml_walk *w, const char *key, void *arg)
{
	struct yaml_texts *t = arg;
	if (!strcmp(key, "name"))
		return keep(w, &t->name);
	if (!strcmp(key, "url_prefix"))
		return keep(w, &t->prefix);
	return !strcmp(key, "store") ? each(w, option_entry, t) : skip(w);
}

static struct span
span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, text ? strlen(text) : 0};
}

static bool
container_entry(struct yaml_walk *w, const char *key, void *arg)
{
	struct yaml_texts t = {0};
	bool ok = each(w, field_entry, &t);
	if (ok) {
		const struct ice_place place = {.name = span_of(t.name),
			.prefix = span_of(t.prefix),
			.region = span_of(t.region),
			.endpoint = span_of(t.endpoint),
			.anonymous = t.anonymous};
		w->no_memory |= ice_places_add(w->into, &place) < 0;
	}
	free(t.name);
	free(t.prefix);
	free(t.region);
	free(t.endpoint);
	return ok && !w->no_memory;
}

static bool
root_entry(struct yaml_walk *w, const char *key, void *arg)
{
	bool wanted = !strcmp(key, "virtual_chunk_containers");
	return wanted ? each(w, container_entry, arg) : skip(w);
}

int
ice_config_yaml(struct span config, struct ice_places *into)
{
	struct yaml_walk w = {.into = into};
	int r = libyaml_load();
	if (r < 0)
		return r;
	if (!yaml_parser_initialize(&w.parser))
		return err_set(-ENOMEM, "no memory for a configuration");
	yaml_parser_set_input_string(&w.parser, config.data, config.len);
	bool ok = next(&w) && next(&w) && next(&w) && each(&w, root_entry, NULL);
	while (ok && next(&w)) /* all of it must be sound */
		;
	ok &= w.at.type == YAML_STREAM_END_EVENT;
	r = ok ? 0 : w.no_memory || w.parser.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
	yaml_event_delete(&w.at);
	yaml_parser_delete(&w.parser);
	return r == 0 ? 0 : err_set(r, "the configuration is no YAML");
}
