#include "runtime/backend/uring_buffers.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <new>

namespace coracle::detail {
namespace {

constexpr std::size_t ring_bytes = uring_buffers::entries * sizeof(io_uring_buf);

}  // namespace

uring_buffers::~uring_buffers() {
    drop();
    for (slot& s : slots_) {
        if (s.block != nullptr) deallocate_block(s.block, buffer::default_capacity);
    }
}

int uring_buffers::open(io_uring& ring) noexcept {
    if (ring_ == nullptr) {
        void* const place =
            ::mmap(nullptr, ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) return -errno;
        ring_ = static_cast<io_uring_buf_ring*>(place);
    }
    io_uring_buf_ring_init(ring_);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(ring_);
    registration.ring_entries = entries;
    registration.bgid = group;
    const int result = ::io_uring_register_buf_ring(&ring, &registration, 0);
    if (result < 0) drop();
    return result;
}

void uring_buffers::drop() noexcept {
    forget_lent();
    if (ring_ != nullptr) ::munmap(std::exchange(ring_, nullptr), ring_bytes);
}

void uring_buffers::forget_lent() noexcept {
    for (std::size_t i = 0; i != slots_.size(); ++i) {
        if (slots_[i].is_lent) filled(static_cast<number>(i), 0), give_back(static_cast<number>(i));
    }
}

bool uring_buffers::lend_one(int offset) noexcept {
    try {
        if (free_ == none) {
            if (slots_.size() >= most_) return false;
            slots_.emplace_back();
            give_back(static_cast<number>(slots_.size() - 1));
        }
        slot& s = slots_[free_];
        if (s.block == nullptr) {
            s.block = static_cast<char*>(allocate_block(buffer::default_capacity));
        }
    } catch (const std::bad_alloc&) {
        return false;  // continues with the existing ones for now
    }
    const number n = std::exchange(free_, slots_[free_].next);
    slots_[n].is_lent = true;
    io_uring_buf_ring_add(ring_, slots_[n].block, buffer::default_capacity, n, entries - 1, offset);
    return true;
}

void uring_buffers::lend_more() noexcept {
    int added = 0;
    while (lent_ < wanted_ && lend_one(added)) {
        ++added;
        ++lent_;
    }
    if (added != 0) io_uring_buf_ring_advance(ring_, added);
}

}  // namespace coracle::detail
