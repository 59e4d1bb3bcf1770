#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// A JSON object, of which only strings, numbers and lists of strings are kept: the header and the
/// claims of a token, and a key. Values of other kinds are checked and passed over.
class flat_json {
public:
    struct member {
        std::string name;
        std::optional<std::string> text = {};  ///< of a string
        std::optional<double> number = {};     ///< of a number
        std::vector<std::string> list = {};    ///< of a list, its strings
        std::vector<flat_json> objects = {};   ///< of a list, its objects
        bool is_list = false;
    };

    /// Nothing unless `text` is one object and nothing else, with no name twice (RFC 7515 section
    /// 4), nested at most 16 deep, with at most `members` members in all: each name of an object
    /// is compared with those before.
    static std::optional<flat_json> read(std::string_view text, std::size_t members = 10'000);

    /// Null where there is none of this name.
    const member* find(std::string_view name) const noexcept;
    /// The string of this name; empty where there is none.
    std::string_view text(std::string_view name) const noexcept;

private:
    friend class flat_json_reader;
    std::vector<member> members_;
};

}  // namespace coracle::http::detail
