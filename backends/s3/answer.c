/* Keys in what services answer. */
#include "backends/s3/provider.h"

#include "backends/s3/iso8601.h"
#include "backends/s3/xml.h"
#include "base/err.h"
#include "base/json.h"

#include <errno.h>
#include <string.h>

struct answer_texts {
	char *id, *secret, *token, *expires;
};

static void
texts_free(struct answer_texts *t)
{
	secret_free(t->id);
	secret_free(t->secret);
	secret_free(t->token);
	secret_free(t->expires);
}

static int
take(const struct answer_texts *t, struct s3_keys **ret)
{
	if (!t->id || !*t->id || !t->secret || !*t->secret)
		return err_set(-EINVAL, "the answer has no access key");
	int64_t expires = INT64_MAX;
	if (t->expires && *t->expires) {
		expires = iso8601_parse(t->expires);
		if (!expires)
			return err_set(-EINVAL, "the answer has no valid time of expiry");
	}
	*ret = keys_new(t->id, t->secret, t->token, expires);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for keys");
}

static char **
field_of(struct answer_texts *t, const struct json_slice *m)
{
	static const char *const names[] = {
		"AccessKeyId", "SecretAccessKey", "SessionToken", "Token", "Expiration"};
	char **const fields[] = {&t->id, &t->secret, &t->token, &t->token, &t->expires};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == m->key_len && !memcmp(m->key, names[i], m->key_len))
			return fields[i];
	return NULL;
}

static int
json_member(const struct json_slice *m, void *arg)
{
	char **field = field_of(arg, m);
	if (!field || m->value_len < 2 || *m->value != '"')
		return 0;
	const struct json_slice text = {
		m->value + 1, m->value_len - 2, memchr(m->value, '\\', m->value_len), NULL, 0};
	secret_free(*field);
	*field = json_slice_key(&text);
	return *field ? 0 : err_set(-ENOMEM, "no memory for keys");
}

int
provider_read_json(struct span s, struct s3_keys **ret)
{
	CLEAN(texts_free) struct answer_texts t = {0};
	int r = json_scan(s.data ? (const char *)s.data : "", s.len, NULL, json_member, &t);
	if (r == -EINVAL)
		return err_set(-EINVAL, "the answer is no JSON with keys");
	return r < 0 ? r : take(&t, ret);
}

int
provider_read_xml(struct span s, struct s3_keys **ret)
{
	enum { ID, SECRET, TOKEN, EXPIRES, FIELDS };
	struct xml_field *f = calloc(FIELDS, sizeof *f);
	if (!f)
		return err_set(-ENOMEM, "no memory for keys");
	f[ID].name = "AccessKeyId";
	f[SECRET].name = "SecretAccessKey";
	f[TOKEN].name = "SessionToken";
	f[EXPIRES].name = "Expiration";
	int r = xml_fields(s, f, FIELDS);
	if (r == 0) /* borrowed */
		r = take(&(struct answer_texts){f[ID].text, f[SECRET].text, f[TOKEN].text,
				 f[EXPIRES].text},
			ret);
	explicit_bzero(f, FIELDS * sizeof *f);
	free(f);
	return r;
}
