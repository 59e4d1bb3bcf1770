#include "support/stream_over.hpp"
#include "support/stream_reads.hpp"
#include "support/temporary_directory.hpp"
#include "tls/encrypted_stream.hpp"
#include "tls_pair.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace coracle {
namespace {

using testing::read_exactly;
using testing::tls_pair;
using testing::tls_world;

/// A stream of which a test says what becomes of what is sent.
class valve final : public testing::stream_over {
public:
    enum class state : std::uint8_t { open, full, bottomless };
    state now = state::open;
    unsigned sends = 0;

    using stream_over::stream_over;

    std::int64_t try_send(std::string_view bytes) noexcept override {
        ++sends;
        if (now == state::full) return -EAGAIN;
        if (now == state::bottomless) return static_cast<std::int64_t>(bytes.size());
        return stream_over::try_send(bytes);
    }
    bool start(io_operation& op) noexcept override {
        if (op.code == opcode::receive || now == state::open) return stream_over::start(op);
        waiting_ = &op;
        return false;
    }
    void cancel(io_operation& op) noexcept override {
        if (&op != waiting_) return stream_over::cancel(op);
        op.result = -ECANCELED;
        owner().complete_later(*std::exchange(waiting_, nullptr));
    }

private:
    io_operation* waiting_ = nullptr;
};

/// Both contexts, and the streams between them.
struct connected_tls {
    explicit connected_tls(const tls_world& w, tls::version most = tls::version::tls_1_3)
        : server(w.server_options()), client(client_options(w, most)) {}

    static tls::client_options client_options(const tls_world& w, tls::version most) {
        auto o = w.client_options();
        o.maximum = most;
        return o;
    }
    task<> open() {
        tls_pair ends = co_await testing::shake_hands(client, server, "localhost");
        if (!ends.client) throw exception(ends.client.error());
        if (!ends.server) throw exception(ends.server.error());
        c = *std::move(ends.client);
        s = *std::move(ends.server);
    }
    /// The stream below the client's.
    task<valve*> open_with_valve() {
        testing::connection_pair both = co_await testing::connected();
        std::unique_ptr<net::byte_stream> beneath = std::make_unique<valve>(std::move(both.client));
        valve& v = static_cast<valve&>(*beneath);
        const auto connect = [&]() -> task<> {
            auto op = tls::connect(client, std::move(beneath), "localhost");
            c = co_await op;
        };
        testing::tls_result accepted;
        co_await when_all(connect(),
                          testing::accept_into(server, std::move(both.server), accepted));
        if (!accepted) throw exception(accepted.error());
        s = *std::move(accepted);
        co_return &v;
    }
    SSL* ssl_of(tls::stream& stream) const {
        return static_cast<tls::detail::encrypted_stream&>(stream).native();
    }

    tls::server_context server;
    tls::client_context client;
    std::unique_ptr<tls::stream> c;
    std::unique_ptr<tls::stream> s;
};

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>(i * 7 + i / 253);
    return text;
}

task<> send_all(net::byte_stream& s, std::string_view text) {
    const std::size_t n = co_await s.send(text);
    EXPECT_EQ(n, text.size());
}

class tls_stream : public ::testing::TestWithParam<tls::version> {
protected:
    tls_world world;
};

TEST_P(tls_stream, carries_bytes_both_ways) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        EXPECT_EQ(t.c->version(), GetParam());
        for (int i = 0; i != 100; ++i) {
            co_await t.c->send("question");
            EXPECT_EQ(co_await read_exactly(*t.s, 8), "question");
            co_await t.s->send("reply");
            EXPECT_EQ(co_await read_exactly(*t.c, 5), "reply");
        }
    });
}

TEST_P(tls_stream, carries_more_than_any_buffer_holds_both_ways_at_once) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const std::string up = pattern(9 * 1024 * 1024 + 17);
        const std::string down = pattern(8 * 1024 * 1024 + 3);
        auto [a, b, c, d] =
            co_await when_all(send_all(*t.c, up), send_all(*t.s, down),
                              read_exactly(*t.s, up.size()), read_exactly(*t.c, down.size()));
        EXPECT_TRUE(c == up);
        EXPECT_TRUE(d == down);
    });
}

