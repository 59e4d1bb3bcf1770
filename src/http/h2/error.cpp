#include "http/h2/error.hpp"

#include <array>
#include <string>

namespace coracle::http::h2 {

namespace {

constexpr std::array<std::string_view, 14> names{
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
};

class category final : public std::error_category {
    const char* name() const noexcept override { return "http/2"; }
    std::string message(int value) const override {
        return std::string(describe(static_cast<error_code>(value)));
    }
};

}  // namespace

const std::error_category& error_code_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(error_code code) noexcept {
    return {static_cast<int>(code), error_code_category()};
}

std::string_view describe(error_code code) noexcept {
    const auto index = static_cast<std::uint32_t>(code);
    return index < names.size() ? names[index] : "unknown error code";
}

}  // namespace coracle::http::h2
