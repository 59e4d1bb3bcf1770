#include "bench/figures/json_value.hpp"
#include "config_file.hpp"
#include "settings.hpp"

#include <algorithm>

namespace coracle::tool {
namespace {

using bench::json_value;
using kind = json_value::kind;

/// Makes entries of one text.
class json_config {
public:
    json_config(std::string_view text, const std::string& path) noexcept
        : text_(text), path_(path) {}

    std::vector<config_entry> read() const {
        const auto whole = json_value::read(text_);
        if (!whole) fail(whole.error().at, whole.error().why);
        if (!whole->is_object()) fail(whole->position(), "an object was expected");
        std::vector<config_entry> all;
        for (const auto& [key, value] : whole->members()) {
            const auto is_same = [&](const config_entry& e) { return e.key == key; };
            if (std::ranges::any_of(all, is_same)) {
                fail(value.name_position(), key + ": there is such a key already");
            }
            all.push_back(entry_of(key, value));
        }
        return all;
    }

private:
    [[noreturn]] void fail(std::size_t at, const std::string& why) const {
        throw wrong_usage(path_ + ":" + std::to_string(line_of(at)) + ": " + why);
    }

    unsigned line_of(std::size_t at) const {
        return 1 + static_cast<unsigned>(std::ranges::count(text_.substr(0, at), '\n'));
    }

    static config_kind kind_of(const json_value& v) noexcept {
        switch (v.type()) {
            case kind::text: return config_kind::text;
            case kind::number: return config_kind::number;
            case kind::boolean: return config_kind::boolean;
            default: return config_kind::other;
        }
    }

    /// As it is written, which for a number may be more than a double can hold.
    std::string text_of(const json_value& v) const {
        if (v.is_text()) return v.text();
        const std::string_view rest = text_.substr(v.position());
        return std::string(rest.substr(0, rest.find_first_of(" \t\r\n,]}")));
    }

    config_entry entry_of(const std::string& key, const json_value& value) const {
        config_entry e{key, line_of(value.name_position()), kind_of(value), {}};
        if (!value.is_array()) {
            e.values.push_back(text_of(value));
            return e;
        }
        const auto& all = value.elements();
        e.kind = all.empty() ? config_kind::text : kind_of(all.front());
        for (const json_value& one : all) {
            if (kind_of(one) == config_kind::other) e.kind = config_kind::other;
            e.values.push_back(text_of(one));
        }
        return e;
    }

    std::string_view text_;
    const std::string& path_;
};

}  // namespace

std::vector<config_entry> read_json_config(std::string_view text, const std::string& path) {
    return json_config(text, path).read();
}

}  // namespace coracle::tool
