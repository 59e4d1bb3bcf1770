#pragma once

/// @file
/// TLS contexts, certificates, keys and digests.

#include <coracle/tls/certificate.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/tls/hash.hpp>
#include <coracle/tls/options.hpp>
#include <coracle/tls/reload.hpp>
#include <coracle/tls/session_info.hpp>
#include <coracle/tls/sha256.hpp>
#include <coracle/tls/signing_key.hpp>
#include <coracle/tls/stream.hpp>
#include <coracle/tls/verifying_key.hpp>
