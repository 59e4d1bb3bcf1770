#include "http/h2/received_content.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace coracle::http::h2 {
namespace {

/// A block of 64 KiB that is filled to its end.
shared_block full_block(char byte) {
    buffer bytes(64 * 1024);
    bytes.append(std::string(bytes.spare_size(), byte));
    return shared_block(std::move(bytes));
}

std::string_view part_of(shared_block& block, std::size_t at, std::size_t size) {
    return block.bytes().view().substr(at, size);
}

/// Takes all that is there; a "|" stands between two pieces.
std::string take_all(received_content& content) {
    std::string all;
    while (!content.empty()) {
        if (!all.empty()) all += '|';
        all += content.next();
        content.done();
    }
    return all;
}

TEST(h2_received_content, is_parts_of_the_blocks_that_it_came_in) {
    received_content content;
    shared_block block = full_block('a');
    const std::string_view first = part_of(block, 0, 20000);
    const std::string_view second = part_of(block, 20000, 30000);
    content.add(first, block);
    content.add(second, block);
    block = {};
    EXPECT_EQ(content.size(), 50000U);
    EXPECT_FALSE(content.is_one_piece());
    EXPECT_EQ(content.next().data(), first.data());
    EXPECT_EQ(content.lent(), 20000U);
    EXPECT_EQ(content.size(), 30000U);
    EXPECT_EQ(content.done(), 20000U);
    EXPECT_EQ(content.done(), 0U) << "once";
    EXPECT_TRUE(content.is_one_piece());
    const std::string_view last = content.next();
    EXPECT_EQ(last.data(), second.data());
    EXPECT_EQ(last, std::string(30000, 'a')) << "the block lives";
    EXPECT_EQ(content.done(), 30000U);
    EXPECT_TRUE(content.empty());
}

TEST(h2_received_content, copies_what_would_keep_a_block_that_is_mostly_not_its_own) {
    received_content content;
    shared_block block = full_block('b');
    content.add(part_of(block, 0, 3), block);
    content.add(part_of(block, 3, 2), block);
    EXPECT_TRUE(content.is_one_piece()) << "copies stand together";
    const std::string_view copies = content.next();
    EXPECT_NE(copies.data(), block.bytes().data());
    EXPECT_EQ(copies, "bbbbb");
    // The reader has the first copy in its hands.
    content.add(part_of(block, 5, 1), block);
    EXPECT_EQ(content.done(), 5U);
    EXPECT_EQ(take_all(content), "b");
    // No copy goes into a block that was received, or has no room.
    content.add(part_of(block, 0, 20000), block);
    content.add(part_of(block, 0, 1), block);
    content.add(part_of(block, 0, 4095), block);
    content.add(part_of(block, 0, 1), block);
    content.add(part_of(block, 0, 20000), block);
    EXPECT_EQ(take_all(content), std::string(20000, 'b') + '|' + std::string(4096, 'b') + "|b|" +
                                     std::string(20000, 'b'));
}

TEST(h2_received_content, gives_the_bytes_of_all_that_it_drops) {
    received_content content;
    shared_block block = full_block('c');
    content.add(part_of(block, 0, 20000), block);
    content.add(part_of(block, 0, 7), block);
    EXPECT_EQ(content.next().size(), 20000U);
    EXPECT_EQ(content.clear(), 20007U);
    EXPECT_TRUE(content.empty());
    EXPECT_EQ(content.lent(), 0U);
    EXPECT_EQ(content.done(), 0U);
    EXPECT_EQ(content.clear(), 0U);
    content.add(part_of(block, 0, 4), block);
    EXPECT_EQ(take_all(content), "cccc");
}

TEST(h2_received_content, leaves_a_piece_that_was_given_when_it_drops_the_others) {
    received_content content;
    shared_block block = full_block('d');
    content.add(part_of(block, 0, 5), block);
    const std::string_view given = content.next();
    content.add(part_of(block, 0, 20000), block);
    content.add(part_of(block, 0, 6), block);
    EXPECT_EQ(content.drop_unread(), 20006U);
    EXPECT_EQ(given, "ddddd");
    EXPECT_TRUE(content.empty());
    EXPECT_EQ(content.drop_unread(), 0U);
    content.add(part_of(block, 0, 7), block);
    EXPECT_EQ(content.done(), 5U);
    EXPECT_EQ(take_all(content), "ddddddd");
    content.add(part_of(block, 0, 8), block);
    EXPECT_EQ(content.drop_unread(), 8U);
    EXPECT_EQ(content.clear(), 0U);
}

TEST(h2_received_content, moves_and_is_empty_then) {
    received_content content;
    shared_block block = full_block('d');
    content.add(part_of(block, 0, 20000), block);
    content.add(part_of(block, 0, 7), block);
    EXPECT_EQ(content.next().size(), 20000U);
    received_content moved(std::move(content));
    EXPECT_TRUE(content.empty());  // NOLINT(bugprone-use-after-move): what it is then is promised
    EXPECT_EQ(content.clear(), 0U);
    EXPECT_EQ(moved.done(), 20000U);
    EXPECT_EQ(take_all(moved), "ddddddd");
    content.add(part_of(block, 0, 2), block);
    EXPECT_EQ(take_all(content), "dd");
}

}  // namespace
}  // namespace coracle::http::h2
