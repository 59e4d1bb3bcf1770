#pragma once

#include "coding/encoder.hpp"

namespace coracle::coding {

/// An encoder that goes back to the pool of the thread that destroys this.
class pooled_encoder {
public:
    /// Takes one from the pool of this thread, or makes one, and begins a content.
    pooled_encoder(content_coding coding, std::optional<std::uint64_t> size);
    ~pooled_encoder();
    pooled_encoder(const pooled_encoder&) = delete;
    pooled_encoder& operator=(const pooled_encoder&) = delete;

    encoder* operator->() const noexcept { return encoder_.get(); }

    /// The most encoders of each coding that a thread keeps.
    static constexpr std::size_t most_kept = 2;

private:
    content_coding coding_;
    std::unique_ptr<encoder> encoder_;
};

}  // namespace coracle::coding
