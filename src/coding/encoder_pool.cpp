#include "coding/encoder_pool.hpp"

#include <utility>

namespace coracle::coding {
namespace {

struct idle_encoders {
    std::unique_ptr<encoder> of[static_cast<std::size_t>(content_coding::zstd) + 1]
                               [pooled_encoder::most_kept];
};

idle_encoders& idle() {
    thread_local idle_encoders mine;
    return mine;
}

}  // namespace

pooled_encoder::pooled_encoder(content_coding coding, std::optional<std::uint64_t> size)
    : coding_(coding) {
    for (auto& kept : idle().of[static_cast<std::size_t>(coding)]) {
        if (kept == nullptr) continue;
        encoder_ = std::move(kept);
        break;
    }
    if (encoder_ == nullptr) encoder_ = make_encoder(coding);
    encoder_->begin(size);
}

pooled_encoder::~pooled_encoder() {
    for (auto& place : idle().of[static_cast<std::size_t>(coding_)]) {
        if (place != nullptr) continue;
        place = std::move(encoder_);
        return;
    }
}

}  // namespace coracle::coding
