// Each limit at it, one below and one above, with its counter; and what does not depend on how the
// network cuts the bytes.

#include "integration/http/simulated_server.hpp"
#include "support/sanitized.hpp"

using namespace simulated;

namespace {

using counter = std::uint64_t http::server_counters::*;

struct limit_case {
    const char* what;
    std::string good;  ///< at the limit
    std::string bad;   ///< one beyond
    int status;
    counter counts;
};

/// A chunked request to /count whose body is `chunks`.
std::string chunked(const std::string& chunks, const char* path = "/count") {
    return post(path, "Transfer-Encoding: chunked\r\n", chunks);
}

std::string many_fields(std::size_t n) {
    std::string all;
    for (std::size_t i = 0; i != n; ++i) all += "X: y\r\n";
    return all;
}

/// A head of exactly `size` bytes in lines far below their own limit.
std::string head_of(std::size_t size) {
    std::string fields;
    while (get("/hello", fields).size() + 8010 < size) fields += "X: " + repeated(8000) + "\r\n";
    const std::size_t left = size - get("/hello", fields).size();
    return get("/hello", fields + "X: " + repeated(left - 5) + "\r\n");
}

/// Chunks of one byte whose framing goes `n` bytes beyond what each has for nothing (16 and twice
/// its data), all in all.
std::string wasteful(std::size_t n) {
    std::string all;
    while (n != 0) {
        // "1;" + name + CRLF + data + CRLF: framing is what stands around the data.
        const std::size_t beyond = n < 200 ? n : 200;
        all += "1;" + repeated(beyond + 18 - 6) + "\r\nx\r\n";
        n -= beyond;
    }
    return all;
}

std::vector<limit_case> limit_cases(const http::h1_limits& l) {
    using c = http::server_counters;
    const auto line = [](std::size_t n) {  // "GET " path " HTTP/1.1"
        return get("/hello?" + repeated(n - 20));
    };
    const auto field = [](std::size_t n) {
        return get("/hello", "X: " + repeated(n - 3) + "\r\n");
    };
    const auto extended = [](std::size_t n) {
        return chunked("1;" + repeated(n - 2) + "\r\nx\r\n0\r\n\r\n");
    };
    const auto trailer = [](std::size_t n) {
        // The section is the line, CRLF, and the empty line.
        return chunked("1\r\nx\r\n0\r\nX: " + repeated(n - 7) + "\r\n\r\n");
    };
    return {
        {"request line", line(l.request_line), line(l.request_line + 1), 414, &c::target_too_long},
        {"field", field(l.field), field(l.field + 1), 431, &c::head_too_large},
        // Host is one of them.
        {"fields", get("/hello", many_fields(l.fields - 1)), get("/hello", many_fields(l.fields)),
         431, &c::head_too_large},
        {"head", head_of(l.head), head_of(l.head + 1), 431, &c::head_too_large},
        {"chunk line", extended(l.chunk_line), extended(l.chunk_line + 1), 400, &c::chunk_abuse},
        {"chunk overhead", chunked(wasteful(l.chunk_overhead) + "1\r\nx\r\n0\r\n\r\n"),
         chunked(wasteful(l.chunk_overhead + 1) + "1\r\nx\r\n0\r\n\r\n"), 400, &c::chunk_abuse},
        {"trailers", trailer(l.trailers), trailer(l.trailers + 1), 431, &c::chunk_abuse},
        {"trailer fields", chunked("0\r\n" + many_fields(l.trailer_fields) + "\r\n"),
         chunked("0\r\n" + many_fields(l.trailer_fields + 1) + "\r\n"), 431, &c::chunk_abuse},
    };
}

/// The request to `at` (also one byte shorter would do) gets its response and the connection goes
/// on.
task<> expect_served(world& w, std::string request) {
    peer p = co_await w.connect();
    co_await p.send(std::move(request));
    const std::string response = co_await read_response(p);
    EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
    co_await p.send(get("/hello"));
    EXPECT_TRUE((co_await read_response(p)).ends_with("hello"));
}

task<> expect_refused(world& w, std::string request, int status) {
    peer p = co_await w.connect();
    co_await as_result(p.send(std::move(request)));
    const std::string response = co_await p.read_to_end();
    EXPECT_TRUE(response.starts_with("HTTP/1.1 " + std::to_string(status) + ' ')) << response;
    EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos) << response;
    EXPECT_EQ(p.ended(), ending::finished);
}

