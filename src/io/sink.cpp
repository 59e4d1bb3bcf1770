#include <coracle/io/sink.hpp>

namespace coracle::io {

task<std::expected<void, error>> sink::flush() {
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> sink::finish() {
    return flush();
}

}  // namespace coracle::io
