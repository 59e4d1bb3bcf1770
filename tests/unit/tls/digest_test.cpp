#include "tls/digest.hpp"

#include <gtest/gtest.h>

using namespace coracle::tls::detail;

TEST(digest, is_that_of_its_standard) {
    EXPECT_EQ(digest(hash::md5, {"abc"}), "900150983cd24fb0d6963f7d28e17f72");
    EXPECT_EQ(digest(hash::sha256, {"abc"}),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digest(hash::sha512_256, {"abc"}),
              "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23");
    EXPECT_EQ(digest(hash::md5, {}), "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(digest, is_that_of_all_parts_together) {
    digester d(hash::sha256);
    ASSERT_TRUE(d.good());
    d.add("a");
    digester moved = std::move(d);
    moved.add("");
    moved.add("bc");
    EXPECT_EQ(moved.finish(), digest(hash::sha256, {"abc"}));
    EXPECT_EQ(moved.finish(), std::nullopt);
    EXPECT_EQ(digest(hash::md5, {"ab", "", "c"}), digest(hash::md5, {"abc"}));
}