/// Everything that comes back for `requests` on one connection that the client half-closes.
std::string responses_to(std::uint64_t seed, const std::string& requests) {
    std::string all;
    world w(seed);
    w.run([&](world& on) -> task<> {
        peer p = co_await on.connect();
        co_await p.send(requests);
        all = co_await p.read_to_end();
    });
    // The world's clock differs by less than a second.
    for (std::size_t at = 0; (at = all.find("Date: ", at)) != std::string::npos;) {
        all.erase(at, all.find("\r\n", at) + 2 - at);
    }
    return all;
}

/// Each limit of `o` is kept to the byte, and counted.
void expect_limits(const http::server_options& o) {
    for (const limit_case& c : limit_cases(o.limits.h1)) {
        SCOPED_TRACE(c.what);
        const auto both = [&c](world& w) -> task<> {
            co_await expect_served(w, c.good);
            EXPECT_EQ(w.counters().*c.counts, 0u);
            co_await expect_refused(w, c.bad, c.status);
            EXPECT_EQ(w.counters().*c.counts, 1u);
        };
        for_seeds(4, both, o);
    }
}

}  // namespace

TEST(server_limits, hold_to_the_byte) {
    const http::server_options o;
    expect_limits(o);
}

TEST(server_limits, hold_to_the_byte_as_they_are_set) {
    http::server_options o;
    o.limits.h1 = {.head = 40'000,
                   .fields = 50,
                   .request_line = 4000,
                   .field = 10'000,
                   .chunk_line = 230,
                   .chunk_overhead = 8000,
                   .trailers = 5000,
                   .trailer_fields = 20};
    expect_limits(o);
}

TEST(server_limits, hold_a_whole_body_to_a_mebibyte) {
    constexpr std::size_t most = 1024 * 1024;
    for (const bool in_chunks : {false, true}) {
        for_seeds(2, [in_chunks](world& w) -> task<> {
            const auto request = [&](std::size_t n) {
                if (!in_chunks) {
                    return post("/echo", "Content-Length: " + std::to_string(n) + "\r\n",
                                repeated(n));
                }
                return chunked("80000\r\n" + repeated(0x80000) + "\r\n" +
                                   (n == most ? "80000\r\n" : "80001\r\n") + repeated(n - 0x80000) +
                                   "\r\n0\r\n\r\n",
                               "/echo");
            };
            peer p = co_await w.connect();
            spawn([&p, text = request(most)]() -> task<> { co_await p.send(text); });
            const std::string whole = co_await read_response(p);
            EXPECT_TRUE(whole.starts_with("HTTP/1.1 200 "));
            peer q = co_await w.connect();
            spawn([&q, text = request(most + 1)]() -> task<> { co_await as_result(q.send(text)); });
            const std::string response = co_await read_response(q);
            EXPECT_TRUE(response.starts_with("HTTP/1.1 413 ")) << response;
            co_await sleep_for(2s);
            q.close(true);
            co_await sleep_for(1s);
        });
    }
}

TEST(server_limits, hold_every_body_to_the_servers_own) {
    http::server_options o;
    o.limits.body = 100;
    for_seeds(
        4,
        [](world& w) -> task<> {
            co_await expect_served(w, post("/count", "Content-Length: 100\r\n", repeated(100)));
            EXPECT_EQ(w.counters().body_too_large, 0u);
            peer p = co_await w.connect();
            const std::string request = post("/count", "Content-Length: 101\r\n", repeated(101));
            co_await p.send(request);
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.starts_with("HTTP/1.1 413 ")) << response;
            EXPECT_EQ(w.counters().body_too_large, 1u);
        },
        o);
}

// ---- row 8: bodies that nobody reads, and 100-continue ------------------------------------------

TEST(server_limits, discard_an_unread_body_up_to_64_kib) {
    constexpr std::size_t most = 64 * 1024;
    for_seeds(4, [](world& w) -> task<> {
        const auto request = [](std::size_t n) {
            return post("/ignore", "Content-Length: " + std::to_string(n) + "\r\n", repeated(n));
        };
        co_await expect_served(w, request(most));
        EXPECT_EQ(w.counters().bodies_not_discarded, 0u);
        peer p = co_await w.connect();
        const std::string beyond = request(most + 16 * 1024 + 1) + get("/hello");
        co_await as_result(p.send(beyond));
        const std::string all = co_await p.read_to_end();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
        EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos) << all;
        EXPECT_TRUE(all.ends_with("\r\n\r\nignored")) << all;
        EXPECT_EQ(p.ended(), ending::finished);
        EXPECT_EQ(w.counters().bodies_not_discarded, 1u);
    });
}

