#pragma once

#include "http/client/option_table.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

namespace coracle::http::detail {

using set_result = std::expected<void, error>;

/// Text that may be a secret, while it is read.
struct wiped_string {
    /// No more than `most` is ever put in, so that no room is given up with a part of it inside.
    explicit wiped_string(std::size_t most) { text.reserve(most); }
    wiped_string(const wiped_string&) = delete;
    wiped_string& operator=(const wiped_string&) = delete;
    ~wiped_string() { wipe(text.data(), text.capacity()); }

    std::string text;
};

/// Sets options one by one on copies, so that all are set in the end, or none.
class option_setter {
public:
    /// `pool`: null where only a client's options may be set.
    option_setter(client_options& options, pool_options* pool);

    /// The option of this key, or the failure that tells there is none.
    std::expected<const option*, error> find(std::string_view key) const;
    /// `shown`: what the key is called in messages; empty: as it is.
    set_result set(const option& o, std::string_view value, std::string_view shown = {});
    /// Gives what was set to whom it is for.
    void commit();

private:
    client_options& client_;
    pool_options* pool_;
    option_target target_;
};

std::unexpected<error> refuse_option(std::string_view sentence);
/// The value is not what is wanted.
std::unexpected<error> refuse_value(const option& o, std::string_view shown = {});

}  // namespace coracle::http::detail
