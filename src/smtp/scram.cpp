#include "smtp/scram.hpp"

#include "base/ascii.hpp"
#include "base/whole_number.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/smtp/error.hpp>
#include <coracle/tls/hash.hpp>

#include <utility>

namespace coracle::smtp::detail {
namespace {

// RFC 7677 section 4 wants 4,096 at least; a server that asks for more makes the loop wait.
constexpr unsigned least_iterations = 4096;
constexpr unsigned most_iterations = 200'000;

std::unexpected<error> malformed(std::string_view what) {
    return std::unexpected(error(errc::authentication_failed, "SCRAM").on(what));
}

/// The value of "x=value" among parts with commas between them; nothing when it is not there.
std::optional<std::string_view> find(std::string_view message, char name) noexcept {
    while (!message.empty()) {
        const std::string_view part = coracle::detail::take_item(message);
        if (part.size() > 1 && part[0] == name && part[1] == '=') return part.substr(2);
    }
    return std::nullopt;
}

class scram final : public sasl_exchange {
public:
    scram(const credentials& who, scram_binding binding, channel_binding channel,
          const std::uint64_t (&random)[2])
        : who_(who), channel_(std::move(channel)), binding_(binding) {
        switch (binding) {
            case scram_binding::none: header_ = "n,,"; break;
            case scram_binding::possible: header_ = "y,,"; break;
            case scram_binding::used: header_ = "p=" + channel_.type + ",,"; break;
        }
        coracle::detail::append_hex(nonce_, random[0]);
        coracle::detail::append_hex(nonce_, random[1]);
        first_ = "n=" + saslname(who.user) + ",r=" + nonce_;
    }

    std::optional<secret> initial() override { return secret(header_ + first_); }

    std::expected<secret, error> respond(std::string_view challenge) override {
        try {
            switch (step_++) {
                case 0: return prove(challenge);
                case 1: return verify(challenge);
                default: return malformed("a third challenge");
            }
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
    }

    /// Before it has seen a proof, a refusal is about the user or the binding.
    bool may_lack_binding() const noexcept override {
        return binding_ == scram_binding::used && step_ == 0;
    }

    std::expected<void, error> succeeded() override {
        if (verified_) return {};
        return std::unexpected(error(errc::server_not_authentic, "SCRAM"));
    }

private:
    std::expected<secret, error> prove(std::string_view challenge) {
        const auto nonce = find(challenge, 'r');
        const auto salt_text = find(challenge, 's');
        const auto count = find(challenge, 'i');
        if (!nonce || !salt_text || !count || challenge.starts_with("m=")) {
            return malformed("the first message of the server");
        }
        if (!nonce->starts_with(nonce_) || nonce->size() == nonce_.size()) {
            return malformed("the nonce is not ours");
        }
        const auto salt = mime::base64_decode(*salt_text);
        const auto iterations = coracle::detail::whole_number<unsigned>(*count);
        if (!salt || !iterations) return malformed("the first message of the server");
        if (*iterations < least_iterations || *iterations > most_iterations) {
            return malformed("an iteration count beyond 4,096 to 200,000");
        }
        const std::string bound = header_ + (binding_ == scram_binding::used ? channel_.data : "");
        const std::string last = "c=" + mime::base64_encode(bound) + ",r=" + std::string(*nonce);
        const std::string all = first_ + ',' + std::string(challenge) + ',' + last;
        using tls::hash;
        const secret salted(tls::pbkdf2(hash::sha256, who_.password.reveal(), *salt, *iterations));
        const secret client_key(tls::hmac(hash::sha256, salted.reveal(), "Client Key"));
        const std::string stored = tls::digest(hash::sha256, client_key.reveal());
        std::string proof = tls::hmac(hash::sha256, stored, all);
        for (std::size_t i = 0; i != proof.size(); ++i) {
            proof[i] = static_cast<char>(proof[i] ^ client_key.reveal()[i]);
        }
        const secret server_key(tls::hmac(hash::sha256, salted.reveal(), "Server Key"));
        server_signature_ = tls::hmac(hash::sha256, server_key.reveal(), all);
        return secret(last + ",p=" + mime::base64_encode(proof));
    }

    std::expected<secret, error> verify(std::string_view challenge) {
        if (const auto why = find(challenge, 'e')) return malformed(*why);
        const auto signature = find(challenge, 'v');
        const auto bytes = signature ? mime::base64_decode(*signature) : std::nullopt;
        verified_ = bytes && tls::equal_in_constant_time(*bytes, server_signature_);
        if (!verified_) return std::unexpected(error(errc::server_not_authentic, "SCRAM"));
        return secret();
    }

    credentials who_;
    channel_binding channel_;
    scram_binding binding_;
    std::string header_;
    std::string nonce_;
    std::string first_;
    std::string server_signature_;
    unsigned step_ = 0;
    bool verified_ = false;
};

}  // namespace

std::unique_ptr<sasl_exchange> make_scram(const credentials& who, scram_binding binding,
                                          channel_binding channel,
                                          const std::uint64_t (&random)[2]) {
    return std::make_unique<scram>(who, binding, std::move(channel), random);
}

}  // namespace coracle::smtp::detail
