#include "http/message/token.hpp"
#include "http/middleware/filter.hpp"
#include "http/middleware/flat_json.hpp"

#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/http/middleware/jwt.hpp>
#include <coracle/http/middleware/jwt_key_set.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

namespace coracle::http {
namespace {

using detail::flat_json;

/// Members of the header of a token, which is read before it is verified.
constexpr std::size_t most_of_header = 32;
/// RFC 7518 section 3.2: a key as long as the digest.
constexpr std::size_t least_secret = 32;

std::unexpected<error> refuse(std::errc why, std::string_view what) {
    return std::unexpected(error(why, "JWT").on(what));
}

std::optional<std::string> decode(std::string_view text) {
    return mime::base64_decode(text, mime::base64_alphabet::url);
}

/// A token in its three parts, still encoded.
struct token_parts {
    std::string_view header;
    std::string_view payload;
    std::string_view signature;
    std::string_view signed_text;  ///< header and payload

    static std::optional<token_parts> split(std::string_view token) noexcept {
        const std::size_t first = token.find('.');
        const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
        if (second == token.npos || token.find('.', second + 1) != token.npos) return std::nullopt;
        return token_parts{token.substr(0, first), token.substr(first + 1, second - first - 1),
                           token.substr(second + 1), token.substr(0, second)};
    }
};

std::string_view algorithm_of(tls::signature_scheme s) noexcept {
    switch (s) {
        case tls::signature_scheme::rsa_sha256: return "RS256";
        case tls::signature_scheme::ecdsa_p256_sha256: return "ES256";
        case tls::signature_scheme::ed25519: return "EdDSA";
    }
    return "";
}

/// A NumericDate (RFC 7519 section 2); nothing where it is none. False: it is malformed.
bool read_time(const flat_json& from, std::string_view name, std::optional<std::int64_t>& to) {
    const flat_json::member* const m = from.find(name);
    if (m == nullptr) return true;
    constexpr double most = 1e15;
    if (!m->number || !(std::abs(*m->number) < most)) return false;
    to = static_cast<std::int64_t>(std::floor(*m->number));
    return true;
}

bool read_claims(const flat_json& from, jwt_claims& to) {
    for (const std::string_view name : {"iss", "sub", "jti"}) {
        const flat_json::member* const m = from.find(name);
        if (m != nullptr && !m->text) return false;
    }
    to.issuer = from.text("iss");
    to.subject = from.text("sub");
    to.id = from.text("jti");
    if (const flat_json::member* const m = from.find("aud")) {
        if (!m->text && !m->is_list) return false;
        to.audience = m->is_list ? m->list : std::vector<std::string>{*m->text};
    }
    return read_time(from, "exp", to.expires) && read_time(from, "nbf", to.not_before) &&
           read_time(from, "iat", to.issued);
}

std::optional<error> check_claims(const jwt_claims& c, const jwt_options& o, std::int64_t now) {
    // Times of claims are within 1e15.
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    const std::int64_t leeway = std::clamp(o.leeway.count(), -most, most);
    if (c.expires ? now >= *c.expires + leeway : o.requires_expiry) {
        return error(std::errc::timed_out, "JWT").on("exp");
    }
    if (c.not_before && now < *c.not_before - leeway) {
        return error(std::errc::timed_out, "JWT").on("nbf");
    }
    if (!o.issuer.empty() && c.issuer != o.issuer) {
        return error(std::errc::invalid_argument, "JWT").on("iss");
    }
    if (!o.audience.empty() && std::ranges::find(c.audience, o.audience) == c.audience.end()) {
        return error(std::errc::invalid_argument, "JWT").on("aud");
    }
    return std::nullopt;
}

/// The public key of a JWK (RFC 7517, RFC 8037); nothing where it is of another kind or use.
std::optional<tls::verifying_key> key_of(const flat_json& jwk) {
    const auto bytes = [&jwk](std::string_view name) {
        return decode(jwk.text(name)).value_or(std::string());
    };
    const std::string_view kind = jwk.text("kty");
    const std::string_view curve = jwk.text("crv");
    auto made =
        kind == "RSA" ? tls::verifying_key::rsa(bytes("n"), bytes("e"))
        : kind == "EC" && curve == "P-256"
            ? tls::verifying_key::p256(bytes("x"), bytes("y"))
            : tls::verifying_key::ed25519(kind == "OKP" && curve == "Ed25519" ? bytes("x") : "");
    if (!made) return std::nullopt;
    const std::string_view use = jwk.text("use");
    const std::string_view algorithm = jwk.text("alg");
    if ((!use.empty() && use != "sig") ||
        (!algorithm.empty() && algorithm != algorithm_of(made->scheme()))) {
        return std::nullopt;
    }
    return *std::move(made);
}

}  // namespace

class jwt_keys::state {
public:
    struct entry {
        std::string id;
        secret shared;                          ///< of HS256
        std::optional<tls::verifying_key> key;  ///< of the others

