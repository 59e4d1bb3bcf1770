#include <coracle/tls/hash.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle::tls;

TEST(digest, gives_those_of_the_standards) {
    EXPECT_EQ(to_hex(digest(hash::md5, "abc")), "900150983cd24fb0d6963f7d28e17f72");
    EXPECT_EQ(to_hex(digest(hash::sha1, "abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(to_hex(digest(hash::sha256, "abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(to_hex(digest(hash::sha512, "abc")),
              "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
              "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    EXPECT_EQ(to_hex(digest(hash::md5, {})), "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(hmac, gives_those_of_rfc_2202_and_rfc_4231) {
    const std::string text = "what do ya want for nothing?";
    EXPECT_EQ(to_hex(hmac(hash::md5, "Jefe", text)), "750c783e6ab0b503eaa86e310a5db738");
    EXPECT_EQ(to_hex(hmac(hash::sha1, "Jefe", text)), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    EXPECT_EQ(to_hex(hmac(hash::sha256, "Jefe", text)),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(to_hex(hmac(hash::sha256, {}, {})),
              "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
    EXPECT_EQ(to_hex(hmac(hash::sha1, std::string(80, '\xaa'),
                          "Test Using Larger Than Block-Size Key - Hash Key First")),
              "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST(equal_in_constant_time, compares_sizes_and_bytes) {
    EXPECT_TRUE(equal_in_constant_time("", {}));
    EXPECT_TRUE(equal_in_constant_time("token", "token"));
    EXPECT_FALSE(equal_in_constant_time("token", "toker"));
    EXPECT_FALSE(equal_in_constant_time("token", "tokens"));
}
