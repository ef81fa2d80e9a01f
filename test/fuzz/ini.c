/* Hostile ~/.aws/config, .ncrc, and answers with credentials. */
#include "backends/s3/ini.h"
#include "backends/s3/profile.h"
#include "backends/s3/ncrc.h"
#include "backends/s3/provider.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct whole {
	const char *text;
	size_t len;
};

static void
within(const struct whole *w, const char *at, size_t len)
{
	if (len && (at < w->text || len > w->len || at > w->text + w->len - len))
		abort();
}

static int
look(void *arg, const struct ini_entry *e)
{
	within(arg, e->section, e->section_len);
	within(arg, e->parent ? e->parent : NULL, e->parent ? e->parent_len : 0);
	within(arg, e->key, e->key_len);
	within(arg, e->value, e->value_len);
	if (!e->key_len)
		abort();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile p = {0};
	struct s3_keys *k = NULL;
	size_t place;
	char *text = malloc(size + 1); /* no NUL behind it that a sanitizer would not see */
	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	if (ini_parse(text, size, look, &(struct whole){text, size}) != 0)
		abort();
	profile_add(text, size, "default", &p);
	profile_add(text, size, "x", &p);
	profile_free(&p);
	free(ncrc_find(text, size, &(struct ncrc_want){"h", "/x", "AWS.PROFILE"}, &place));
	if (provider_read_json((struct span){(uint8_t *)text, size}, &k) == 0 &&
		(!*k->id || !*k->secret))
		abort();
	keys_unref(k);
	free(text);
	return 0;
}
