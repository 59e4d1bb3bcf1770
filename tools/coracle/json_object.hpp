#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tool {

/// Returns a JSON string (RFC 8259 section 7) with its quotes. What is no UTF-8 becomes U+FFFD;
/// control characters are escaped.
std::string json_text(std::string_view text);

/// Builds the text of a JSON object, member by member.
class json_object {
public:
    json_object& add(std::string_view name, std::uint64_t value) {
        key(name) += std::to_string(value);
        return *this;
    }
    json_object& add(std::string_view name, std::string_view value) {
        key(name) += json_text(value);
        return *this;
    }
    json_object& add(std::string_view name, const char* value) {
        return add(name, std::string_view(value));
    }
    json_object& add_flag(std::string_view name, bool value) {
        key(name) += value ? "true" : "false";
        return *this;
    }
    /// `value` is JSON.
    json_object& add_json(std::string_view name, std::string_view value) {
        key(name) += value;
        return *this;
    }
    std::string done() && { return std::move(text_.empty() ? text_ += '{' : text_) + '}'; }

private:
    std::string& key(std::string_view name) {
        text_ += text_.empty() ? "{\"" : ",\"";
        return text_.append(name).append("\":");
    }
    std::string text_;
};

/// Returns "[a,b]", with the JSON of `each` for every element.
template <class Range, class F>
std::string json_array(const Range& all, F each) {
    std::string text = "[";
    for (const auto& one : all) {
        if (text.size() > 1) text += ',';
        text += each(one);
    }
    return text + ']';
}

}  // namespace coracle::tool
