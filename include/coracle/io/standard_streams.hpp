#pragma once

#include <coracle/io/descriptor_stream.hpp>

namespace coracle::io {

/// The standard input, output and error of this program, as streams on the current loop: each call
/// makes a new one, over `descriptor_stream::share`. The descriptors 0, 1 and 2 stay open, and what
/// other programs share of them (O_NONBLOCK) is not touched, so there is nothing to restore. Fails
/// with EBADF where the program was started without the descriptor. Throws `exception`
/// (errc::no_loop) on a thread without a loop.
///
/// These bypass the buffers of the C and C++ libraries. Bytes that std::cin or stdio have read
/// ahead are missing here, and bytes that std::cout or stdio hold back are written late: flush
/// them, or use only one of the two.
std::expected<std::unique_ptr<descriptor_stream>, error> standard_input();
std::expected<std::unique_ptr<descriptor_stream>, error> standard_output();
std::expected<std::unique_ptr<descriptor_stream>, error> standard_error();

}  // namespace coracle::io
