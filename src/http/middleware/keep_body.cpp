#include "http/body/replayed_body.hpp"

#include <coracle/http/middleware/keep_body.hpp>

#include <string>
#include <utility>

namespace coracle::http {
namespace {

/// In the data of its request, apart from what other middleware has read.
struct kept_body {
    kept_body(std::string text, received_body whole) noexcept : body(std::move(text), whole) {}
    detail::replayed_body body;
};

}  // namespace

task<response> keep_body::operator()(request& req, const handler& next) const {
    // The outer one of two that are nested has read it.
    if (!req.body().ended() && req.data<kept_body>() == nullptr) {
        auto reading = req.body().text(limit_);
        std::string text = co_await std::move(reading);
        auto& kept = req.emplace_data<kept_body>(std::move(text), req.body());
        req.set_body(kept.body.again());
    }
    auto handling = next(req);
    co_return co_await std::move(handling);
}

std::string_view keep_body::of(const request& req) noexcept {
    const auto* const kept = req.data<kept_body>();
    return kept == nullptr ? std::string_view() : kept->body.text();
}

}  // namespace coracle::http
