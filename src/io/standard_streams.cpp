#include <coracle/io/standard_streams.hpp>
#include <coracle/runtime/loop.hpp>

#include <unistd.h>

namespace coracle::io {
namespace {

std::expected<std::unique_ptr<descriptor_stream>, error> shared(const char* operation, int fd,
                                                                std::string_view name) {
    return descriptor_stream::share(coracle::detail::loop_here(operation), fd, std::string(name));
}

}  // namespace

std::expected<std::unique_ptr<descriptor_stream>, error> standard_input() {
    return shared("standard_input", STDIN_FILENO, "standard input");
}

std::expected<std::unique_ptr<descriptor_stream>, error> standard_output() {
    return shared("standard_output", STDOUT_FILENO, "standard output");
}

std::expected<std::unique_ptr<descriptor_stream>, error> standard_error() {
    return shared("standard_error", STDERR_FILENO, "standard error");
}

}  // namespace coracle::io
