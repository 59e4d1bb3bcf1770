// Files that are downloaded, from servers that break off, change their mind and lie.

#include "support/codings.hpp"
#include "support/failing_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/download.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/thread_pool.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/hash.hpp>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <semaphore>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string content = [] {
    std::string text;
    for (int i = 0; text.size() < 1000; ++i) text += std::to_string(i * i) + ' ';
    text.resize(1000);
    return text;
}();

std::string head(std::string_view status, std::size_t length, std::string_view fields) {
    return "HTTP/1.1 " + std::string(status) + "\r\nContent-Length: " + std::to_string(length) +
           "\r\n" + std::string(fields) + "\r\n";
}

/// All of it is promised, and 400 bytes come.
script breaks_off(std::string_view fields = "ETag: \"v1\"\r\n") {
    return script().read_head().send(head("200 OK", 1000, fields) + content.substr(0, 400)).close();
}
constexpr std::string_view first_version = "ETag: \"v1\"\r\n";
script gives_part(std::size_t first, std::size_t size, std::string_view fields = first_version,
                  std::string_view whole = "1000") {
    const std::string range = "Content-Range: bytes " + std::to_string(first) + '-' +
                              std::to_string(first + size - 1) + '/' + std::string(whole) + "\r\n";
    return script()
        .read_head()
        .send(head("206 Partial Content", size, range + std::string(fields)) +
              content.substr(first, size))
        .close();
}
script says_that_there_is_no_more(std::size_t whole) {
    const std::string range = "Content-Range: bytes */" + std::to_string(whole) + "\r\n";
    return script().read_head().send(head("416 Range Not Satisfiable", 0, range)).close();
}
script gives_all(std::string_view what) {
    return script().read_head().respond(what).close();
}

/// Notes a validator with a part, as a download of this URL does.
void keep_validator(const std::string& name, std::string_view url) {
    const std::string mark = tls::to_hex(tls::digest(tls::hash::sha256, url)).substr(0, 32);
    const std::string kept = mark + " \"v1\"";
    EXPECT_EQ(::setxattr(name.c_str(), "user.coracle.validator", kept.data(), kept.size(), 0), 0);
}

script gives_nothing() {
    return script().read_head().send(head("404 Not Found", 0, {})).close();
}

/// Stands in a pool of one thread, and lets one job pass at a time. Outlives the pool.
class turnstile {
public:
    void enter(thread_pool& pool) {
        pool_ = &pool;
        stand();
    }
    bool somebody_waits() const { return standing_ == stood_ && pool_->queued() != 0; }
    /// The first of those that wait.
    void let_one_pass() {
        stand();
        go_.release();
    }
    void leave() { go_.release(); }

private:
    void stand() {
        ++stood_;
        const bool posted = pool_->try_post([this] {
            ++standing_;
            go_.acquire();
        });
        EXPECT_TRUE(posted);
    }

    thread_pool* pool_ = nullptr;
    std::counting_semaphore<> go_{0};
    std::atomic<unsigned> standing_ = 0;
    unsigned stood_ = 0;
};

