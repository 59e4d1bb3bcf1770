#include "base/ascii.hpp"
#include "base/json_scanner.hpp"
#include "http/client/option_setter.hpp"

#include <coracle/http/client_settings.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::http {
namespace {

using coracle::detail::json_scanner;
using detail::option;
using detail::option_setter;
using detail::option_type;
using detail::set_result;

// Not all that begins with "proxy_" is of its certificates.
constexpr std::string_view certificate_keys =
    "sslcert sslcerttype sslkey sslkeytype keypasswd cainfo capath engine";

/// A key whose value is an object.
struct group {
    std::string_view name;
    std::string_view prefix;
    std::string_view keys;  ///< if only these are of it
};

constexpr group groups[] = {
    {"authentication", "authentication_", ""},
    {"proxy_authentication", "proxy_authentication_", ""},
    {"certificates", "", certificate_keys},
    {"proxy_certificates", "proxy_", certificate_keys.substr(0, certificate_keys.rfind(' '))},
    {"retry", "retry_", ""},
    {"pool", "pool_", ""},
};

const group* find_group(std::string_view key) noexcept {
    const auto found = std::ranges::find(groups, key, &group::name);
    return found == std::end(groups) ? nullptr : &*found;
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
        : setter_(setter), json_(text), size_(text.size()) {}

    set_result read() {
        if (auto r = read_object(nullptr); !r) return r;
        return json_.peek() == '\0' && json_.position() == size_ ? set_result() : malformed();
    }

private:
    // `in`: null for the whole.
    set_result read_object(const group* in) {
        if (!json_.take('{')) return malformed();
        if (json_.take('}')) return {};
        do {
            std::string key;
            if (!json_.take_string(key) || !json_.take(':')) return malformed();
            const group* const inner = in == nullptr ? find_group(key) : nullptr;
            auto r = inner != nullptr ? read_object(inner) : read_member(in, key);
            if (!r) return r;
        } while (json_.take(','));
        return json_.take('}') ? set_result() : malformed();
    }

    set_result read_member(const group* in, std::string_view key) {
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
            return detail::refuse_option(std::string(o.key) + " comes twice");
        }
        seen_.push_back(&o);
        return read_value(o);
    }

    set_result read_value(const option& o) {
        if (json_.peek() == '"') {
            detail::wiped_string value(size_);
            if (!json_.take_string(value.text)) return malformed();
            return setter_.set(o, value.text);
        }
        if (json_.peek() == '[' && o.type == option_type::list) return read_list(o);
        const std::string_view value = json_.take_scalar();
        if (value.empty()) return json_.peek() == '[' ? detail::refuse_value(o) : malformed();
        const bool is_word = value == "true" || value == "false";
        const bool is_text = o.type == option_type::text || o.type == option_type::secret ||
                             o.type == option_type::list;
        if (value == "null" || is_text || (is_word && o.type != option_type::boolean)) {
            return detail::refuse_value(o);
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
        return detail::refuse_option("the text is no JSON object with options: look at byte " +
                                     std::to_string(json_.position()));
    }

    option_setter& setter_;
    json_scanner json_;
    std::size_t size_;
    std::vector<const option*> seen_;
};

set_result read_json(client_options& options, pool_options* pool, std::string_view text) {
    option_setter setter(options, pool);
    if (auto read = json_reader(setter, text).read(); !read) return read;
    setter.commit();
    return {};
}

}  // namespace

std::expected<void, error> read_json_options(client_options& options, std::string_view text) {
    return read_json(options, nullptr, text);
}

std::expected<void, error> read_json_options(client_options& options, pool_options& pool,
                                             std::string_view text) {
    return read_json(options, &pool, text);
}

}  // namespace coracle::http
