// A client of static lifetime, whose connections end with the program.

#include <coracle/http/client.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

namespace coracle::testing {
namespace {

http::client of_the_program;

http::response hello(http::request&) {
    return http::response("hello");
}

local_server_options secured() {
    local_server_options o;
    o.self_signed = true;
    return o;
}

/// The program fails behind its last test, under AddressSanitizer, where something that the
/// connections use has gone before them.
TEST(static_client, may_keep_a_connection_until_the_program_ends) {
    static const local_server server(hello, secured());
    http::client_options o;
    o.insecure = true;
    const auto r = of_the_program.get(server.url()).options(o).wait();
    EXPECT_EQ(r.body, "hello");
}

}  // namespace
}  // namespace coracle::testing