TEST(server_limits, discard_an_unread_body_for_five_seconds_of_silence) {
    for_seeds(4, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/ignore", "Content-Length: 100\r\n", "some"));
        const time_point began = w.sim.now();
        const std::string all = co_await p.read_to_end();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
        EXPECT_GE(w.since(began), 5s);
        EXPECT_LE(w.since(began), 5300ms);
        EXPECT_EQ(w.counters().bodies_not_discarded, 1u);
    });
}

TEST(server_limits, say_continue_when_the_body_is_first_read) {
    for_seeds(8, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/echo", "Expect: 100-continue\r\nContent-Length: 5\r\n"));
        EXPECT_EQ(co_await p.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
        co_await p.send("12345");
        EXPECT_TRUE((co_await read_response(p)).ends_with("\r\n\r\n12345"));
    });
}

TEST(server_limits, write_no_response_behind_half_a_continue) {
    simulation_options s;
    s.faults.no_memory = 4;
    for (const char* path : {"/echo", "/speak-first"}) {
        const std::vector<std::uint64_t> all = seeds(fewer_if_sanitized(1000));
        int cut = 0;
        int whole = 0;
        for (const std::uint64_t seed : all) {
            world w(seed, {}, s);
            w.run([&](world& on) -> task<> {
                auto p = co_await as_result(on.connect());
                if (!p) co_return;
                co_await as_result(
                    p->send(post(path, "Expect: 100-continue\r\nContent-Length: 5\r\n")));
                const auto head = co_await as_result(p->read_until("\r\n\r\n"));
                ++(head ? whole : cut);
                if (!head) co_return;
                EXPECT_EQ(head->find("HTTP/", 1), std::string::npos) << *head;
            });
            if (HasFailure()) return;
        }
        EXPECT_TRUE(all.size() == 1 || (cut > 0 && whole > 0)) << cut << ' ' << whole;
    }
}

TEST(server_limits, never_say_continue_for_a_body_that_is_not_read) {
    for_seeds(8, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/ignore", "Expect: 100-continue\r\nContent-Length: 5\r\n"));
        const std::string all = co_await p.read_to_end();
        EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
        EXPECT_NE(all.find("Connection: close\r\n"), std::string::npos) << all;
        EXPECT_EQ(p.ended(), ending::finished);
    });
}

TEST(server_limits, never_say_continue_in_the_midst_of_a_response) {
    for_seeds(8, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/speak-first", "Expect: 100-continue\r\nContent-Length: 5\r\n"));
        const std::string begun = co_await p.read_until("begun");
        EXPECT_NE(begun.find("Connection: close\r\n"), std::string::npos) << begun;
        co_await p.send("12345");
        const std::string rest = co_await p.read_to_end();
        EXPECT_EQ(rest, "\r\n5\r\n12345\r\n0\r\n\r\n");
    });
}

TEST(server_limits, let_a_handler_read_and_write_at_once) {
    for_seeds(8, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/both-at-once", "Content-Length: 5\r\nConnection: close\r\n"));
        co_await sleep_for(1s);
        co_await p.send("12345");
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.ends_with("\r\n\r\n1\r\nx\r\n0\r\n\r\n")) << response;
    });
}

TEST(server_limits, respond_500_for_a_status_that_no_response_may_have) {
    for_seeds(8, [](world& w) -> task<> {
        peer p = co_await w.connect();
        for (const char* path : {"/status?is=103", "/status?is=103&stream=1", "/status?is=1103",
                                 "/status?is=1103&stream=1", "/status?is=0"}) {
            co_await p.send(get(path));
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.starts_with("HTTP/1.1 500 ")) << path << ": " << response;
        }
    });
}

// ---- what does not depend on the network --------------------------------------------------------

TEST(server_limits, give_the_same_responses_for_any_split_of_the_requests) {
    const std::string requests = get("/hello") + post("/echo", "Content-Length: 5\r\n", "12345") +
                                 chunked(
                                     "3;a=b\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n"
                                     "T: 1\r\n\r\n",
                                     "/echo") +
                                 get("/sleep?ms=10&id=4") + get("/stream") + get("/none") +
                                 get("/not-there") + "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" +
                                 post("/ignore", "Content-Length: 4\r\n", "abcd") +
                                 get("/hello", "Connection: close\r\n");
    const std::string once = responses_to(1, requests);
    EXPECT_TRUE(once.ends_with("Connection: close\r\n\r\nhello")) << once;
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(200))) {
        EXPECT_EQ(responses_to(seed, requests), once) << "seed " << seed;
        if (HasFailure()) return;
    }
}

