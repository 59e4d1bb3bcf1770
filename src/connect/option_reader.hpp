#pragma once

#include "connect/option_values.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/connect/option_description.hpp>

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Reading options from text, for all clients.
namespace coracle::connect::detail {

/// An option that can be set from text.
struct option {
    std::string_view key;
    std::string_view aliases;  ///< names in curlev, separated by spaces
    std::string_view meaning;
    std::string_view unit;    ///< the unit of a plain number
    std::string_view wanted;  ///< the values that `set` accepts, for errors
    option_type type;
    bool is_of_pool;
    /// True if the value may be a secret.
    bool is_sensitive;
    /// Sets the option. Returns false, and changes nothing, if the text is invalid. `target` is of
    /// the type of the options.
    bool (*set)(void* target, std::string_view text);
    /// Returns the value as text that `set` accepts, without secrets.
    std::string (*get)(const void* target);
};

/// A key of JSON whose value is an object.
struct option_group {
    std::string_view name;
    std::string_view prefix;
    std::string_view keys;  ///< the only keys of the group; empty: all with the prefix
};

// Lists the keys of the certificates, because other keys begin with "proxy_" too.
inline constexpr std::string_view certificate_keys =
    "sslcert sslcerttype sslkey sslkeytype keypasswd cainfo capath engine";
inline constexpr std::string_view proxy_certificate_keys =
    certificate_keys.substr(0, certificate_keys.rfind(' '));

/// The options of one kind of client.
struct option_family {
    std::span<const option> table;
    std::span<const option_group> groups;
    std::string_view variables;  ///< prefix of the environment variables
    std::string_view single;  ///< the unit that options of the pool do not belong to: "one request"
    std::string_view foreign = {};  ///< a key of another kind of client, which is refused
    std::string_view foreign_meaning = {};
    /// Keys of other kinds of clients that are read, and change nothing.
    std::span<const option> ignored = {};
};

using set_result = std::expected<void, error>;

/// A text being read that may be a secret.
struct wiped_string {
    /// Never holds more than `most` bytes, so that it never reallocates and leaves a part in freed
    /// memory.
    explicit wiped_string(std::size_t most) { text.reserve(most); }
    wiped_string(const wiped_string&) = delete;
    wiped_string& operator=(const wiped_string&) = delete;
    ~wiped_string() { wipe(text.data(), text.capacity()); }

    std::string text;
};

/// Sets options one by one on a copy of the caller's target, so that in the end all are set, or
/// none.
class option_setter {
public:
    /// `with_pool`: false where only a client's options may be set.
    option_setter(const option_family& family, void* target, bool with_pool) noexcept
        : family_(family), target_(target), with_pool_(with_pool) {}

    /// Returns the option of this key, or an error if there is none.
    std::expected<const option*, error> find(std::string_view key) const;
    /// `shown`: the name of the key in errors; empty: the key itself.
    set_result set(const option& o, std::string_view value, std::string_view shown = {});
    const option_family& family() const noexcept { return family_; }
    bool with_pool() const noexcept { return with_pool_; }

private:
    const option_family& family_;
    void* target_;
    bool with_pool_;
};

std::unexpected<error> refuse_option(std::string_view sentence);
/// Makes the error for an invalid value.
std::unexpected<error> refuse_value(const option& o, std::string_view shown = {});

/// Returns the option with this key or alias, or null.
const option* find_option(std::span<const option> table, std::string_view key) noexcept;
/// Returns the key or alias most similar to `key`, if it is similar enough to be the intended one.
std::string_view nearest_key(std::span<const option> table, std::string_view key);

/// Reads "key=value, key=\"value\"".
set_result read_option_text(option_setter& setter, std::string_view text);
/// Reads a JSON object.
set_result read_option_json(option_setter& setter, std::string_view text);
/// Reads environment variables.
set_result read_option_variables(option_setter& setter);

/// Lets `read` set options of the client and, unless it is null, of the pool; changes both only if
/// all could be set. `Target` has a `client` and a `pool`.
template <class Target, class Client, class Pool, class Read>
set_result change_options(const option_family& family, Client& client, Pool* pool, Read read) {
    Target target{client, pool == nullptr ? Pool() : *pool};
    option_setter setter(family, &target, pool != nullptr);
    if (set_result r = read(setter); !r) return r;
    client = std::move(target.client);
    if (pool != nullptr) *pool = std::move(target.pool);
    return {};
}

/// Returns the rows of a table, with the values of `defaults`.
std::vector<option_description> list_table(std::span<const option> table, const void* defaults);

/// Returns a table as text, with the values of `defaults`.
std::string describe_table(std::span<const option> table, const void* defaults);

}  // namespace coracle::connect::detail