class client_downloads : public ::testing::Test {
protected:
    std::string path() const { return (folder_.path() / "file").string(); }
    std::string saved() const { return text_of("file"); }
    std::string part() const { return text_of("file.part"); }
    bool has_part() const { return std::filesystem::exists(folder_.path() / "file.part"); }
    std::string text_of(const char* name) const {
        std::ifstream in(folder_.path() / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    bool keeps_attributes() const {
        const std::string name = folder_.write("probe", "");
        return ::setxattr(name.c_str(), "user.probe", "x", 1, 0) == 0;
    }

    std::expected<http::downloaded, error> download(const std::string& url, unsigned retries = 3) {
        http::download_options o;
        o.retries = retries;
        o.delay = 1ms;
        return download(url, std::move(o));
    }
    std::expected<http::downloaded, error> download(const std::string& url,
                                                    http::download_options o) {
        return block_on([&]() -> task<std::expected<http::downloaded, error>> {
            auto loading = http::download(client_, url, path(), std::move(o));
            co_return co_await as_result(loading);
        });
    }

    /// A download that is cancelled as it waits for a thread for the `moment`-th time. Nothing when
    /// it has ended before.
    std::optional<std::expected<http::downloaded, error>> cancelled_at(unsigned moment,
                                                                       const std::string& url) {
        std::expected<http::downloaded, error> r;
        bool cancelled = false;
        turnstile pool;
        const auto main = [&]() -> task<> {
            bool ended = false;
            pool.enter(*loop::current()->file_pool());
            auto loads = [&]() -> task<> {
                auto loading = http::download(client_, url, path());
                r = co_await as_result(loading);
                ended = true;
            };
            auto cancels = [&]() -> task<> {
                for (unsigned passed = 0;; ++passed) {
                    while (!ended && !pool.somebody_waits()) co_await yield();
                    cancelled = !ended && passed == moment;
                    if (ended || cancelled) co_return;
                    pool.let_one_pass();
                }
            };
            co_await when_any(loads(), cancels());
            pool.leave();
        };
        runtime_options one_thread;
        one_thread.offload_threads = 1;
        one_thread.file_threads = 0;  // files share it
        block_on(main, one_thread);
        if (!cancelled) return std::nullopt;
        return r;
    }

    http::client client_;
    const temporary_directory folder_;
};

}  // namespace

TEST_F(client_downloads, become_a_file_when_all_is_there) {
    const local_server server([](http::request& req) {
        EXPECT_EQ(req.fields().get("Accept-Encoding"), "identity");
        EXPECT_EQ(req.fields().get("X-Mine"), "1");
        return http::response(content);
    });
    http::download_options o;
    o.durable = true;
    o.prepare = [](http::call& c) { c.header("X-Mine", "1"); };
    std::uint64_t told = 0;
    o.progress = [&](std::uint64_t there, std::optional<std::uint64_t> whole) {
        EXPECT_EQ(whole, 1000U);
        told = there;
    };
    const auto r = download(server.url(), std::move(o));
    ASSERT_TRUE(r) << r.error();
    EXPECT_TRUE(r->ok());
    EXPECT_EQ(r->size, 1000U);
    EXPECT_EQ(r->received, 1000U);
    EXPECT_EQ(r->requests, 1U);
    EXPECT_EQ(told, 1000U);
    EXPECT_EQ(saved(), content);
    EXPECT_FALSE(has_part());
}

TEST_F(client_downloads, keep_the_permissions_of_what_they_replace) {
    const local_server server([](http::request&) { return http::response(content); });
    ASSERT_TRUE(download(server.url()));
    for (const unsigned mode : {0600U, 04755U}) {
        std::filesystem::permissions(path(), std::filesystem::perms(mode));
        http::download_options o;
        o.progress = [&](std::uint64_t, std::optional<std::uint64_t>) {
            EXPECT_EQ(std::filesystem::status(path() + ".part").permissions(),
                      std::filesystem::perms(mode & 0777U));
        };
        ASSERT_TRUE(download(server.url(), std::move(o)));
        EXPECT_EQ(std::filesystem::status(path()).permissions(),
                  std::filesystem::perms(mode & 0777U));
    }
}

TEST_F(client_downloads, go_on_where_the_response_broke_off) {
    const scripted_peer server({breaks_off(), gives_part(400, 600)});
    const auto r = download(server.url());
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->requests, 2U);
    EXPECT_EQ(saved(), content);
    EXPECT_THAT(server.record(1).received,
                AllOf(HasSubstr("Range: bytes=400-\r\n"), HasSubstr("If-Range: \"v1\"\r\n")));
}

TEST_F(client_downloads, go_on_over_a_line_that_breaks_again_and_again) {
    const std::string large(5 * 1024 * 1024, 'x');
    std::vector<script> breaks;
    const auto begin_at = [&](std::size_t from, std::size_t sent) {
        const std::string range = "Content-Range: bytes " + std::to_string(from) + '-' +
                                  std::to_string(large.size() - 1) + '/' +
                                  std::to_string(large.size()) + "\r\n";
        const std::string start =
            head(from == 0 ? "200 OK" : "206 Partial Content", large.size() - from,
                 std::string(first_version) + (from == 0 ? "" : range));
        breaks.push_back(script().read_head().send(start + large.substr(0, sent)).close());
    };
    constexpr std::size_t enough = 1024 * 1024;
    begin_at(0, enough);
    begin_at(enough, enough);
    begin_at(2 * enough, enough);
    begin_at(3 * enough, enough);
    begin_at(4 * enough, enough);
    const scripted_peer server(breaks);
    const auto r = download(server.url(), 1);
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->requests, 5U);
    EXPECT_EQ(saved().size(), large.size());
    // Little by little is not enough.
    std::filesystem::remove(path());
    breaks.clear();
    begin_at(0, 1000);
    begin_at(1000, 1000);
    begin_at(2000, 1000);
    const scripted_peer slow(breaks);
    const auto lost = download(slow.url(), 1);
    EXPECT_FALSE(lost);
    EXPECT_EQ(slow.connections(), 2U);
}

