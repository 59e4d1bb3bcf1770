#pragma once

#include <coracle/connect/option_description.hpp>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

// The rows of the tables of options in the documents.

inline std::vector<std::string> rows_of_options_in(const char* document) {
    std::ifstream file(document);
    std::vector<std::string> rows;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("| `")) rows.push_back(line);
    }
    return rows;
}

/// Returns the rows that a document has to have.
inline std::vector<std::string> rows_of(
    const std::vector<coracle::connect::option_description>& options) {
    std::vector<std::string> rows;
    for (const coracle::connect::option_description& o : options) {
        std::string row = "| `" + std::string(o.key) + "` | " + std::string(o.type) + " | ";
        row += o.default_value.empty() ? "" : "`" + o.default_value + "`";
        row += " | " + std::string(o.unit) + " | " + std::string(o.meaning) + " | ";
        row += o.aliases.empty() ? "|" : "`" + std::string(o.aliases) + "` |";
        rows.push_back(row);
    }
    return rows;
}
