// Bodies that are read beside the handler and the response, as `forward_to` does.

#include "http/exchange/exchange_scope.hpp"
#include "integration/http/simulated_server.hpp"
#include "support/codings.hpp"
#include "support/content.hpp"
#include "support/simulated_response.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/runtime/event.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;

namespace {

/// Reads the body beside the response.
class reading_beside {
public:
    /// A handler that responds when `pieces` were read, and leaves the others to a task.
    http::handler with(int pieces) {
        return [this, pieces](http::request& req) -> task<http::response> {
            event begun;
            const auto read = [&] { return read_all(this, &req, pieces, &begun); };
            req.exchange()->scope()->tasks->spawn(read);
            co_await begun.wait();
            co_return "early";
        };
    }
    std::string all;
    bool whole = false;

private:
    static task<> read_all(reading_beside* self, http::request* req, int before, event* begun) {
        std::string_view piece;
        std::string held;
        for (int i = 0; i != before; ++i) {
            self->all += held;
            piece = co_await req->body().read();
            held = piece;
        }
        begun->set();
        co_await req->exchange()->scope()->response_over.wait();
        EXPECT_EQ(piece, held) << "the last one lives";
        self->all += held;
        for (;;) {
            const auto next = co_await as_result(req->body().read());
            self->whole = next && next->empty();
            if (!next || next->empty()) break;
            self->all += *next;
        }
    }
};

}  // namespace

TEST(bodies_beside_a_response, are_read_to_their_end) {
    for (const int pieces : {0, 1}) {
        reading_beside reader;
        const std::string body = text_of(6000);
        const auto a = response_over_http_1(reader.with(pieces), post_of(body));
        EXPECT_EQ(a.body, "early");
        EXPECT_TRUE(reader.whole);
        EXPECT_TRUE(reader.all == body) << reader.all.size();
    }
}

// Nobody looks for the rest of the body once the task has ended.
TEST(bodies_beside_a_response, are_the_last_of_their_connection) {
    reading_beside reader;
    simulated::world w(1, reader.with(0));
    w.run([](simulated::world& in) -> task<> {
        peer p = co_await in.connect();
        co_await p.send(simulated::post("/", "Content-Length: 3\r\n") + "abc");
        const std::string response = co_await simulated::read_response(p);
        EXPECT_NE(response.find("\r\nConnection: close\r\n"), std::string::npos) << response;
        co_await p.expect_close();
    });
    EXPECT_EQ(reader.all, "abc");
}

TEST(bodies_beside_a_response, may_be_decoded_twice) {
    const auto again = [](http::request& req, const http::handler& next) -> task<http::response> {
        req.fields().set("Content-Encoding", "gzip");
        auto going = next(req);
        co_return co_await std::move(going);
    };
    const std::string once = encoded(http::content_coding::gzip, text_of(10'000));
    const http::decompress decompress{http::decompress_options()};
    reading_beside reader;
    const auto inner = http::wrap(again, decompress(reader.with(1)));
    const auto a = response_over_http_1(
        decompress(inner),
        post_of(encoded(http::content_coding::gzip, once), "Content-Encoding: gzip\r\n"));
    EXPECT_EQ(a.body, "early");
    EXPECT_TRUE(reader.all == text_of(10'000)) << reader.all.size();
}

TEST(bodies_beside_a_response, are_decoded_to_their_end) {
    const std::string encoded_body = encoded(http::content_coding::gzip, text_of(100'000));
    for (const int pieces : {0, 1, 2}) {
        reading_beside reader;
        const auto handler = http::decompress(http::decompress_options())(reader.with(pieces));
        const auto a =
            response_over_http_1(handler, post_of(encoded_body, "Content-Encoding: gzip\r\n"));
        EXPECT_EQ(a.body, "early");
        EXPECT_TRUE(reader.whole);
        EXPECT_TRUE(reader.all == text_of(100'000)) << reader.all.size();
    }
}
