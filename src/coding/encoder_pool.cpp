#include "coding/encoder_pool.hpp"

#include "base/thread_kept.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coracle::coding {
namespace {

using places = std::unique_ptr<encoder>[pooled_encoder::most_kept];

struct idle_encoders {
    places of[static_cast<std::size_t>(content_coding::zstd) + 1];
};

/// Null at the end of the thread.
places* idle(content_coding coding) {
    auto* const mine = coracle::detail::thread_kept<idle_encoders>();
    return mine == nullptr ? nullptr : &mine->of[static_cast<std::size_t>(coding)];
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
