// Files as bodies of responses, over either version of HTTP.

#include "support/each_version.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/files.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/testing/local_server.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace coracle::testing {
namespace {

std::string numbers(std::size_t size, std::size_t from) {
    std::string text;
    while (text.size() < size) text += std::to_string(from++) + ' ';
    text.resize(size);
    return text;
}

/// Files of sizes around those of a frame, a record of TLS and a block.
class file_bodies : public each_version {
protected:
    file_bodies() {
        const std::size_t sizes[] = {0,      1,      4095,   16'383, 16'384,  16'385,
                                     65'526, 65'527, 65'528, 65'536, 131'072, 1'000'000};
        for (const std::size_t size : sizes) {
            for (int i = 0; i != 3; ++i) {
                texts_.push_back(numbers(size, texts_.size() * 1000));
                all_.write(name(texts_.size() - 1), texts_.back());
            }
        }
    }
    static std::string name(std::size_t i) { return std::to_string(i) + ".txt"; }

    void expect_all(const local_server& server) {
        const auto get = [&](std::size_t i) -> task<> {
            const auto r = co_await client_.get(server.url('/' + name(i))).full();
            EXPECT_EQ(r.status, http::status::ok);
            EXPECT_TRUE(r.body == texts_[i]) << r.body.size() << " of " << texts_[i].size();
        };
        const auto all = [&](task_group& g) -> task<> {
            for (std::size_t i = 0; i != texts_.size(); ++i) {
                g.spawn([&get, i] { return get(i); });
            }
            co_return;
        };
        block_on([&]() -> task<> { co_await with_task_group(all); });
    }

    const temporary_directory all_;
    std::vector<std::string> texts_;
    http::client client_{options()};
};

TEST_P(file_bodies, come_whole_many_at_a_time) {
    const local_server server(http::serve_files(all_.path().string()));
    expect_all(server);
}

TEST_P(file_bodies, come_whole_where_the_system_has_forgotten_them) {
    const local_server server(http::serve_files(all_.path().string()));
    for (std::size_t i = 0; i != texts_.size(); ++i) {
        const owned_fd file(::open((all_.path() / name(i)).c_str(), O_RDONLY | O_CLOEXEC));
        EXPECT_EQ(::fsync(file.get()), 0);
        EXPECT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    }
    expect_all(server);
}

TEST_P(file_bodies, break_off_where_the_file_is_shorter_than_promised) {
    all_.write("short", numbers(50'000, 0));
    const owned_fd file(::open((all_.path() / "short").c_str(), O_RDONLY | O_CLOEXEC));
    std::atomic<bool> is_told = false;
    http::router routes;
    routes.get("/short", [&](http::request&) {
        return http::stream([&](http::body_writer& out) -> task<> {
            auto sending = out.write_file(file.get(), 0, 100'000);
            const auto sent = co_await as_result(sending);
            is_told = !sent && sent.error() == std::errc::no_message_available;
            if (!sent) throw exception(sent.error());
        });
    });
    routes.get("/whole", [](http::request&) { return "whole\n"; });
    const local_server server(std::move(routes));
    EXPECT_THROW(client_.get(server.url("/short")).wait(), exception);
    EXPECT_TRUE(is_told);
    EXPECT_EQ(client_.get(server.url("/whole")).wait().body, "whole\n");
}

TEST_P(file_bodies, are_those_that_a_handler_has_opened) {
    const std::string text = texts_.back();
    http::router routes;
    routes.get("/file", [&](http::request& req) {
        auto file = fs::open_file((all_.path() / name(texts_.size() - 1)).string());
        EXPECT_TRUE(file);
        return http::file_response(req, *std::move(file), "text/x-numbers", "max-age=60");
    });
    routes.get("/directory", [&](http::request& req) {
        auto file = fs::open_file(all_.path().string());
        EXPECT_TRUE(file);
        return http::file_response(req, *std::move(file), "text/plain");
    });
    const local_server server(std::move(routes));
    const std::string at = server.url("/file");
    const auto whole = client_.get(at).wait();
    EXPECT_EQ(whole.status, http::status::ok);
    EXPECT_TRUE(whole.body == text) << whole.body.size();
    EXPECT_EQ(whole.fields.get("Content-Type"), "text/x-numbers");
    EXPECT_EQ(whole.fields.get("Cache-Control"), "max-age=60");
    const std::string tag(whole.fields.get("ETag"));
    EXPECT_EQ(client_.get(at).header("If-None-Match", tag).wait().status,
              http::status::not_modified);
    const auto part = client_.get(at).header("Range", "bytes=10-19").wait();
    EXPECT_EQ(part.status, http::status::partial_content);
    EXPECT_EQ(part.body, text.substr(10, 10));
    const auto head = client_.head(at).wait();
    EXPECT_EQ(head.fields.get("Content-Length"), std::to_string(text.size()));
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(client_.get(server.url("/directory")).wait().status, http::status::not_found);
}

INSTANTIATE_TEST_SUITE_P(over, file_bodies, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
