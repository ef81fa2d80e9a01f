/* Where keys come from, and in which order: files, environment, programs, services. */
#include "credentials_home.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct tried {
	char id[64], secret[64], token[64];
	char region[64], host[128], from[160];
	bool anonymous;
};

static struct tried
find_keys(const char *store, const struct zmap_options *o, int want)
{
	struct tried t = {0};
	struct url u;
	struct settings s = {0};
	struct client *client = NULL;
	struct credentials *c = NULL;
	CLEAN(keys_unrefp) struct s3_keys *k = NULL;
	CHECK_INT(url_parse(store, &u), 0);
	int r = settings_gather(&u, o, &s);
	if (r == 0)
		r = client_new(&(struct client_options){0}, &client);
	if (r == 0)
		r = credentials_new(&s, client, &c);
	if (r == 0)
		r = credentials_get(c, clock_now() + 10 * SECOND, NULL, &k);
	CHECK_INT(r, want);
	if (r == 0) {
		credentials_origin(c, t.from, sizeof t.from);
		snprintf(t.id, sizeof t.id, "%s", k ? k->id : "");
		snprintf(t.secret, sizeof t.secret, "%s", k ? k->secret : "");
		snprintf(t.token, sizeof t.token, "%s", k && k->token ? k->token : "");
		snprintf(t.region, sizeof t.region, "%s", s.address.region);
		snprintf(t.host, sizeof t.host, "%s", s.address.host ? s.address.host : "");
		t.anonymous = !k;
	}
	credentials_free(c);
	client_free(client);
	settings_free(&s);
	url_free(&u);
	return t;
}

/* Nothing is set but what files of ~/.aws say. */
static void
write_aws(void)
{
	clean();
	write_file(".aws/config",
		"[default]\nregion=r-config\naws_access_key_id=no\naws_secret_access_key=no\n"
		"[profile p]\nregion=r-p\nendpoint_url=http://p.host\ns3 =\n "
		"addressing_style=path\n"
		"[profile q]\nservices=mine\naws_access_key_id=QID\naws_secret_access_key=Qs\n"
		"[services mine]\ns3 =\n  endpoint_url = http://q.host:9\n"
		"[profile sso]\nsso_session=x\n[profile role]\nrole_arn=a\nsource_profile=p\n");
	write_file(".aws/credentials",
		"[default]\naws_access_key_id=DID\naws_secret_access_key=D/s+1=\n"
		"[p]\naws_access_key_id=PID\naws_secret_access_key=Ps\n"
		"aws_session_token=Pt\n");
}

static void
test_profiles(void)
{
	struct tried t;
	char aws[300];
	clean();
	mkdir(home.path, 0700);
	snprintf(aws, sizeof aws, "%s/.aws", home.path);
	CHECK_INT(mkdir(aws, 0700), 0);
	find_keys("s3://bucket", &nothing, -EINVAL);
	CHECK(strstr(err_text(), "profile=anon"));
	write_aws();
	t = find_keys("s3://bucket", &nothing, 0);
	CHECK_STR(t.id, "DID");
	CHECK_STR(t.from, "profile 'default' of ~/.aws");
	CHECK_STR(t.secret, "D/s+1=");
	CHECK_STR(t.region, "r-config");
	setenv("AWS_PROFILE", "p", 1);
	t = find_keys("s3://bucket", &nothing, 0);
	CHECK_STR(t.id, "PID");
	CHECK_STR(t.token, "Pt");
	CHECK_STR(t.region, "r-p");
	CHECK_STR(t.host, "p.host");
}

/* The environment counts before files, and what the URL says before the environment. */
static void
test_environment(void)
{
	struct tried t;
	write_aws();
	setenv("AWS_PROFILE", "p", 1);
	setenv("AWS_ACCESS_KEY_ID", "EID", 1);
	find_keys("s3://bucket", &nothing, -EINVAL);
	setenv("AWS_SECRET_ACCESS_KEY", "Es", 1);
	setenv("AWS_SESSION_TOKEN", "Et", 1);
	setenv("AWS_DEFAULT_REGION", "r-default", 1);
	setenv("AWS_ENDPOINT_URL", "http://e.host", 1);
	t = find_keys("s3://bucket", &nothing, 0);
	CHECK_STR(t.id, "EID");
	CHECK_STR(t.from, "$AWS_ACCESS_KEY_ID");
	CHECK_STR(t.token, "Et");
	CHECK_STR(t.region, "r-default");
	CHECK_STR(t.host, "e.host");
	setenv("AWS_ENDPOINT_URL_S3", "http://s3.host", 1);
	setenv("AWS_REGION", "r-env", 1);
	t = find_keys("s3://bucket#aws.profile=q", &nothing, 0);
	CHECK_STR(t.id, "QID");
	CHECK_STR(t.region, "r-env");
	CHECK_STR(t.host, "s3.host");
	unsetenv("AWS_ENDPOINT_URL_S3");
	unsetenv("AWS_ENDPOINT_URL");
	t = find_keys("s3://bucket#aws.profile=q&aws.region=r-url", &nothing, 0);
	CHECK_STR(t.region, "r-url");
	CHECK_STR(t.host, "q.host:9");
}

