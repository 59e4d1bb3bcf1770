#include "base/ascii.hpp"
#include "connect/option_reader.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace coracle::connect::detail {
namespace {

bool is_space(char c) noexcept {
    return coracle::detail::is_blank(c) || c == '\r' || c == '\n';
}

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

// Removes a quoted value from `rest` and appends it to `out`. Returns false if the quote is not
// closed.
bool take_quoted(std::string_view& rest, std::string& out) {
    for (std::size_t i = 1; i < rest.size(); ++i) {
        if (rest[i] == '"') {
            rest.remove_prefix(i + 1);
            return true;
        }
        const bool escaped =
            rest[i] == '\\' && i + 1 < rest.size() && (rest[i + 1] == '"' || rest[i + 1] == '\\');
        out += rest[escaped ? ++i : i];
    }
    return false;
}

/// Reads "key=value, key=\"value\"".
class text_reader {
public:
    text_reader(option_setter& setter, std::string_view text) noexcept
        : setter_(setter), rest_(text) {}

    set_result read() {
        while (!rest_.empty()) {
            if (auto taken = take_option(); !taken) return taken;
        }
        return {};
    }

private:
    set_result take_option() {
        const std::size_t end = std::min(rest_.find_first_of("=,"), rest_.size());
        const std::string_view key = trimmed(rest_.substr(0, end));
        const bool has_value = rest_.substr(end).starts_with('=');
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        if (key.empty() && !has_value) return {};
        const auto found = find(key);
        if (!found) return std::unexpected(found.error());
        const option& o = **found;
        if (!has_value) return refuse_option(std::string(o.key) + " has no \"=\"");
        after_secret_ = o.is_sensitive;
        rest_ = trimmed(rest_);
        if (rest_.starts_with('"')) return take_quoted_value(o);
        return setter_.set(o, trimmed(coracle::detail::take_item(rest_)));
    }

    set_result take_quoted_value(const option& o) {
        wiped_string value(rest_.size());
        const bool ends = take_quoted(rest_, value.text);
        rest_ = trimmed(rest_);
        if (!ends || !(rest_.empty() || rest_.starts_with(','))) {
            return refuse_option("the value of " + std::string(o.key) +
                                 (ends ? " goes on behind its quotes" : " has no second quote"));
        }
        if (!rest_.empty()) rest_.remove_prefix(1);
        return setter_.set(o, value.text);
    }

    std::expected<const option*, error> find(std::string_view key) const {
        auto found = setter_.find(key);
        // It may be the rest of a password with a comma, so it is not shown.
        if (!found && after_secret_) {
            return refuse_option(
                "what follows a secret or a proxy is no option: "
                "a value with a comma stands in quotes");
        }
        return found;
    }

    option_setter& setter_;
    std::string_view rest_;
    bool after_secret_ = false;
};

std::string variable_of(const option& o, std::string_view prefix) {
    std::string name(prefix);
    for (const char c : o.key) {
        name += c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c;
    }
    return name;
}

void append_column(std::string& out, std::string_view text, std::size_t width) {
    out += text;
    out.append(width - std::min(width, text.size()) + 2, ' ');
}

}  // namespace

set_result read_option_text(option_setter& setter, std::string_view text) {
    return text_reader(setter, text).read();
}

set_result read_option_variables(option_setter& setter) {
    for (const option& o : setter.family().table) {
        if (o.is_of_pool && !setter.with_pool()) continue;
        const std::string variable = variable_of(o, setter.family().variables);
        const char* const value = std::getenv(variable.c_str());
        if (value == nullptr || *value == '\0') continue;
        if (auto set = setter.set(o, value, variable); !set) return set;
    }
    return {};
}

std::vector<option_description> list_table(std::span<const option> table, const void* defaults) {
    std::vector<option_description> list;
    for (const option& o : table) {
        list.push_back({o.key, o.aliases, to_string(o.type), o.get(defaults), o.unit, o.meaning,
                        o.is_of_pool});
    }
    return list;
}

std::string describe_table(std::span<const option> table, const void* defaults) {
    std::size_t key = 3;
    std::size_t value = 7;
    std::size_t unit = 4;
    for (const option& o : table) {
        key = std::max(key, o.key.size());
        value = std::max(value, o.get(defaults).size());
        unit = std::max(unit, o.unit.size());
    }
    std::string out;
    const auto append_row = [&](std::string_view k, std::string_view v, std::string_view u,
                                std::string_view meaning) {
        append_column(out, k, key);
        append_column(out, v, value);
        append_column(out, u, unit);
        out += meaning;
        out += '\n';
    };
    append_row("key", "default", "unit", "meaning");
    for (const option& o : table) {
        append_row(o.key, o.get(defaults), o.unit, o.meaning);
    }
    return out;
}

}  // namespace coracle::connect::detail