        std::string_view algorithm() const noexcept {
            return key ? algorithm_of(key->scheme()) : "HS256";
        }
        bool verifies(std::string_view text, std::string_view signature) const {
            if (key) return key->verify(text, signature);
            const std::string wanted = tls::hmac(tls::hash::sha256, shared.reveal(), text);
            return tls::equal_in_constant_time(wanted, signature);
        }
    };

    /// By a key of this algorithm that the token may mean.
    bool verifies(const flat_json& header, std::string_view text,
                  std::string_view signature) const {
        const std::string_view algorithm = header.text("alg");
        const std::string_view id = header.text("kid");
        return std::ranges::any_of(keys, [&](const entry& k) {
            const bool is_meant = id.empty() || k.id.empty() || k.id == id;
            return is_meant && k.algorithm() == algorithm && k.verifies(text, signature);
        });
    }

    std::vector<entry> keys;
};

jwt_keys::jwt_keys() : state_(std::make_shared<state>()) {}

void jwt_keys::add_secret(const secret& key, std::string_view id) {
    if (key.reveal().size() < least_secret) {
        error e(std::errc::invalid_argument, "jwt_keys");
        throw_exception(std::move(e.on("secret of less than 32 bytes")));
    }
    state_->keys.push_back({std::string(id), key, std::nullopt});
}

void jwt_keys::add(tls::verifying_key key, std::string_view id) {
    state_->keys.push_back({std::string(id), {}, std::move(key)});
}

std::expected<std::size_t, error> jwt_keys::add_set(std::string_view json) {
    const auto set = flat_json::read(json);
    const flat_json::member* const all = set ? set->find("keys") : nullptr;
    if (all == nullptr || !all->is_list) return refuse(std::errc::bad_message, "key set");
    std::size_t added = 0;
    for (const flat_json& jwk : all->objects) {
        auto key = key_of(jwk);
        if (!key) continue;
        add(*std::move(key), jwk.text("kid"));
        ++added;
    }
    return added;
}

std::expected<jwt_claims, error> jwt_keys::verify(std::string_view token,
                                                  const jwt_options& options,
                                                  std::int64_t now) const {
    if (token.size() > options.longest) return refuse(std::errc::bad_message, "size");
    const auto parts = token_parts::split(token);
    if (!parts) return refuse(std::errc::bad_message, "parts");
    const auto header_text = decode(parts->header);
    const auto signature = decode(parts->signature);
    const auto header = header_text ? flat_json::read(*header_text, most_of_header) : std::nullopt;
    if (!header || !signature) return refuse(std::errc::bad_message, "header");
    // RFC 7515 section 4.1.11: what is not understood must not be ignored.
    if (header->find("crit") != nullptr) return refuse(std::errc::invalid_argument, "crit");
    if (!state_->verifies(*header, parts->signed_text, *signature)) {
        return refuse(std::errc::permission_denied, "signature");
    }
    auto payload = decode(parts->payload);
    const auto read = payload ? flat_json::read(*payload) : std::nullopt;
    jwt_claims claims;
    if (!read || !read_claims(*read, claims)) return refuse(std::errc::bad_message, "claims");
    if (auto why = check_claims(claims, options, now)) return std::unexpected(*std::move(why));
    claims.json = *std::move(payload);
    return claims;
}

bool jwt_keys::has(std::string_view id) const noexcept {
    return std::ranges::any_of(state_->keys, [id](const auto& k) { return k.id == id; });
}

bool jwt_keys::may_mean(std::string_view id) const noexcept {
    return has(id) || has({});
}

std::string jwt_keys::id_in(std::string_view token, const jwt_options& options) {
    if (token.size() > options.longest) return {};
    const auto parts = token_parts::split(token);
    const auto text = parts ? decode(parts->header) : std::nullopt;
    const auto header = text ? flat_json::read(*text, most_of_header) : std::nullopt;
    return header ? std::string(header->text("kid")) : std::string();
}

// ---- the middleware

class jwt_authentication::rules {
public:
    rules(jwt_keys keys, jwt_options o) : rules(std::move(o)) { keys_ = std::move(keys); }
    rules(const jwt_key_set& set, jwt_options o) : rules(std::move(o)) { set_ = set; }

