// Responses that are broken off, as the observers of a server are told of them.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"
#include "support/eventually.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/files.hpp>
#include <coracle/http/metrics.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing {
namespace {

constexpr std::uint64_t whole_size = 64 * 1024 * 1024;

class records {
public:
    struct entry {
        std::string path;
        http::status status;
        std::uint64_t bytes;
        bool is_whole;
    };

    void observe(const http::access_record& r) {
        const std::lock_guard hold(lock_);
        all_.push_back({std::string(r.req.path()), r.status, r.body_bytes, r.is_whole});
        come_.notify_all();
    }
    /// Returns the first record that has not been returned yet.
    entry next() {
        std::unique_lock hold(lock_);
        const auto is_there = [this] { return all_.size() > taken_; };
        EXPECT_TRUE(come_.wait_for(hold, std::chrono::seconds(30), is_there));
        return is_there() ? all_[taken_++] : entry{"none", http::status::ok, 0, true};
    }

private:
    std::mutex lock_;
    std::condition_variable come_;
    std::vector<entry> all_;
    std::size_t taken_ = 0;
};

class broken_off_responses : public each_version {
protected:
    static http::handler routes(const std::string& folder) {
        http::router r;
        r.get("/memory",
              [](http::request&) { return http::response(std::string(whole_size, 'm')); });
        r.get("/{name}", http::serve_files(folder));
        r.get("/stream", [](http::request&) {
            return http::stream([](http::body_writer& out) -> task<> {
                const std::string piece(64 * 1024, 's');
                for (auto left = whole_size; left != 0; left -= piece.size()) {
                    co_await out.write(piece);
                }
            });
        });
        r.get("/thrown", [](http::request&) {
            return http::stream([](http::body_writer& out) -> task<> {
                co_await out.write("some");
                throw std::runtime_error("by intent");
            });
        });
        r.get("/never", [](http::request&) -> task<http::response> {
            co_await forever();
            co_return http::response("never");
        });
        r.get("/late", [](http::request&) {
            return http::stream([](http::body_writer& out) -> task<> {
                co_await forever();
                co_await out.write("late");
            });
        });
        r.post("/refuses", [](http::request&) -> task<http::response> {
            co_await sleep_for(std::chrono::milliseconds(1));
            co_return http::status::unauthorized;
        });
        r.post("/ignores", [](http::request&) -> task<http::response> {
            co_await sleep_for(std::chrono::milliseconds(1));
            co_return http::response(std::string(20'000, 'i'));
        });
        r.get("/small", [](http::request&) { return http::response("small"); });
        r.get("/waited", [](http::request&) -> task<http::response> {
            co_await sleep_for(std::chrono::milliseconds(1));
            co_return http::response("waited");
        });
        r.get("/streamed", [](http::request&) {
            return http::stream(
                [](http::body_writer& out) -> task<> { co_await out.write("streamed"); });
        });
        return r;
    }
    local_server_options observed() {
        local_server_options o;
        o.observe(counted_).observe(seen_);
        return o;
    }

    temporary_directory folder_;
    std::string file_ = folder_.write("file", std::string(whole_size, 'f'));
    metrics::registry all_;
    http::response_metrics counted_{all_};
    records seen_;
    local_server server_{routes(folder_.path()), observed()};
};

/// Notes what it is told of, and throws.
class thrower {
public:
    void observe(const http::access_record&) {
        ++told_;
        throw std::runtime_error("by intent");
    }
    int told() const { return told_; }

private:
    std::atomic<int> told_{0};
};

TEST_P(broken_off_responses, are_no_consequence_of_an_upload_that_nobody_reads) {
    block_on([&]() -> task<> {
        http::client client(options());
        for (const char* path : {"/refuses", "/ignores"}) {
            auto asking = client.post(server_.url(path)).body(std::string(1'000'000, 'x')).full();
            EXPECT_TRUE(co_await as_result(asking)) << path;
            const records::entry seen = seen_.next();
            EXPECT_EQ(seen.path, path);
            EXPECT_TRUE(seen.is_whole) << path;
        }
    });
}

TEST_P(broken_off_responses, are_no_consequence_of_an_observer_that_throws) {
    thrower first;
    records second;
    local_server_options o;
    o.observe(first).observe(second);
    const local_server server(routes(folder_.path()), o);
    block_on([&]() -> task<> {
        http::client client(options());
        for (const char* path : {"/small", "/waited", "/streamed", "/small"}) {
            auto asking = client.get(server.url(path)).full();
            const auto r = co_await as_result(asking);
            EXPECT_TRUE(r && r->body == std::string_view(path).substr(1)) << path;
        }
        EXPECT_EQ(client.statistics().opened, 1U);
    });
    for (const char* path : {"/small", "/waited", "/streamed", "/small"}) {
        EXPECT_EQ(second.next().path, path);
    }
    EXPECT_EQ(first.told(), 4);
}

TEST_P(broken_off_responses, have_an_error_for_what_throws_before_its_task) {
    const http::handler h = [](http::request&) {
        return http::stream([](http::body_writer&) -> task<> { throw std::runtime_error("no"); });
    };
    const local_server server(h);
    block_on([&]() -> task<> {
        http::client client(options());
        auto asking = client.get(server.url()).full();
        const auto r = co_await as_result(asking);
        EXPECT_TRUE(r && r->status == http::status::internal_server_error);
    });
}

TEST_P(broken_off_responses, by_their_client_have_a_record_of_what_was_sent) {
    for (const char* path : {"/memory", "/file", "/stream"}) {
        block_on([&]() -> task<> {
            http::client client(options());
            auto r = co_await client.get(server_.url(path));
            const std::string_view piece = co_await r.read();
            EXPECT_FALSE(piece.empty());
        });
        const auto record = seen_.next();
        EXPECT_EQ(record.path, path);
        EXPECT_EQ(record.status, http::status::ok) << path;
        EXPECT_FALSE(record.is_whole) << path;
        EXPECT_GT(record.bytes, 0U) << path;
        EXPECT_LT(record.bytes, whole_size) << path;
    }
}

TEST_P(broken_off_responses, by_an_exception_have_the_status_that_was_sent) {
    http::client client(options());
    static_cast<void>(failure_of(client.get(server_.url("/thrown"))));
    const auto record = seen_.next();
    EXPECT_EQ(record.status, http::status::ok);
    EXPECT_EQ(record.bytes, 4U);
    EXPECT_FALSE(record.is_whole);
}

TEST_P(broken_off_responses, count_as_no_responses) {
    http::client client(options());
    static_cast<void>(failure_of(client.get(server_.url("/thrown"))));
    static_cast<void>(seen_.next());
    EXPECT_EQ(all_.text().find("/thrown"), std::string::npos) << all_.text();
    EXPECT_EQ(client.get(server_.url("/small")).wait().body, "small");
    static_cast<void>(seen_.next());
    EXPECT_NE(all_.text().find("/small"), std::string::npos);
}

TEST_P(broken_off_responses, have_none_where_they_had_not_begun) {
    http::client client(options());
    for (const char* path : {"/never", "/late"}) {
        EXPECT_EQ(failure_of(client.get(server_.url(path)).timeout(std::chrono::milliseconds(50))),
                  std::errc::timed_out);
        EXPECT_TRUE(eventually([&] { return server_.counters().in_flight == 0; }));
    }
    EXPECT_EQ(client.get(server_.url("/small")).wait().body, "small");
    const auto record = seen_.next();
    EXPECT_EQ(record.path, "/small");
    EXPECT_EQ(record.bytes, 5U);
    EXPECT_TRUE(record.is_whole);
}

INSTANTIATE_TEST_SUITE_P(over, broken_off_responses, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
