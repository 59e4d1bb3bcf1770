#include <coracle/base/buffer.hpp>

namespace coracle {

void buffer::make_room(std::size_t n) {
    const std::size_t held = size();
    if (begin_ != 0 && capacity_ - held >= n) {
        std::memmove(block_, block_ + begin_, held);
        begin_ = 0;
        end_ = static_cast<std::uint32_t>(held);
        return;
    }
    const std::size_t doubled = std::size_t{capacity_} * 2;
    buffer larger(held + n > doubled ? held + n : doubled);
    if (held != 0) std::memcpy(larger.spare(), data(), held);
    larger.commit(held);
    *this = std::move(larger);
}

}  // namespace coracle