TEST(server_limits, have_the_framing_that_each_version_and_method_asks_for) {
    struct framing_case {
        std::string request;
        std::vector<const char*> has;
        std::vector<const char*> lacks;
        const char* end;
    };
    const char* const last = "Connection: close\r\n";
    const framing_case cases[] = {
        {"HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
         {"Content-Length: 5\r\n", last},
         {"Transfer-Encoding"},
         "\r\n\r\n"},
        {get("/none", last), {"HTTP/1.1 204 ", last}, {"Content-Length", "Transfer-"}, "\r\n\r\n"},
        {get("/not-modified", last), {"HTTP/1.1 304 "}, {"not sent", "Transfer-"}, "\r\n\r\n"},
        {get("/status?is=205", last),
         {"HTTP/1.1 205 ", "Content-Length: 0\r\n"},
         {"Transfer-"},
         "\r\n\r\n"},
        {get("/status?is=205&stream=1", last),
         {"HTTP/1.1 205 ", "Content-Length: 0\r\n"},
         {"Transfer-"},
         "\r\n\r\n"},
        {get("/offer") + get("/offer", last),
         {"Connection: upgrade\r\n", "Connection: close, upgrade\r\n"},
         {},
         "x"},
        {"GET /offer HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /offer HTTP/1.0\r\n\r\n",
         {"Connection: keep-alive, upgrade\r\n", "Connection: close, upgrade\r\n"},
         {},
         "x"},
        {get("/stream", last),
         {"Transfer-Encoding: chunked\r\n"},
         {"Content-Length"},
         "\r\n\r\n4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n"},
        {"HEAD /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", {last}, {}, "\r\n\r\n"},
        {"GET /hello HTTP/1.0\r\n\r\n",
         {"HTTP/1.1 200 ", last, "Content-Length: 5\r\n"},
         {"Transfer-"},
         "hello"},
        {"GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
         {last},
         {"Transfer-", "Content-Length"},
         "\r\n\r\none,two"},
        {"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /hello HTTP/1.0\r\n\r\n",
         {"Connection: keep-alive\r\n", last},
         {},
         "hello"},
    };
    for (const framing_case& c : cases) {
        SCOPED_TRACE(c.request);
        for (const std::uint64_t seed : seeds(8)) {
            const std::string all = responses_to(seed, c.request);
            for (const char* text : c.has) EXPECT_NE(all.find(text), std::string::npos) << all;
            for (const char* text : c.lacks) EXPECT_EQ(all.find(text), std::string::npos) << all;
            EXPECT_TRUE(all.ends_with(c.end)) << all;
            if (HasFailure()) return;
        }
    }
}

TEST(server_limits, let_a_handler_pass_on_what_it_has_not_read) {
    for (const std::size_t first : {std::size_t{3}, std::size_t{10}}) {
        for_seeds(8, [first](world& w) -> task<> {
            const std::string body = "0123456789";
            peer p = co_await w.connect();
            co_await p.send(post("/rest", "Content-Length: 10\r\n", body.substr(0, first)));
            co_await sleep_for(1s);
            if (first != body.size()) co_await p.send(body.substr(first));
            const std::string response = co_await read_response(p);
            const std::size_t at = response.find("X-First: ");
            EXPECT_NE(at, std::string::npos) << response;
            if (at == std::string::npos) co_return;
            std::string passed = response.substr(at + 9, response.find('\r', at) - at - 9);
            EXPECT_LE(passed.size(), first);
            passed += response.substr(response.find("\r\n\r\n") + 4);
            EXPECT_EQ(passed, body);
            co_await p.send(get("/hello"));
            EXPECT_TRUE((co_await read_response(p)).ends_with("hello"));
        });
    }
}

TEST(server_limits, leave_an_upgraded_connection_alone) {
    for_seeds(8, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/upgrade", "Connection: upgrade\r\nUpgrade: echo\r\n") + "early");
        const std::string head = co_await p.read_until("\r\n\r\n");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
        EXPECT_EQ(co_await p.read_exactly(5), "early");
        co_await sleep_for(10min);
        co_await p.send("GET / HTTP/1.1\r\n\r\n");
        EXPECT_EQ(co_await p.read_until("\r\n\r\n"), "GET / HTTP/1.1\r\n\r\n");
        p.shutdown_output();
        co_await p.expect_close();
    });
}

