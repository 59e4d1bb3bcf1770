#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tool {

/// A file or a text of an argument, with its properties: "ada.png;type=image/png;name=a.png".
struct file_argument {
    std::string value;
    std::optional<std::string> type;
    std::optional<std::string> name;
};

/// Splits `text`. `name` is the keyword of the file's name: "filename" or "name". The value and
/// each property may stand in quotes: '"a;b.txt";name="c.txt"'. Blanks may stand behind a ";".
/// Throws `failure` for one of the keywords that are `refused`.
file_argument read_file_argument(std::string_view text, std::string_view name,
                                 std::initializer_list<std::string_view> refused = {});

}  // namespace coracle::tool
