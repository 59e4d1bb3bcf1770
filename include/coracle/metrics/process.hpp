#pragma once

#include <coracle/metrics/registry.hpp>

namespace coracle::metrics {

/// Adds the numbers of this process that Prometheus' own clients give, read from the system when
/// the text is made: process_cpu_seconds_total, process_resident_memory_bytes,
/// process_virtual_memory_bytes, process_open_fds, process_max_fds, process_threads,
/// process_start_time_seconds. Once for a registry: throws `exception` (already_exists) the second
/// time.
void add_process(registry& to);

}  // namespace coracle::metrics
