#pragma once

/// @file
/// Processes and pseudo-terminals.

#include <coracle/process/child.hpp>
#include <coracle/process/command.hpp>
#include <coracle/process/exit_status.hpp>
#include <coracle/process/memory_use.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/process/redirect.hpp>