TEST_P(tls_stream, sends_many_slices_in_order) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const std::string text = pattern(300'000);
        std::vector<slice> slices;
        std::size_t at = 0;
        for (std::size_t size = 0; at < text.size(); size = (size * 3 + 1) % 7001) {
            const std::size_t n = std::min(size, text.size() - at);
            slices.emplace_back(text.data() + at, n);
            at += n;
        }
        const auto send_slices = [&]() -> task<> {
            const std::size_t n = co_await t.c->send(slices);
            EXPECT_EQ(n, text.size());
        };
        auto [sent, received] = co_await when_all(send_slices(), read_exactly(*t.s, text.size()));
        EXPECT_TRUE(received == text);
    });
}

/// Where they lie decides whether they are copied before they are encrypted.
TEST_P(tls_stream, sends_the_same_bytes_from_wherever_they_lie) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        constexpr std::size_t page = 4096;
        constexpr std::size_t step = 16;
        constexpr std::size_t size = 20'000;
        const std::string text = pattern(page + size);
        const auto send_shifted = [&]() -> task<> {
            for (std::size_t at = 0; at != page; at += step) {
                slice piece(text.data() + at, size);
                co_await t.s->send(std::span(&piece, 1), true);
            }
            co_await t.s->send("end");
        };
        auto [sent, received] =
            co_await when_all(send_shifted(), read_exactly(*t.c, page / step * size + 3));
        bool same = received.ends_with("end");
        for (std::size_t i = 0; i != page / step; ++i) {
            same = same && received.substr(i * size, size) == text.substr(i * step, size);
        }
        EXPECT_TRUE(same);
    });
}

TEST_P(tls_stream, goes_on_with_what_could_not_be_sent_at_once) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        // A send of the bytes that try_send has begun completes them.
        const std::string block = pattern(40'000);
        std::size_t blocks = 0;
        std::size_t done = 0;
        for (;;) {
            const std::int64_t n = t.c->try_send(std::string_view(block).substr(done));
            if (n < 0) break;
            done += static_cast<std::size_t>(n);
            if (done == block.size()) {
                done = 0;
                ++blocks;
            }
        }
        const std::string_view rest = std::string_view(block).substr(done);
        const std::size_t size = (blocks + 1) * block.size();
        auto [sent, received] = co_await when_all(send_all(*t.c, rest), read_exactly(*t.s, size));
        EXPECT_GT(blocks, 1U);
        for (std::size_t i = 0; i <= blocks; ++i) {
            EXPECT_TRUE(received.substr(i * block.size(), block.size()) == block) << i;
        }
    });
}

TEST_P(tls_stream, receives_with_any_room) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        co_await testing::expect_receives_with_any_room(*t.s, *t.c);
    });
}

TEST_P(tls_stream, sends_a_part_of_a_file) {
    const testing::temporary_directory directory;
    const std::string text = pattern(3'000'000);
    const std::string path = directory.write("file", text).string();
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const auto send_part = [&]() -> task<> {
            co_await t.s->send("head", true);
            EXPECT_EQ(co_await t.s->send_file(fd, 11, 2'500'000), 2'500'000U);
        };
        auto [sent, received] = co_await when_all(send_part(), read_exactly(*t.c, 2'500'004));
        EXPECT_TRUE(received == "head" + text.substr(11, 2'500'000));
        const auto beyond = co_await as_result(t.s->send_file(fd, 2'999'999, 2));
        EXPECT_FALSE(beyond);
        if (!beyond) {
            EXPECT_EQ(beyond.error(), std::errc::no_message_available);
        }
    });
    ::close(fd);
}

TEST_P(tls_stream, ends_with_close_notify) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        co_await t.c->send("last");
        t.c->shutdown_output();
        EXPECT_EQ(co_await read_exactly(*t.s, 4), "last");
        const auto end = co_await as_result(t.s->receive());
        EXPECT_FALSE(end);
        if (!end) {
            EXPECT_EQ(end.error(), errc::end_of_stream);
        }
        // The other direction is still open.
        co_await t.s->send("reply");
        EXPECT_EQ(co_await read_exactly(*t.c, 5), "reply");
    });
}

TEST_P(tls_stream, knows_a_truncated_stream_from_an_end) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        co_await t.c->send("not all");
        t.c->beneath().shutdown_output();
        EXPECT_EQ(co_await read_exactly(*t.s, 7), "not all");
        for (int i = 0; i != 2; ++i) {
            const auto end = co_await as_result(t.s->receive());
            EXPECT_FALSE(end);
            if (!end) {
                EXPECT_EQ(end.error().code(), tls::errc::truncated);
            }
        }
    });
}

