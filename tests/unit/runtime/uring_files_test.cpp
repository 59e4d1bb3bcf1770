#include "runtime/backend/uring_files.hpp"

#include <gtest/gtest.h>

#include <cerrno>

using namespace coracle;

namespace {

void ignore(io_operation&) noexcept {}

/// Returns true if the ring requests `op` again after the completion EINTR.
bool is_asked_again(file_operation& op) {
    detail::uring_files files;
    EXPECT_FALSE(files.take(op));
    io_uring_sqe asked{};
    files.prepare(asked);
    io_uring_cqe completion{};
    completion.user_data = asked.user_data;
    completion.res = -EINTR;
    files.absorb(completion);
    const bool again = files.wants_requests();
    op.unlink();
    return again;
}

}  // namespace

TEST(uring_files, asks_again_for_what_was_interrupted) {
    file_operation sync(file_action::sync, ignore);
    EXPECT_TRUE(is_asked_again(sync));
}

TEST(uring_files, never_closes_twice) {
    file_operation close(file_action::close, ignore);
    EXPECT_FALSE(is_asked_again(close));
    EXPECT_EQ(close.result, -EINTR);
}
