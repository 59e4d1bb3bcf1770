#include "tls/sealing.hpp"

#include <coracle/base/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <system_error>

using namespace coracle::tls::detail;

namespace {

const std::string key(32, 'k');
const std::string salt(seal_salt, 's');

}  // namespace

TEST(sealing, gives_back_what_was_sealed) {
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 1000U}) {
        const std::string text(size, 'x');
        const std::string sealed = seal(key, salt, "bound", text);
        EXPECT_EQ(sealed.size(), size + seal_overhead);
        EXPECT_EQ(unseal(key, "bound", sealed), text);
        EXPECT_EQ(sealed.find("xxxxxxxx"), sealed.npos);
    }
}

TEST(sealing, opens_nothing_that_was_changed) {
    const std::string sealed = seal(key, salt, "bound", "a text");
    for (std::size_t i = 0; i != sealed.size(); ++i) {
        for (const int bit : {0, 7}) {
            std::string changed = sealed;
            changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
            EXPECT_EQ(unseal(key, "bound", changed), std::nullopt) << i;
        }
        EXPECT_EQ(unseal(key, "bound", sealed.substr(0, i)), std::nullopt) << i;
    }
    EXPECT_EQ(unseal(key, "bound", sealed + '\0'), std::nullopt);
    EXPECT_EQ(unseal(key, "Bound", sealed), std::nullopt);
    EXPECT_EQ(unseal(key, "", sealed), std::nullopt);
    EXPECT_EQ(unseal(std::string(32, 'j'), "bound", sealed), std::nullopt);
}

TEST(sealing, has_a_key_for_each_salt) {
    // The key stream would show where two texts differ.
    const std::string a = seal(key, salt, "", std::string(32, '\0'));
    const std::string b = seal(key, std::string(seal_salt, 't'), "", std::string(32, '\0'));
    EXPECT_NE(a.substr(seal_salt), b.substr(seal_salt));
    EXPECT_THROW(static_cast<void>(seal(key, "short", "", "")), std::system_error);
}
