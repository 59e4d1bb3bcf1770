#include "http/middleware/random_bytes.hpp"
#include "tls/sealing.hpp"

#include <coracle/http/middleware/signed_cookie.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

namespace coracle::http::detail {
namespace {

constexpr std::size_t least_key = 32;
constexpr std::size_t most_keys = 8;
constexpr std::size_t longest_text = 4096;
constexpr std::size_t expiry_bytes = 8;
constexpr std::size_t mac_bytes = 32;
constexpr auto most_lifetime = std::chrono::hours(24 * 400);

[[noreturn]] void refuse(std::string_view what) {
    error e(std::errc::invalid_argument, "signed_cookie");
    throw_exception(std::move(e.on(what)));
}

std::string written(std::int64_t time) {
    std::string bytes;
    for (std::size_t i = expiry_bytes; i-- != 0;) {
        bytes += static_cast<char>(static_cast<std::uint64_t>(time) >> (8 * i) & 0xff);
    }
    return bytes;
}

std::int64_t time_in(std::string_view bytes) noexcept {
    std::uint64_t time = 0;
    for (const char c : bytes) time = time << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(time);
}

}  // namespace

struct guarded_cookie::rules {
    /// Derives a key: signing and encrypting have keys of their own.
    secret derived(const secret& key) const {
        if (key.reveal().size() < least_key) refuse("key");
        return secret(tls::hmac(tls::hash::sha256, key.reveal(),
                                encrypts ? "coracle encrypted cookie" : "coracle signed cookie"));
    }

    /// The name and its size: no other name and value make the same text.
    std::string bound() const { return std::to_string(name.size()) + ':' + name; }

    std::string signature(const secret& key, std::string_view content) const {
        return tls::hmac(tls::hash::sha256, key.reveal(), bound().append(content));
    }

    /// The expiry and the value, or nothing.
    std::optional<std::string> verified(const secret& key, std::string_view bytes) const {
        if (encrypts) return tls::detail::unseal(key.reveal(), bound(), bytes);
        if (bytes.size() < mac_bytes) return std::nullopt;
        const std::string_view content = bytes.substr(0, bytes.size() - mac_bytes);
        const std::string_view mac = bytes.substr(content.size());
        if (!tls::equal_in_constant_time(signature(key, content), mac)) return std::nullopt;
        return std::string(content);
    }

    set_cookie with_attributes(set_cookie c) const {
        c.path(options.path).secure(options.secure).http_only(options.http_only);
        c.same_site(options.same_site);
        return c;
    }

    bool encrypts = false;
    std::string name;
    std::vector<secret> keys;
    signed_cookie_options options;
};

guarded_cookie::guarded_cookie(bool encrypts, std::string_view name, std::vector<secret> keys,
                               signed_cookie_options options) {
    if (keys.empty() || keys.size() > most_keys) refuse("keys");
    if (options.lifetime.count() <= 0 || options.lifetime > most_lifetime) refuse("lifetime");
    auto made = std::make_shared<rules>();
    made->encrypts = encrypts;
    made->name = name;
    made->options = std::move(options);
    for (const secret& key : keys) made->keys.push_back(made->derived(key));
    static_cast<void>(made->with_attributes(set_cookie(name, "x")).text());
    rules_ = std::move(made);
}

set_cookie guarded_cookie::make(std::string_view value) const {
    const secret& key = rules_->keys.front();
    const std::int64_t until = loop::current()->unix_time() + rules_->options.lifetime.count();
    std::string content = written(until).append(value);
    if (rules_->encrypts) {
        const std::string salt = random_bytes(tls::detail::seal_salt);
        content = tls::detail::seal(key.reveal(), salt, rules_->bound(), content);
    } else {
        content += rules_->signature(key, content);
    }
    set_cookie c(rules_->name, mime::base64_encode(content, mime::base64_alphabet::url));
    c.max_age(rules_->options.lifetime);
    return rules_->with_attributes(std::move(c));
}

set_cookie guarded_cookie::removal() const {
    return rules_->with_attributes(set_cookie::removal(rules_->name));
}

std::optional<std::string> guarded_cookie::read(const request& req) const {
    const auto text = req.cookie(rules_->name);
    return text ? open(*text) : std::nullopt;
}

std::optional<std::string> guarded_cookie::open(std::string_view text) const {
    if (text.size() > longest_text) return std::nullopt;
    const auto bytes = mime::base64_decode(text, mime::base64_alphabet::url);
    if (!bytes) return std::nullopt;
    for (const secret& key : rules_->keys) {
        auto content = rules_->verified(key, *bytes);
        if (!content) continue;
        if (content->size() < expiry_bytes) return std::nullopt;
        const std::int64_t until = time_in(std::string_view(*content).substr(0, expiry_bytes));
        if (until <= loop::current()->unix_time()) return std::nullopt;
        content->erase(0, expiry_bytes);
        return content;
    }
    return std::nullopt;
}

}  // namespace coracle::http::detail
