#include <coracle/io/standard_streams.hpp>
#include <coracle/runtime/loop.hpp>

#include <unistd.h>

namespace coracle::io {

std::expected<std::unique_ptr<descriptor_stream>, error> standard_input() {
    return descriptor_stream::share(*loop::current(), STDIN_FILENO, "standard input");
}

std::expected<std::unique_ptr<descriptor_stream>, error> standard_output() {
    return descriptor_stream::share(*loop::current(), STDOUT_FILENO, "standard output");
}

std::expected<std::unique_ptr<descriptor_stream>, error> standard_error() {
    return descriptor_stream::share(*loop::current(), STDERR_FILENO, "standard error");
}

}  // namespace coracle::io
