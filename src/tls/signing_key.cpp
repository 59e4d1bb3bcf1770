#include "tls/openssl.hpp"

#include <coracle/tls/hash.hpp>
#include <coracle/tls/signing_key.hpp>

#include <openssl/pem.h>

#include <cstring>
#include <utility>

namespace coracle::tls {
namespace {

constexpr int least_rsa_bits = 1024;  // RFC 8301 section 3.2
constexpr std::size_t largest_file = 64 * 1024;

struct password_request {
    const secret* password;
    bool asked = false;
};

int give_password(char* to, int size, int, void* user) {
    auto& request = *static_cast<password_request*>(user);
    request.asked = true;
    const std::string_view text = request.password->reveal();
    if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
    std::memcpy(to, text.data(), text.size());
    return static_cast<int>(text.size());
}

struct context_free {
    void operator()(EVP_MD_CTX* c) const noexcept { EVP_MD_CTX_free(c); }
};

std::unexpected<error> refuse(errc why, std::string_view what) {
    ERR_clear_error();
    return std::unexpected(error(why, "key").on(what));
}

}  // namespace

class signing_key::implementation {
public:
    implementation(detail::pkey_ptr key, key_kind kind) : key_(std::move(key)), kind_(kind) {}
    EVP_PKEY* key() const noexcept { return key_.get(); }
    key_kind kind() const noexcept { return kind_; }

private:
    detail::pkey_ptr key_;
    key_kind kind_;
};

std::expected<signing_key, error> signing_key::read(const secret& from, const secret& password) {
    const bool is_text = detail::is_inline(from.reveal());
    const std::string name(is_text ? "(given as text)" : from.reveal());
    auto contents = detail::contents_of(from.reveal(), "key");
    if (!contents) return std::unexpected(std::move(contents).error());
    const secret text(std::move(*contents));  // which wipes it
    if (text.reveal().size() > largest_file) return refuse(errc::key_unreadable, name);
    password_request request{&password};
    const auto bio = detail::reading(text.reveal());
    detail::pkey_ptr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, give_password, &request));
    if (key == nullptr) {
        return refuse(request.asked ? errc::wrong_password : errc::key_unreadable, name);
    }
    const int kind = EVP_PKEY_get_base_id(key.get());
    const bool rsa = kind == EVP_PKEY_RSA && EVP_PKEY_get_bits(key.get()) >= least_rsa_bits;
    if (!rsa && kind != EVP_PKEY_ED25519) {
        return refuse(errc::bad_option, name + " is neither RSA of 1024 bits nor Ed25519");
    }
    return signing_key(std::make_shared<const implementation>(
        std::move(key), rsa ? key_kind::rsa : key_kind::ed25519));
}

key_kind signing_key::kind() const noexcept {
    return inner_->kind();
}

std::expected<std::string, error> signing_key::sign_sha256(std::string_view text) const {
    const bool rsa = kind() == key_kind::rsa;
    const std::string hashed = rsa ? std::string() : digest(hash::sha256, text);
    const std::string_view what = rsa ? text : std::string_view(hashed);
    const std::unique_ptr<EVP_MD_CTX, context_free> context(EVP_MD_CTX_new());
    const auto* const bytes = reinterpret_cast<const unsigned char*>(what.data());
    std::size_t size = 0;
    std::string out;
    bool good = context != nullptr &&
                EVP_DigestSignInit(context.get(), nullptr, rsa ? EVP_sha256() : nullptr, nullptr,
                                   inner_->key()) == 1 &&
                EVP_DigestSign(context.get(), nullptr, &size, bytes, what.size()) == 1;
    if (good) {
        out.resize(size);
        good = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                              bytes, what.size()) == 1;
    }
    if (!good) {
        ERR_clear_error();
        return std::unexpected(error(std::errc::not_supported, "sign"));
    }
    out.resize(size);
    return out;
}

}  // namespace coracle::tls
