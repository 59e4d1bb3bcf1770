// Operations that need the loop of their thread, on a thread that has none.

#include <coracle/io/kernel_pipe.hpp>
#include <coracle/io/standard_streams.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/call_after.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/ticker.hpp>

#include <gtest/gtest.h>

#include <string_view>

using namespace coracle;
using namespace std::chrono_literals;

TEST(a_thread_without_a_loop, cannot_begin_what_belongs_to_one) {
    bool called = false;
    const auto f = [&]() -> task<> {
        called = true;
        co_return;
    };
    const auto operation_of = [](auto&& begin) {
        try {
            begin();
        } catch (const exception& e) {
            EXPECT_EQ(e.error(), errc::no_loop);
            return e.error().operation();
        }
        return std::string_view("none");
    };
    EXPECT_EQ(operation_of([&] { spawn(f); }), "spawn");
    EXPECT_EQ(operation_of([&] { call_after(0s, [&] { called = true; }).detach(); }), "call_after");
    EXPECT_EQ(operation_of([] { static_cast<void>(every(1s)); }), "every");
    EXPECT_EQ(operation_of([] { static_cast<void>(io::make_pipe()); }), "make_pipe");
    EXPECT_EQ(operation_of([] { static_cast<void>(io::standard_input()); }), "standard_input");
    EXPECT_EQ(operation_of([] { static_cast<void>(io::standard_output()); }), "standard_output");
    EXPECT_EQ(operation_of([] { static_cast<void>(io::standard_error()); }), "standard_error");
    EXPECT_EQ(operation_of([] { static_cast<void>(process::pseudo_terminal::open()); }),
              "pseudo_terminal");
    EXPECT_FALSE(called);
}
