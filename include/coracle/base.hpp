#pragma once

/// @file
/// Errors, logs, URLs, buffers and other things that need no loop.

#include <coracle/base/arena.hpp>
#include <coracle/base/buffer.hpp>
#include <coracle/base/error.hpp>
#include <coracle/base/export.hpp>
#include <coracle/base/html.hpp>
#include <coracle/base/log.hpp>
#include <coracle/base/percent.hpp>
#include <coracle/base/printable.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/base/unique_function.hpp>
#include <coracle/base/url.hpp>
#include <coracle/base/version.hpp>