/* Options count before all else. */
static void
test_options(void)
{
	struct tried t;
	write_aws();
	setenv("AWS_REGION", "r-env", 1);
	const struct zmap_options o = {
		.profile = "q", .endpoint = "http://o.host", .region = "r-o"};
	t = find_keys("s3://bucket", &o, 0);
	CHECK_STR(t.id, "QID");
	CHECK_STR(t.region, "r-o");
	CHECK_STR(t.host, "o.host");
	find_keys("s3://bucket#aws.profile=p", &o, -EINVAL);
	find_keys("s3://bucket#aws.profile=unknown", &nothing, -EINVAL);
	CHECK(strstr(err_text(), "unknown"));
	find_keys("s3://bucket#aws.profile=sso", &nothing, -EINVAL);
	find_keys("s3://bucket#aws.profile=role", &nothing, -EINVAL);
	static const char *const anonymous[] = {"anon", "none", "no", "No"};
	for (size_t i = 0; i < 4; i++)
		CHECK(find_keys("s3://bucket", &(struct zmap_options){.profile = anonymous[i]}, 0)
				.anonymous);
}

static void
test_ncrc(void)
{
	write_aws();
	setenv("AWS_ACCESS_KEY_ID", "EID", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "Es", 1);
	write_file(".ncrc", "AWS.PROFILE=q\n[https://other]AWS.PROFILE=p\nAWS.REGION=r-rc\n");
	struct tried t = find_keys("s3://bucket", &nothing, 0);
	CHECK_STR(t.id, "QID");
	CHECK_STR(t.region, "r-rc");
	setenv("NCRCENV_IGNORE", "1", 1);
	CHECK_STR(find_keys("s3://bucket", &nothing, 0).id, "EID");
}

