// Unix sockets that move messages, descriptors and credentials, on each backend of this machine.

#include "support/backends.hpp"
#include "support/open_descriptors.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/net/unix_socket.hpp>
#include <coracle/testing/simulation.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using net::unix_kind;
using net::unix_socket;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

namespace {

constexpr unix_kind all_kinds[] = {unix_kind::stream, unix_kind::datagram, unix_kind::seqpacket};

/// Which file a descriptor is of.
std::pair<dev_t, ino_t> file_of(int fd) {
    struct stat s{};
    EXPECT_EQ(::fstat(fd, &s), 0);
    return {s.st_dev, s.st_ino};
}

owned_fd open_file(const char* path = "/dev/null") {
    return owned_fd(::open(path, O_RDONLY | O_CLOEXEC));
}

std::pair<unix_socket, unix_socket> pair_of(unix_kind kind) {
    auto both = unix_socket::pair(*loop::current(), kind);
    if (!both) throw_exception(both.error());
    return *std::move(both);
}

task<> messages(unix_kind kind) {
    auto [a, b] = pair_of(kind);
    EXPECT_EQ(a.kind(), kind);
    EXPECT_EQ(co_await a.send("first"), 5u);
    const net::unix_message first = co_await b.receive();
    EXPECT_EQ(first.bytes.view(), "first");
    co_await a.send("second");
    co_await a.send("third");
    net::unix_message m = co_await b.receive(3);
    EXPECT_EQ(m.bytes.view(), "sec");
    EXPECT_EQ(m.truncated, kind != unix_kind::stream);
    m = co_await b.receive();
    EXPECT_EQ(m.bytes.view(), kind == unix_kind::stream ? "ondthird" : "third");
    auto empty = co_await as_result(a.send(""));
    EXPECT_EQ(empty.error(), std::errc::invalid_argument);
    if (kind == unix_kind::datagram) co_return;
    a.shutdown_output();
    auto end = co_await as_result(b.receive());
    EXPECT_EQ(end.error(), errc::end_of_stream);
    co_await b.send("the other side is open");
    const net::unix_message last = co_await a.receive();
    EXPECT_EQ(last.bytes.view(), "the other side is open");
    b.close();
    auto broken = co_await as_result(a.send("x"));
    EXPECT_EQ(broken.error(), std::errc::broken_pipe);
}

task<> descriptors(unix_kind kind) {
    auto [a, b] = pair_of(kind);
    const owned_fd null = open_file();
    const owned_fd zero = open_file("/dev/zero");
    const int both[] = {null.get(), zero.get()};
    co_await a.send_with_descriptors("two", both);
    net::unix_message m = co_await b.receive_with_descriptors();
    EXPECT_EQ(m.bytes.view(), "two");
    EXPECT_EQ(m.descriptors.size(), 2u);
    if (m.descriptors.size() != 2) co_return;
    EXPECT_EQ(file_of(m.descriptors[0].get()), file_of(null.get()));
    EXPECT_EQ(file_of(m.descriptors[1].get()), file_of(zero.get()));
    EXPECT_NE(m.descriptors[0].get(), null.get());
    EXPECT_NE(::fcntl(m.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
    // A socket may travel through a socket.
    auto [c, d] = pair_of(unix_kind::seqpacket);
    const owned_fd out = c.release().value();
    const int one[] = {out.get()};
    co_await b.send_with_descriptors("a socket", one);
    net::unix_message with_socket = co_await a.receive_with_descriptors();
    auto adopted =
        unix_socket::adopt(*loop::current(), with_socket.descriptors.at(0).release()).value();
    EXPECT_EQ(adopted.kind(), unix_kind::seqpacket);
    co_await adopted.send("from afar");
    const net::unix_message from_afar = co_await d.receive();
    EXPECT_EQ(from_afar.bytes.view(), "from afar");
}

task<> too_many_descriptors(unix_kind kind) {
    const owned_fd null = open_file();
    auto [a, b] = pair_of(kind);
    const std::size_t before = open_descriptors();
    const std::vector<int> all(unix_socket::max_descriptors, null.get());
    for (const std::size_t count : {1u, 2u, 15u, 16u, 17u, 18u, 24u, 253u}) {
        co_await a.send_with_descriptors("many", std::span(all).first(count));
        auto m = co_await as_result(b.receive_with_descriptors(100, 16));
        EXPECT_EQ(m.has_value(), count <= 16) << count;
        if (!m) {
            EXPECT_EQ(m.error(), errc::limit_exceeded);
            EXPECT_NE(m.error().subject().find("descriptors: more than 16"), std::string::npos);
        }
        EXPECT_EQ(open_descriptors(), before + (m ? count : 0));
    }
    co_await a.send_with_descriptors("all", all);
    {
        const net::unix_message m = co_await b.receive_with_descriptors(100, 253);
        EXPECT_EQ(m.descriptors.size(), 253u);
    }
    const std::vector<int> more(unix_socket::max_descriptors + 1, null.get());
    auto refused = co_await as_result(a.send_with_descriptors("x", more));
    EXPECT_EQ(refused.error(), errc::limit_exceeded);
    EXPECT_EQ(refused.error().subject(), "max_descriptors: 254 of 253");
    // A receive that asks for none closes those that come.
    co_await a.send_with_descriptors("unasked", std::span(all).first(3));
    const net::unix_message m = co_await b.receive();
    EXPECT_EQ(m.bytes.view(), "unasked");
    EXPECT_EQ(open_descriptors(), before);
}

/// The process may open no more: the control data comes cut.
task<> no_room_for_descriptors() {
    auto [a, b] = pair_of(unix_kind::seqpacket);
    const owned_fd null = open_file();
    const std::vector<int> three(3, null.get());
    co_await a.send_with_descriptors("three", three);
    const std::size_t before = open_descriptors();
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit was = limit;
    // The next free numbers are below the limit, all but one of them.
    const owned_fd lowest = open_file();
    limit.rlim_cur = static_cast<rlim_t>(lowest.get()) + 2;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    auto m = co_await as_result(b.receive_with_descriptors());
    ::setrlimit(RLIMIT_NOFILE, &was);
    EXPECT_EQ(m.error(), errc::limit_exceeded);
    EXPECT_EQ(open_descriptors(), before + 1);
}

class unix_passing : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
};

}  // namespace

TEST_P(unix_passing, moves_messages_of_each_kind) {
    for (const unix_kind kind : all_kinds) on.run([kind] { return messages(kind); });
}

TEST_P(unix_passing, passes_descriptors) {
    for (const unix_kind kind : all_kinds) on.run([kind] { return descriptors(kind); });
}

TEST_P(unix_passing, closes_all_when_there_are_too_many) {
    for (const unix_kind kind : all_kinds) on.run([kind] { return too_many_descriptors(kind); });
    on.run([] { return no_room_for_descriptors(); });
}

TEST_P(unix_passing, sends_all_of_a_stream_and_its_descriptors_once) {
    const auto f = []() -> task<> {
        auto [a, b] = pair_of(unix_kind::stream);
        const owned_fd null = open_file();
        const std::string large(4'000'000, 'x');
        const int one[] = {null.get()};
        std::size_t bytes = 0;
        std::size_t passed = 0;
        auto send = [&]() -> task<> {
            const std::size_t sent = co_await a.send_with_descriptors(large, one);
            EXPECT_EQ(sent, large.size());
        };
        auto receive = [&]() -> task<> {
            while (bytes != large.size()) {
                const net::unix_message m = co_await b.receive_with_descriptors();
                bytes += m.bytes.size();
                passed += m.descriptors.size();
            }
        };
        co_await when_all(send(), receive());
        EXPECT_EQ(passed, 1u);
    };
    on.run(f);
}

TEST_P(unix_passing, listens_with_paths_and_abstract_names) {
    const auto f = []() -> task<> {
        const temporary_directory dir;
        loop& l = *loop::current();
        const std::string pid = std::to_string(::getpid());
        for (const unix_kind kind : {unix_kind::stream, unix_kind::seqpacket}) {
            for (const std::string& where :
                 {dir.path().string() + "/s" + std::to_string(static_cast<int>(kind)),
                  "@coracle-passing-" + pid}) {
                const net::address at = net::address::parse("unix:" + where).value();
                auto nobody = unix_socket::connect(l, at, kind);
                EXPECT_FALSE(nobody);
                auto listener = net::unix_listener::open(l, at, kind).value();
                auto client = unix_socket::connect(l, at, kind).value();
                unix_socket server = co_await listener.accept();
                EXPECT_EQ(server.kind(), kind);
                EXPECT_EQ(client.peer(), at);
                const owned_fd null = open_file();
                const int one[] = {null.get()};
                co_await client.send_with_descriptors("here", one);
                const net::unix_message m = co_await server.receive_with_descriptors();
                EXPECT_EQ(m.descriptors.size(), 1u);
                const process_credentials us{::getpid(), ::geteuid(), ::getegid()};
                EXPECT_EQ(server.peer_credentials().value(), us);
                EXPECT_EQ(client.peer_credentials().value(), us);
                auto other = unix_socket::connect(
                    l, at, kind == unix_kind::stream ? unix_kind::seqpacket : unix_kind::stream);
                EXPECT_FALSE(other);
                auto none = co_await as_result(with_timeout(1us, listener.accept()));
                EXPECT_EQ(none.error(), std::errc::timed_out);
                auto again = net::unix_listener::open(l, at, kind);
                EXPECT_EQ(again.error(), std::errc::address_in_use);
                listener.close();
                // The file that is left is nobody's.
                EXPECT_TRUE(net::unix_listener::open(l, at, kind));
            }
        }
        auto v4 = net::unix_listener::open(l, net::address::v4({127, 0, 0, 1}, 0));
        EXPECT_EQ(v4.error(), std::errc::address_family_not_supported);
    };
    on.run(f);
}

TEST_P(unix_passing, tells_who_sent_each_message) {
    const auto f = []() -> task<> {
        auto [a, b] = pair_of(unix_kind::seqpacket);
        EXPECT_TRUE(b.tell_credentials(true));
        const owned_fd null = open_file();
        const int one[] = {null.get()};
        co_await a.send_with_descriptors("both", one);
        const net::unix_message m = co_await b.receive_with_descriptors(16, 1);
        EXPECT_EQ(m.sender, (process_credentials{::getpid(), ::geteuid(), ::getegid()}));
        EXPECT_EQ(m.descriptors.size(), 1u);
        EXPECT_TRUE(b.tell_credentials(false));
        co_await a.send("anonymous");
        const net::unix_message n = co_await b.receive();
        EXPECT_EQ(n.sender, process_credentials());
    };
    on.run(f);
}

TEST_P(unix_passing, makes_pairs_of_byte_streams) {
    const auto f = []() -> task<> {
        auto both = net::socket_pair(*loop::current()).value();
        co_await both.first->send("ping");
        const buffer ping = co_await both.second->receive();
        EXPECT_EQ(ping.view(), "ping");
        EXPECT_EQ(net::peer_credentials(*both.first).value().process, ::getpid());
        both.first->close();
        auto end = co_await as_result(both.second->receive());
        EXPECT_EQ(end.error(), errc::end_of_stream);
        auto tcp = co_await connected();
        EXPECT_EQ(net::peer_credentials(*tcp.client).error(), std::errc::operation_not_supported);
    };
    on.run(f);
}

TEST_P(unix_passing, gives_a_byte_stream_what_is_behind_bytes_with_descriptors) {
    const auto f = []() -> task<> {
        auto [a, b] = pair_of(unix_kind::stream);
        owned_fd end = b.release().value();
        const auto unnamed = net::address::parse("unix:@").value();
        auto stream = net::socket::adopt(*loop::current(), end.release(), unnamed).value();
        const owned_fd null = open_file();
        const int one[] = {null.get()};
        const std::size_t before = open_descriptors();
        const auto read = [&]() -> task<std::string> {
            auto text = co_await read_exactly(*stream, 2);
            co_return text;
        };
        for (int i = 0; i != 3; ++i) {
            co_await a.send_with_descriptors("a", one);
            co_await a.send("b");
            const auto both = co_await as_result(with_timeout(5s, read));
            EXPECT_EQ(both.value_or("nothing more"), "ab");
        }
        EXPECT_EQ(open_descriptors(), before) << "nobody asked for them";
    };
    on.run(f);
}

TEST_P(unix_passing, loses_no_message_and_no_descriptor_to_a_cancelled_receive) {
    const auto f = []() -> task<> {
        auto [a, b] = pair_of(unix_kind::seqpacket);
        const owned_fd null = open_file();
        const int one[] = {null.get()};
        const std::size_t before = open_descriptors();
        std::size_t passed = 0;
        for (int i = 0; i != 50; ++i) {
            auto send = [&]() -> task<> {
                co_await turns(i % 5);
                co_await a.send_with_descriptors("x", one);
            };
            auto receive = [&]() -> task<> {
                const auto m = co_await as_result(
                    with_timeout(std::chrono::microseconds(i), b.receive_with_descriptors()));
                if (m) passed += m->descriptors.size();
            };
            co_await when_all(send(), receive());
            EXPECT_EQ(open_descriptors(), before);
        }
        while (passed != 50) {
            const net::unix_message m = co_await b.receive_with_descriptors();
            passed += m.descriptors.size();
        }
    };
    on.run(f);
}

TEST_P(unix_passing, lets_a_send_be_cancelled_that_was_refused_and_waits_for_its_turn) {
    const auto f = []() -> task<> {
        auto [a, b] = pair_of(unix_kind::seqpacket);
        const owned_fd null = open_file();
        const std::vector<int> too_many(unix_socket::max_descriptors + 1, null.get());
        const auto until_cancelled = [&](std::string_view bytes,
                                         std::span<const int> passed) -> task<> {
            for (;;) {
                auto refused = co_await as_result(a.send_with_descriptors(bytes, passed));
                if (refused.error() == std::errc::operation_canceled) co_return;
            }
        };
        const std::span<const int> none;
        const auto empty = co_await when_any(until_cancelled("", none), yield());
        EXPECT_EQ(empty.index, 1u);
        const auto many = co_await when_any(until_cancelled("x", too_many), yield());
        EXPECT_EQ(many.index, 1u);
    };
    on.run(f);
}

INSTANTIATE_TEST_SUITE_P(each_backend, unix_passing, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });

TEST(unix_socket, is_refused_by_a_simulation_and_leaves_nothing_open) {
    const std::size_t before = open_descriptors();
    simulation().run([]() -> task<> {
        loop& l = *loop::current();
        const auto at = net::address::parse("unix:@coracle-simulated").value();
        EXPECT_FALSE(net::unix_listener::open(l, at));
        EXPECT_FALSE(unix_socket::pair(l));
        EXPECT_FALSE(net::socket_pair(l));
        co_return;
    });
    EXPECT_EQ(open_descriptors(), before);
}

TEST(unix_address, says_how_long_a_path_may_be) {
    EXPECT_TRUE(net::address::parse("unix:" + std::string(107, 'a')));
    const auto r = net::address::parse("unix:" + std::string(108, 'a'));
    EXPECT_EQ(r.error(), std::errc::filename_too_long);
    EXPECT_NE(r.error().subject().find("108 bytes; the path of a Unix socket has 107 at most"),
              std::string::npos);
}