TEST_P(tls_stream, fails_on_bytes_that_do_not_decrypt) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const std::string forged = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
        co_await t.c->beneath().send(forged);
        const auto r = co_await as_result(t.s->receive());
        EXPECT_FALSE(r);
        if (!r) {
            EXPECT_EQ(r.error().code(), tls::errc::bad_record) << r.error();
        }
    });
}

TEST_P(tls_stream, loses_nothing_when_a_receive_is_cancelled) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const auto none =
            co_await as_result(with_timeout(std::chrono::milliseconds(1), t.s->receive()));
        EXPECT_FALSE(none);
        co_await t.c->send("still here");
        EXPECT_EQ(co_await read_exactly(*t.s, 10), "still here");
    });
}

TEST_P(tls_stream, can_be_closed_after_a_send_was_cancelled) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const std::string much = pattern(32 * 1024 * 1024);
        const auto sent =
            co_await as_result(with_timeout(std::chrono::milliseconds(5), t.c->send(much)));
        EXPECT_FALSE(sent);
        t.c->close();
    });
}

/// Returns the error of a send after one that was cancelled a turn after it began.
task<std::error_code> after_cancelled_send(connected_tls& t, std::string_view bytes) {
    auto cancelled = t.c->send(bytes);
    auto turn = yield();
    const auto first = co_await when_any(std::move(cancelled), std::move(turn));
    EXPECT_EQ(first.index, 1U);
    const auto next = co_await as_result(t.c->send("next"));
    co_return next ? std::error_code() : next.error().code();
}

TEST_P(tls_stream, is_over_after_a_send_was_cancelled_while_it_waited) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        valve& v = *co_await t.open_with_valve();
        v.now = valve::state::full;
        const auto next = co_await after_cancelled_send(t, "cut");
        // Nobody cancelled this one.
        EXPECT_EQ(next, std::errc::connection_aborted);
    });
}

TEST_P(tls_stream, is_over_after_a_send_was_cancelled_while_others_had_their_turn) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        valve& v = *co_await t.open_with_valve();
        v.now = valve::state::bottomless;
        const std::string much = pattern(32 * 1024 * 1024);
        const auto next = co_await after_cancelled_send(t, much);
        EXPECT_EQ(next, std::errc::connection_aborted);
    });
}

TEST_P(tls_stream, receives_one_byte_records) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const std::string text = pattern(2000);
        const auto drip = [&]() -> task<> {
            for (const char& byte : text) co_await t.c->send(std::string_view(&byte, 1));
        };
        auto [sent, received] = co_await when_all(drip(), read_exactly(*t.s, text.size()));
        EXPECT_TRUE(received == text);
    });
}

TEST_P(tls_stream, begins_with_small_records_and_goes_on_with_large_ones) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        co_await t.open();
        const std::string text = pattern(200'000);
        const auto send_text = [&]() -> task<> { co_await t.s->send(text); };
        std::vector<std::size_t> records;
        const auto watch = [&]() -> task<> {
            std::string wire;
            std::size_t at = 0;
            for (std::size_t sum = 0; sum < text.size();) {
                if (wire.size() < at + 5) {
                    const buffer b = co_await t.c->beneath().receive();
                    wire += b.view();
                    continue;
                }
                // RFC 8446 section 5.1: type, version, and the length in two bytes.
                const auto high = static_cast<unsigned char>(wire[at + 3]);
                const auto low = static_cast<unsigned char>(wire[at + 4]);
                const std::size_t size = high * 256U + low;
                records.push_back(size);
                sum += size;
                at += 5 + size;
            }
        };
        co_await when_all(send_text(), watch());
        EXPECT_LE(records.front(), 1460U);
        EXPECT_LE(records[10], 1460U);
        EXPECT_GE(*std::max_element(records.begin(), records.end()), 16'352U);
        EXPECT_LT(records.size(), 30U);
    });
}

