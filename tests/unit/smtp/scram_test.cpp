// SCRAM-SHA-256 of the client against challenges of servers that are right, wrong, and expensive.

#include "smtp/scram.hpp"

#include <coracle/smtp/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::smtp::detail {
namespace {

constexpr std::string_view nonce = "0123456789abcdeffedcba9876543210";
constexpr std::string_view salt = "W22ZaJ0SNY7soEsUEjb6gQ==";
// Computed with Python's hashlib, by a program that gives the example of RFC 7677 section 3 too.
constexpr std::string_view proof = "W6GUPnvegPb1hbTpdjjK9fcGuXepCTgTCQtgdGR8nkA=";
constexpr std::string_view signature = "FQ9lq+12YEtAFwXwiUzQoXAl7YJ5es4AueICgjT3bFo=";

/// The exchange of "user" with "pencil", whose first message has been sent.
std::unique_ptr<sasl_exchange> begun() {
    credentials who;
    who.user = "user";
    who.password = secret("pencil");
    const std::uint64_t random[2] = {0x0123456789abcdefU, 0xfedcba9876543210U};
    auto exchange = make_scram(who, scram_binding::none, {}, random);
    const auto first = exchange->initial();
    EXPECT_EQ(first->reveal(), "n,,n=user,r=" + std::string(nonce));
    return exchange;
}

std::string challenge(std::string_view server_nonce, std::string_view iterations) {
    std::string text = "r=";
    text.append(server_nonce).append(",s=").append(salt).append(",i=").append(iterations);
    return text;
}

std::string good_nonce() {
    return std::string(nonce) + "serverpart";
}

TEST(scram, proves_the_password_and_wants_the_proof_of_the_server) {
    const auto exchange = begun();
    const auto last = exchange->respond(challenge(good_nonce(), "4096"));
    ASSERT_TRUE(last) << last.error();
    EXPECT_EQ(last->reveal(), "c=biws,r=" + good_nonce() + ",p=" + std::string(proof));
    EXPECT_EQ(exchange->succeeded().error(), make_error_code(errc::server_not_authentic));
    EXPECT_TRUE(exchange->respond("v=" + std::string(signature)));
    EXPECT_TRUE(exchange->succeeded());
    EXPECT_FALSE(exchange->respond("v=" + std::string(signature))) << "a third challenge";
}

TEST(scram, believes_no_server_that_does_not_know_the_password) {
    std::string other(signature);
    other[0] = 'G';
    for (const std::string& said : {"v=" + other, std::string("v="), std::string("v=!"),
                                    "x=" + std::string(signature), std::string()}) {
        const auto exchange = begun();
        ASSERT_TRUE(exchange->respond(challenge(good_nonce(), "4096")));
        EXPECT_EQ(exchange->respond(said).error(), make_error_code(errc::server_not_authentic))
            << said;
        EXPECT_FALSE(exchange->succeeded()) << said;
    }
    const auto refused = begun();
    ASSERT_TRUE(refused->respond(challenge(good_nonce(), "4096")));
    EXPECT_EQ(refused->respond("e=invalid-proof").error(),
              make_error_code(errc::authentication_failed));
}

TEST(scram, takes_no_nonce_but_its_own_with_more_behind) {
    for (const std::string& other : {std::string(nonce), "1" + good_nonce(), std::string("r")}) {
        const auto refused = begun()->respond(challenge(other, "4096"));
        ASSERT_FALSE(refused) << other;
        EXPECT_EQ(refused.error(), make_error_code(errc::authentication_failed));
    }
}

TEST(scram, computes_no_more_and_no_less_than_it_should) {
    for (const char* count : {"4096", "200000"}) {
        EXPECT_TRUE(begun()->respond(challenge(good_nonce(), count))) << count;
    }
    for (const char* count :
         {"0", "1", "4095", "200001", "4294967296", "99999999999999999999", "-1", "4096x", ""}) {
        const auto refused = begun()->respond(challenge(good_nonce(), count));
        ASSERT_FALSE(refused) << count;
        EXPECT_EQ(refused.error(), make_error_code(errc::authentication_failed)) << count;
    }
}

TEST(scram, refuses_extensions_and_what_lacks_a_part) {
    const std::string whole = challenge(good_nonce(), "4096");
    for (const std::string& said :
         {"m=x," + whole, whole.substr(0, whole.find(",s=")), whole.substr(0, whole.find(",i=")),
          whole.substr(whole.find(",s=") + 1), std::string(),
          "r=" + good_nonce() + ",s=!,i=4096"}) {
        EXPECT_FALSE(begun()->respond(said)) << said;
    }
}

}  // namespace
}  // namespace coracle::smtp::detail
