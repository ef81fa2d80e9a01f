/* libzip, loaded when the first archive is opened: it brings libcrypto. */
#pragma once

#include "base/lazy.h"

#include <zip.h>

/* clang-format off */
#define LIBZIP(F) \
	F(zip_discard) F(zip_error_code_zip) F(zip_error_fini) F(zip_error_init) \
	F(zip_error_set) F(zip_error_strerror) F(zip_error_to_data) F(zip_fclose) \
	F(zip_fopen_index) F(zip_fread) F(zip_get_name) F(zip_get_num_entries) \
	F(zip_open_from_source) F(zip_source_free) F(zip_source_function_create) \
	F(zip_source_seek_compute_offset) F(zip_stat_index) F(zip_stat_init)
/* clang-format on */

LAZY_DECLARE(libzip, LIBZIP);

#define zip_discard libzip.zip_discard
#define zip_error_code_zip libzip.zip_error_code_zip
#define zip_error_fini libzip.zip_error_fini
#define zip_error_init libzip.zip_error_init
#define zip_error_set libzip.zip_error_set
#define zip_error_strerror libzip.zip_error_strerror
#define zip_error_to_data libzip.zip_error_to_data
#define zip_fclose libzip.zip_fclose
#define zip_fopen_index libzip.zip_fopen_index
#define zip_fread libzip.zip_fread
#define zip_get_name libzip.zip_get_name
#define zip_get_num_entries libzip.zip_get_num_entries
#define zip_open_from_source libzip.zip_open_from_source
#define zip_source_free libzip.zip_source_free
#define zip_source_function_create libzip.zip_source_function_create
#define zip_source_seek_compute_offset libzip.zip_source_seek_compute_offset
#define zip_stat_index libzip.zip_stat_index
#define zip_stat_init libzip.zip_stat_init
