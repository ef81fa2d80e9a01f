/* Keys that services give out: containers, STS, the machine's own role. */
#include "backends/s3/provider.h"

#include "backends/net/client.h"
#include "backends/net/userfile.h"
#include "backends/s3/sign.h"
#include "backends/s3/xml.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

enum { ANSWER_MAX = 1 << 16 };
static const int64_t MACHINE_PATIENCE =
	SECOND; /* where there is no such service, nothing answers */
static const int64_t SERVICE_PATIENCE = 10 * SECOND;

/* One question. */
struct question {
	const struct provider_ask *ask;
	const char *method; /* NULL: GET */
	const char *url;
	struct sign_pair header; /* name NULL: none */
	struct span send;
	bool nearby;
	int64_t patience;
};

static int
prepare(void *arg, unsigned attempt, struct client_attempt *a)
{
	const struct question *q = arg;
	int r = client_url(a, q->url);
	if (r == 0 && q->header.name)
		r = client_header(a, q->header.name, q->header.value);
	return r;
}

static const struct client_hooks hooks = {.prepare = prepare};

/* 0, ZMAP_ABSENT or -errno. The answer holds secrets, so its memory never moves. */
static int
put_question(const struct question *q, struct buf *ret, struct client_reply *reply)
{
	int r = buf_reserve(ret, ANSWER_MAX + 1);
	if (r < 0)
		return r;
	r = client_call(q->ask->client,
		&(struct client_ask){
			.kind = CLIENT_OTHER,
			.method = q->method,
			.hooks = &hooks,
			.arg = (void *)q,
			.send = q->send,
			.into = ret,
			.max = ANSWER_MAX,
			.deadline = q->ask->deadline,
			.cancel = q->ask->cancel,
			.tries = q->patience == MACHINE_PATIENCE ? 1 : 0,
			.nearby = q->nearby,
			.patience = q->patience,
		},
		reply);
	return r == 0 ? buf_terminate(ret) : r;
}

/* --- containers --- */

/* A plain http service must be on this machine or link: the answer holds secrets, and so may the
 * question. */
static bool
may_be_asked(const char *url)
{
	static const char *const hosts[] = {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]",
		"127.0.0.1", "localhost", "[::1]"};
	if (!strncmp(url, "https://", 8))
		return true;
	if (strncmp(url, "http://", 7) != 0)
		return false;
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		size_t n = strlen(hosts[i]);
		if (!strncmp(url + 7, hosts[i], n) && strchr(":/", url[7 + n]))
			return true;
	}
	return false;
}

/* What the service wants to hear, from a file that is renewed, or as it was said at the start. */
static int
authorization(struct buf *ret)
{
	const char *file = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *text = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	int r = 0;
	if (file && *file)
		r = userfile_read(file, ret);
	else if (text)
		r = buf_add(ret, text, strlen(text));
	if (r == USERFILE_NONE)
		return err_set(-ENOENT, "there is no file '%s'", file);
	while (r == 0 && ret->len && ret->data[ret->len - 1] <= ' ')
		ret->len--;
	return r < 0 ? r : buf_terminate(ret);
}

int
provider_container(const struct provider_ask *a, struct s3_keys **ret)
{
	const char *relative = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	CLEAN(buf_free) struct buf url = {0};
	CLEAN(secret_buf_free) struct buf token = {0};
	CLEAN(secret_buf_free) struct buf answer = {0};
	int r = 0;
	if (relative && *relative)
		r = buf_addf(
			&url, "http://169.254.170.2%s%s", *relative == '/' ? "" : "/", relative);
	else if (full && *full)
		r = buf_addf(&url, "%s", full);
	else
		return PROVIDER_NONE;
	if (r == 0)
		r = buf_terminate(&url);
	if (r == 0 && !may_be_asked((char *)url.data))
		r = err_set(-EINVAL, "a plain http service must be on this machine");
	if (r == 0)
		r = authorization(&token);
	if (r == 0) {
		struct question q = {
			.ask = a, .url = (char *)url.data, .patience = SERVICE_PATIENCE};
		q.nearby = !strncmp(q.url, "http://", 7);
		if (token.len)
			q.header = (struct sign_pair){"Authorization", (char *)token.data};
		r = put_question(&q, &answer, NULL);
	}
	if (r > 0)
		r = err_set(-EIO, "it knows of no keys");
	if (r == 0)
		r = provider_read_json(buf_span(&answer), ret);
	return r < 0 ? err_add(r, "the container's service for credentials") : 0;
}

/* --- STS --- */

static int
sts_url(const struct provider_ask *a, struct buf *ret)
{
	const char *given = getenv("AWS_ENDPOINT_URL_STS"), *region = a->settings->address.region;
	int r = given && *given ? buf_addf(ret, "%s", given)
				: buf_addf(ret, "https://sts.%s.amazonaws.com%s/", region,
					  strncmp(region, "cn-", 3) ? "" : ".cn");
	return r < 0 ? r : buf_terminate(ret);
}