static void
test_google(void)
{
	clean();
	setenv("NCRCENV_IGNORE", "1", 1);
	CHECK(find_keys("gs://bucket", &nothing, 0).anonymous);
	setenv("AWS_ACCESS_KEY_ID", "AKIA", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
	setenv("NCRCENV_IGNORE", "1", 1);
	CHECK(find_keys("gs://bucket", &nothing, 0).anonymous);
	setenv("AWS_ACCESS_KEY_ID", "GOOG1", 1);
	CHECK_STR(find_keys("gs://bucket", &nothing, 0).id, "GOOG1");
	setenv("GS_ACCESS_KEY_ID", "GID", 1);
	find_keys("gs://bucket", &nothing, -EINVAL);
	CHECK(strstr(err_text(), "GS_SECRET_ACCESS_KEY belong together"));
	setenv("GS_SECRET_ACCESS_KEY", "Gs", 1);
	CHECK_STR(find_keys("gs://bucket", &nothing, 0).id, "GID");
	CHECK_STR(find_keys("gs://bucket", &nothing, 0).region, "auto");
}

static void
test_process(void)
{
	clean();
	setenv("NCRCENV_IGNORE", "1", 1);
	write_file(".aws/config", "");
	char text[2000];
	snprintf(text, sizeof text,
		"[default]\ncredential_process = sh \"%s/a script\" 'two words'\n"
		"[bad]\ncredential_process = false\n"
		"[lost]\ncredential_process = /no/such/program\n"
		"[odd]\ncredential_process = echo topsecret\n",
		home.path);
	write_file(".aws/credentials", text);
	write_file("a script", "echo '{\"Version\": 1, \"AccessKeyId\": \"'\"$1\"'\", "
			       "\"SecretAccessKey\": \"s\"}'\n");
	CHECK_STR(find_keys("s3://bucket", &nothing, 0).id, "two words");
	find_keys("s3://bucket", &(struct zmap_options){.profile = "bad"}, -EIO);
	find_keys("s3://bucket", &(struct zmap_options){.profile = "lost"}, -ENOENT);
	find_keys("s3://bucket", &(struct zmap_options){.profile = "odd"}, -EINVAL);
	CHECK(!strstr(err_text(), "topsecret"));
}

/* --- services --- */

struct service {
	int fd;
	unsigned port;
	pthread_t thread;
	pthread_mutex_t lock; /* guards asked */
	unsigned asked;
	char first[4096]; /* the last question */
	const char *answer;
};

static void *
serve(void *arg)
{
	struct service *s = arg;
	for (int c; (c = accept(s->fd, NULL, NULL)) >= 0; close(c)) {
		char q[4096] = "", head[200];
		size_t n = 0;
		ssize_t got;
		while (n < sizeof q - 1 && (got = read(c, q + n, sizeof q - 1 - n)) > 0) {
			n += (size_t)got;
			q[n] = 0;
			const char *end = strstr(q, "\r\n\r\n"),
				   *len = strstr(q, "Content-Length: ");
			if (end && (!len || strlen(end + 4) >= strtoul(len + 16, NULL, 10)))
				break;
		}
		const char *body = s->answer;
		if (strstr(q, "PUT /latest/api/token"))
			body = "metatoken";
		else if (strstr(q, "security-credentials/ HTTP"))
			body = "my role\n";
		LOCKED(&s->lock) {
			s->asked++;
			snprintf(s->first, sizeof s->first, "%s", q);
		}
		int len = snprintf(head, sizeof head,
			"HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
			strlen(body));
		if (write(c, head, (size_t)len) < 0 || write(c, body, strlen(body)) < 0)
			continue;
	}
	return NULL;
}

static void
service_start(struct service *s)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
	CHECK_INT(listen(s->fd, 16), 0);
	CHECK_INT(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
	pthread_mutex_init(&s->lock, NULL);
	CHECK_INT(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void
service_stop(struct service *s)
{
	shutdown(s->fd, SHUT_RDWR);
	close(s->fd);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
}

static void
set_url(const char *variable, const struct service *s, const char *path)
{
	char url[100];
	snprintf(url, sizeof url, "http://127.0.0.1:%u%s", s->port, path);
	setenv(variable, url, 1);
}

static const char json[] =
	"{\"AccessKeyId\": \"SID\", \"SecretAccessKey\": \"Ss\", \"Token\": \"St\", "
	"\"Expiration\": \"2099-01-01T00:00:00Z\"}";

static void
check_container(struct service *s, const char *token_file)
{
	set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", s, "/v2/x");
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "bearer", 1);
	struct tried t = find_keys("s3://bucket", &nothing, 0);
	CHECK_STR(t.id, "SID");
	CHECK_STR(t.token, "St");
	CHECK_STR(t.from, "the container's service for credentials");
	CHECK(strstr(s->first, "GET /v2/x ") && strstr(s->first, "Authorization: bearer\r\n"));
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token_file, 1);
	find_keys("s3://bucket", &nothing, 0);
	CHECK(strstr(s->first, "Authorization: from a file\r\n"));
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.org/", 1);
	find_keys("s3://bucket", &nothing, -EINVAL);
}

/* Proxies are not asked: what these services say is not for others. */
static void
check_machine(struct service *s)
{
	setenv("http_proxy", "http://127.0.0.1:9", 1);
	set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", s, "/v2/x");
	CHECK_STR(find_keys("s3://bucket", &nothing, 0).id, "SID");
	unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	unsetenv("AWS_EC2_METADATA_DISABLED");
	set_url("AWS_EC2_METADATA_SERVICE_ENDPOINT", s, "/");
	struct tried t = find_keys("s3://bucket", &nothing, 0);
	CHECK_STR(t.id, "SID");
	CHECK_STR(t.from, "this machine's role");
	CHECK(strstr(s->first, "GET /latest/meta-data/iam/security-credentials/my HTTP"));
	CHECK(strstr(s->first, "X-aws-ec2-metadata-token: metatoken\r\n"));
	unsetenv("http_proxy");
}

static void
check_web_identity(struct service *s, const char *token_file)
{
	s->answer =
		"<R><AccessKeyId>WID</AccessKeyId><SecretAccessKey>Ws</SecretAccessKey>"
		"<SessionToken>Wt</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></R>";
	set_url("AWS_ENDPOINT_URL_STS", s, "/");
	setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/x", 1);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token_file, 1);
	struct tried t = find_keys("s3://bucket", &nothing, 0);
	CHECK_STR(t.id, "WID");
	CHECK_STR(t.from, "role 'arn:aws:iam::1:role/x' by web identity");
	CHECK(strstr(s->first,
		"Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&"));
	CHECK(strstr(s->first, "&WebIdentityToken=from%20a%20file"));
	unsetenv("AWS_WEB_IDENTITY_TOKEN_FILE");
}

static void
test_services(void)
{
	struct service s = {.answer = json};
	char token[300];
	clean();
	setenv("NCRCENV_IGNORE", "1", 1);
	write_file(".aws/credentials", "");
	write_file("token", "from a file\n");
	snprintf(token, sizeof token, "%s/token", home.path);
	service_start(&s);
	check_container(&s, token);
	check_machine(&s);
	check_web_identity(&s, token);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	service_stop(&s);
}

/* Keys that expire soon are fetched anew, by one thread, while the others go on; those that a
 * server refuses, too. */
static void *
get_many(void *arg)
{
	for (int i = 0; i < 50; i++) {
		struct s3_keys *k = NULL;
		CHECK_INT(credentials_get(arg, clock_now() + 10 * SECOND, NULL, &k), 0);
		CHECK(k && !strcmp(k->id, "SID"));
		keys_unref(k);
	}
	return NULL;
}

static void
test_renewal(void)
{
	struct service s = {0};
	struct url u;
	struct settings set = {0};
	struct client *client = NULL;
	struct credentials *c = NULL;
	struct s3_keys *k = NULL, *again = NULL;
	pthread_t t[4];
	char soon[300], stamp[32];
	clean();
	setenv("NCRCENV_IGNORE", "1", 1);
	time_t at = time(NULL) + 60; /* good, but not for long */
	strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &(struct tm){0}));
	snprintf(soon, sizeof soon,
		"{\"AccessKeyId\": \"SID\", \"SecretAccessKey\": \"s\", \"Expiration\": \"%s\"}",
		stamp);
	s.answer = soon;
	service_start(&s);
	set_url("AWS_CONTAINER_CREDENTIALS_FULL_URI", &s, "/");
	CHECK_INT(url_parse("s3://bucket", &u), 0);
	CHECK_INT(settings_gather(&u, &nothing, &set), 0);
	CHECK_INT(client_new(&(struct client_options){0}, &client), 0);
	CHECK_INT(credentials_new(&set, client, &c), 0);
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&t[i], NULL, get_many, c), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK_INT(s.asked, 1); /* the next is not due before 10 s */
	CHECK_INT(credentials_get(c, 0, NULL, &k), 0);
	CHECK(credentials_renew(c, k));
	CHECK_INT(credentials_get(c, 0, NULL, &again), 0);
	CHECK_INT(s.asked, 2);
	CHECK(again != k);
	CHECK(credentials_renew(c, k)); /* another thread has seen to that */
	keys_unref(again);
	CHECK_INT(credentials_get(c, 0, NULL, &again), 0);
	CHECK_INT(s.asked, 2);
	keys_unref(again);
	keys_unref(k);
	service_stop(&s);
	credentials_free(c);
	client_free(client);
	settings_free(&set);
	url_free(&u);
}

/* Keys that have expired as our clock has it, which may be wrong: what is asked is signed with them
 * all the same. */
static void
test_expired(void)
{
	clean();
	setenv("NCRCENV_IGNORE", "1", 1);
	char text[600];
	snprintf(text, sizeof text, "[default]\ncredential_process = cat \"%s/answer\"\n",
		home.path);
	write_file(".aws/credentials", text);
	write_file("answer", "{\"AccessKeyId\": \"OLD\", \"SecretAccessKey\": \"s\", "
			     "\"Expiration\": \"2020-01-01T00:00:00Z\"}");
	struct tried t = find_keys("s3://bucket", &nothing, 0);
	CHECK(!t.anonymous);
	CHECK_STR(t.id, "OLD");
}

int
main(void)
{
	home = place_new();
	CHECK_INT(chdir(home.path), 0);
	test_profiles();
	test_environment();
	test_options();
	test_ncrc();
	test_google();
	test_process();
	test_expired();
	test_services();
	test_renewal();
	place_remove(&home);
	return check_end();
}
