#pragma once

/// @file
/// Content codings: zstd, brotli, gzip, deflate.

#include <coracle/coding/content_coding.hpp>
