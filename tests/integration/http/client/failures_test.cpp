// The texts of the errors of a call.

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/curlev.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

#include <chrono>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// An address at which nobody listens.
std::string nobody() {
    const scripted_peer peer(script().close());
    return peer.url();
}

TEST(client_failures, say_everything_once_in_one_line) {
    const std::string url = nobody();
    http::client client;
    const error e = failure_of(client.get(url + "?q=1"));
    EXPECT_THAT(e.message(), ContainsRegex("^connect GET http://127.0.0.1:[0-9]+/\\?q=1: "
                                           "127.0.0.1:[0-9]+: Connection refused, phase connect, "
                                           "attempt 1, sent 0, received 0, after [0-9.]+ ms.*, "
                                           "safe to retry$"));
}

TEST(client_failures, have_the_timings_so_far_and_the_bytes_of_both_directions) {
    const scripted_peer peer(
        script().read_head().send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf").close());
    http::client client;
    const error e = failure_of(client.get(peer.url("/a")));
    EXPECT_EQ(e, errc::end_of_stream);
    const http::response_info* const known = http::info_of(e);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->url.text(), peer.url("/a"));
    EXPECT_EQ(known->peer, peer.address());
    EXPECT_EQ(known->bytes_sent, peer.record().received.size());
    EXPECT_EQ(known->bytes_received, peer.record().bytes_sent);
    EXPECT_GT(known->times.connected, duration::zero());
    EXPECT_GE(known->times.first_byte, known->times.sent);
    EXPECT_GE(known->times.ended, known->times.first_byte);
    EXPECT_THAT(e.message(), HasSubstr("GET " + peer.url("/a")));
    EXPECT_THAT(e.message(), HasSubstr(", attempt 1, sent "));
    EXPECT_THAT(e.message(),
                ContainsRegex("after [0-9.]+ ms \\(.*connected [0-9.]+, .*first byte"));
    EXPECT_EQ(http::info_of(error(errc::too_slow)), nullptr);
}

TEST(client_failures, know_whom_they_had_reached_before_a_response_came) {
    const scripted_peer peer(script().read_head().close());
    http::client client;
    const error e = failure_of(client.get(peer.url()));
    const http::response_info* const known = http::info_of(e);
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->peer, peer.address());
    EXPECT_GT(known->bytes_sent, 0U);
    EXPECT_EQ(known->bytes_received, 0U);
    EXPECT_EQ(known->attempts, 1U);
}

TEST(client_failures, name_the_limit_of_time_that_was_reached) {
    const scripted_peer peer(script().read_head().stall());
    const auto failure = [&](const char* options) {
        http::client client;
        return std::string(failure_of(client.get(peer.url()).options(options)).operation());
    };
    EXPECT_EQ(failure("first_byte_timeout=20ms"), "first_byte_timeout");
    EXPECT_EQ(failure("timeout=20ms"), "total_timeout");
    EXPECT_EQ(failure("retry_attempt_timeout=20ms"), "retry_attempt_timeout");
}

TEST(client_failures, name_the_url_beside_the_limit) {
    const local_server server([](http::request&) { return http::redirect("/again"); });
    http::client client;
    const error e = failure_of(client.get(server.url("/a")).follow(http::follow::standard, 2));
    EXPECT_THAT(std::string(e.subject()), ContainsRegex("^GET .*: client_options::redirects$"));
    EXPECT_EQ(http::curlev_code(e), 47);
}

TEST(client_failures, tell_a_function_that_writes_another_size_than_it_announced) {
    const local_server server(tell_request);
    http::client client;
    const auto write = [](http::body_writer& out) -> task<> {
        co_await out.write("fifteen bytes ..");
    };
    for (const auto& [size, words] :
         {std::pair{10U, "more bytes than the 10 "}, std::pair{20U, "fewer bytes than the 20 "}}) {
        const error e = failure_of(client.post(server.url()).body(http::body::stream(write, size)));
        EXPECT_EQ(e, std::errc::invalid_argument);
        EXPECT_THAT(e.message(), HasSubstr(words));
    }
}

/// The number that curlev would give.
int code_of(http::call c) {
    return http::curlev_code(failure_of(std::move(c)));
}

