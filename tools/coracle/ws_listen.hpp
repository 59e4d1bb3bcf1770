#pragma once

#include "ws_command.hpp"

namespace coracle::tool {

/// Echoes on the address of --listen until a signal and the end of the drain. Throws `failure`.
void serve_echo(const ws_settings& settings);

}  // namespace coracle::tool
