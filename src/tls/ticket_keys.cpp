#include "tls/ticket_keys.hpp"

#include <coracle/base/secret.hpp>
#include <coracle/tls/hash.hpp>

#include <openssl/core_names.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

namespace coracle::tls::detail {

ticket_keys::~ticket_keys() {
    wipe(keys_, sizeof keys_);
}

/// Makes a random one.
bool ticket_keys::begin_key(std::int64_t now) noexcept {
    key fresh{};
    const bool random = RAND_bytes(fresh.name, sizeof fresh.name) == 1 &&
                        RAND_priv_bytes(fresh.cipher, sizeof fresh.cipher) == 1 &&
                        RAND_priv_bytes(fresh.mac, sizeof fresh.mac) == 1;
    if (!random) return false;
    fresh.made = now;
    std::copy_backward(keys_, keys_ + kept_random - 1, keys_ + kept_random);
    keys_[0] = fresh;
    count_ = std::min(count_ + 1, kept_random);
    wipe(&fresh, sizeof fresh);
    return true;
}

/// Makes those of this time and of the times around it whose tickets may be valid: the next one
/// too, as the clock of another server may be ahead.
bool ticket_keys::derive(std::int64_t now) noexcept {
    const std::int64_t current = now / period();
    if (count_ != 0 && keys_[0].made / period() == current) return true;
    const std::int64_t periods[kept] = {current, current - 1, current - 2, current + 1};
    try {
        for (std::size_t i = 0; i != kept; ++i) {
            const auto part = [&](std::string_view of, std::span<unsigned char> to) {
                const std::string text = std::string(of) + ' ' + std::to_string(periods[i]);
                std::string bytes = hmac(tls::hash::sha256, shared_.reveal(), text);
                std::memcpy(to.data(), bytes.data(), to.size());
                wipe(bytes.data(), bytes.size());
            };
            part("ticket name", keys_[i].name);
            part("ticket cipher", keys_[i].cipher);
            part("ticket mac", keys_[i].mac);
            keys_[i].made = periods[i] * period();
        }
    } catch (const std::exception&) {  // no exception may cross OpenSSL
        count_ = 0;
        return false;
    }
    count_ = kept;
    return true;
}

bool ticket_keys::newest(std::int64_t now, key& copy) noexcept {
    const std::lock_guard hold(lock_);
    if (!shared_.reveal().empty()) {
        if (!derive(now)) return false;
    } else if (count_ == 0 || now - keys_[0].made >= period()) {
        if (!begin_key(now)) return false;
    }
    copy = keys_[0];
    return true;
}

bool ticket_keys::find(std::int64_t now, const unsigned char* name, key& copy,
                       bool& renew) noexcept {
    const std::lock_guard hold(lock_);
    if (!shared_.reveal().empty() && !derive(now)) return false;
    for (std::size_t i = 0; i != count_; ++i) {
        if (std::memcmp(keys_[i].name, name, name_size) != 0) continue;
        // The last ticket of a key was given when it was half as old as tickets get.
        if (now - keys_[i].made >= lifetime_ + lifetime_ / 2) return false;
        copy = keys_[i];
        renew = i != 0;
        return true;
    }
    return false;
}

int ticket_keys::prepare(std::int64_t now, unsigned char* name, unsigned char* iv,
                         EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, bool encrypt) noexcept {
    key k;
    bool renew = false;
    const EVP_CIPHER* const aes = EVP_aes_256_cbc();
    if (encrypt) {
        if (!newest(now, k) || RAND_bytes(iv, EVP_CIPHER_get_iv_length(aes)) != 1) return -1;
        std::memcpy(name, k.name, name_size);
    } else if (!find(now, name, k, renew)) {
        return 0;
    }
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, k.mac, sizeof k.mac),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};
    const bool good = EVP_CipherInit_ex(cipher, aes, nullptr, k.cipher, iv, encrypt ? 1 : 0) == 1 &&
                      EVP_MAC_CTX_set_params(mac, parameters) == 1;
    wipe(&k, sizeof k);
    if (!good) return -1;
    return renew ? 2 : 1;
}

}  // namespace coracle::tls::detail
