#pragma once

#include "http/h2/head.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::http::h2 {

/// Heads of the peer whose field blocks changed no table (RFC 7541): those have references, and
/// literals that are not indexed. The same bytes are the same head until another block changes the
/// table: from a peer that sends the same heads again, most of HPACK's work and all checks are
/// saved. Blocks with a literal that is never to be indexed must not be noted.
class known_heads {
public:
    /// Returns the head of this block; null: it is not here. Valid until another function is
    /// called.
    const head* find(std::string_view block, head_kind kind) const noexcept {
        if (!any_ || block.empty()) return nullptr;
        const entry& e = (*kept_)[block.size() % count];
        return e.block == block && e.kind == kind ? &e.message : nullptr;
    }
    /// Notes a block that was decompressed just now, and has changed no table; keeps its head when
    /// the block has come before. Throws std::bad_alloc.
    void note(std::string_view block, head_kind kind, const head& message);
    /// Forgets all: the table has changed.
    void forget() noexcept;
    /// Frees the memory too.
    void release() noexcept;

    /// Larger ones are not kept: bytes of the block, and of names and values.
    static constexpr std::size_t longest = 1024;
    static constexpr std::size_t most_fields = 32;

private:
    struct entry {
        std::string block;  ///< empty: not used
        std::string text;
        head message;
        head_kind kind = head_kind::request;
    };
    static constexpr std::size_t count = 4;

    static void keep(entry& e, const head& message);

    std::array<std::uint32_t, count> seen_{};  ///< hashes of the blocks that came last
    std::unique_ptr<std::array<entry, count>> kept_;
    bool any_ = false;
};

}  // namespace coracle::http::h2
