#include <coracle/io/source.hpp>

namespace coracle::io {

std::span<char> source::room_in(buffer& into, std::size_t capacity) {
    if (!into) into = buffer(capacity);
    if (into.empty()) into.clear();
    return {into.spare(), into.spare_size()};
}

task<std::expected<std::size_t, error>> source::fill(buffer& into, std::size_t capacity) {
    auto n = co_await read_some(room_in(into, capacity));
    if (n) into.commit(*n);
    co_return n;
}

}  // namespace coracle::io
