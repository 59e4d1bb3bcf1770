// The options of a client that say where its connections begin, and that they go to a Unix socket.

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/testing/local_server.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

http::response tell_caller(http::request& req) {
    return http::response(req.peer().host() + " wants " + std::string(req.header("Host")));
}

local_server_options at(std::string listen) {
    local_server_options o;
    o.listen = std::move(listen);
    return o;
}

TEST(client_unix_sockets, take_calls_to_any_host) {
    const temporary_directory folder;
    const std::string path = folder.path() / "socket";
    for (const std::string& name : {path, '@' + path}) {
        const local_server server(tell_caller, at("unix:" + name));
        http::client client;
        const auto get = [&](const char* url) {
            // Settings of the route to a host have no effect here.
            const std::string options = "unix_socket=" + name + ", proxy=http://proxy.invalid:1";
            return client.get(url).options(options).wait();
        };
        const auto first = get("http://boats.invalid:81/a");
        EXPECT_THAT(first.body, HasSubstr(" wants boats.invalid:81"));
        EXPECT_EQ(first.info.peer.to_string(), "unix:" + name);
        EXPECT_TRUE(get("http://boats.invalid:81/b").info.reused);
        const auto other = get("http://ships.invalid/");
        EXPECT_THAT(other.body, HasSubstr(" wants ships.invalid"));
        EXPECT_FALSE(other.info.reused) << "it is for another host";
    }
}

TEST(client_unix_sockets, that_are_none_fail_with_their_path) {
    const temporary_directory folder;
    const std::string path = folder.path() / "none";
    http::client client;
    const error e = failure_of(client.get("http://boats.invalid/").options("unix_socket=" + path));
    EXPECT_EQ(e, std::errc::no_such_file_or_directory);
    EXPECT_EQ(e.phase(), phase::connect);
    EXPECT_THAT(e.message(), HasSubstr(path));
}

class client_interface : public ::testing::Test {
protected:
    http::call get(const char* interface_name) {
        return client_.get(server_.url()).options(std::string("interface=") + interface_name);
    }

    const local_server server_{tell_caller};
    http::client client_;
};

TEST_F(client_interface, may_be_an_address_of_ours) {
    EXPECT_THAT(get("127.0.0.77").wait().body, HasSubstr("127.0.0.77 wants"));
    EXPECT_THAT(get("127.0.0.78").wait().body, HasSubstr("127.0.0.78 wants"));
    EXPECT_EQ(client_.statistics().opened, 2U);
    // 192.0.2.0/24 is nobody's.
    const error e = failure_of(get("192.0.2.1"));
    EXPECT_EQ(e, std::errc::address_not_available);
    EXPECT_EQ(e.phase(), phase::connect);
}

TEST_F(client_interface, may_be_a_device) {
    // Kernels before 5.7 ask for a privilege.
    const error e = failure_of(get("lo"));
    EXPECT_TRUE(!e.code() || e == std::errc::operation_not_permitted) << e;
    EXPECT_EQ(server_.counters().requests, e.code() ? 0U : 1U);
    const error none = failure_of(get("no-such-device"));
    EXPECT_THAT(none.code(), AnyOf(std::make_error_code(std::errc::no_such_device),
                                   std::make_error_code(std::errc::operation_not_permitted)));
}

TEST_F(client_interface, that_can_be_neither_is_refused) {
    EXPECT_EQ(failure_of(get("a-name-too-long-for-a-device")), std::errc::no_such_device);
    EXPECT_EQ(server_.counters().connections, 0U);
}

}  // namespace
}  // namespace coracle::testing
