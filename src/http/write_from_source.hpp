#pragma once

#include <coracle/http/body.hpp>
#include <coracle/io/source.hpp>

#include <cstdint>

namespace coracle::http::detail {

/// Writes what `from` gives until its end, at most `most` bytes; both must outlive the task.
task<> write_from_source(io::source* from, body_writer* out, std::uint64_t most);

}  // namespace coracle::http::detail
