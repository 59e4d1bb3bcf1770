#include "config_file.hpp"

#include "settings.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#if CORACLE_TOOL_HAS_TOML
#include <toml++/toml.h>
#endif

namespace coracle::tool {
namespace {

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
    if (!file.is_open() || file.bad()) {
        throw failure("cannot read '" + path +
                      "': " + std::error_code(errno, std::generic_category()).message());
    }
    return std::move(text).str();
}

bool is_json(const std::string& path, std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return path.ends_with(".json") || (first != std::string_view::npos && text[first] == '{');
}

#if CORACLE_TOOL_HAS_TOML
std::string text_of(const toml::node& n) {
    if (const auto* s = n.as_string()) return s->get();
    if (const auto* i = n.as_integer()) return std::to_string(i->get());
    std::ostringstream out;
    if (const auto* d = n.as_floating_point()) out << d->get();
    if (const auto* b = n.as_boolean()) out << (b->get() ? "true" : "false");
    return std::move(out).str();
}

bool is_plain(const toml::node& n) {
    return n.is_string() || n.is_number() || n.is_boolean();
}

config_kind kind_of(const toml::node& n) {
    if (!is_plain(n) && !n.is_array()) return config_kind::other;
    if (n.is_boolean()) return config_kind::boolean;
    return n.is_number() ? config_kind::number : config_kind::text;
}

config_entry entry_of(std::string key, unsigned line, const toml::node& value) {
    config_entry e{std::move(key), line, kind_of(value), {}};
    if (const toml::array* all = value.as_array()) {
        if (!all->empty()) e.kind = kind_of(all->front());
        for (const toml::node& one : *all) {
            if (!is_plain(one)) e.kind = config_kind::other;
            e.values.push_back(text_of(one));
        }
    } else {
        e.values.push_back(text_of(value));
    }
    return e;
}

std::vector<config_entry> read_toml_config(std::string_view text, const std::string& path) {
    std::vector<config_entry> all;
    try {
        const toml::table table = toml::parse(text, path);
        for (const auto& [key, value] : table) {
            all.push_back(entry_of(std::string(key.str()), key.source().begin.line, value));
        }
    } catch (const toml::parse_error& e) {
        throw wrong_usage(path + ":" + std::to_string(e.source().begin.line) + ": " +
                          std::string(e.description()));
    }
    std::ranges::sort(all, {}, &config_entry::line);
    return all;
}

#else

std::vector<config_entry> read_toml_config(std::string_view, const std::string& path) {
    throw failure("cannot read '" + path +
                  "': this coracle was built without toml++ (libtomlplusplus-dev); it takes JSON");
}

#endif

}  // namespace

std::vector<config_entry> read_config_file(const std::string& path) {
    const std::string text = read_text(path);
    return is_json(path, text) ? read_json_config(text, path) : read_toml_config(text, path);
}

}  // namespace coracle::tool
