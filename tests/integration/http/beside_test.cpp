// Bodies that are read beside the handler and the response, as `forward_to` does.

#include "http/exchange/exchange_scope.hpp"
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
