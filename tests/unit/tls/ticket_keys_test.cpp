#include "tls/ticket_keys.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <new>
#include <string_view>

namespace coracle::tls::detail {
namespace {

constexpr std::int64_t hour = 3600;

struct ticket {
    std::array<unsigned char, ticket_keys::name_size> name{};
    std::array<unsigned char, EVP_MAX_IV_LENGTH> iv{};
};

class keys : public ::testing::Test {
protected:
    ticket_keys all{12 * hour};
    std::unique_ptr<EVP_CIPHER_CTX, freed_by<EVP_CIPHER_CTX_free>> cipher{EVP_CIPHER_CTX_new()};
    std::unique_ptr<EVP_MAC, freed_by<EVP_MAC_free>> algorithm{
        EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
    std::unique_ptr<EVP_MAC_CTX, freed_by<EVP_MAC_CTX_free>> mac{EVP_MAC_CTX_new(algorithm.get())};

    ticket give(std::int64_t now) {
        ticket t;
        EXPECT_EQ(all.prepare(now, t.name.data(), t.iv.data(), cipher.get(), mac.get(), true), 1);
        return t;
    }
    int take(ticket t, std::int64_t now) {
        return all.prepare(now, t.name.data(), t.iv.data(), cipher.get(), mac.get(), false);
    }
};

TEST_F(keys, stay_for_half_of_a_lifetime) {
    const ticket first = give(0);
    EXPECT_EQ(give(6 * hour - 1).name, first.name);
    EXPECT_NE(give(6 * hour).name, first.name);
}

TEST_F(keys, that_were_replaced_open_tickets_until_these_are_too_old) {
    const ticket first = give(0);
    EXPECT_EQ(take(first, hour), 1);
    give(6 * hour);
    // 2: the client should have a new ticket.
    EXPECT_EQ(take(first, 7 * hour), 2);
    give(12 * hour);
    EXPECT_EQ(take(first, 18 * hour - 1), 2);
    EXPECT_EQ(take(first, 18 * hour), 0);
}

TEST_F(keys, beyond_the_last_three_are_forgotten) {
    const ticket first = give(0);
    give(6 * hour);
    give(12 * hour);
    EXPECT_EQ(take(first, 12 * hour), 2);
    give(18 * hour);
    EXPECT_EQ(take(first, 12 * hour), 0);
}

TEST_F(keys, of_a_secret_are_those_of_all_who_have_it) {
    ticket_keys other(12 * hour, secret(std::string(32, 'a')));
    ticket_keys own(12 * hour, secret(std::string(32, 'a')));
    const auto takes = [&](ticket t, std::int64_t now) {
        return own.prepare(now, t.name.data(), t.iv.data(), cipher.get(), mac.get(), false);
    };
    ticket t;
    EXPECT_EQ(other.prepare(6 * hour, t.name.data(), t.iv.data(), cipher.get(), mac.get(), true),
              1);
    EXPECT_EQ(takes(t, 7 * hour), 1);
    EXPECT_EQ(takes(t, 12 * hour), 2);
    EXPECT_EQ(takes(t, 24 * hour - 1), 2);
    EXPECT_EQ(takes(t, 24 * hour), 0);
    // The clock of the other one is ahead.
    EXPECT_EQ(takes(t, 6 * hour - 1), 2);
    EXPECT_EQ(takes(t, -6 * hour - 1), 0);
    EXPECT_EQ(take(t, 7 * hour), 0);
}

TEST_F(keys, do_not_know_tickets_of_others) {
    give(0);
    EXPECT_EQ(take(ticket(), 1), 0);
}

TEST_F(keys, are_gone_from_memory_with_their_owner) {
    alignas(ticket_keys) char memory[sizeof(ticket_keys)] = {};
    auto* const own = new (memory) ticket_keys(12 * hour);
    ticket t;
    EXPECT_EQ(own->prepare(0, t.name.data(), t.iv.data(), cipher.get(), mac.get(), true), 1);
    // The key stands beside its name, which is known.
    const std::string_view bytes(memory, sizeof memory);
    const std::string_view name(reinterpret_cast<const char*>(t.name.data()), t.name.size());
    const std::size_t at = bytes.find(name);
    ASSERT_NE(at, std::string_view::npos);
    const std::size_t size = name.size() + 64;
    EXPECT_NE(bytes.substr(at, size).find_first_not_of('\0', name.size()), std::string_view::npos);
    own->~ticket_keys();
    EXPECT_EQ(bytes.substr(at, size).find_first_not_of('\0'), std::string_view::npos);
}

TEST_F(keys, use_another_vector_for_each_ticket) {
    EXPECT_NE(give(0).iv, give(0).iv);
}

}  // namespace
}  // namespace coracle::tls::detail
