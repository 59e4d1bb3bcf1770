#pragma once

#include <coracle/http/body.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace middleware_test {

using namespace coracle;

/// A body in pieces, whose size may be announced.
class pieces final : public http::body_source {
public:
    explicit pieces(std::vector<std::string> all, bool announces = false)
        : all_(std::move(all)), announces_(announces) {}
    task<std::expected<std::string_view, error>> read() override {
        if (at_ == all_.size()) co_return std::string_view();
        co_return std::string_view(all_[at_++]);
    }
    std::optional<std::uint64_t> length() const noexcept override {
        if (!announces_) return std::nullopt;
        std::uint64_t sum = 0;
        for (const std::string& p : all_) sum += p.size();
        return sum;
    }
    error refused(error why) override {
        refused_as = why.code();
        return why;
    }

    std::error_code refused_as;

private:
    std::vector<std::string> all_;
    bool announces_;
    std::size_t at_ = 0;
};

}  // namespace middleware_test
