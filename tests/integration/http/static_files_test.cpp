#include "coding/decoder.hpp"
#include "coding/encoder.hpp"
#include "support/roadblock.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/files.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/testing/local_server.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

using namespace coracle;
using coracle::testing::local_server;
using coracle::testing::roadblock;
using coracle::testing::temporary_directory;

namespace {

/// A connection that is read when the test wants to.
class client {
public:
    explicit client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int small = 4096;
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        const timeval patience{30, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { ::close(fd_); }

    void ask(std::string_view first_line, std::string_view fields = {}) const {
        std::string text(first_line);
        text += " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n";
        text += fields;
        text += "\r\n";
        EXPECT_EQ(::send(fd_, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    /// At least one byte.
    std::string some() const {
        char bytes[1024];
        ssize_t n = -1;
        // A ring that this thread had before may interrupt it while it goes.
        do {
            n = ::recv(fd_, bytes, sizeof bytes, 0);
        } while (n < 0 && errno == EINTR);
        return {bytes, n > 0 ? static_cast<std::size_t>(n) : 0};
    }
    /// Up to the end or a reset.
    std::string rest() const {
        std::string all;
        for (std::string piece = some(); !piece.empty(); piece = some()) all += piece;
        return all;
    }

private:
    int fd_;
};

struct reading {
    std::string head;
    std::string body;
    bool has(std::string_view line) const {
        return head.find("\r\n" + std::string(line)) != std::string::npos;
    }
    std::string field(const std::string& name) const {
        const std::size_t at = head.find("\r\n" + name + ": ");
        if (at == std::string::npos) return {};
        const std::size_t start = at + name.size() + 4;
        return head.substr(start, head.find("\r\n", start) - start);
    }
    int status() const { return std::stoi(head.substr(9, 3)); }
};

reading split(std::string text) {
    const std::size_t end = text.find("\r\n\r\n");
    return {text.substr(0, end + 2), text.substr(end + 4)};
}

std::string decoded(const reading& a) {
    coding::decoder d(*coding::find_content_coding(a.field("Content-Encoding")));
    std::string out(1'000'000, '\0');
    const auto r = d.decode(a.body, out);
    EXPECT_EQ(r.consumed, a.body.size());
    EXPECT_EQ(d.finish(), coding::coding_error::none);
    out.resize(r.produced);
    return out;
}

class static_files : public ::testing::Test {
protected:
    static_files() { std::filesystem::create_directory(all_.path() / "root"); }

    reading get(const local_server& s, std::string_view target,
                std::string_view fields = {}) const {
        const client c(s.port());
        c.ask("GET " + std::string(target), fields);
        return split(c.rest());
    }
    http::handler files() const { return http::serve_files(root().string(), options_); }
    std::filesystem::path root() const { return all_.path() / "root"; }

    std::string text(std::size_t size) const {
        std::string all;
        for (int i = 0; all.size() < size; ++i) all += std::to_string(i) + ' ';
        all.resize(size);
        return all;
    }

    const temporary_directory all_;
    http::file_options options_;
};

}  // namespace

TEST_F(static_files, go_out_in_the_best_coding_that_the_client_takes) {
    const std::string original = text(50'000);
    all_.write("root/a.txt", original);
    const local_server s(files());
    const reading plain = get(s, "/a.txt");
    EXPECT_EQ(plain.body, original);
    EXPECT_EQ(plain.field("Vary"), "Accept-Encoding");
    for (const std::string coding : {"br", "zstd", "gzip"}) {
        const std::string fields = "Accept-Encoding: " + coding + ", deflate\r\n";
        const reading a = get(s, "/a.txt", fields);
        EXPECT_EQ(a.field("Content-Encoding"), coding);
        EXPECT_LT(a.body.size(), original.size() / 2);
        EXPECT_EQ(a.field("Content-Length"), std::to_string(a.body.size()));
        EXPECT_EQ(decoded(a), original);
        // From memory now, and the same; with a tag and ranges of its own.
        EXPECT_EQ(get(s, "/a.txt", fields).body, a.body);
        const std::string tag = a.field("ETag");
        EXPECT_NE(tag, plain.field("ETag"));
        const std::string by = coding::encoder_version(*coding::find_content_coding(coding));
        EXPECT_TRUE(tag.ends_with('-' + coding + by + '"')) << tag;
        EXPECT_EQ(get(s, "/a.txt", fields + "If-None-Match: " + tag + "\r\n").status(), 304);
        const reading part =
            get(s, "/a.txt", fields + "If-Range: " + tag + "\r\nRange: bytes=10-19,1000-1009\r\n");
        EXPECT_EQ(part.status(), 206);
        EXPECT_NE(part.body.find("\r\n\r\n" + a.body.substr(1000, 10) + "\r\n--"),
                  std::string::npos);
    }
}

TEST_F(static_files, are_compressed_between_two_sizes) {
    options_.compress_least = 2000;
    options_.compress_most = 3000;
    const local_server s(files());
    for (const std::size_t size : {1999u, 2000u, 2001u, 2999u, 3000u, 3001u}) {
        all_.write("root/a.txt", text(size));
        const reading a = get(s, "/a.txt", "Accept-Encoding: gzip\r\n");
        EXPECT_EQ(a.has("Content-Encoding: gzip"), size >= 2000 && size <= 3000) << size;
    }
}

TEST_F(static_files, that_are_empty_are_not_compressed) {
    options_.compress_least = 0;
    const local_server s(files());
    all_.write("root/a.txt", "");
    const reading a = get(s, "/a.txt", "Accept-Encoding: gzip\r\n");
    EXPECT_FALSE(a.has("Content-Encoding: gzip"));
    EXPECT_EQ(a.body, "");
}

TEST_F(static_files, that_changed_are_compressed_again) {
    const local_server s(files());
    all_.write("root/a.txt", text(5000));
    EXPECT_EQ(decoded(get(s, "/a.txt", "Accept-Encoding: br\r\n")), text(5000));
    all_.write("root/a.txt", text(6000));
    EXPECT_EQ(decoded(get(s, "/a.txt", "Accept-Encoding: br\r\n")), text(6000));
}

TEST_F(static_files, have_several_ranges_on_the_wire) {
    const std::string original = text(200'000);
    all_.write("root/a.bin", original);
    const local_server s(files());
    const reading a = get(s, "/a.bin", "Range: bytes=100000-149999,5-9,-3\r\n");
    EXPECT_EQ(a.status(), 206);
    EXPECT_EQ(a.field("Content-Length"), std::to_string(a.body.size()));
    const std::string type = a.field("Content-Type");
    const std::string delimiter = "--" + type.substr(type.find('=') + 1);
    std::string expected;
    for (const auto& [range, bytes] :
         {std::pair<std::string, std::string>{"100000-149999", original.substr(100'000, 50'000)},
          {"5-9", original.substr(5, 5)},
          {"199997-199999", original.substr(199'997)}}) {
        expected += (expected.empty() ? "" : "\r\n") + delimiter +
                    "\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes " + range +
                    "/200000\r\n\r\n" + bytes;
    }
    EXPECT_TRUE(a.body == expected + "\r\n" + delimiter + "--\r\n");
}

TEST_F(static_files, that_shrink_while_they_are_sent_end_the_connection) {
    for (const std::string fields : {"", "Range: bytes=0-19999999,20001000-29999999\r\n"}) {
        const auto path = all_.write("root/a.bin", std::string(30'000'000, 'a'));
        const local_server s(files());
        const client c(s.port());
        c.ask("GET /a.bin", fields);
        std::string all = c.some();
        std::filesystem::resize_file(path, 1'000'000);
        all += c.rest();
        const reading a = split(all);
        EXPECT_LT(a.body.size(), std::stoull(a.field("Content-Length")));
        EXPECT_EQ(get(s, "/nothing").status(), 404);
    }
}

TEST_F(static_files, that_vanish_or_grow_while_they_are_sent_are_sent_as_they_were) {
    const std::string original(20'000'000, 'a');
    const auto path = all_.write("root/a.bin", original);
    const local_server s(files());
    const client vanishing(s.port());
    vanishing.ask("GET /a.bin");
    std::string all = vanishing.some();
    std::filesystem::remove(path);
    all += vanishing.rest();
    EXPECT_TRUE(split(all).body == original);

    all_.write("root/b.bin", original);
    const client growing(s.port());
    growing.ask("GET /b.bin");
    all = growing.some();
    std::ofstream(root() / "b.bin", std::ios::app) << "more";
    all += growing.rest();
    EXPECT_TRUE(split(all).body == original);
    EXPECT_EQ(get(s, "/a.bin").status(), 404);
}

TEST_F(static_files, list_directories_as_a_page_or_as_json) {
    options_.listing = true;
    all_.write("root/sub/a b.txt", "x");
    all_.write("root/sub/.hidden", "x");
    all_.write("root/sub/back\\slash", "x");
    all_.write("root/with/index.html", "<p>index");
    const local_server s(files());
    const reading page = get(s, "/sub/", "Accept: text/html\r\n");
    EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
    EXPECT_TRUE(page.field("Content-Security-Policy").starts_with("default-src 'none'"));
    EXPECT_EQ(page.field("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(page.field("Vary"), "Accept");
    EXPECT_NE(page.body.find("href=\"./a%20b.txt\""), std::string::npos);
    EXPECT_EQ(page.body.find(".hidden"), std::string::npos);
    EXPECT_EQ(page.body.find("slash"), std::string::npos);

    const reading json = get(s, "/sub/", "Accept: application/json\r\n");
    EXPECT_EQ(json.field("Content-Type"), "application/json");
    EXPECT_NE(json.body.find("\"name\":\"a b.txt\""), std::string::npos);

    EXPECT_EQ(get(s, "/with/").body, "<p>index");
    EXPECT_EQ(get(s, "/sub").field("Location"), "./sub/");
    EXPECT_EQ(get(s, "/none/").status(), 404);
    EXPECT_EQ(get(s, "/sub/a%20b.txt/").status(), 404);
    EXPECT_EQ(get(s, "/%2e%2e/").status(), 400);
    const client head(s.port());
    head.ask("HEAD /sub/");
    const reading nothing = split(head.rest());
    EXPECT_EQ(nothing.status(), 200);
    EXPECT_EQ(nothing.body, "");
}

TEST_F(static_files, list_no_more_entries_than_the_limit) {
    options_.listing = true;
    for (const char* name : {"a", "b", "c"})
        all_.write(std::filesystem::path("root/sub") / name, "x");
    for (const std::size_t limit : {std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
        options_.listing_entries = limit;
        const local_server s(files());
        const std::string page = get(s, "/sub/").body;
        EXPECT_EQ(page.find("There are more") != std::string::npos, limit < 3) << limit;
        std::size_t listed = 0;
        for (const char* link : {"/a\"", "/b\"", "/c\""}) listed += page.contains(link) ? 1U : 0U;
        EXPECT_EQ(listed, std::min<std::size_t>(limit, 3)) << page;
    }
}

TEST_F(static_files, do_not_list_directories_by_default) {
    all_.write("root/sub/a", "x");
    const local_server s(files());
    EXPECT_EQ(get(s, "/sub/").status(), 404);
}

TEST_F(static_files, in_directories_of_directories_are_found) {
    const local_server s(files());
    all_.write("root/deep/er/a.txt", "found");
    EXPECT_EQ(get(s, "/deep/er/never-asked-for-before").status(), 404);
    EXPECT_EQ(get(s, "/deep/er/a.txt").body, "found");
    EXPECT_EQ(get(s, "/deep/er").field("Location"), "./er/");
}

namespace {

/// Asks the system to forget what a file holds.
void forget(const std::filesystem::path& path) {
    const owned_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::fsync(file.get()), 0);
    EXPECT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
}

/// A client that asks `h` for /a.bin, and has gone before the one thread that there is has taken up
/// what that needs; nothing where it needs none. Returns true if it got a response.
task<std::optional<bool>> ask_and_leave(const http::handler& h, const thread_pool& threads) {
    bool waits = false;
    bool responded = false;
    const auto both = [&](task_group& g) -> task<> {
        g.spawn([&]() -> task<> {
            http::request req;
            http::request::parts parts;
            parts.path = "/a.bin";
            req.assign(parts);
            http::response response;
            task<http::response> pending;
            if (!h.call(req, response, pending)) response = co_await std::move(pending);
            responded = true;
        });
        co_await yield();
        waits = threads.queued() == 1;
        g.cancel();
    };
    co_await with_task_group(both);
    if (!waits) co_return std::nullopt;
    co_return responded;
}

}  // namespace

TEST_F(static_files, that_the_system_does_not_remember_are_looked_for_on_another_thread) {
    all_.write("root/deep/er/a.txt", "found");
    const http::handler h = files();
    roadblock block;
    runtime_options options;
    options.loops = 1;
    options.offload_threads = 1;
    options.file_threads = 0;  // files share it
    int status = 0;
    runtime rt(options);
    rt.run([&](loop& l) -> task<> {
        const auto blocks = [&] { block.wait(); };
        const auto both = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> { co_await offload(blocks); });
            while (l.file_pool()->queued() != 0) co_await yield();
            g.spawn([&]() -> task<> {
                http::request req;
                http::request::parts parts;
                parts.path = "/deep/er/never-asked-for-before";
                req.assign(parts);
                http::response response;
                task<http::response> pending;
                EXPECT_FALSE(h.call(req, response, pending)) << "it was looked for on the loop";
                if (pending) response = co_await std::move(pending);
                status = static_cast<int>(response.status());
            });
            while (status == 0 && l.file_pool()->queued() == 0) co_await yield();
            EXPECT_EQ(status, 0);
            block.open();
        };
        co_await with_task_group(both);
    });
    EXPECT_EQ(status, 404);
}

TEST_F(static_files, do_not_wait_behind_work_that_was_offloaded) {
    all_.write("root/a.bin", text(100));
    http::file_options how;
    how.listing = true;
    const http::handler h = http::serve_files(root().string(), how);
    roadblock block;
    runtime_options options;
    options.loops = 1;
    options.offload_threads = 1;
    int status = 0;
    runtime rt(options);
    rt.run([&](loop&) -> task<> {
        const auto blocks = [&] { block.wait(); };
        const auto both = [&](task_group& g) -> task<> {
            for (int i = 0; i != 2; ++i) {
                g.spawn([&]() -> task<> { co_await offload(blocks); });
            }
            http::request req;
            http::request::parts parts;
            parts.path = "/";
            req.assign(parts);
            http::response response;
            task<http::response> pending;
            // A directory is read on a thread.
            if (!h.call(req, response, pending)) response = co_await std::move(pending);
            status = static_cast<int>(response.status());
            block.open();
        };
        co_await with_task_group(both);
    });
    EXPECT_EQ(status, 200);
}

TEST_F(static_files, are_not_read_on_the_loop_for_a_client_that_has_gone) {
    const auto path = all_.write("root/a.bin", text(16'000));
    const http::handler h = files();
    std::optional<bool> responded;
    roadblock block;
    runtime_options options;
    options.loops = 1;
    options.offload_threads = 1;
    options.file_threads = 0;  // files share it
    runtime rt(options);
    rt.run([&](loop& l) -> task<> {
        const auto blocks = [&] { block.wait(); };
        const auto both = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> { co_await offload(blocks); });
            while (l.file_pool()->queued() != 0) co_await yield();
            // Bytes that the system reads ahead may be there before they are requested again.
            for (int i = 0; i != 2000 && !responded; ++i) {
                forget(path);
                responded = co_await ask_and_leave(h, *l.file_pool());
            }
            block.open();
        };
        co_await with_task_group(both);
    });
    if (!responded) GTEST_SKIP() << "this system forgets no file";
    EXPECT_FALSE(*responded) << "the loop has read the file itself";
}
