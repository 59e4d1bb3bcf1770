#include <coracle/base/arena.hpp>

namespace coracle {

void* arena::allocate_in_new_chunk(std::size_t size) {
    std::size_t total = chunk_ == nullptr ? first_chunk : chunk_->size * 2;
    if (total > 16 * 1024) total = 16 * 1024;
    if (total < size + sizeof(chunk)) total = size + sizeof(chunk);
    total = block_pool::rounded(total);
    char* block = static_cast<char*>(detail::allocate_block(total));
    chunk_ = ::new (static_cast<void*>(block)) chunk{chunk_, total};
    next_ = block + sizeof(chunk) + size;
    end_ = block + total;
    return block + sizeof(chunk);
}

void arena::release() noexcept {
    while (chunk_ != nullptr) {
        chunk* c = chunk_;
        chunk_ = c->previous;
        detail::deallocate_block(c, c->size);
    }
    next_ = end_ = nullptr;
}

void arena::release_later_chunks() noexcept {
    while (chunk_->previous != nullptr) {
        chunk* c = chunk_;
        chunk_ = c->previous;
        detail::deallocate_block(c, c->size);
    }
}

}  // namespace coracle
