#include "testing/sink_login.hpp"

#include "base/ascii.hpp"
#include "smtp/sasl.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

#include <utility>

namespace coracle::testing::detail {
namespace {

using smtp::detail::channel_binding;
using tls::hash;
using verdict = sink_login::verdict;
using step = sink_login::step;

step judge(bool good) {
    return {good ? verdict::accepted : verdict::refused, {}};
}

/// Any user but none.
step accept_any(std::string_view user) {
    return {user.empty() ? verdict::refused : verdict::accepted, {}, std::string(user)};
}

/// PLAIN (RFC 4616) with any password: who to act for, who it is and the password, with NUL
/// between.
class any_plain final : public sink_login {
public:
    step take(std::optional<std::string_view> said) override {
        if (!said) return {verdict::challenge, {}};
        const std::size_t first = said->find('\0');
        const std::size_t second = first == said->npos ? first : said->find('\0', first + 1);
        if (second == said->npos) return judge(false);
        return accept_any(said->substr(first + 1, second - first - 1));
    }
};

/// One text that is all there is.
class one_text final : public sink_login {
public:
    explicit one_text(std::string wanted, std::string refusal = {})
        : wanted_(std::move(wanted)), refusal_(std::move(refusal)) {}
    step take(std::optional<std::string_view> said) override {
        if (!said) return {verdict::challenge, {}};
        if (*said == wanted_) return judge(true);
        if (refusal_.empty()) return judge(false);
        // OAUTHBEARER says why, and waits for a byte (RFC 7628 section 3.2.3).
        return {verdict::challenge, std::exchange(refusal_, {})};
    }

private:
    std::string wanted_;
    std::string refusal_;
};

/// RFC 7628: the host and the port are what the client calls them.
class bearer final : public sink_login {
public:
    explicit bearer(const smtp_sink_options& o) : options_(o) {}
    step take(std::optional<std::string_view> said) override {
        if (!said) return {verdict::challenge, {}};
        const std::string begin = "n,a=" + smtp::detail::saslname(options_.user) + ",\x01";
        const std::string end =
            "\x01"
            "auth=Bearer " +
            std::string(options_.token.reveal()) + "\x01\x01";
        if (said->starts_with(begin) && said->ends_with(end)) return judge(true);
        if (std::exchange(asked_, true)) return judge(false);
        return {verdict::challenge, R"({"status":"invalid_token"})"};
    }

private:
    const smtp_sink_options& options_;
    bool asked_ = false;
};

class login final : public sink_login {
public:
    explicit login(const smtp_sink_options& o) : options_(o) {}
    step take(std::optional<std::string_view> said) override {
        if (!said) return {verdict::challenge, "Username:"};
        if (!user_) {
            user_ = *said;
            return {verdict::challenge, "Password:"};
        }
        if (options_.any_login) return accept_any(*user_);
        return judge(*user_ == options_.user && *said == options_.password.reveal());
    }

private:
    const smtp_sink_options& options_;
    std::optional<std::string> user_;
};

class cram final : public sink_login {
public:
    cram(const smtp_sink_options& o, std::uint64_t nonce) : options_(o), text_("<") {
        coracle::detail::append_hex(text_, nonce);
        text_ += "@sink.test>";
    }
    step take(std::optional<std::string_view> said) override {
        if (!said) return {verdict::challenge, text_};
        const std::string mac = tls::hmac(hash::md5, options_.password.reveal(), text_);
        return judge(*said == options_.user + ' ' + tls::to_hex(mac));
    }

private:
    const smtp_sink_options& options_;
    std::string text_;
};

/// RFC 5802, RFC 7677.
class scram final : public sink_login {
public:
    /// `knows_bindings`: -PLUS was offered too.
    scram(const smtp_sink_options& o, std::vector<channel_binding> bindings, std::uint64_t nonce,
          bool knows_bindings)
        : options_(o), bindings_(std::move(bindings)), knows_bindings_(knows_bindings) {
        coracle::detail::append_hex(nonce_, nonce);
    }
    step take(std::optional<std::string_view> said) override {
        if (!said) return {verdict::challenge, {}};
        switch (state_++) {
            case 0: return first(*said);
            case 1: return last(*said);
            default: return judge(said->empty());
        }
    }

private:
    /// The header of GS2: with bindings it has to name one of them (RFC 5802 section 6).
    bool take_header(std::string_view said) {
        if (bindings_.empty()) {
            header_ = said.substr(0, 3);
            // "y": the client could, and has heard of no -PLUS, which somebody has taken out.
            return header_ == "n,," || (header_ == "y,," && !knows_bindings_);
        }
        for (const channel_binding& one : bindings_) {
            header_ = "p=" + one.type + ",,";
            bound_ = one.data;
            if (said.starts_with(header_)) return true;
        }
        return false;
    }
    step first(std::string_view said) {
        if (!take_header(said)) return judge(false);
        bare_ = said.substr(header_.size());
        const std::size_t at = bare_.find(",r=");
        if (at == std::string::npos) return judge(false);
        if (bare_.substr(0, at) != "n=" + smtp::detail::saslname(options_.user))
            return judge(false);
        nonce_ = bare_.substr(at + 3) + nonce_;
        challenge_ = "r=" + nonce_ + ",s=" + mime::base64_encode("salt of the sink") + ",i=4096";
        return {verdict::challenge, challenge_};
    }
    step last(std::string_view said) {
        const std::size_t at = said.rfind(",p=");
        if (at == std::string_view::npos) return judge(false);
        const std::string without(said.substr(0, at));
        const std::string bound = mime::base64_encode(header_ + bound_);
        if (without != "c=" + bound + ",r=" + nonce_) return judge(false);
        const std::string all = bare_ + ',' + challenge_ + ',' + without;
        const std::string salted =
            tls::pbkdf2(hash::sha256, options_.password.reveal(), "salt of the sink", 4096);
        const std::string key = tls::hmac(hash::sha256, salted, "Client Key");
        std::string proof = tls::hmac(hash::sha256, tls::digest(hash::sha256, key), all);
        for (std::size_t i = 0; i != proof.size(); ++i) {
            proof[i] = static_cast<char>(proof[i] ^ key[i]);
        }
        if (mime::base64_decode(said.substr(at + 3)) != proof) return judge(false);
        const std::string server = tls::hmac(hash::sha256, salted, "Server Key");
        return {verdict::challenge,
                "v=" + mime::base64_encode(tls::hmac(hash::sha256, server, all))};
    }

