// call::launch: the future of a call.

#include "support/client_calls.hpp"

#include <coracle/http/launch.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

#include <exception>
#include <stdexcept>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// The exceptions that were caught, to outlive the client: libstdc++ counts who holds one where
/// ThreadSanitizer does not see it, and the thread that lets go last frees what another has read.
using caught = std::vector<std::exception_ptr>;

/// How what the future has failed; without a code when it did not.
error failure_of(std::future<http::full_response> f, caught& kept) {
    try {
        static_cast<void>(f.get());
    } catch (const exception& e) {
        kept.push_back(std::current_exception());
        return e.error();
    }
    return {};
}

TEST(client_launching, gives_futures_of_responses) {
    const gate go;
    const scripted_peer peer(script().read_head().stall(go).respond("late").again());
    const local_server server(path_of);
    http::client client;
    std::future<http::full_response> late = client.get(peer.url()).launch();
    ASSERT_TRUE(peer.wait_for_stall());
    EXPECT_EQ(late.wait_for(0s), std::future_status::timeout);
    std::vector<std::future<http::full_response>> all;
    for (int i = 0; i != 10; ++i) {
        all.push_back(client.get(server.url("/" + std::to_string(i))).launch());
    }
    for (int i = 0; i != 10; ++i) {
        EXPECT_EQ(all[static_cast<std::size_t>(i)].get().body, "/" + std::to_string(i));
    }
    go.open();
    EXPECT_EQ(late.get().body, "late");
}

TEST(client_launching, gives_what_the_call_fails_with) {
    const scripted_peer peer(script().read_head().cut());
    caught kept;
    http::client client;
    const error gone = failure_of(client.get(peer.url("/gone")).launch(), kept);
    EXPECT_TRUE(gone == errc::end_of_stream || gone == std::errc::connection_reset) << gone;
    EXPECT_THAT(gone.message(), HasSubstr("/gone"));
    EXPECT_EQ(failure_of(client.get("nonsense").launch(), kept), std::errc::invalid_argument);
}

task<http::response> throw_something(http::request& req, const http::handler& next) {
    if (req.path() == "/x") throw std::runtime_error("thrown for /x");
    auto going = next(req);
    co_return co_await std::move(going);
}

TEST(client_launching, gives_other_exceptions_as_ours) {
    caught kept;
    http::client client;
    client.use(throw_something);
    const error e = failure_of(client.get("http://127.0.0.1:1/x").launch(), kept);
    EXPECT_EQ(e, std::errc::state_not_recoverable);
    EXPECT_THAT(e.message(), HasSubstr("thrown for /x"));
}

TEST(client_launching, ends_with_its_client) {
    const scripted_peer peer(script().read_head().stall());
    caught kept;
    http::client client;
    std::future<http::full_response> f = client.get(peer.url()).launch();
    ASSERT_TRUE(peer.wait_for_stall());
    EXPECT_TRUE(client.stop(0s));
    EXPECT_EQ(failure_of(std::move(f), kept), std::errc::operation_canceled);
    http::call late = client.get(peer.url());
    EXPECT_THROW(static_cast<void>(std::move(late).launch()), exception);
}

}  // namespace
}  // namespace coracle::testing
