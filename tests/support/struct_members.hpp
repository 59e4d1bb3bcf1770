#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// The names of the members of a struct of a public header, "smtp/client_options.hpp", as the
/// header is written. Functions and types within it do not count. `source_directory` is that of the
/// project.
inline std::vector<std::string> struct_members(const std::string& source_directory,
                                               const std::string& header,
                                               const std::string& structure) {
    std::ifstream file(source_directory + "/include/coracle/" + header);
    std::vector<std::string> names;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("struct ")) inside = line == "struct " + structure + " {";
        // Lines that are indented further belong to a function.
        const bool declares = inside && line.starts_with("    ") && line.size() > 4 &&
                              line[4] != ' ' && line[4] != '/' && line[4] != '}' &&
                              !line.starts_with("    friend ");
        if (!declares) continue;
        std::string_view declared = std::string_view(line).substr(0, line.find_first_of("={;"));
        if (declared.find('(') != std::string_view::npos) continue;
        while (declared.ends_with(' ')) declared.remove_suffix(1);
        names.emplace_back(declared.substr(declared.rfind(' ') + 1));
    }
    return names;
}
