#include "http/router/segment_regex.hpp"

#include "http/router/pattern.hpp"

#include <re2/re2.h>

namespace coracle::http::detail {

segment_regex::segment_regex(std::string_view expression, std::string_view pattern)
    : text_(expression) {
    if (expression.empty()) refuse_pattern(pattern, "an expression is empty");
    if (expression.size() > longest) {
        refuse_pattern(pattern,
                       "an expression has more than " + std::to_string(longest) + " bytes");
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(static_cast<std::int64_t>(memory));
    compiled_ = std::make_unique<re2::RE2>(re2::StringPiece(text_.data(), text_.size()), options);
    if (!compiled_->ok()) {
        refuse_pattern(pattern,
                       "the expression \"" + text_ + "\" is refused: " + compiled_->error());
    }
}

segment_regex::~segment_regex() = default;

bool segment_regex::matches(std::string_view segment) const noexcept {
    const re2::StringPiece text(segment.data(), segment.size());
    return compiled_->Match(text, 0, segment.size(), re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

}  // namespace coracle::http::detail
