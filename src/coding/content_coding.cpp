#include "base/ascii.hpp"

#include <coracle/coding/content_coding.hpp>

#include <algorithm>
#include <string>

namespace coracle::coding {
namespace {

class coding_error_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "content coding"; }
    std::string message(int code) const override {
        switch (static_cast<coding_error>(code)) {
            case coding_error::none: return "no error";
            case coding_error::corrupt: return "the content is not what its coding allows";
            case coding_error::truncated: return "the content ends before its coding does";
            case coding_error::trailing_data: return "something follows the encoded content";
            case coding_error::too_large: return "the decoded content is too large";
            case coding_error::ratio_exceeded: return "the content is compressed too far";
            case coding_error::window_too_large: return "the content needs too large a window";
            case coding_error::no_memory: return "there is no memory for a decoder";
        }
        return "unknown";
    }
};

constexpr content_coding all_codings[] = {content_coding::identity, content_coding::gzip,
                                          content_coding::deflate, content_coding::brotli,
                                          content_coding::zstd};

bool is_named(std::string_view name, std::string_view registered) noexcept {
    return std::ranges::equal(name, registered,
                              [](char a, char b) { return detail::lower(a) == b; });
}

}  // namespace

std::string_view to_string(content_coding coding) noexcept {
    switch (coding) {
        case content_coding::gzip: return "gzip";
        case content_coding::deflate: return "deflate";
        case content_coding::brotli: return "br";
        case content_coding::zstd: return "zstd";
        case content_coding::identity: break;
    }
    return "identity";
}

std::optional<content_coding> find_content_coding(std::string_view name) noexcept {
    for (const content_coding coding : all_codings) {
        if (is_named(name, to_string(coding))) return coding;
    }
    if (is_named(name, "x-gzip")) return content_coding::gzip;
    return std::nullopt;
}

const std::error_category& coding_category() noexcept {
    static const coding_error_category instance;
    return instance;
}

}  // namespace coracle::coding
