#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::mime::detail {

/// Returns true if `text` is a token (RFC 9110 section 5.6.2): at least one byte.
bool is_token(std::string_view text) noexcept;
/// Returns true if `text` may be the value of a field: it has no CR, LF or NUL. Other control bytes
/// are allowed, because browsers leave them in file names.
bool is_field_value(std::string_view text) noexcept;
/// Returns `text` without the spaces and tabs at both ends.
std::string_view trim(std::string_view text) noexcept;
bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

/// The meaning of a backslash in a quoted string.
enum class escapes : unsigned char {
    all,     ///< it escapes any byte (RFC 9110 section 5.6.4)
    quotes,  ///< it escapes a quote or a backslash only: browsers write paths and names with plain
             ///< ones
};

struct parameter_text {
    std::string name;  ///< lower case
    std::string value;
};

/// Reads the parameters of a field's value one by one: `; name=token; name="quoted"`. Skips
/// parameters without a value.
class parameter_reader {
public:
    explicit parameter_reader(std::string_view text, escapes how = escapes::all) noexcept
        : rest_(text), escapes_(how) {}
    /// Returns the next parameter; nothing at the end and when the text is malformed.
    std::optional<parameter_text> next();
    bool malformed() const noexcept { return malformed_; }

private:
    bool read_value(std::string& into);
    bool read_quoted(std::string& into);
    bool skip_to_parameter() noexcept;
    std::optional<parameter_text> fail() noexcept {
        malformed_ = true;
        rest_ = {};
        return std::nullopt;
    }

    std::string_view rest_;
    escapes escapes_;
    bool malformed_ = false;
};

}  // namespace coracle::mime::detail
