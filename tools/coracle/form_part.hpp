#pragma once

#include "file_argument.hpp"

#include <coracle/http/form_body.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace coracle::tool {

/// A part of --form: "name=value", "name=<file", "name=@file", "name=@file;type=image/png". What
/// follows "=", "<" or "@" may stand in quotes.
class form_part {
public:
    /// Throws `failure` when it makes no sense.
    explicit form_part(std::string_view text);

    bool is_of_input() const noexcept { return mark_ != '\0' && content_.value == "-"; }
    /// Reads what is part of the form itself, once: a FIFO has it but once. `input` is that of
    /// standard input. Throws `unreadable`.
    void read(const std::optional<std::string>& input);
    /// Throws `failure` or `unreadable`.
    void add_to(http::form_body& form) const;

private:
    void add_file(http::form_body& form) const;
    void add_text(http::form_body& form) const;

    std::string shown_;
    std::string name_;
    char mark_ = '\0';
    file_argument content_;
    bool is_of_disk_ = false;  ///< sent from there, not read before
    std::string text_;         ///< what was read, or the value
};

}  // namespace coracle::tool