TEST_F(client_downloads, ask_again_for_what_a_part_has_left_out) {
    const scripted_peer server({breaks_off(), gives_part(400, 100), gives_part(500, 500)});
    const auto r = download(server.url());
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->requests, 3U);
    EXPECT_EQ(saved(), content);
}

TEST_F(client_downloads, ask_for_more_until_they_know_that_there_is_none) {
    const script breaks_off_with_chunks =
        script()
            .read_head()
            .send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\n\r\n190\r\n" +
                  content.substr(0, 400) + "\r\n")
            .close();
    const scripted_peer tells_nothing(
        {breaks_off_with_chunks, gives_part(400, 100, first_version, "*"),
         gives_part(500, 500, first_version, "*"), says_that_there_is_no_more(1000)});
    const auto r = download(tells_nothing.url());
    ASSERT_TRUE(r) << r.error();
    EXPECT_TRUE(r->ok());
    EXPECT_EQ(r->requests, 4U);
    EXPECT_EQ(saved(), content);
    const scripted_peer told_before({breaks_off(), gives_part(400, 600, first_version, "*")});
    const auto two = download(told_before.url());
    ASSERT_TRUE(two) << two.error();
    EXPECT_EQ(two->requests, 2U);
}

TEST_F(client_downloads, mix_no_versions_told_apart_by_their_dates) {
    const std::string sent = "Date: Sun, 06 Nov 1994 08:49:39 GMT\r\n";
    const std::string then = "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT\r\n";
    const std::string later = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    const scripted_peer changed(
        {breaks_off(sent + then), gives_part(400, 600, sent + later), gives_all(content)});
    const auto anew = download(changed.url());
    ASSERT_TRUE(anew) << anew.error();
    EXPECT_EQ(anew->requests, 3U);
    EXPECT_EQ(saved(), content);
    const scripted_peer same({breaks_off(sent + then), gives_part(400, 600, sent + then)});
    const auto rest = download(same.url());
    ASSERT_TRUE(rest) << rest.error();
    EXPECT_EQ(rest->requests, 2U);
}

TEST_F(client_downloads, take_all_anew_when_it_has_changed_meanwhile) {
    const scripted_peer server({breaks_off(), gives_all("shorter")});
    const auto r = download(server.url());
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->size, 7U);
    EXPECT_EQ(r->received, 7U);
    EXPECT_EQ(saved(), "shorter");
}

TEST_F(client_downloads, begin_again_behind_a_part_that_does_not_fit) {
    for (const script& wrong :
         {gives_part(300, 600), gives_part(400, 600, "ETag: \"v1\"\r\nContent-Encoding: gzip\r\n"),
          gives_part(400, 600, ""), gives_part(400, 600, "ETag: \"v2\"\r\n"),
          gives_part(400, 600, "ETag: W/\"v1\"\r\n"), says_that_there_is_no_more(300)}) {
        const scripted_peer server({breaks_off(), wrong, gives_all(content)});
        // One retry, for what broke off: to begin again is none.
        const auto r = download(server.url(), 1);
        ASSERT_TRUE(r) << r.error();
        EXPECT_EQ(r->requests, 3U);
        EXPECT_EQ(saved(), content);
        EXPECT_THAT(server.record(2).received, Not(HasSubstr("Range")));
    }
}

TEST_F(client_downloads, mix_nothing_when_the_server_does_not_say_what_it_is_of) {
    for (const char* weak : {"", "ETag: W/\"v1\"\r\n",
                             "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                             "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"}) {
        const scripted_peer server({breaks_off(weak), gives_all(content)});
        const auto r = download(server.url());
        EXPECT_FALSE(r);
        EXPECT_FALSE(has_part()) << weak;
    }
    const scripted_peer server(
        {breaks_off("Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT\r\n"
                    "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
         gives_part(400, 600, "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT\r\n")});
    ASSERT_TRUE(download(server.url()));
    EXPECT_THAT(server.record(1).received,
                HasSubstr("If-Range: Sun, 06 Nov 1994 08:49:36 GMT\r\n"));
}

// Its checksum is that of the bytes that the server has.
TEST_F(client_downloads, keep_what_comes_coded_though_none_was_asked_for) {
    const std::string coded = encoded(http::content_coding::gzip, content);
    const scripted_peer server({script().read_head().send(
        head("200 OK", coded.size(), "ETag: \"v1\"\r\nContent-Encoding: gzip\r\n") + coded)});
    EXPECT_TRUE(download(server.url()));
    EXPECT_EQ(saved(), coded);
}

TEST_F(client_downloads, mix_nothing_with_what_is_coded) {
    const std::string coded = encoded(http::content_coding::gzip, content);
    const scripted_peer server(
        {script()
             .read_head()
             .send(head("200 OK", coded.size(), "ETag: \"v1\"\r\nContent-Encoding: gzip\r\n") +
                   coded.substr(0, coded.size() / 2))
             .close(),
         gives_all(content)});
    EXPECT_FALSE(download(server.url()));
    EXPECT_FALSE(has_part());
    EXPECT_EQ(server.connections(), 1U);
}

TEST_F(client_downloads, go_on_with_what_an_earlier_one_has_left) {
    if (!keeps_attributes()) GTEST_SKIP() << "this file system keeps no attributes";
    const scripted_peer server({breaks_off(), gives_part(400, 600)});
    folder_.write("file", "old");
    const auto failed = download(server.url(), 0);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error(), errc::end_of_stream);
    EXPECT_EQ(part(), content.substr(0, 400));
    EXPECT_EQ(saved(), "old");
    const auto r = download(server.url(), 0);
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->size, 1000U);
    EXPECT_EQ(r->received, 600U);
    EXPECT_EQ(saved(), content);
    EXPECT_FALSE(has_part());
    char attribute[64];
    EXPECT_LT(::getxattr(path().c_str(), "user.coracle.validator", attribute, sizeof attribute), 0);
}

