#include "tls/digest.hpp"

#include "tls/openssl.hpp"

namespace coracle::tls::detail {
namespace {

const EVP_MD* implementation_of(hash function) noexcept {
    switch (function) {
        case hash::md5: return EVP_md5();
        case hash::sha256: return EVP_sha256();
        case hash::sha512_256: return EVP_sha512_256();
    }
    return nullptr;
}

EVP_MD_CTX* context(void* p) noexcept {
    return static_cast<EVP_MD_CTX*>(p);
}

}  // namespace

digester::digester(hash function) noexcept : context_(EVP_MD_CTX_new()) {
    if (good() && EVP_DigestInit_ex(context(context_), implementation_of(function), nullptr) != 1) {
        drop();
    }
}

digester::~digester() {
    EVP_MD_CTX_free(context(context_));
}

// Errors left in OpenSSL's queue would be taken for the failure of a connection of this thread.
void digester::drop() noexcept {
    EVP_MD_CTX_free(context(std::exchange(context_, nullptr)));
    ERR_clear_error();
}

void digester::add(std::string_view bytes) noexcept {
    if (good() && EVP_DigestUpdate(context(context_), bytes.data(), bytes.size()) != 1) drop();
}

std::optional<std::string> digester::finish() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (good() && EVP_DigestFinal_ex(context(context_), bytes, &size) != 1) drop();
    if (!good()) return std::nullopt;
    EVP_MD_CTX_free(context(std::exchange(context_, nullptr)));
    std::string text;
    for (unsigned i = 0; i != size; ++i) {
        text += "0123456789abcdef"[bytes[i] >> 4U];
        text += "0123456789abcdef"[bytes[i] & 15U];
    }
    return text;
}

std::optional<std::string> digest(hash function, std::initializer_list<std::string_view> parts) {
    digester d(function);
    for (const std::string_view part : parts) d.add(part);
    return d.finish();
}

}  // namespace coracle::tls::detail
