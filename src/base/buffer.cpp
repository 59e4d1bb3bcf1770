#include <coracle/base/buffer.hpp>

#include <algorithm>

namespace coracle {

void buffer::make_room(std::size_t n) {
    const std::size_t held = size();
    if (own_.begin != 0 && own_.capacity - held >= n) {
        std::memmove(own_.block, own_.block + own_.begin, held);
        own_.begin = 0;
        own_.end = static_cast<std::uint32_t>(held);
        return;
    }
    const std::size_t doubled = std::min(std::size_t{own_.capacity} * 2, most_capacity);
    buffer larger(held + n > doubled ? held + n : doubled);
    if (held != 0) std::memcpy(larger.spare(), data(), held);
    larger.commit(held);
    *this = std::move(larger);
}

}  // namespace coracle
