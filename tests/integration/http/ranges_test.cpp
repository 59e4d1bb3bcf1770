// Ranges of bodies in memory and of files, through a server.

#include "support/simulated_response.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/http/compress.hpp>
#include <coracle/http/from_source.hpp>
#include <coracle/http/ranges.hpp>
#include <coracle/io/files.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/runtime/sleep.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

using namespace coracle;
using namespace coracle::testing;

namespace {

std::string text_of(std::size_t size) {
    std::string text;
    for (unsigned i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
    text.resize(size);
    return text;
}

template <class F>
http::handler with_ranges(F f) {
    return http::ranges()(http::handler(std::move(f)));
}

http::response tagged(std::size_t size) {
    http::response r(text_of(size));
    r.set("ETag", "\"v1\"").set("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT");
    return r;
}

simulated_response get(const http::handler& h, std::string_view range,
                       std::string_view fields = {}) {
    return response_of(
        h, request_for("GET", "Range: " + std::string(range) + "\r\n" + std::string(fields)));
}

const http::handler& text() {
    static const http::handler h =
        with_ranges([](http::request&) -> task<http::response> { co_return tagged(10'000); });
    return h;
}

/// The parts of a multipart response, in the form "Content-Range|bytes".
std::vector<std::string> parts_of(const simulated_response& a) {
    const std::string type = a.header("Content-Type");
    constexpr std::string_view start = "multipart/byteranges; boundary=";
    EXPECT_TRUE(type.starts_with(start)) << type;
    const std::string delimiter = "--" + type.substr(start.size());
    std::vector<std::string> parts;
    std::size_t at = a.body.find(delimiter);
    for (;;) {
        at += delimiter.size();
        if (a.body.compare(at, 4, "--\r\n") == 0) return parts;
        const std::size_t end = a.body.find("\r\n" + delimiter, at);
        if (end == std::string::npos) return {"no end"};
        const std::string part = a.body.substr(at + 2, end - at - 2);
        const std::size_t body = part.find("\r\n\r\n");
        const std::size_t range = part.find("Content-Range: ") + 15;
        parts.push_back(part.substr(range, part.find("\r\n", range) - range) + '|' +
                        part.substr(body + 4));
        at = end + 2;
    }
}

}  // namespace

TEST(a_range, of_a_body_in_memory_is_a_206) {
    const auto a = get(text(), "bytes=10-19");
    EXPECT_EQ(a.status(), 206);
    EXPECT_EQ(a.header("Content-Range"), "bytes 10-19/10000");
    EXPECT_EQ(a.header("Content-Length"), "10");
    EXPECT_EQ(a.header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(a.header("ETag"), "\"v1\"");
    EXPECT_EQ(a.header("Accept-Ranges"), "bytes");
    EXPECT_EQ(a.body, text_of(10'000).substr(10, 10));
}

TEST(a_range, of_a_literal_is_a_206) {
    const auto h = with_ranges([](http::request&) {
        http::response r;
        r.set_body(http::body::literal("0123456789"), "text/plain");
        return r;
    });
    EXPECT_EQ(get(h, "bytes=-3").body, "789");
    EXPECT_EQ(get(h, "bytes=3-").body, "3456789");
}

TEST(a_range, of_shared_bytes_keeps_what_owns_them) {
    std::string text;
    const auto h = with_ranges([&](http::request&) {
        text = "0123456789";
        // Shows it in the response when the last owner goes too early.
        const std::shared_ptr<const std::string> owner(
            &text, [&](const std::string*) { text.assign(text.size(), '-'); });
        http::response r;
        r.set_body(http::body::shared(owner, 1, 8), "text/plain");
        return r;
    });
    EXPECT_EQ(get(h, "bytes=2-4").body, "345");
    EXPECT_EQ(text, "----------");
    EXPECT_EQ(get(h, "bytes=2-4").header("Content-Type"), "text/plain");
}

TEST(a_range, that_does_not_exist_is_a_416) {
    const auto a = get(text(), "bytes=10000-");
    EXPECT_EQ(a.status(), 416);
    EXPECT_EQ(a.header("Content-Range"), "bytes */10000");
}

TEST(a_range, is_ignored_where_it_means_nothing) {
    EXPECT_EQ(get(text(), "lines=1-2").status(), 200);
    EXPECT_EQ(response_of(text(), request_for("GET")).header("Accept-Ranges"), "bytes");
    const auto head = response_of(text(), request_for("HEAD", "Range: bytes=0-1\r\n"));
    EXPECT_EQ(head.status(), 200);
    EXPECT_EQ(head.header("Accept-Ranges"), "bytes");
    EXPECT_EQ(head.header("Content-Length"), "10000");
    const auto missing =
        with_ranges([](http::request&) { return http::response(http::status::not_found, "no"); });
    EXPECT_EQ(get(missing, "bytes=0-0").status(), 404);
    EXPECT_EQ(get(missing, "bytes=0-0").header("Accept-Ranges"), "-");
    const auto stream = with_ranges([](http::request&) {
        return http::stream([](http::body_writer& out) -> task<> { co_await out.write("all"); });
    });
    EXPECT_EQ(get(stream, "bytes=0-0").body, "all");
    EXPECT_EQ(response_of(text(), request_for("POST", "Range: bytes=0-0\r\n")).status(), 200);
}

TEST(a_range, applies_when_if_range_holds) {
    const auto with = [](const char* value) {
        return get(text(), "bytes=0-0", "If-Range: " + std::string(value) + "\r\n").status();
    };
    EXPECT_EQ(with("\"v1\""), 206);
    EXPECT_EQ(with("\"v2\""), 200);
    EXPECT_EQ(with("W/\"v1\""), 200);
    EXPECT_EQ(with("Thu, 01 Jan 1970 00:00:00 GMT"), 206);
    EXPECT_EQ(with("Thu, 01 Jan 1970 00:00:01 GMT"), 200);
    EXPECT_EQ(with("yesterday"), 200);
    const auto weak =
        with_ranges([](http::request&) { return http::response("text").set("ETag", "W/\"v1\""); });
    EXPECT_EQ(get(weak, "bytes=0-0", "If-Range: W/\"v1\"\r\n").status(), 200);
    EXPECT_EQ(get(weak, "bytes=0-0", "If-Range: \"v1\"\r\n").status(), 200);
    EXPECT_EQ(get(weak, "bytes=0-0").status(), 206);
}

TEST(a_range, is_of_the_version_that_the_preconditions_name) {
    const auto with = [](const char* fields) { return get(text(), "bytes=0-9", fields); };
    EXPECT_EQ(with("If-Match: \"v1\"\r\n").status(), 206);
    EXPECT_EQ(with("If-Match: \"v0\"\r\n").status(), 412);
    EXPECT_EQ(with("If-Match: \"v0\"\r\n").header("Content-Range"), "-");
    EXPECT_EQ(with("If-Unmodified-Since: Wed, 31 Dec 1969 23:59:59 GMT\r\n").status(), 412);
    EXPECT_EQ(with("If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n").status(), 206);
    const auto known = with("If-None-Match: \"v1\"\r\n");
    EXPECT_EQ(known.status(), 304);
    EXPECT_EQ(known.header("ETag"), "\"v1\"");
    EXPECT_EQ(known.body, "");
    EXPECT_EQ(with("If-None-Match: \"v0\"\r\n").status(), 206);
    // Without validators there is nothing to compare, but that If-Match wants one.
    const auto plain = with_ranges([](http::request&) { return http::response("text"); });
    EXPECT_EQ(
        get(plain, "bytes=0-1", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n").status(),
        206);
    EXPECT_EQ(
        get(plain, "bytes=0-1", "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n").status(),
        206);
    EXPECT_EQ(get(plain, "bytes=0-1", "If-Match: \"v1\"\r\n").status(), 412);
}

// RFC 9110 section 13.1: whether parts are asked for or not.
TEST(a_whole, is_of_the_version_that_the_preconditions_name) {
    const http::handler h = with_ranges([](http::request&) { return tagged(10); });
    for (const char* method : {"GET", "HEAD"}) {
        const auto with = [&](const char* fields) {
            return response_of(h, request_for(method, fields));
        };
        EXPECT_EQ(with("").status(), 200) << method;
        EXPECT_EQ(with("If-Match: \"v1\"\r\n").status(), 200) << method;
        EXPECT_EQ(with("If-Match: \"v0\"\r\n").status(), 412) << method;
        const auto known = with("If-None-Match: \"v1\"\r\n");
        EXPECT_EQ(known.status(), 304) << method;
        EXPECT_EQ(known.header("ETag"), "\"v1\"") << method;
        EXPECT_EQ(known.body, "") << method;
        EXPECT_EQ(with("If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n").status(), 304);
    }
    EXPECT_EQ(response_of(h, request_for("POST", "If-None-Match: \"v1\"\r\n")).status(), 200);
}

// A page of another origin sees nothing of a response without its fields.
TEST(a_range, that_does_not_exist_keeps_the_fields_of_middleware) {
    const auto h = with_ranges([](http::request&) {
        return tagged(100)
            .set("Access-Control-Allow-Origin", "*")
            .set("Cache-Control", "max-age=9");
    });
    for (const auto& [range, fields, status] :
         {std::tuple("bytes=100-", "", 416),
          std::tuple("bytes=0-1", "If-Match: \"v0\"\r\n", 412)}) {
        const auto a = get(h, range, fields);
        EXPECT_EQ(a.status(), status);
        EXPECT_EQ(a.header("Access-Control-Allow-Origin"), "*");
        EXPECT_EQ(a.header("Cache-Control"), "-");
        EXPECT_EQ(a.header("ETag"), "-");
    }
}

TEST(several_ranges, of_a_body_in_memory_are_multipart) {
    const std::string all = text_of(10'000);
    const auto a = get(text(), "bytes=0-9, 5000-5009, -1");
    EXPECT_EQ(a.status(), 206);
    EXPECT_TRUE(a.whole);
    EXPECT_EQ(a.header("Content-Range"), "-");
    EXPECT_NE(a.body.find("Content-Type: text/plain; charset=utf-8\r\n"), std::string::npos);
    const std::vector<std::string> expected = {"bytes 0-9/10000|" + all.substr(0, 10),
                                               "bytes 5000-5009/10000|" + all.substr(5000, 10),
                                               "bytes 9999-9999/10000|" + all.substr(9999)};
    EXPECT_EQ(parts_of(a), expected);
}

TEST(several_ranges, of_a_file_are_multipart_of_known_length) {
    const temporary_directory folder;
    const std::string all = text_of(1'000'000);
    const std::string path = folder.write("file", "??" + all);
    const auto h = with_ranges([&](http::request&) {
        http::response r;
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        r.set_body(http::body::file(http::file_range(fd, 2, all.size())), "text/plain");
        return r;
    });
    const auto one = get(h, "bytes=100-109");
    EXPECT_EQ(one.header("Content-Range"), "bytes 100-109/1000000");
    EXPECT_EQ(one.body, all.substr(100, 10));
    const auto a = get(h, "bytes=0-9,1000-300999,-5");
    EXPECT_EQ(a.status(), 206);
    EXPECT_TRUE(a.whole);
    EXPECT_FALSE(a.chunked);
    const std::vector<std::string> expected = {
        "bytes 0-9/1000000|" + all.substr(0, 10),
        "bytes 1000-300999/1000000|" + all.substr(1000, 300'000),
        "bytes 999995-999999/1000000|" + all.substr(999'995)};
    EXPECT_EQ(parts_of(a), expected);
}

TEST(several_ranges, cannot_make_a_response_much_longer_than_the_whole) {
    for (const char* range : {"bytes=0-,0-,0-,0-", "bytes=0-,1-,2-,3-,4-",
                              "bytes=0-0,200-200,400-400,600-600,800-800,1000-1000,1200-1200,"
                              "1400-1400,1600-1600,1800-1800,2000-2000,2200-2200,2400-2400,"
                              "2600-2600,2800-2800,3000-3000,3200-3200"}) {
        const auto a = get(text(), range);
        EXPECT_EQ(a.status(), 200) << range;
        EXPECT_EQ(a.body.size(), 10'000U);
    }
    EXPECT_LT(get(text(), "bytes=0-4999,5100-9999").body.size(), 10'000U + 3 * 200);
}

TEST(several_ranges, that_touch_are_one) {
    const auto a = get(text(), "bytes=0-9,10-19");
    EXPECT_EQ(a.header("Content-Range"), "bytes 0-19/10000");
    EXPECT_EQ(a.body, text_of(20));
}

TEST(a_range, is_of_the_bytes_that_were_made_when_compression_is_around_it) {
    const http::handler h = http::compress()(text());
    const auto part = get(h, "bytes=10-19", "Accept-Encoding: gzip\r\n");
    EXPECT_EQ(part.status(), 206);
    EXPECT_EQ(part.header("Content-Encoding"), "-");
    EXPECT_EQ(part.body, text_of(10'000).substr(10, 10));
    EXPECT_EQ(part.header("Vary"), "Accept-Encoding");  // as the whole has it
    const auto whole = response_of(h, request_for("GET", "Accept-Encoding: gzip\r\n"));
    EXPECT_EQ(whole.header("Content-Encoding"), "gzip");
    EXPECT_EQ(whole.header("Accept-Ranges"), "-");
}

// ---- bodies that can seek
// ------------------------------------------------------------------------

namespace {

/// A source that reads a few bytes at a time, and may be asked to seek.
class slow_source final : public io::source {
public:
    slow_source(std::string bytes, bool seeks) : bytes_(std::move(bytes)), seeks_(seeks) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override {
        co_await yield();
        const std::size_t n = std::min({into.size(), bytes_.size() - at_, std::size_t{7}});
        bytes_.copy(into.data(), n, at_);
        at_ += n;
        co_return n;
    }
    bool seek(std::uint64_t position) noexcept override {
        if (seeks_) at_ = static_cast<std::size_t>(position);
        return seeks_;
    }

private:
    std::string bytes_;
    std::size_t at_ = 0;
    bool seeks_;
};

http::handler from_slow_source(bool seeks) {
    return with_ranges([seeks](http::request&) {
        return http::from_source(std::make_unique<slow_source>(text_of(1000), seeks), 1000,
                                 "text/plain");
    });
}

}  // namespace

TEST(ranges, are_served_of_a_source_that_can_seek) {
    const http::handler h = from_slow_source(true);
    const auto one = get(h, "bytes=10-29");
    EXPECT_EQ(one.status(), 206);
    EXPECT_EQ(one.header("Content-Range"), "bytes 10-29/1000");
    EXPECT_EQ(one.header("Content-Length"), "20");
    EXPECT_EQ(one.body, text_of(1000).substr(10, 20));
    const auto several = get(h, "bytes=900-,0-1");
    EXPECT_EQ(several.status(), 206);
    EXPECT_EQ(parts_of(several),
              (std::vector<std::string>{"bytes 900-999/1000|" + text_of(1000).substr(900),
                                        "bytes 0-1/1000|" + text_of(2)}));
    EXPECT_EQ(get(h, "bytes=1000-").status(), 416);
    const auto whole = response_of(h, request_for("GET", ""));
    EXPECT_EQ(whole.status(), 200);
    EXPECT_EQ(whole.header("Accept-Ranges"), "bytes");
    EXPECT_EQ(whole.header("Content-Length"), "1000");
    EXPECT_EQ(whole.header("Content-Type"), "text/plain");
    EXPECT_EQ(whole.body, text_of(1000));
}

TEST(ranges, are_not_served_of_a_source_that_only_goes_on) {
    const auto a = get(from_slow_source(false), "bytes=10-29");
    EXPECT_EQ(a.status(), 200);
    EXPECT_EQ(a.header("Accept-Ranges"), "-");
    EXPECT_EQ(a.body, text_of(1000));
}

TEST(ranges, are_served_of_bytes_that_a_function_writes_in_part) {
    const http::handler h = with_ranges([](http::request&) {
        http::response r;
        r.set_body(http::body::seekable(
            [](http::body_writer& out, std::uint64_t offset, std::uint64_t size) -> task<> {
                const std::string text = text_of(1000).substr(offset, size);
                co_await out.write(text);
            },
            1000));
        return r;
    });
    EXPECT_EQ(get(h, "bytes=-10").body, text_of(1000).substr(990));
    EXPECT_EQ(response_of(h, request_for("GET", "")).body, text_of(1000));
}

TEST(from_source, reads_a_file_and_memory_in_part) {
    const http::handler file = with_ranges([](http::request&) -> task<http::response> {
        auto opened = co_await fs::open("/file", fs::read_write | fs::create);
        const std::string text = text_of(1000);
        co_await opened.write_at(0, text);
        auto source = std::make_unique<io::file_source>(std::move(opened));
        co_return http::from_source(std::move(source), 1000);
    });
    EXPECT_EQ(get(file, "bytes=500-509").body, text_of(1000).substr(500, 10));
    static const std::string kept = text_of(1000);
    const http::handler memory = with_ranges([](http::request&) {
        return http::from_source(std::make_unique<io::memory_source>(kept), kept.size());
    });
    EXPECT_EQ(get(memory, "bytes=500-509").body, kept.substr(500, 10));
}

TEST(from_source, sends_what_comes_where_the_size_is_not_known) {
    const http::handler h = [](http::request&) {
        return http::from_source(std::make_unique<slow_source>(text_of(100), true));
    };
    const auto a = response_of(h, request_for("GET", ""));
    EXPECT_EQ(a.status(), 200);
    EXPECT_EQ(a.body, text_of(100));
}

TEST(ranges, have_no_digest_of_the_whole_content) {
    const http::handler h = with_ranges([](http::request&) {
        return tagged(100).set("Content-Digest", "sha-256=:x:").set("Repr-Digest", "sha-256=:y:");
    });
    for (const char* range : {"bytes=0-9", "bytes=0-9,20-29"}) {
        const simulated_response part = get(h, range);
        EXPECT_EQ(part.status(), 206);
        EXPECT_EQ(part.header("Content-Digest"), "-");
        EXPECT_EQ(part.header("Repr-Digest"), "sha-256=:y:");
    }
    EXPECT_EQ(get(h, "bytes=x").header("Content-Digest"), "sha-256=:x:");
}
