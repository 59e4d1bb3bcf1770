#pragma once

/// @file
/// All of the library but coracle/testing.hpp. For a first program and for one file of a large one;
/// docs/guide.md says what it costs.

#include <coracle/base.hpp>
#include <coracle/coding.hpp>
#include <coracle/connect.hpp>
#include <coracle/fs.hpp>
#include <coracle/http.hpp>
#include <coracle/io.hpp>
#include <coracle/metrics.hpp>
#include <coracle/mime.hpp>
#include <coracle/net.hpp>
#include <coracle/process.hpp>
#include <coracle/runtime.hpp>
#include <coracle/smtp.hpp>
#include <coracle/tls.hpp>
#include <coracle/websocket.hpp>
