#pragma once

/// @file
/// Connecting by name, through proxies too.

#include <coracle/connect/client_options.hpp>
#include <coracle/connect/connect.hpp>
#include <coracle/connect/option_description.hpp>
#include <coracle/connect/overrides.hpp>
#include <coracle/connect/proxy.hpp>
#include <coracle/connect/proxy_environment.hpp>
