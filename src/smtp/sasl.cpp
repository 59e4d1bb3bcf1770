#include "smtp/sasl.hpp"

#include "base/ascii.hpp"
#include "smtp/scram.hpp"

#include <coracle/smtp/error.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>

namespace coracle::smtp::detail {
namespace {

std::unexpected<error> unexpected_challenge() {
    return std::unexpected(error(errc::authentication_failed, "AUTH")
                               .on("a challenge that the mechanism does not have"));
}

/// Everything in the first message.
class single_message final : public sasl_exchange {
public:
    explicit single_message(secret text) noexcept : text_(std::move(text)) {}
    std::optional<secret> initial() override { return text_; }
    /// OAUTHBEARER and XOAUTH2 say in a challenge why a token was refused (RFC 7628 section 3.2.3),
    /// and want a byte before they say so by a reply.
    std::expected<secret, error> respond(std::string_view) override {
        if (refused_) return unexpected_challenge();
        refused_ = true;
        return secret("\x01");
    }

private:
    secret text_;
    bool refused_ = false;
};

class login final : public sasl_exchange {
public:
    explicit login(const credentials& who) : user_(who.user), password_(who.password) {}
    std::optional<secret> initial() override { return std::nullopt; }
    std::expected<secret, error> respond(std::string_view) override {
        switch (step_++) {
            case 0: return user_;
            case 1: return password_;
            default: return unexpected_challenge();
        }
    }

private:
    secret user_;
    secret password_;
    unsigned step_ = 0;
};

/// RFC 2195.
class cram_md5 final : public sasl_exchange {
public:
    explicit cram_md5(const credentials& who) : who_(who) {}
    std::optional<secret> initial() override { return std::nullopt; }
    std::expected<secret, error> respond(std::string_view challenge) override {
        if (done_) return unexpected_challenge();
        done_ = true;
        try {
            const std::string mac = tls::hmac(tls::hash::md5, who_.password.reveal(), challenge);
            return secret(who_.user + ' ' + tls::to_hex(mac));
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
    }

private:
    credentials who_;
    bool done_ = false;
};

secret joined(std::initializer_list<std::string_view> parts) {
    std::string text;
    std::size_t size = 0;
    for (const std::string_view p : parts) size += p.size();
    text.reserve(size);  // so that nothing is left where it grew
    for (const std::string_view p : parts) text += p;
    return secret(std::move(text));
}

constexpr std::string_view nul("\0", 1);

secret plain(const credentials& who) {
    return joined({nul, who.user, nul, who.password.reveal()});
}

/// Between the fields of an OAuth message, and twice behind the last (RFC 7628 section 3.1).
constexpr std::string_view field_end("\x01", 1);

secret oauth_bearer(const credentials& who, const sasl_circumstances& where) {
    const std::string port = std::to_string(where.port);
    return joined({"n,a=", saslname(who.user), ",", field_end, "host=", where.host, field_end,
                   "port=", port, field_end, "auth=Bearer ", who.token.reveal(), field_end,
                   field_end});
}

secret xoauth2(const credentials& who) {
    return joined(
        {"user=", who.user, field_end, "auth=Bearer ", who.token.reveal(), field_end, field_end});
}

bool lists(std::string_view names, std::string_view name) {
    if (names.empty()) return true;
    std::string all(names);
    std::ranges::replace(all, ',', ' ');
    std::string_view rest = all;
    while (!rest.empty()) {
        const std::string item = coracle::detail::lower(coracle::detail::take_item(rest, ' '));
        if (!item.empty() && item == coracle::detail::lower(name)) return true;
    }
    return false;
}

bool has_no_nul(std::string_view text) noexcept {
    return text.find('\0') == std::string_view::npos;
}

}  // namespace

std::string saslname(std::string_view user) {
    std::string out;
    for (const char c : user) {
        if (c == '=')
            out += "=3D";
        else if (c == ',')
            out += "=2C";
        else
            out += c;
    }
    return out;
}

std::string_view choose_mechanism(const std::vector<std::string>& offered, const credentials& who,
                                  const sasl_circumstances& where) {
    const bool may_show = where.secure || who.in_clear;
    const bool token =
        !who.token.empty() && may_show && who.token.reveal().find('\x01') == std::string_view::npos;
    const bool password =
        !who.password.empty() && has_no_nul(who.user) && has_no_nul(who.password.reveal());
    const struct {
        std::string_view name;
        bool possible;
    } all[] = {
        {"EXTERNAL", where.has_certificate && !who.mechanisms.empty()},
        {"OAUTHBEARER", token},
        {"XOAUTH2", token},
        {"SCRAM-SHA-256-PLUS", password && !where.binding.empty()},
        {"SCRAM-SHA-256", password},
        {"CRAM-MD5", password},
        {"PLAIN", password && may_show},
        {"LOGIN", password && may_show},
    };
    for (const auto& m : all) {
        const bool is_offered = std::ranges::find(offered, m.name) != offered.end();
        if (m.possible && is_offered && lists(who.mechanisms, m.name)) return m.name;
    }
    return {};
}

std::unique_ptr<sasl_exchange> make_exchange(std::string_view mechanism, const credentials& who,
                                             const sasl_circumstances& where,
                                             const std::vector<std::string>& offered) {
    if (mechanism == "EXTERNAL") return std::make_unique<single_message>(secret(who.user));
    if (mechanism == "OAUTHBEARER")
        return std::make_unique<single_message>(oauth_bearer(who, where));
    if (mechanism == "XOAUTH2") return std::make_unique<single_message>(xoauth2(who));
    if (mechanism == "PLAIN") return std::make_unique<single_message>(plain(who));
    if (mechanism == "LOGIN") return std::make_unique<login>(who);
    if (mechanism == "CRAM-MD5") return std::make_unique<cram_md5>(who);
    const bool plus = mechanism == "SCRAM-SHA-256-PLUS";
    if (!plus && mechanism != "SCRAM-SHA-256") return nullptr;
    // RFC 5802 section 6: a server that could bind the channel must learn that its offer was lost.
    const bool offers_plus = std::ranges::find(offered, "SCRAM-SHA-256-PLUS") != offered.end();
    scram_binding binding = scram_binding::none;
    if (!where.binding.empty()) {
        binding = plus          ? scram_binding::used
                  : offers_plus ? scram_binding::none
                                : scram_binding::possible;
    }
    return make_scram(who, binding, where.binding, where.random);
}

}  // namespace coracle::smtp::detail
