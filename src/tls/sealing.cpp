#include "tls/sealing.hpp"

#include "tls/openssl.hpp"

#include <coracle/base/secret.hpp>
#include <coracle/tls/hash.hpp>

#include <climits>

namespace coracle::tls::detail {
namespace {

using cipher_ptr = std::unique_ptr<EVP_CIPHER_CTX, freed_by<EVP_CIPHER_CTX_free>>;

/// No key is used twice, so the nonce need not differ.
constexpr unsigned char nonce[12] = {};

const unsigned char* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) noexcept {
    return reinterpret_cast<unsigned char*>(text.data());
}

/// A cipher that has its key and `bound`; null where OpenSSL has none.
cipher_ptr prepare(std::string_view key, std::string_view salt, std::string_view bound,
                   bool encrypt) {
    std::string own = hmac(hash::sha256, key, salt);
    cipher_ptr c(EVP_CIPHER_CTX_new());
    int done = 0;
    const bool good = c != nullptr && bound.size() <= INT_MAX &&
                      EVP_CipherInit_ex(c.get(), EVP_aes_256_gcm(), nullptr, bytes_of(own), nonce,
                                        encrypt ? 1 : 0) == 1 &&
                      EVP_CipherUpdate(c.get(), nullptr, &done, bytes_of(bound),
                                       static_cast<int>(bound.size())) == 1;
    wipe(own.data(), own.size());
    if (!good) c.reset();
    return c;
}

bool update(EVP_CIPHER_CTX* c, std::string_view in, std::string& out) {
    int done = 0;
    out.resize(in.size());
    return in.empty() || (EVP_CipherUpdate(c, bytes_of(out), &done, bytes_of(in),
                                           static_cast<int>(in.size())) == 1 &&
                          static_cast<std::size_t>(done) == in.size());
}

/// GCM has no last block: nothing is written.
bool finish(EVP_CIPHER_CTX* c) {
    unsigned char last[EVP_MAX_BLOCK_LENGTH];
    int done = 0;
    return EVP_CipherFinal_ex(c, last, &done) == 1;
}

}  // namespace

std::string seal(std::string_view key, std::string_view salt, std::string_view bound,
                 std::string_view text) {
    const cipher_ptr c = prepare(key, salt, bound, true);
    std::string encrypted;
    char tag[seal_tag];
    if (c == nullptr || salt.size() != seal_salt || text.size() > INT_MAX ||
        !update(c.get(), text, encrypted) || !finish(c.get()) ||
        EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_GET_TAG, seal_tag, tag) != 1) {
        ERR_clear_error();
        throw_exception(error(std::errc::not_supported, "seal"));
    }
    std::string sealed(salt);
    sealed += encrypted;
    sealed.append(tag, sizeof tag);
    return sealed;
}

std::optional<std::string> unseal(std::string_view key, std::string_view bound,
                                  std::string_view sealed) {
    if (sealed.size() < seal_overhead || sealed.size() > INT_MAX) return std::nullopt;
    const std::string_view salt = sealed.substr(0, seal_salt);
    std::string tag(sealed.substr(sealed.size() - seal_tag));
    sealed.remove_prefix(seal_salt);
    sealed.remove_suffix(seal_tag);
    const cipher_ptr c = prepare(key, salt, bound, false);
    std::string text;
    const bool good =
        c != nullptr && update(c.get(), sealed, text) &&
        EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_SET_TAG, seal_tag, tag.data()) == 1 &&
        finish(c.get());
    if (good) return text;
    ERR_clear_error();
    return std::nullopt;
}

}  // namespace coracle::tls::detail