TEST_F(client_downloads, go_on_with_nothing_that_the_disk_may_have_lost) {
    if (!keeps_attributes()) GTEST_SKIP() << "this file system keeps no attributes";
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    const scripted_peer server(gives_all(content));
    http::download_options o;
    o.durable = true;
    o.retries = 0;
    runtime_options by_calls;
    by_calls.backend = backend_kind::epoll;
    const failing_calls bad("fsync", EIO, 1);
    const auto r = block_on(
        [&]() -> task<std::expected<http::downloaded, error>> {
            auto loading = http::download(client_, server.url(), path(), std::move(o));
            co_return co_await as_result(loading);
        },
        by_calls);
    EXPECT_TRUE(!r && r.error() == std::errc::io_error);
    EXPECT_FALSE(has_part());
}

TEST_F(client_downloads, of_another_url_begin_anew) {
    if (!keeps_attributes()) GTEST_SKIP() << "this file system keeps no attributes";
    const std::string other(1000, 'o');
    const scripted_peer server({breaks_off(), gives_all(other)});
    ASSERT_FALSE(download(server.url("/one"), 0));
    EXPECT_EQ(part(), content.substr(0, 400));
    const auto r = download(server.url("/two"), 0);
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(saved(), other);
    EXPECT_THAT(server.record(1).received, Not(HasSubstr("Range")));
}

TEST_F(client_downloads, of_another_url_lose_no_part_in_vain) {
    if (!keeps_attributes()) GTEST_SKIP() << "this file system keeps no attributes";
    const scripted_peer server({breaks_off(), gives_nothing()});
    ASSERT_FALSE(download(server.url("/one"), 0));
    const auto r = download(server.url("/two"), 0);
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->status, http::status::not_found);
    EXPECT_EQ(part(), content.substr(0, 400));
}

TEST_F(client_downloads, are_over_when_all_is_there_already) {
    if (!keeps_attributes()) GTEST_SKIP() << "this file system keeps no attributes";
    const scripted_peer server({says_that_there_is_no_more(1000)});
    const std::string name = folder_.write("file.part", content);
    keep_validator(name, server.url());
    const auto r = download(server.url());
    ASSERT_TRUE(r) << r.error();
    EXPECT_TRUE(r->ok());
    EXPECT_EQ(r->received, 0U);
    EXPECT_EQ(saved(), content);
}

TEST_F(client_downloads, begin_anew_when_told_to) {
    if (!keeps_attributes()) GTEST_SKIP() << "this file system keeps no attributes";
    const scripted_peer server({gives_all(content)});
    const std::string name = folder_.write("file.part", "something");
    keep_validator(name, server.url());
    http::download_options o;
    o.resume = false;
    ASSERT_TRUE(download(server.url(), std::move(o)));
    EXPECT_EQ(saved(), content);
    EXPECT_THAT(server.record(0).received, Not(HasSubstr("Range")));
}

TEST_F(client_downloads, leave_the_file_alone_when_the_server_has_none) {
    const local_server server(
        [](http::request&) { return http::response(http::status::not_found, "none"); });
    folder_.write("file", "old");
    const auto r = download(server.url());
    ASSERT_TRUE(r) << r.error();
    EXPECT_EQ(r->status, http::status::not_found);
    EXPECT_FALSE(r->ok());
    EXPECT_EQ(saved(), "old");
    EXPECT_FALSE(has_part());
}

