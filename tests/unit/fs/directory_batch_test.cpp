#include "fs/directory_batch.hpp"

#include <dirent.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

using namespace coracle;
using fs::detail::directory_batch;

namespace {

/// A record as getdents64(2) writes it. `length` 0: the right one.
std::string record(std::string_view name, unsigned char type, std::size_t length = 0) {
    const std::size_t whole = (19 + name.size() + 1 + 7) / 8 * 8;
    std::string bytes(whole, '\0');
    const std::uint64_t inode = 7;
    const auto said = static_cast<std::uint16_t>(length == 0 ? whole : length);
    std::memcpy(bytes.data(), &inode, 8);
    std::memcpy(bytes.data() + 16, &said, 2);
    bytes[18] = static_cast<char>(type);
    name.copy(bytes.data() + 19, name.size());
    return bytes;
}

std::string names_of(const std::string& bytes) {
    directory_batch batch;
    const fs::file none;
    const fs::byte_operation room = batch.fill(none);
    bytes.copy(const_cast<char*>(room.pieces[0].data), bytes.size());
    batch.filled(bytes.size());
    std::string all;
    while (const auto r = batch.next()) {
        all.append(r->name).append(r->kind == file_kind::directory ? "/ " : " ");
        EXPECT_EQ(r->inode, 7u);
    }
    return all;
}

}  // namespace

TEST(directory_batch, tells_of_all_names_but_the_two_of_every_directory) {
    std::string bytes = record(".", DT_DIR);
    bytes += record("..", DT_DIR);
    bytes += record("folder", DT_DIR);
    bytes += record("...", DT_REG);
    bytes += record(std::string(255, 'n'), DT_UNKNOWN);
    EXPECT_EQ(names_of(bytes), "folder/ ... " + std::string(255, 'n').append(" "));
    EXPECT_EQ(names_of(""), "");
}

TEST(directory_batch, ends_at_a_record_that_cannot_be) {
    const std::string good = record("good", DT_REG);
    for (const std::size_t length : {std::size_t{1}, std::size_t{19}, std::size_t{60'000}}) {
        EXPECT_EQ(names_of(good + record("bad", DT_REG, length) + good), "good ") << length;
    }
    for (std::size_t cut = 0; cut != good.size(); ++cut) {
        EXPECT_EQ(names_of(good + good.substr(0, cut)), "good ") << cut;
    }
    // A name without an end reaches to the end of its record.
    std::string endless = record("abcd", DT_REG);
    for (std::size_t i = 19; i != endless.size(); ++i) endless[i] = 'x';
    EXPECT_EQ(names_of(endless), "xxxxx ");
}