TEST(client_failures, have_the_numbers_of_curlev) {
    const local_server server(tell_request);
    const std::string url = server.url();
    http::client client;
    EXPECT_EQ(code_of(client.get(nobody())), 7);
    EXPECT_EQ(code_of(client.get("https://127.0.0.1:1/").options("engine=none-such")), 53);
    EXPECT_EQ(code_of(client.get("https://127.0.0.1:1/").options("sslcert=/no/such.pem")), 58);
    EXPECT_EQ(code_of(client.get("https://127.0.0.1:1/").options("cainfo=/no/such.pem")), 77);
    EXPECT_EQ(code_of(client.post(url).body_file("/no/such/file")), 26);
    EXPECT_EQ(code_of(client.get(url).options("response_limit=5")), 23);
    EXPECT_EQ(code_of(client.get(url).header("a b", "c")), -32);
    EXPECT_EQ(code_of(client.request("a b", url)), -31);
    try {
        http::form_body("no token");
        ADD_FAILURE();
    } catch (const exception& e) {
        EXPECT_EQ(http::curlev_code(e.error()), -34);
    }
}

TEST(client_failures, have_the_numbers_of_libcurl_for_what_servers_send) {
    const std::string ok = "HTTP/1.1 200 OK\r\n";
    const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
    struct row {
        std::string bytes;
        int code;
        phase in;
    };
    const row rows[] = {
        {"", 52, phase::first_byte},
        {"HTTP/1.1 2", 52, phase::first_byte},
        {ok + "Content-Le", 52, phase::first_byte},
        {"220 hello ESMTP\r\n", 8, phase::first_byte},
        {"HTTP/9.9 200 OK\r\n\r\n", 8, phase::first_byte},
        {ok + "no colon\r\n\r\n", 8, phase::first_byte},
        {ok + "Content-Length: -1\r\n\r\n", 8, phase::first_byte},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", 8, phase::first_byte},
        {ok + "A: " + std::string(70'000, 'a'), 56, phase::first_byte},
        {ok + "Content-Length: 10\r\n\r\nabc", 18, phase::receive},
        {chunked + "5\r\nab", 18, phase::receive},
        {chunked + "zz\r\n", 56, phase::receive},
        {ok + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 61, phase::receive},
    };
    for (const row& r : rows) {
        const scripted_peer peer(script().read_head().send(r.bytes).close());
        http::client client;
        const error e = failure_of(client.get(peer.url()));
        EXPECT_EQ(http::curlev_code(e), r.code) << r.bytes.substr(0, 60) << '\n' << e;
        EXPECT_EQ(e.phase(), r.in) << e;
    }
}

TEST(client_failures, of_handshakes_that_never_end_name_their_limit) {
    const scripted_peer peer(script().stall());
    http::client_options o;
    o.tls_timeout = 20ms;
    http::client client(o);
    const error e = failure_of(client.get("https" + peer.url().substr(4)));
    EXPECT_EQ(e, std::errc::timed_out);
    EXPECT_EQ(e.operation(), "tls_timeout");
    EXPECT_EQ(e.phase(), phase::tls);
}

TEST(client_failures, of_files_that_cannot_be_written_have_the_number_of_that) {
    const local_server server(tell_request);
    http::client client;
    const temporary_directory folder;
    const std::string there = folder.path().string();
    for (const std::string& path : {there + "/none/such", there}) {
        block_on([&]() -> task<> {
            auto response = co_await client.get(server.url());
            auto saving = response.save_to(path);
            const auto saved = co_await as_result(saving);
            EXPECT_FALSE(saved);
            if (saved) co_return;
            EXPECT_EQ(http::curlev_code(saved.error()), 23) << saved.error();
        });
    }
}

TEST(client_defaults, of_curlev_are_to_be_had) {
    const http::client_options o = http::curlev_defaults();
    EXPECT_EQ(o.total_timeout, 30s);
    EXPECT_EQ(o.response_limit, 2'000'000U);
    EXPECT_EQ(o.connect_timeout, 30s);
    EXPECT_EQ(o.redirects, 5U);
    EXPECT_EQ(o.follow, http::follow::none);
    EXPECT_EQ(o.retry.retries, 0U);
}

}  // namespace
}  // namespace coracle::testing
