#include "http/client/auth/challenge.hpp"
#include "http/message/token.hpp"
#include "http/middleware/nonce_table.hpp"
#include "http/middleware/random_bytes.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/middleware/digest_authentication.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

#include <charconv>
#include <mutex>

namespace coracle::http {
namespace {

constexpr std::size_t longest_line = 8 * 1024;
constexpr std::size_t time_bytes = 8;
constexpr std::size_t salt_bytes = 8;
constexpr std::size_t mac_bytes = 16;

std::string hashed(std::string_view text) {
    return tls::to_hex(tls::digest(tls::hash::sha256, text));
}

std::string_view value_of(const detail::challenge& c, std::string_view name) {
    const std::string* const v = c.find(name);
    return v == nullptr ? std::string_view() : *v;
}

/// The user, also where it is encoded (RFC 8187).
std::string user_of(const detail::challenge& c) {
    constexpr std::string_view charset = "utf-8''";
    const std::string_view extended = value_of(c, "username*");
    if (!equal_ignoring_case(extended.substr(0, charset.size()), charset)) {
        return std::string(value_of(c, "username"));
    }
    return percent_decode(extended.substr(charset.size())).value_or("");
}

std::optional<std::uint32_t> count_of(std::string_view text) {
    std::uint32_t count = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failure] = std::from_chars(text.data(), last, count, 16);
    if (text.size() != 8 || failure != std::errc() || end != last || count == 0) return {};
    return count;
}

/// The credentials of a request; nothing where it has none of this scheme.
std::optional<detail::challenge> credentials_of(const request& req) {
    const std::string_view line = req.header("Authorization");
    if (line.size() > longest_line) return std::nullopt;
    std::vector<detail::challenge> all;
    detail::read_challenges(line, all);
    if (all.size() != 1 || all[0].scheme != "digest") return std::nullopt;
    return std::move(all[0]);
}

}  // namespace

class digest_authentication::rules {
public:
    rules(lookup_function lookup, digest_options o)
        : lookup_(std::move(lookup)), options_(std::move(o)), used_(options_.nonces) {
        const bool is_quotable = is_field_value(options_.realm) &&
                                 options_.realm.find_first_of("\"\\") == std::string::npos;
        if (!is_quotable) refuse("realm");
        if (options_.nonce_lifetime.count() <= 0) refuse("nonce_lifetime");
        if (options_.nonces == 0) refuse("nonces");
    }

    const lookup_function& lookup() const noexcept { return lookup_; }

    response challenge(bool is_stale) {
        response r(status::unauthorized);
        r.set("WWW-Authenticate",
              "Digest realm=\"" + options_.realm + "\", qop=\"auth\", algorithm=SHA-256, nonce=\"" +
                  make_nonce() + "\", charset=UTF-8" + (is_stale ? ", stale=true" : ""));
        return r;
    }

    /// Returns true if the credentials are for this server and this request, whoever made them.
    bool is_for(const detail::challenge& c, const request& req) const {
        const std::string_view algorithm = value_of(c, "algorithm");
        return equal_ignoring_case(algorithm, "SHA-256") && value_of(c, "qop") == "auth" &&
               value_of(c, "realm") == options_.realm && value_of(c, "uri") == req.target() &&
               !value_of(c, "cnonce").empty() && count_of(value_of(c, "nc")).has_value();
    }

    static bool is_right(const detail::challenge& c, const secret& key, const request& req) {
        const std::string request_digest =
            hashed(std::string(req.method_text()) + ':' + std::string(req.target()));
        std::string text(key.reveal());
        for (const std::string_view name : {"nonce", "nc", "cnonce", "qop"}) {
            text.append(":").append(value_of(c, name));
        }
        text.append(":").append(request_digest);
        const std::string expected = hashed(text);
        wipe(text.data(), text.size());
        return tls::equal_in_constant_time(expected, value_of(c, "response"));
    }

    /// Returns true for a nonce of ours that is not too old, and notes its use.
    bool use_nonce(const detail::challenge& c) {
        const std::string_view nonce = value_of(c, "nonce");
        const auto bytes = mime::base64_decode(nonce, mime::base64_alphabet::url);
        if (!bytes || bytes->size() != time_bytes + salt_bytes + mac_bytes) return false;
        const std::string_view content =
            std::string_view(*bytes).substr(0, time_bytes + salt_bytes);
        const std::string_view mac = std::string_view(*bytes).substr(content.size());
        if (!tls::equal_in_constant_time(mac_of(content), mac)) return false;
        std::uint64_t made = 0;
        for (const char byte : content.substr(0, time_bytes)) {
            made = made << 8 | static_cast<unsigned char>(byte);
        }
        const auto at = static_cast<std::int64_t>(made);
        const std::int64_t now = loop::current()->now().time_since_epoch().count();
        const auto age = std::chrono::floor<std::chrono::seconds>(duration(now - at));
        if (age >= options_.nonce_lifetime) return false;
        return used_.use(nonce, at, *count_of(value_of(c, "nc")));
    }

private:
    [[noreturn]] static void refuse(std::string_view what) {
        error e(std::errc::invalid_argument, "digest_options");
        throw_exception(std::move(e.on(what)));
    }

    /// The time, to the nanosecond, orders nonces.
    std::string make_nonce() {
        const auto now =
            static_cast<std::uint64_t>(loop::current()->now().time_since_epoch().count());
        std::string bytes;
        for (std::size_t i = time_bytes; i-- != 0;) {
            bytes += static_cast<char>(now >> (8 * i) & 0xff);
        }
        bytes += detail::random_bytes(salt_bytes);
        bytes += mac_of(bytes);
        return mime::base64_encode(bytes, mime::base64_alphabet::url);
    }

    /// The key is made by the first request: before, there is no loop.
    std::string mac_of(std::string_view content) {
        std::call_once(has_key_, [this] { key_ = secret(detail::random_bytes(32)); });
        return tls::hmac(tls::hash::sha256, key_.reveal(), content).substr(0, mac_bytes);
    }

    lookup_function lookup_;
    digest_options options_;
    detail::nonce_table used_;
    std::once_flag has_key_;
    secret key_;
};

digest_authentication::digest_authentication(lookup_function lookup, digest_options options)
    : rules_(std::make_shared<rules>(std::move(lookup), std::move(options))) {}

secret digest_authentication::stored_password(std::string_view user, std::string_view realm,
                                              std::string_view password) {
    std::string text(user);
    text.append(":").append(realm).append(":").append(password);
    secret out(hashed(text));
    wipe(text.data(), text.size());
    return out;
}

task<response> digest_authentication::operator()(request& req, const handler& next) const {
    rules* const r = rules_.get();
    const auto given = credentials_of(req);
    if (!given || !r->is_for(*given, req)) co_return r->challenge(false);
    const std::string user = user_of(*given);
    auto looking = r->lookup()(user);
    const std::optional<secret> key = co_await std::move(looking);
    // A user that does not exist takes as long as a wrong password.
    const secret none(std::string(64, '0'));
    const bool is_right = rules::is_right(*given, key ? *key : none, req) && key;
    if (!is_right) co_return r->challenge(false);
    if (!r->use_nonce(*given)) co_return r->challenge(true);
    req.set_data(identity{user});
    auto handling = next(req);
    co_return co_await std::move(handling);
}

}  // namespace coracle::http