TEST_P(tls_stream, sends_four_large_records_in_one_call) {
    block_on([&]() -> task<> {
        connected_tls t(world, GetParam());
        valve& v = *co_await t.open_with_valve();
        v.now = valve::state::bottomless;
        const std::string text = pattern(1024 * 1024);
        v.sends = 0;
        co_await t.c->send(text);
        EXPECT_GE(v.sends, 16U);
        EXPECT_LE(v.sends, 18U);
        v.sends = 0;
        co_await t.c->send(text.substr(0, 40'000));
        EXPECT_LE(v.sends, 2U) << "one by try_send, and one for the rest";
    });
}

INSTANTIATE_TEST_SUITE_P(versions, tls_stream,
                         ::testing::Values(tls::version::tls_1_2, tls::version::tls_1_3),
                         [](const auto& p) {
                             return p.param == tls::version::tls_1_2 ? "tls_1_2" : "tls_1_3";
                         });

/// Returns the error of a connection whose peer sends this many KeyUpdates between two bytes.
std::error_code after_key_updates(unsigned many) {
    std::error_code code;
    block_on([&]() -> task<> {
        const tls_world world;
        connected_tls t(world);
        co_await t.open();
        for (unsigned i = 0; i != many; ++i) {
            SSL_key_update(t.ssl_of(*t.c), SSL_KEY_UPDATE_NOT_REQUESTED);
            co_await t.c->send("x");
            const auto r = co_await as_result(t.s->receive());
            if (!r) {
                code = r.error().code();
                co_return;
            }
        }
        const auto r = co_await as_result(t.s->send("still good"));
        if (!r) code = r.error().code();
    });
    return code;
}

TEST(tls_key_updates, are_limited) {
    EXPECT_EQ(after_key_updates(31), std::error_code());
    EXPECT_EQ(after_key_updates(32), std::error_code());
    EXPECT_EQ(after_key_updates(33), tls::errc::too_many_key_updates);
}

// RFC 8446 section 5.5: peers update keys after so many records, as long as the connection lasts.
TEST(tls_key_updates, are_not_counted_where_data_comes_between_them) {
    block_on([]() -> task<> {
        const tls_world world;
        connected_tls t(world);
        co_await t.open();
        const std::string data(64 * 1024, 'x');
        for (int i = 0; i != 40; ++i) {
            SSL_key_update(t.ssl_of(*t.c), SSL_KEY_UPDATE_NOT_REQUESTED);
            auto both = when_all(t.c->send(data), read_exactly(*t.s, data.size()));
            auto [sent, read] = co_await std::move(both);
            EXPECT_EQ(read.size(), data.size());
        }
    });
}

TEST(tls_key_updates, beyond_the_limit_meet_an_alert) {
    block_on([]() -> task<> {
        const tls_world world;
        connected_tls t(world);
        co_await t.open();
        for (int i = 0; i != 33; ++i) {
            SSL_key_update(t.ssl_of(*t.c), SSL_KEY_UPDATE_NOT_REQUESTED);
            co_await t.c->send("x");
            static_cast<void>(co_await as_result(t.s->receive()));
        }
        t.s->close();
        // Without close_notify this would be `truncated`.
        const auto end = co_await as_result(t.c->receive());
        EXPECT_FALSE(end);
        if (!end) {
            EXPECT_EQ(end.error(), errc::end_of_stream);
        }
    });
}

TEST(tls_key_updates, get_one_in_return_when_asked_for) {
    block_on([]() -> task<> {
        const tls_world world;
        connected_tls t(world);
        co_await t.open();
        for (int i = 0; i != 10; ++i) {
            SSL_key_update(t.ssl_of(*t.c), SSL_KEY_UPDATE_REQUESTED);
            co_await t.c->send("question");
            EXPECT_EQ(co_await read_exactly(*t.s, 8), "question");
            co_await t.s->send("reply");
            EXPECT_EQ(co_await read_exactly(*t.c, 5), "reply");
        }
    });
}

TEST(tls_renegotiation, is_refused) {
    block_on([]() -> task<> {
        const tls_world world;
        connected_tls t(world, tls::version::tls_1_2);
        co_await t.open();
        EXPECT_NE(SSL_get_options(t.ssl_of(*t.s)) & SSL_OP_NO_RENEGOTIATION, 0U);
        SSL_clear_options(t.ssl_of(*t.c), SSL_OP_NO_RENEGOTIATION);
        EXPECT_EQ(SSL_renegotiate(t.ssl_of(*t.c)), 1);
        SSL_do_handshake(t.ssl_of(*t.c));
        const auto refused = co_await as_result(t.s->receive());
        EXPECT_FALSE(refused);
        if (!refused) {
            EXPECT_EQ(refused.error().code(), tls::errc::renegotiation);
        }
        // The peer is told so.
        t.s->close();
        const auto end = co_await as_result(t.c->receive());
        EXPECT_FALSE(end);
        if (!end) {
            EXPECT_NE(end.error().message().find("no renegotiation"), std::string::npos)
                << end.error();
        }
    });
}

}  // namespace
}  // namespace coracle