    bool admit(request& req, response& out) const { return admit(req, out, keys_); }
    bool admit(request& req, response& out, const jwt_keys& keys) const {
        const std::string_view token = token_of(req);
        out = response(status::unauthorized);
        if (token.empty()) {
            out.set("WWW-Authenticate", challenge_);
            return false;
        }
        auto claims = keys.verify(token, options_, loop::current()->unix_time());
        if (!claims) {
            out.set("WWW-Authenticate", challenge_ + ", error=\"invalid_token\"");
            return false;
        }
        out.clear();
        req.set_data(identity{claims->subject});
        req.set_data(*std::move(claims));
        return true;
    }
    void finish(const request&, response&) const noexcept {}

    bool has_set() const noexcept { return set_.has_value(); }

    static task<response> serve(const rules* r, const handler* inner, request* req) {
        const std::string_view token = token_of(*req);
        std::shared_ptr<const jwt_keys> keys;
        if (!token.empty()) {
            auto set = *r->set_;
            const std::string id = jwt_keys::id_in(token, r->options_);
            auto finding = set.keys(id);
            auto found = co_await as_result(finding);
            if (!found) throw_exception(std::move(found).error());
            keys = *std::move(found);
            if (keys == nullptr) {
                response refused(status::service_unavailable);
                refused.set("Retry-After", "5");
                co_return refused;
            }
        }
        response out;
        if (!r->admit(*req, out, keys == nullptr ? r->keys_ : *keys)) co_return out;
        auto handling = (*inner)(*req);
        co_return co_await std::move(handling);
    }

private:
    explicit rules(jwt_options o) : options_(std::move(o)) {
        challenge_ = "Bearer realm=\"" + options_.realm + '"';
        if (is_field_value(challenge_) &&
            options_.realm.find_first_of("\"\\") == std::string::npos) {
            return;
        }
        error e(std::errc::invalid_argument, "jwt_options");
        throw_exception(std::move(e.on("realm")));
    }

    /// Empty where there is none.
    static std::string_view token_of(const request& req) {
        constexpr std::string_view scheme = "Bearer ";
        const std::string_view given = req.header("Authorization");
        const bool is_bearer = equal_ignoring_case(given.substr(0, scheme.size()), scheme);
        return is_bearer ? trim_ows(given.substr(scheme.size())) : std::string_view();
    }

    jwt_keys keys_;
    std::optional<jwt_key_set> set_;
    jwt_options options_;
    std::string challenge_;
};

jwt_authentication::jwt_authentication(jwt_keys keys, jwt_options options)
    : rules_(std::make_shared<rules>(std::move(keys), std::move(options))) {}

jwt_authentication::jwt_authentication(const jwt_key_set& keys, jwt_options options)
    : rules_(std::make_shared<rules>(keys, std::move(options))) {}

handler jwt_authentication::operator()(handler inner) const {
    if (!rules_->has_set()) return detail::filtered(rules_, std::move(inner));
    return [rules = rules_, inner = std::move(inner)](request& req) {
        return rules::serve(rules.get(), &inner, &req);
    };
}

}  // namespace coracle::http
