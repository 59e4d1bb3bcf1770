#include <coracle/mime/base64.hpp>

#include <gtest/gtest.h>

using namespace coracle::mime;

TEST(base64, gives_the_vectors_of_the_rfc) {
    const char* vectors[][2] = {{"", ""},
                                {"f", "Zg=="},
                                {"fo", "Zm8="},
                                {"foo", "Zm9v"},
                                {"foob", "Zm9vYg=="},
                                {"fooba", "Zm9vYmE="},
                                {"foobar", "Zm9vYmFy"}};
    for (const auto& [bytes, text] : vectors) {
        EXPECT_EQ(base64_encode(bytes), text);
        EXPECT_EQ(base64_decode(text), bytes);
    }
    EXPECT_EQ(base64_encode("\xfb\xff\xfe"), "+//+");
    EXPECT_EQ(base64_encode("\xfb\xff\xfe\xff", base64_alphabet::url), "-__-_w");
    EXPECT_EQ(base64_decode("-__-_w", base64_alphabet::url), "\xfb\xff\xfe\xff");
}

TEST(base64, brings_back_every_byte) {
    std::string bytes;
    for (int i = 0; i != 259; ++i) {
        bytes += static_cast<char>(i * 7);
        for (const auto a : {base64_alphabet::standard, base64_alphabet::url}) {
            EXPECT_EQ(base64_decode(base64_encode(bytes, a), a), bytes);
        }
        EXPECT_EQ(base64_decode_lenient(base64_encode(bytes, base64_alphabet::standard, 76)),
                  bytes);
    }
}

TEST(base64, takes_one_form_of_a_value_only) {
    for (const char* bad : {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "Zg==Zg==", "Zm 9v", "Zm9v\n",
                            "====", "=", "Zm9-", "Zm9v="}) {
        EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
    }
    for (const char* bad : {"Zg==", "Zh", "Z", "Zm9/", "Zm9vZ"}) {
        EXPECT_EQ(base64_decode(bad, base64_alphabet::url), std::nullopt) << bad;
    }
}

TEST(base64, breaks_lines_as_mail_does) {
    EXPECT_EQ(base64_encode("foobarfoobar", base64_alphabet::standard, 8), "Zm9vYmFy\r\nZm9vYmFy");
    EXPECT_EQ(base64_decode_lenient("Zm9v\r\n !YmE=\r\nrest"), "fooba");
    EXPECT_EQ(base64_decode_lenient("Zm9vYg"), "foob");
    EXPECT_EQ(base64_decode_lenient("Zm9vY"), std::nullopt);
}
