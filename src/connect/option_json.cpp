#include "base/ascii.hpp"
#include "base/json_scanner.hpp"
#include "connect/option_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::connect::detail {
namespace {

using coracle::detail::json_scanner;

const option_group* find_group(std::span<const option_group> groups,
                               std::string_view key) noexcept {
    const auto found = std::ranges::find(groups, key, &option_group::name);
    return found == groups.end() ? nullptr : &*found;
}

bool has_key(std::string_view keys, std::string_view key) noexcept {
    while (!keys.empty()) {
        if (coracle::detail::take_item(keys, ' ') == key) return true;
    }
    return false;
}

class json_reader {
public:
    json_reader(option_setter& setter, std::string_view text) noexcept
        : setter_(setter), text_(text), json_(text) {}

    set_result read() {
        auto r = read_all();
        if (r || text_.find('\n') == std::string_view::npos) return r;
        const auto lines = std::ranges::count(text_.substr(0, json_.position()), '\n');
        std::string told(r.error().subject());
        told.append(", line ").append(std::to_string(lines + 1));
        return std::unexpected(std::move(r.error().on(told)));
    }

private:
    set_result read_all() {
        if (auto r = read_object(nullptr); !r) return r;
        const bool ends = json_.peek() == '\0' && json_.position() == text_.size();
        return ends ? set_result() : malformed();
    }

    // `in`: the object within; null: the outermost one.
    set_result read_object(const option_group* in) {
        if (!json_.take('{')) return malformed();
        if (json_.take('}')) return {};
        do {
            std::string key;
            if (!json_.take_string(key) || !json_.take(':')) return malformed();
            const option_group* const inner =
                in == nullptr ? find_group(setter_.family().groups, key) : nullptr;
            auto r = inner != nullptr ? read_object(inner) : read_member(in, key);
            if (!r) return r;
        } while (json_.take(','));
        return json_.take('}') ? set_result() : malformed();
    }

    set_result read_member(const option_group* in, std::string_view key) {
        std::string whole(in == nullptr ? "" : in->prefix);
        whole += key;
        if (in != nullptr && !in->keys.empty() && !has_key(in->keys, key)) {
            // No option has a "." in its key.
            whole = std::string(in->name) + "." + std::string(key);
        }
        const auto found = setter_.find(whole);
        if (!found) return std::unexpected(found.error());
        const option& o = **found;
        if (std::ranges::find(seen_, &o) != seen_.end()) {
            return refuse_option(std::string(o.key) + " comes twice");
        }
        seen_.push_back(&o);
        return read_value(o);
    }

    set_result read_value(const option& o) {
        if (json_.peek() == '"') {
            wiped_string value(text_.size());
            if (!json_.take_string(value.text)) return malformed();
            return setter_.set(o, value.text);
        }
        if (json_.peek() == '[' && o.type == option_type::list) return read_list(o);
        const std::string_view value = json_.take_scalar();
        if (value.empty()) return json_.peek() == '[' ? refuse_value(o) : malformed();
        const bool is_word = value == "true" || value == "false";
        const bool is_text = o.type == option_type::text || o.type == option_type::secret ||
                             o.type == option_type::list;
        if (value == "null" || is_text || (is_word && o.type != option_type::boolean)) {
            return refuse_value(o);
        }
        return setter_.set(o, value);
    }

    set_result read_list(const option& o) {
        std::string entries;
        json_.take('[');
        if (!json_.take(']')) {
            do {
                if (!entries.empty()) entries += ';';
                if (!json_.take_string(entries)) return malformed();
            } while (json_.take(','));
            if (!json_.take(']')) return malformed();
        }
        return setter_.set(o, entries);
    }

    set_result malformed() const {
        return refuse_option("the text is not a JSON object of options: see byte " +
                             std::to_string(json_.position()));
    }

    option_setter& setter_;
    std::string_view text_;
    json_scanner json_;
    std::vector<const option*> seen_;
};

}  // namespace

set_result read_option_json(option_setter& setter, std::string_view text) {
    return json_reader(setter, text).read();
}

}  // namespace coracle::connect::detail
