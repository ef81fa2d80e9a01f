/* libcrypto (OpenSSL), loaded when the first S3 store is opened: digests and signatures. */
#pragma once

#include "base/lazy.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define LIBCRYPTO(F) F(EVP_Digest) F(EVP_get_digestbyname) F(EVP_md5) F(EVP_sha256) F(HMAC)

LAZY_DECLARE(libcrypto, LIBCRYPTO);

#define EVP_Digest libcrypto.EVP_Digest
#define EVP_get_digestbyname libcrypto.EVP_get_digestbyname
#define EVP_md5 libcrypto.EVP_md5
#define EVP_sha256 libcrypto.EVP_sha256
#define HMAC libcrypto.HMAC
