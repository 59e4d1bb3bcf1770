// Requests that `forward_to` sends on, as the server behind it receives them.

#include "support/blocking_peer.hpp"
#include "support/client_calls.hpp"

#include <coracle/http/forward.hpp>
#include <coracle/http/router.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace coracle::testing {
namespace {

http::response target_of(http::request& req) {
    return http::response("behind:" + std::string(req.target()));
}

http::response guarded(http::request&) {
    return http::response(http::status::forbidden, "guarded");
}

class forwarding : public ::testing::Test {
protected:
    void serve(const std::string& base_path) {
        http::router routes;
        routes.any("/api/admin", guarded);
        routes.any("/{*rest}", http::forward_to(client_, behind_.url(base_path)));
        front_.emplace(std::move(routes));
    }
    /// Whether a request with this target is answered so, to the end of the connection.
    ::testing::AssertionResult answers(const std::string& target, const std::string& expected) {
        blocking_peer peer(front_->port());
        peer.send("GET " + target + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        if (peer.receive_until(expected)) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << target << " was not answered with " << expected;
    }

    local_server behind_{target_of};
    http::client client_;
    std::optional<local_server> front_;
};

TEST_F(forwarding, keeps_targets_as_they_came) {
    serve("/public");
    EXPECT_TRUE(answers("/api/a?x=1&y=%2F", "behind:/public/api/a?x=1&y=%2F"));
    EXPECT_TRUE(answers("http://h/a?x=1", "behind:/public/a?x=1"));
    EXPECT_TRUE(answers("http://h", "behind:/public/"));
    EXPECT_TRUE(answers("http://h?x=1", "behind:/public/?x=1"));
    EXPECT_TRUE(answers("http://h/a%20b?u=http://i/c", "behind:/public/a%20b?u=http://i/c"));
}

TEST_F(forwarding, decodes_no_target_twice) {
    serve("/public");
    const std::string up = "/%252e%252e/%252e%252e/%252e%252e/admin";
    for (const char* form : {"", "http://h"}) {
        EXPECT_TRUE(answers(form + ("/api" + up), "behind:/public/api" + up));
        EXPECT_TRUE(answers(form + std::string("/api/admin"), "guarded"));
        EXPECT_TRUE(answers(form + std::string("/api/admin%3f"), "behind:/public/api/admin%3F"));
    }
}

TEST_F(forwarding, stays_beneath_the_path_of_its_base) {
    serve("/public/");
    EXPECT_TRUE(answers("/a/../b", "behind:/public/b"));
    for (const char* target : {"/../admin", "/%2e%2e/admin", "http://h/../admin"}) {
        EXPECT_FALSE(answers(target, "admin")) << target;
    }
}

}  // namespace
}  // namespace coracle::testing
