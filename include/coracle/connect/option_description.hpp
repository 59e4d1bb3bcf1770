#pragma once

#include <string>
#include <string_view>

namespace coracle::connect {

/// An option of a client that can be set from text: what `http::list_options` and
/// `smtp::list_options` return.
struct option_description {
    std::string_view key;
    /// Other names of the key, with spaces between them.
    std::string_view aliases;
    /// One of boolean, number, size, time, text, secret, choice and list.
    std::string_view type;
    /// The default as `read_options` reads it. Empty: none.
    std::string default_value;
    /// The unit of a plain number.
    std::string_view unit;
    std::string_view meaning;
    /// True for a key of pool_options.
    bool is_of_pool;
};

}  // namespace coracle::connect
