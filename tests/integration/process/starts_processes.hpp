#pragma once

#include "support/eventually.hpp"
#include "support/on_each_backend.hpp"

#include <coracle/process/command.hpp>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

namespace coracle::testing {

/// Tests that start processes: afterwards none of them, and no descriptor, is left.
class starts_processes : public on_each_backend {
protected:
    void SetUp() override {
        on_each_backend::SetUp();
        descriptors_ = open_descriptors();
    }
    void TearDown() override {
        // A process that was killed is reaped by a thread of the pool.
        EXPECT_TRUE(eventually([&] {
            return !has_children() && open_descriptors() == descriptors_;
        })) << open_descriptors()
            << " descriptors, before " << descriptors_;
    }

private:
    std::size_t descriptors_ = 0;
};

/// The error of a command that cannot be carried out.
inline task<error> failure_of(process::command cmd) {
    auto r = co_await as_result(cmd.run());
    EXPECT_FALSE(r);
    co_return r ? error() : r.error();
}

inline std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Reads until the process has said something.
inline task<std::string> heard(process::child& c) {
    buffer b = co_await c.output().receive();
    co_return std::string(b.view());
}

}  // namespace coracle::testing
