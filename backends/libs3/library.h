/* libs3 and libxml2, which is to be started before it: loaded when a store is opened by that
 * transport. */
#pragma once

#include "base/lazy.h"

#include <libs3.h>
#include <libxml/parser.h>

/* clang-format off */
#define LIBS3(F) \
	F(S3_create_request_context) F(S3_delete_object) F(S3_destroy_request_context) \
	F(S3_get_object) F(S3_get_request_context_fdsets) F(S3_get_status_name) \
	F(S3_head_object) F(S3_initialize) F(S3_list_bucket) F(S3_put_object) \
	F(S3_runonce_request_context)
/* clang-format on */
#define LIBXML2(F) F(xmlInitParser)

LAZY_DECLARE(libs3_library, LIBS3);
LAZY_DECLARE(libxml2, LIBXML2);
/* Both. 0, or -EIO with the reason. */
int libs3_load(void);

#define S3_create_request_context libs3_library.S3_create_request_context
#define S3_delete_object libs3_library.S3_delete_object
#define S3_destroy_request_context libs3_library.S3_destroy_request_context
#define S3_get_object libs3_library.S3_get_object
#define S3_get_request_context_fdsets libs3_library.S3_get_request_context_fdsets
#define S3_get_status_name libs3_library.S3_get_status_name
#define S3_head_object libs3_library.S3_head_object
#define S3_initialize libs3_library.S3_initialize
#define S3_list_bucket libs3_library.S3_list_bucket
#define S3_put_object libs3_library.S3_put_object
#define S3_runonce_request_context libs3_library.S3_runonce_request_context
#define xmlInitParser libxml2.xmlInitParser
