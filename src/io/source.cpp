#include <coracle/io/source.hpp>

namespace coracle::io {

task<std::expected<std::size_t, error>> source::fill(buffer& into, std::size_t capacity) {
    if (!into) into = buffer(capacity);
    if (into.empty()) into.clear();
    auto n = co_await read_some({into.spare(), into.spare_size()});
    if (n) into.commit(*n);
    co_return n;
}

}  // namespace coracle::io
