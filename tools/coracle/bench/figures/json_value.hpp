#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tool::bench {

/// The fault of a text that is no JSON.
struct json_fault {
    std::size_t at = 0;  ///< the byte
    std::string why;
};

/// A value of JSON (RFC 8259) that was read from a file of the user: a report, a scenario, a HAR,
/// a configuration.
class json_value {
public:
    enum class kind : std::uint8_t { null, boolean, number, text, array, object };
    /// Arrays and objects within each other.
    static constexpr unsigned most_depth = 64;

    json_value() noexcept = default;

    /// Fails with what is wrong, and at which byte.
    static std::expected<json_value, std::string> parse(std::string_view text);
    static std::expected<json_value, json_fault> read(std::string_view text);

    kind type() const noexcept { return kind_; }
    bool is_object() const noexcept { return kind_ == kind::object; }
    bool is_array() const noexcept { return kind_ == kind::array; }
    bool is_text() const noexcept { return kind_ == kind::text; }
    bool is_number() const noexcept { return kind_ == kind::number; }

    /// The number, or else 0; the text, or else an empty one; the elements, or else none.
    double number() const noexcept { return number_; }
    const std::string& text() const noexcept { return text_; }
    const std::vector<json_value>& elements() const noexcept { return elements_; }
    const std::vector<std::pair<std::string, json_value>>& members() const noexcept {
        return members_;
    }
    /// The offset of its first byte in the text, and that of its name where it is a member.
    std::size_t position() const noexcept { return position_; }
    std::size_t name_position() const noexcept { return name_position_; }
    /// The member of this name, or null.
    const json_value* find(std::string_view name) const noexcept;
    /// The member of this name, or a null value.
    const json_value& operator[](std::string_view name) const noexcept;

private:
    friend class json_reader;

    kind kind_ = kind::null;
    double number_ = 0;
    std::size_t position_ = 0;
    std::size_t name_position_ = 0;
    std::string text_;
    std::vector<json_value> elements_;
    std::vector<std::pair<std::string, json_value>> members_;
};

}  // namespace coracle::tool::bench
