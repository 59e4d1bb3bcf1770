#include "tls/openssl.hpp"

#include <coracle/base/error.hpp>
#include <coracle/tls/hash.hpp>

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <climits>

namespace coracle::tls {
namespace {

const EVP_MD* implementation_of(hash function) noexcept {
    switch (function) {
        case hash::md5: return EVP_md5();
        case hash::sha1: return EVP_sha1();
        case hash::sha256: return EVP_sha256();
        case hash::sha512: return EVP_sha512();
    }
    return nullptr;
}

/// Errors left in OpenSSL's queue would be taken for the failure of a connection of this thread.
[[noreturn]] void refuse(const char* operation) {
    ERR_clear_error();
    throw_exception(error(std::errc::not_supported, operation));
}

std::string text_of(const unsigned char* bytes, unsigned size) {
    return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

std::string digest(hash function, std::string_view bytes) {
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), out, &size, implementation_of(function), nullptr) !=
        1) {
        refuse("digest");
    }
    return text_of(out, size);
}

std::string hmac(hash function, std::string_view key, std::string_view bytes) {
    if (key.size() > INT_MAX) throw_exception(error(std::errc::invalid_argument, "hmac"));
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    // Without a pointer OpenSSL takes the key of the last call.
    const char* const from = key.empty() ? "" : key.data();
    const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
    if (HMAC(implementation_of(function), from, static_cast<int>(key.size()), data, bytes.size(),
             out, &size) == nullptr) {
        refuse("hmac");
    }
    return text_of(out, size);
}

std::string pbkdf2(hash function, std::string_view password, std::string_view salt,
                   unsigned iterations) {
    const EVP_MD* const md = implementation_of(function);
    const bool fits = password.size() <= INT_MAX && salt.size() <= INT_MAX && iterations != 0 &&
                      iterations <= INT_MAX;
    if (!fits) throw_exception(error(std::errc::invalid_argument, "pbkdf2"));
    unsigned char out[EVP_MAX_MD_SIZE];
    const int size = EVP_MD_get_size(md);
    if (PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
                          reinterpret_cast<const unsigned char*>(salt.data()),
                          static_cast<int>(salt.size()), static_cast<int>(iterations), md, size,
                          out) != 1) {
        refuse("pbkdf2");
    }
    return text_of(out, static_cast<unsigned>(size));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string to_hex(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        text += "0123456789abcdef"[byte >> 4U];
        text += "0123456789abcdef"[byte & 15U];
    }
    return text;
}

}  // namespace coracle::tls
