/* A home of its own, for tests of where keys come from. */
#pragma once

#include "store.h"
#include "test/check.h"

#include "backends/net/client.h"
#include "backends/s3/credentials.h"
#include "backends/s3/settings.h"

static const struct zmap_options nothing;

static struct place home;

static inline void
write_file(const char *name, const char *text)
{
	char path[400];
	snprintf(path, sizeof path, "%s/%s", home.path, name);
	FILE *f = fopen(path, "w");
	CHECK(f);
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* Nothing is set, and home is where nothing is. */
static inline void
clean(void)
{
	static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION",
		"AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_CONFIG_FILE",
		"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_ROLE_ARN", "AWS_ENDPOINT_URL_STS", "GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY",
		"NCRCENV_RC", "NCRCENV_IGNORE", "NCRCENV_HOME", "http_proxy", "https_proxy",
		"all_proxy", "AWS_CA_BUNDLE"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	setenv("HOME", home.path, 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
}
