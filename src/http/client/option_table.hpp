#pragma once

#include "http/client/option_values.hpp"

#include <coracle/http/client_options.hpp>

#include <span>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// What options are set on.
struct option_target {
    client_options client;
    pool_options pool;
};

/// One option, as texts have it.
struct option {
    std::string_view key;
    std::string_view aliases;  ///< with spaces between them: what curlev calls it
    std::string_view meaning;
    std::string_view unit;    ///< of a number without one
    std::string_view wanted;  ///< by `set`, for who gave something else
    option_type type;
    bool is_of_pool;
    /// Holds a secret, or may.
    bool is_sensitive;
    /// False, and nothing changed, when the text is not what is wanted.
    bool (*set)(option_target& target, std::string_view text);
    /// What `set` takes, without secrets.
    std::string (*get)(const option_target& target);
};

/// All of them, in the order of the structs. Every member of client_options and pool_options.
std::span<const option> option_table() noexcept;

/// By its key or an alias; null: there is none.
const option* find_option(std::string_view key) noexcept;

/// The key or alias that is nearest to `key`, if one is near enough to be what was meant; or
/// nothing.
std::string_view nearest_key(std::string_view key);

}  // namespace coracle::http::detail
