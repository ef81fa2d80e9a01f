#include "backends/s3/s3_request.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

int
bucket_open(const struct url *u, const struct zmap_options *o, struct bucket *ret)
{
	pthread_mutex_init(&ret->lock, NULL);
	int r = settings_gather(u, o, &ret->settings);
	if (r < 0)
		return r;
	const char *region = ret->settings.address.region;
	memcpy(ret->region, region, strlen(region) + 1); /* address_is_region bounds it */
	ret->signer = signer_new("s3");
	if (!ret->signer)
		return err_set(-ENOMEM, "no memory for a store");
	r = client_new(
		&(struct client_options){
			.connections = o->connections,
			.ca_bundle = ret->settings.ca_bundle,
			.tls_insecure = o->tls_insecure,
		},
		&ret->client);
	if (r == 0)
		r = credentials_new(&ret->settings, ret->client, &ret->credentials);
	/* What is missing is said now, not by the first request. */
	CLEAN(keys_unrefp) struct s3_keys *keys = NULL;
	int64_t deadline = o->timeout ? clock_now() + o->timeout : 0;
	return r < 0 ? r : credentials_get(ret->credentials, deadline, NULL, &keys);
}

void
bucket_close(struct bucket *b)
{
	client_free(b->client);
	credentials_free(b->credentials);
	signer_free(b->signer);
	settings_free(&b->settings);
	pthread_mutex_destroy(&b->lock);
}
