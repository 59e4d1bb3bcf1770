#include "coding/encoder_pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coracle::coding {
namespace {

/// Statics are destroyed behind what a thread keeps, and may use encoders.
constinit thread_local bool thread_is_over = false;

struct idle_encoders {
    ~idle_encoders() { thread_is_over = true; }
    std::unique_ptr<encoder> of[static_cast<std::size_t>(content_coding::zstd) + 1]
                               [pooled_encoder::most_kept];
};

using places = std::unique_ptr<encoder>[pooled_encoder::most_kept];

/// Null at the end of the thread.
places* idle(content_coding coding) {
    if (thread_is_over) return nullptr;
    thread_local idle_encoders mine;
    return &mine.of[static_cast<std::size_t>(coding)];
}

}  // namespace

pooled_encoder::pooled_encoder(content_coding coding, std::optional<std::uint64_t> size)
    : coding_(coding) {
    if (places* const all = idle(coding)) {
        const auto kept = std::ranges::find_if(*all, [](const auto& e) { return e != nullptr; });
        if (kept != std::end(*all)) encoder_ = std::move(*kept);
    }
    if (encoder_ == nullptr) encoder_ = make_encoder(coding);
    encoder_->begin(size);
}

pooled_encoder::~pooled_encoder() {
    places* const all = idle(coding_);
    if (all == nullptr) return;
    const auto place = std::ranges::find_if(*all, [](const auto& e) { return e == nullptr; });
    if (place != std::end(*all)) *place = std::move(encoder_);
}

}  // namespace coracle::coding
