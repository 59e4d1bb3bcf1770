#include "http/client/option_setter.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <utility>

namespace coracle::http::detail {
namespace {

// Whether it may stand in a message.
bool looks_like_key(std::string_view text) noexcept {
    return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
        return coracle::detail::is_letter(c) || coracle::detail::is_digit(c) || c == '_' ||
               c == '-' || c == '.';
    });
}

}  // namespace

std::unexpected<error> refuse_option(std::string_view sentence) {
    return std::unexpected(error(std::errc::invalid_argument, "option").on(sentence));
}

std::unexpected<error> refuse_value(const option& o, std::string_view shown) {
    std::string sentence(shown.empty() ? o.key : shown);
    sentence += " wants ";
    sentence += o.wanted;
    return refuse_option(sentence);
}

option_setter::option_setter(client_options& options, pool_options* pool)
    : client_(options), pool_(pool), target_{options, pool == nullptr ? pool_options() : *pool} {}

std::expected<const option*, error> option_setter::find(std::string_view key) const {
    if (const option* o = find_option(key)) {
        if (!o->is_of_pool || pool_ != nullptr) return o;
        return refuse_option(std::string(o->key) + " is of a client, not of one request");
    }
    if (key == "rcpt_allow_fails") return refuse_option("rcpt_allow_fails is of SMTP only");
    std::string told = looks_like_key(key) ? "\"" + std::string(key) + "\"" : "a key";
    if (const std::string_view meant = nearest_key(key); !meant.empty()) {
        told += " (did you mean " + std::string(meant) + "?)";
    }
    return std::unexpected(error(errc::unknown_option, "option").on(told));
}

set_result option_setter::set(const option& o, std::string_view value, std::string_view shown) {
    if (!o.set(target_, value)) return refuse_value(o, shown);
    return {};
}

void option_setter::commit() {
    client_ = std::move(target_.client);
    if (pool_ != nullptr) *pool_ = target_.pool;
}

}  // namespace coracle::http::detail
