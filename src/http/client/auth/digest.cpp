#include "http/client/auth/digest.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/base/percent.hpp>

#include <algorithm>
#include <utility>

namespace coracle::http::detail {
namespace {

using coracle::detail::take_item;
using tls::detail::digest;
using tls::detail::hash;

bool read_algorithm(std::string_view text, digest_challenge& out) noexcept {
    constexpr std::string_view session = "-sess";
    if (text.size() > session.size() &&
        equal_ignoring_case(text.substr(text.size() - session.size()), session)) {
        out.session = true;
        text.remove_suffix(session.size());
    }
    constexpr std::pair<std::string_view, hash> known[] = {
        {"md5", hash::md5}, {"sha-256", hash::sha256}, {"sha-512-256", hash::sha512_256}};
    for (const auto& [name, function] : known) {
        if (!equal_ignoring_case(text, name)) continue;
        out.function = function;
        return true;
    }
    return false;
}

void read_qop(std::string_view list, digest_challenge& out) noexcept {
    out.has_qop = true;
    while (!list.empty()) {
        const std::string_view item = trim_ows(take_item(list));
        out.auth = out.auth || equal_ignoring_case(item, "auth");
        out.auth_int = out.auth_int || equal_ignoring_case(item, "auth-int");
    }
}

bool is_true(const std::string* value) noexcept {
    return value != nullptr && equal_ignoring_case(*value, "true");
}

/// The bytes that a quoted string must not contain.
bool needs_encoding(std::string_view user) noexcept {
    return std::any_of(user.begin(), user.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte >= 0x7f;
    });
}

void append_quoted(std::string& out, std::string_view name, std::string_view value) {
    out.append(out.ends_with(' ') ? "" : ", ").append(name).append("=\"");
    for (const char c : value) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    out += '"';
}

void append_plain(std::string& out, std::string_view name, std::string_view value) {
    out.append(", ").append(name).append("=").append(value);
}

/// RFC 7616 sections 3.4.4 and 3.4 (username*).
bool append_user(std::string& out, const digest_challenge& c, std::string_view user) {
    if (c.userhash) {
        const auto hashed = digest(c.function, {user, ":", c.realm});
        if (hashed) append_quoted(out, "username", *hashed);
        return hashed.has_value();
    }
    if (needs_encoding(user)) {
        out.append("username*=UTF-8''").append(percent_encode(user));
    } else {
        append_quoted(out, "username", user);
    }
    return true;
}

std::string count_text(std::uint32_t count) {
    std::string text;
    coracle::detail::append_hex(text, count);
    return text.substr(8);
}

}  // namespace

std::optional<digest_challenge> digest_challenge::from(const challenge& c) {
    const std::string* const realm = c.find("realm");
    const std::string* const nonce = c.find("nonce");
    if (c.scheme != "digest" || realm == nullptr || nonce == nullptr) return std::nullopt;
    // The response repeats both.
    if (!is_field_value(*realm) || !is_field_value(*nonce)) return std::nullopt;
    digest_challenge out;
    out.realm = *realm;
    out.nonce = *nonce;
    if (const std::string* const opaque = c.find("opaque")) {
        if (!is_field_value(*opaque)) return std::nullopt;
        out.opaque = *opaque;
    }
    if (const std::string* const algorithm = c.find("algorithm")) {
        if (!read_algorithm(*algorithm, out)) return std::nullopt;
        out.algorithm = *algorithm;
    }
    if (const std::string* const qop = c.find("qop")) read_qop(*qop, out);
    if (out.has_qop && !out.auth && !out.auth_int) return std::nullopt;
    out.userhash = is_true(c.find("userhash"));
    out.stale = is_true(c.find("stale"));
    return out;
}

std::optional<digest_challenge> strongest(std::span<const challenge> all) {
    std::optional<digest_challenge> best;
    for (const challenge& c : all) {
        auto next = digest_challenge::from(c);
        if (!next || (best && next->function <= best->function)) continue;
        if (tls::detail::digester(next->function).good()) best = std::move(next);
    }
    return best;
}

std::optional<secret> digest_key(const digest_challenge& c, const digest_identity& identity,
                                 std::string_view cnonce) {
    auto key = digest(c.function, {identity.user, ":", c.realm, ":", identity.password});
    if (key && c.session) {
        const secret of_user(std::move(*key));
        key = digest(c.function, {of_user.reveal(), ":", c.nonce, ":", cnonce});
    }
    if (!key) return std::nullopt;
    return secret(std::move(*key));
}

std::optional<std::string> digest_authorization(const digest_challenge& c, const secret& key,
                                                std::string_view user, const digest_request& r,
                                                std::string_view cnonce, std::uint32_t count) {
    const bool with_body = !c.auth && c.auth_int;
    if (with_body && !r.body) return std::nullopt;
    const std::string_view qop = with_body ? "auth-int" : "auth";
    const std::string nc = count_text(count);
    auto message = digest(c.function, {r.method, ":", r.target});
    if (with_body) {
        const auto body = digest(c.function, {*r.body});
        message = digest(c.function, {r.method, ":", r.target, ":", body.value_or("")});
    }
    if (!message) return std::nullopt;
    const auto response = c.has_qop
                              ? digest(c.function, {key.reveal(), ":", c.nonce, ":", nc, ":",
                                                    cnonce, ":", qop, ":", *message})
                              : digest(c.function, {key.reveal(), ":", c.nonce, ":", *message});
    std::string out = "Digest ";
    if (!response || !append_user(out, c, user)) return std::nullopt;
    append_quoted(out, "realm", c.realm);
    append_quoted(out, "uri", r.target);
    if (!c.algorithm.empty()) append_plain(out, "algorithm", c.algorithm);
    append_quoted(out, "nonce", c.nonce);
    if (c.has_qop) append_plain(out, "nc", nc);
    if (c.has_qop || c.session) append_quoted(out, "cnonce", cnonce);
    if (c.has_qop) append_plain(out, "qop", qop);
    append_quoted(out, "response", *response);
    if (c.opaque) append_quoted(out, "opaque", *c.opaque);
    if (c.userhash) append_plain(out, "userhash", "true");
    return out;
}

}  // namespace coracle::http::detail