static int
form(const struct provider_role *role, const char *token, struct buf *ret)
{
	struct sign_pair pairs[] = {
		{"Action", "AssumeRoleWithWebIdentity"},
		{"RoleArn", role->arn},
		{"RoleSessionName",
			role->session_name && *role->session_name ? role->session_name : "zarrfs"},
		{"Version", "2011-06-15"},
		{"WebIdentityToken", token},
	};
	int r = buf_reserve(ret, 3 * (strlen(token) + strlen(role->arn)) + 4096);
	return r < 0 ? r : sign_query(pairs, sizeof pairs / sizeof *pairs, ret);
}

/* STS says why in its own XML. */
static int
refused(int r, const struct client_reply *reply)
{
	struct xml_field f[2] = {{.name = "Code"}, {.name = "Message"}};
	if (r < 0 && reply->body.len && xml_fields(buf_span(&reply->body), f, 2) == 0 && *f[0].text)
		return err_set(r, "%.100s: %.300s", f[0].text, f[1].text);
	return r > 0 ? err_set(-EIO, "HTTP status %d", reply->status) : r;
}

int
provider_assume(
	const struct provider_ask *a, const struct provider_role *role, struct s3_keys **ret)
{
	CLEAN(secret_buf_free) struct buf token = {0};
	CLEAN(secret_buf_free) struct buf body = {0};
	CLEAN(secret_buf_free) struct buf answer = {0};
	CLEAN(buf_free) struct buf url = {0};
	int r = userfile_read(role->token_file, &token);
	if (r == USERFILE_NONE)
		r = err_set(-ENOENT, "there is no file '%s'", role->token_file);
	while (r == 0 && token.len && token.data[token.len - 1] <= ' ')
		token.len--;
	if (r == 0)
		r = buf_terminate(&token);
	if (r == 0)
		r = form(role, (char *)token.data, &body);
	if (r == 0)
		r = sts_url(a, &url);
	if (r == 0) {
		struct client_reply reply = {0};
		r = put_question(
			&(struct question){.ask = a,
				.method = "POST",
				.url = (char *)url.data,
				.header = {"Content-Type", "application/x-www-form-urlencoded"},
				.send = buf_span(&body),
				.patience = SERVICE_PATIENCE},
			&answer, &reply);
		r = refused(r, &reply);
		client_reply_free(&reply);
	}
	if (r == 0)
		r = provider_read_xml(buf_span(&answer), ret);
	return r < 0 ? err_add(r, "role '%s' by web identity", role->arn) : 0;
}

/* --- the machine's own role (IMDSv2) --- */

static int
machine_url(const char *path, const char *more, struct buf *ret)
{
	const char *base = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	size_t n = base ? strlen(base) : 0;
	while (n && base[n - 1] == '/')
		n--;
	ret->len = 0;
	int r = n ? buf_add(ret, base, n) : buf_addf(ret, "http://169.254.169.254");
	if (r == 0)
		r = buf_addf(ret, "/latest/%s", path);
	if (r == 0)
		r = client_encode(ret, more, strlen(more), false);
	return r < 0 ? r : buf_terminate(ret);
}

/* The name of the first role, a line. */
static void
cut_line(struct buf *b)
{
	char *line = (char *)b->data;
	line[strcspn(line, " \t\r\n")] = 0;
	b->len = strlen(line);
}

int
provider_machine(const struct provider_ask *a, struct s3_keys **ret)
{
	static const char roles[] = "meta-data/iam/security-credentials/";
	const char *disabled = getenv("AWS_EC2_METADATA_DISABLED");
	CLEAN(buf_free) struct buf url = {0};
	CLEAN(buf_free) struct buf role = {0};
	CLEAN(secret_buf_free) struct buf token = {0};
	CLEAN(secret_buf_free) struct buf answer = {0};
	if (disabled && !strcasecmp(disabled, "true"))
		return PROVIDER_NONE;
	struct question q = {.ask = a,
		.method = "PUT",
		.header = {"X-aws-ec2-metadata-token-ttl-seconds", "21600"},
		.nearby = true,
		.patience = MACHINE_PATIENCE};
	int r = machine_url("api/token", "", &url);
	q.url = (char *)url.data;
	if (r == 0)
		r = put_question(&q, &token, NULL);
	if (r != 0)
		return r == -ENOMEM ? r : PROVIDER_NONE; /* this is no machine of Amazon's */
	q.method = NULL;
	q.header = (struct sign_pair){"X-aws-ec2-metadata-token", (char *)token.data};
	r = machine_url(roles, "", &url);
	q.url = (char *)url.data;
	if (r == 0)
		r = put_question(&q, &role, NULL);
	if (r != 0)
		return r < 0 ? err_add(r, "the machine's metadata service") : PROVIDER_NONE;
	cut_line(&role);
	r = machine_url(roles, (char *)role.data, &url);
	q.url = (char *)url.data;
	if (r == 0)
		r = put_question(&q, &answer, NULL);
	if (r == 0)
		r = provider_read_json(buf_span(&answer), ret);
	return r > 0   ? PROVIDER_NONE
	       : r < 0 ? err_add(r, "the machine's role '%s'", (char *)role.data)
		       : 0;
}
