#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::mime::detail {

/// Whether `text` is a token (RFC 9110 section 5.6.2), at least one byte.
bool is_token(std::string_view text) noexcept;
/// Whether `text` may stand in a field: without CR, LF and NUL. Other control bytes may, because
/// browsers leave them in the names of files.
bool is_field_value(std::string_view text) noexcept;
/// Without the spaces and tabs at its ends.
std::string_view trim(std::string_view text) noexcept;
bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

/// What a backslash in a quoted string does.
enum class escapes : unsigned char {
    all,     ///< any byte behind it stands for itself (RFC 9110 section 5.6.4)
    quotes,  ///< only before a quote or a backslash: browsers write paths and names with plain ones
};

struct parameter_text {
    std::string name;  ///< lower case
    std::string value;
};

/// Takes the parameters of a field's value one by one: `; name=token; name="quoted"`. A parameter
/// without a value is passed over.
class parameter_reader {
public:
    explicit parameter_reader(std::string_view text, escapes how = escapes::all) noexcept
        : rest_(text), escapes_(how) {}
    /// Nothing at the end, and where the text is malformed.
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
