/* Keys that several loads wait for. */
#include "credentials_home.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

struct asker {
	struct credentials *credentials;
	struct cancel cancel;
	struct s3_keys *keys;
	int result;
	pthread_t thread;
};

static void *
ask(void *arg)
{
	struct asker *a = arg;
	a->result =
		credentials_get(a->credentials, clock_now() + 20 * SECOND, &a->cancel, &a->keys);
	return NULL;
}

/* A load that is not wanted any more fetches keys for others too. */
static void
test_cancelled(void)
{
	struct settings s = {0};
	struct client *client = NULL;
	struct asker first = {0}, second = {0};
	struct url u;
	char text[600];
	clean();
	setenv("NCRCENV_IGNORE", "1", 1);
	snprintf(text, sizeof text, "[default]\ncredential_process = sh \"%s/slow\"\n", home.path);
	write_file(".aws/credentials", text);
	write_file("slow",
		"[ -e asked ] || { touch asked; sleep 20; }\n"
		"echo '{\"Version\": 1, \"AccessKeyId\": \"K\", \"SecretAccessKey\": \"s\"}'\n");
	CHECK_INT(url_parse("s3://bucket", &u), 0);
	CHECK_INT(settings_gather(&u, &nothing, &s), 0);
	CHECK_INT(client_new(&(struct client_options){0}, &client), 0);
	CHECK_INT(credentials_new(&s, client, &first.credentials), 0);
	second.credentials = first.credentials;
	CHECK_INT(pthread_create(&first.thread, NULL, ask, &first), 0);
	while (access("asked", F_OK) != 0)
		usleep(1000);
	CHECK_INT(pthread_create(&second.thread, NULL, ask, &second), 0);
	usleep(200000);
	atomic_store(&first.cancel.wanted_no_more, true);
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	CHECK_INT(first.result, -EINTR);
	CHECK_INT(second.result, 0);
	CHECK(second.keys && !strcmp(second.keys->id, "K"));
	keys_unref(second.keys);
	credentials_free(first.credentials);
	client_free(client);
	settings_free(&s);
	url_free(&u);
}

int
main(void)
{
	char aws[400];
	home = place_new();
	snprintf(aws, sizeof aws, "%s/.aws", home.path);
	CHECK_INT(chdir(home.path), 0);
	CHECK_INT(mkdir(aws, 0700), 0);
	test_cancelled();
	place_remove(&home);
	return check_end();
}
