#include "http/router/segment_regex.hpp"

#include "http/router/pattern.hpp"

#include <re2/re2.h>

#include <map>

namespace coracle::http::detail {

segment_regex::segment_regex(std::string_view expression, std::string_view pattern)
    : text_(expression) {
    if (expression.empty()) refuse_pattern(pattern, "an expression is empty");
    if (expression.size() > longest) {
        refuse_pattern(pattern,
                       "an expression has more than " + std::to_string(longest) + " bytes");
    }
    compile(pattern);
}

segment_regex::segment_regex(of_parts, std::string_view expression, std::string_view pattern)
    : text_(expression), of_parts_(true) {
    compile(pattern);
}

segment_regex::~segment_regex() = default;

void segment_regex::compile(std::string_view pattern) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(static_cast<std::int64_t>(memory));
    const re2::StringPiece text(text_.data(), text_.size());
    compiled_ = std::make_unique<re2::RE2>(text, options);
    if (!compiled_->ok()) {
        refuse_pattern(pattern,
                       "the expression \"" + text_ + "\" is refused: " + compiled_->error());
    }
    for (const auto& [number, name] : compiled_->CapturingGroupNames()) {
        groups_.push_back(name);
        numbers_.push_back(static_cast<std::size_t>(number));
    }
    if (groups_.empty()) {
        // Captures cost time, and these would not be read.
        options.set_never_capture(true);
        compiled_ = std::make_unique<re2::RE2>(text, options);
    } else if (numbers_.back() > most_groups) {
        refuse_pattern(pattern, "an expression with named groups has more than " +
                                    std::to_string(most_groups) + " groups");
    }
}

bool segment_regex::matches(std::string_view text) const {
    const re2::StringPiece all(text.data(), text.size());
    return compiled_->Match(all, 0, text.size(), re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

bool segment_regex::match(std::string_view text, std::string_view* out) const {
    if (!of_parts_) *out++ = text;
    if (groups_.empty()) return matches(text);
    const re2::StringPiece all(text.data(), text.size());
    re2::StringPiece found[most_groups + 1];
    const int wanted = static_cast<int>(numbers_.back()) + 1;
    if (!compiled_->Match(all, 0, text.size(), re2::RE2::ANCHOR_BOTH, found, wanted)) return false;
    for (const std::size_t number : numbers_) {
        const re2::StringPiece& group = found[number];
        *out++ = group.data() == nullptr ? text.substr(text.size())
                                         : std::string_view(group.data(), group.size());
    }
    return true;
}

}  // namespace coracle::http::detail