TEST(server_limits, end_the_body_of_a_request_before_they_upgrade) {
    const std::string fields = "Connection: upgrade\r\nUpgrade: echo\r\n";
    const std::string length = fields + "Content-Length: 5\r\n";
    for_seeds(8, [&](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/upgrade", length, "12"));
        co_await sleep_for(100ms);
        co_await p.send("345early");
        EXPECT_TRUE((co_await p.read_until("\r\n\r\n")).starts_with("HTTP/1.1 101 "));
        EXPECT_EQ(co_await p.read_exactly(5), "early");

        peer told = co_await w.connect();
        co_await told.send(post("/upgrade", length + "Expect: 100-continue\r\n"));
        EXPECT_EQ(co_await told.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
        co_await told.send("12345early");
        EXPECT_TRUE((co_await told.read_until("\r\n\r\n")).starts_with("HTTP/1.1 101 "));
        EXPECT_EQ(co_await told.read_exactly(5), "early");

        peer chunks = co_await w.connect();
        co_await chunks.send(post("/upgrade", fields + "Transfer-Encoding: chunked\r\n",
                                  "3\r\nabc\r\n0\r\n\r\nearly"));
        EXPECT_TRUE((co_await chunks.read_until("\r\n\r\n")).starts_with("HTTP/1.1 101 "));
        EXPECT_EQ(co_await chunks.read_exactly(5), "early");
    });
}

TEST(server_limits, refuse_to_upgrade_where_the_body_does_not_end) {
    const std::string fields = "Connection: upgrade\r\nUpgrade: echo\r\n";
    const std::string expects = fields + "Expect: 100-continue\r\n";
    const std::string chunked_fields = fields + "Transfer-Encoding: chunked\r\n";
    for_seeds(4, [&](world& w) -> task<> {
        const std::string most = repeated(64 * 1024);
        peer p = co_await w.connect();
        co_await p.send(post("/upgrade", fields + "Content-Length: 65536\r\n", most + "early"));
        EXPECT_TRUE((co_await p.read_until("\r\n\r\n")).starts_with("HTTP/1.1 101 "));
        EXPECT_EQ(co_await p.read_exactly(5), "early");

        co_await expect_refused(w, post("/upgrade", expects + "Content-Length: 65537\r\n"), 413);
        EXPECT_EQ(w.counters().body_too_large, 1u);
        const std::string chunk = "14000\r\n" + repeated(0x14000);
        co_await expect_refused(w, post("/upgrade", chunked_fields, chunk), 413);
        co_await expect_refused(w, post("/upgrade", chunked_fields, "what\r\n"), 400);
        const time_point began = w.sim.now();
        co_await expect_refused(w, post("/upgrade", fields + "Content-Length: 9\r\n", "1"), 408);
        EXPECT_GE(w.since(began), 5s);
        EXPECT_LE(w.since(began), 5300ms);
    });
}

TEST(server_limits, let_half_closing_clients_have_their_responses) {
    for_seeds(20, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/hello") + get("/hello"));
        p.shutdown_output();
        const std::string all = co_await p.read_to_end();
        EXPECT_NE(all.find("hello", all.find("hello") + 1), std::string::npos) << all;
        EXPECT_EQ(p.ended(), ending::finished);
    });
}

// A close with bytes that were not read would reset the response away (RFC 9112 section 9.6).
TEST(server_limits, let_clients_that_send_on_have_their_refusals) {
    for_seeds(20, [](world& w) -> task<> {
        const auto refused = [&](const std::string& request, const char* status) -> task<> {
            peer p = co_await w.connect();
            co_await p.send(request + repeated(200'000));
            const std::string all = co_await p.read_to_end();
            EXPECT_TRUE(all.starts_with(status)) << all;
            EXPECT_EQ(p.ended(), ending::finished) << status;
        };
        co_await refused("GARBAGE\r\n\r\n", "HTTP/1.1 400 ");
        co_await refused("GET /" + repeated(100'000), "HTTP/1.1 414 ");
        co_await refused(get("/hello", "X: " + repeated(100'000)), "HTTP/1.1 431 ");
        co_await refused(post("/echo", "Content-Length: 100000000\r\n"), "HTTP/1.1 413 ");
    });
}
