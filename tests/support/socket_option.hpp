#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace coracle::testing {

/// The value of an option of this socket, as the system has it.
inline int socket_option(int fd, int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0) << "option " << name;
    return value;
}

}  // namespace coracle::testing
