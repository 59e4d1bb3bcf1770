#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

enum class config_kind : std::uint8_t {
    text,
    number,
    boolean,
    other,  ///< a date, a table or an object, null, or an array of such
};

/// A key of a configuration file with its value, or the values of an array.
struct config_entry {
    std::string key;
    unsigned line = 0;
    config_kind kind = config_kind::text;
    std::vector<std::string> values;
};

/// Reads a TOML or JSON file of keys with strings, numbers, booleans, and arrays of these, in the
/// order of the lines. It is JSON if its name ends with ".json", or if it begins with a brace.
/// Throws `failure`, which names file, line and key.
std::vector<config_entry> read_config_file(const std::string& path);

/// Reads the text of a JSON file (RFC 8259): one object, no name in it twice. `path` is for errors.
std::vector<config_entry> read_json_config(std::string_view text, const std::string& path);

}  // namespace coracle::tool
