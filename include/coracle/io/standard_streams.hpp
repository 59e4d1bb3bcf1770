#pragma once

#include <coracle/io/descriptor_stream.hpp>

namespace coracle::io {

/// The standard input, output and error of this program, as streams on the current loop: each call
/// makes a new one, over `descriptor_stream::share`. The descriptors 0, 1 and 2 stay open, and what
/// other programs share of them (O_NONBLOCK) is not touched, so there is nothing to restore. Fails
/// with EBADF where the program was started without the descriptor.
///
/// What std::cin and stdio have read into their buffers is not seen here, and what std::cout and
/// stdio hold back is written after what is sent here: flush them, or use one of the two.
std::expected<std::unique_ptr<descriptor_stream>, error> standard_input();
std::expected<std::unique_ptr<descriptor_stream>, error> standard_output();
std::expected<std::unique_ptr<descriptor_stream>, error> standard_error();

}  // namespace coracle::io