    const smtp_sink_options& options_;
    std::vector<channel_binding> bindings_;
    bool knows_bindings_;
    std::string bound_;
    std::string nonce_;
    std::string header_;
    std::string bare_;
    std::string challenge_;
    unsigned state_ = 0;
};

}  // namespace

std::unique_ptr<sink_login> make_login(std::string_view mechanism, const smtp_sink_options& o,
                                       std::vector<channel_binding> bindings, std::uint64_t nonce) {
    if (o.any_login) {
        if (mechanism == "PLAIN") return std::make_unique<any_plain>();
        return mechanism == "LOGIN" ? std::make_unique<login>(o) : nullptr;
    }
    const std::string nul(1, '\0');
    const std::string password(o.password.reveal());
    const std::string token(o.token.reveal());
    if (mechanism == "PLAIN") return std::make_unique<one_text>(nul + o.user + nul + password);
    if (mechanism == "EXTERNAL") return std::make_unique<one_text>(o.user);
    if (mechanism == "LOGIN") return std::make_unique<login>(o);
    if (mechanism == "CRAM-MD5") return std::make_unique<cram>(o, nonce);
    if (mechanism == "SCRAM-SHA-256") {
        const bool known = !bindings.empty();
        return std::make_unique<scram>(o, std::vector<channel_binding>(), nonce, known);
    }
    if (mechanism == "SCRAM-SHA-256-PLUS" && !bindings.empty()) {
        return std::make_unique<scram>(o, std::move(bindings), nonce, true);
    }
    if (mechanism == "OAUTHBEARER") return std::make_unique<bearer>(o);
    if (mechanism == "XOAUTH2") {
        return std::make_unique<one_text>("user=" + o.user +
                                              "\x01"
                                              "auth=Bearer " +
                                              token + "\x01\x01",
                                          R"({"status":"401"})");
    }
    return nullptr;
}

}  // namespace coracle::testing::detail