TEST_F(client_downloads, leave_a_part_alone_until_they_know_whether_they_can_go_on_with_it) {
    if (!keeps_attributes()) GTEST_SKIP() << "this file system keeps no attributes";
    const scripted_peer server(gives_nothing());
    const std::string name = folder_.write("file.part", content.substr(0, 400));
    keep_validator(name, server.url());
    unsigned moments = 0;
    while (cancelled_at(moments, server.url())) {
        ASSERT_EQ(part(), content.substr(0, 400)) << moments;
        ++moments;
    }
    EXPECT_GT(moments, 1U);
}

TEST_F(client_downloads, have_succeeded_once_the_file_has_its_name) {
    const scripted_peer server(gives_all(content));
    for (unsigned moment = 0;; ++moment) {
        std::filesystem::remove(path());
        std::filesystem::remove(path() + ".part");
        const auto r = cancelled_at(moment, server.url());
        if (!r) break;
        ASSERT_EQ(r->has_value(), std::filesystem::exists(path())) << moment;
    }
    EXPECT_EQ(saved(), content);
}

TEST(client_downloads_in_a_simulation, find_the_files_of_their_world) {
    const temporary_directory real;
    const std::string folder = real.path().string();
    real.write("file.part", "real");
    http::client_options direct;
    direct.proxy_from_environment = false;
    scripted_peer_options at;
    at.listen = "10.0.0.1:80";
    for (const std::uint64_t seed : seeds(10)) {
        simulation world(seed);
        SCOPED_TRACE(world.replay());
        world.disk().make_directory(folder);
        scripted_peer server(world.loop(), {breaks_off(), gives_part(400, 600), gives_nothing()},
                             at);
        world.run([&]() -> task<> {
            http::client client(direct);
            auto loading = http::download(client, server.url(), folder + "/file");
            const auto r = co_await as_result(loading);
            EXPECT_TRUE(r) << r.error();
            auto again = http::download(client, server.url(), folder + "/file");
            const auto none = co_await as_result(again);
            EXPECT_TRUE(none && !none->ok());
            server.stop();
        });
        EXPECT_EQ(world.backend().open_descriptors(), 0U);
        EXPECT_EQ(world.disk().list(folder), std::vector<std::string>{"file"});
        EXPECT_EQ(world.disk().read(folder + "/file"), content);
        ASSERT_TRUE(std::filesystem::exists(folder + "/file.part"));
    }
}

TEST_F(client_downloads, keep_others_out_of_the_same_file) {
    const scripted_peer server({script().read_head().stall()});
    block_on([&]() -> task<> {
        const std::string url = server.url();
        auto first = [&]() -> task<> {
            auto loading = http::download(client_, url, path());
            static_cast<void>(co_await loading);
        };
        auto second = [&]() -> task<> {
            while (server.connections() == 0) co_await yield();
            auto loading = http::download(client_, url, path());
            auto r = co_await as_result(loading);
            EXPECT_FALSE(r);
            if (!r) {
                EXPECT_EQ(r.error(), std::errc::device_or_resource_busy);
                EXPECT_EQ(r.error().subject(), path() + ".part");
            }
        };
        co_await when_any(first(), second());
    });
    EXPECT_FALSE(has_part());
}

TEST(downloads_and_responses, replace_what_a_link_leads_to_and_no_device) {
    const local_server server([](http::request&) { return http::response("new"); });
    const temporary_directory folder;
    const std::string real = folder.write("real", "before");
    const std::string link = (folder.path() / "link").string();
    const std::string fifo = (folder.path() / "fifo").string();
    std::filesystem::create_symlink("real", link);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    http::client client;
    block_on([&]() -> task<> {
        auto getting = http::download(client, server.url(), link);
        const http::downloaded got = co_await getting;
        EXPECT_TRUE(got.ok());
        auto refused = http::download(client, server.url(), fifo);
        const auto failed = co_await as_result(refused);
        EXPECT_TRUE(!failed && failed.error() == std::errc::operation_not_supported);
        for (const std::string& path : {link, fifo}) {
            auto response = co_await client.get(server.url());
            auto saving = response.save_to(path);
            const auto saved = co_await as_result(saving);
            EXPECT_EQ(saved.has_value(), path == link);
        }
    });
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(std::filesystem::is_fifo(fifo));
    EXPECT_EQ(std::filesystem::file_size(real), 3U);
    EXPECT_FALSE(std::filesystem::exists(fifo + ".part"));
}

}  // namespace coracle::testing
