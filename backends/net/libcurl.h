/* libcurl, loaded when the first client is made (base/lazy.h): with what it depends on it is most
 * of what the dynamic linker would do. */
#pragma once

#include "base/lazy.h"

#define CURL_DISABLE_TYPECHECK /* its macros name the functions themselves */
#include <curl/curl.h>

/* clang-format off */
#define LIBCURL(F) \
	F(curl_easy_cleanup) F(curl_easy_getinfo) F(curl_easy_init) F(curl_easy_reset) \
	F(curl_easy_setopt) F(curl_easy_strerror) F(curl_free) F(curl_getdate) \
	F(curl_global_init) F(curl_multi_add_handle) F(curl_multi_cleanup) \
	F(curl_multi_info_read) F(curl_multi_init) F(curl_multi_perform) F(curl_multi_poll) \
	F(curl_multi_remove_handle) F(curl_multi_setopt) F(curl_multi_wakeup) \
	F(curl_slist_append) F(curl_slist_free_all) F(curl_url) F(curl_url_cleanup) \
	F(curl_url_get) F(curl_url_set)
/* clang-format on */

#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

LAZY_DECLARE(libcurl, LIBCURL);

#define curl_easy_cleanup libcurl.curl_easy_cleanup
#define curl_easy_getinfo libcurl.curl_easy_getinfo
#define curl_easy_init libcurl.curl_easy_init
#define curl_easy_reset libcurl.curl_easy_reset
#define curl_easy_setopt libcurl.curl_easy_setopt
#define curl_easy_strerror libcurl.curl_easy_strerror
#define curl_free libcurl.curl_free
#define curl_getdate libcurl.curl_getdate
#define curl_global_init libcurl.curl_global_init
#define curl_multi_add_handle libcurl.curl_multi_add_handle
#define curl_multi_cleanup libcurl.curl_multi_cleanup
#define curl_multi_info_read libcurl.curl_multi_info_read
#define curl_multi_init libcurl.curl_multi_init
#define curl_multi_perform libcurl.curl_multi_perform
#define curl_multi_poll libcurl.curl_multi_poll
#define curl_multi_remove_handle libcurl.curl_multi_remove_handle
#define curl_multi_setopt libcurl.curl_multi_setopt
#define curl_multi_wakeup libcurl.curl_multi_wakeup
#define curl_slist_append libcurl.curl_slist_append
#define curl_slist_free_all libcurl.curl_slist_free_all
#define curl_url libcurl.curl_url
#define curl_url_cleanup libcurl.curl_url_cleanup
#define curl_url_get libcurl.curl_url_get
#define curl_url_set libcurl.curl_url_set
