// Compressed responses and requests through a server in a simulation.

#include "support/codings.hpp"
#include "support/content.hpp"
#include "support/simulated_response.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/compress.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;
using http::content_coding;

namespace {

template <class F>
http::handler compressed(F f, http::compress_options options = {}) {
    return http::compress(std::move(options))(http::handler(std::move(f)));
}

simulated_response get(const http::handler& h, std::string_view accept,
                       std::string_view method = "GET") {
    return response_of(h, request_for(method, "Accept-Encoding: " + std::string(accept) + "\r\n"));
}

http::handler text(std::size_t size) {
    return compressed([size](http::request&) { return http::response(text_of(size)); });
}

}  // namespace

TEST(compression, of_a_text_is_negotiated) {
    for (const char* coding : {"zstd", "br", "gzip"}) {
        const auto a = get(text(20'000), coding);
        EXPECT_EQ(a.header("Content-Encoding"), coding);
        EXPECT_EQ(a.header("Vary"), "Accept-Encoding");
        EXPECT_EQ(a.header("Content-Length"), std::to_string(a.body.size()));
        EXPECT_LT(a.body.size(), 12'000U);
        EXPECT_EQ(decoded(coding, a.body), text_of(20'000));
    }
    const auto a = get(text(20'000), "compress");
    EXPECT_EQ(a.header("Content-Encoding"), "-");
    EXPECT_EQ(a.header("Vary"), "Accept-Encoding");
    EXPECT_EQ(a.body, text_of(20'000));
}

TEST(compression, of_a_stream_that_is_shorter_than_announced_is_no_whole) {
    for (const std::uint64_t announced : {19'999UZ, 20'000UZ, 20'001UZ}) {
        const auto inner = [announced](http::request&) {
            const auto write = [](http::body_writer& out) -> task<> {
                co_await out.write(text_of(20'000));
            };
            http::response r;
            r.set_body(http::body::stream(write, announced));
            r.set("Content-Type", "text/plain");
            return r;
        };
        http::handler h = compressed(inner);
        const local_server server(std::move(h));
        std::string got;
        try {
            got = http::client().get(server.url()).wait().body;
        } catch (const exception&) {
            got = "broken";
        }
        EXPECT_TRUE(got == (announced == 20'000 ? text_of(20'000) : "broken")) << announced;
    }
}

TEST(compression, of_a_long_text_gives_way_and_keeps_the_length) {
    for (const char* coding : {"zstd", "br", "gzip"}) {
        int turns = 0;
        const auto inner = [&turns](http::request&) {
            spawn([&turns]() -> task<> {
                for (; turns < 1000; ++turns) co_await yield();
            });
            return http::response(text_of(3'000'000));
        };
        const auto a = get(compressed(inner), coding);
        EXPECT_EQ(a.header("Content-Encoding"), coding);
        EXPECT_EQ(a.header("Content-Length"), std::to_string(a.body.size()));
        EXPECT_TRUE(decoded(coding, a.body) == text_of(3'000'000));
        EXPECT_GE(turns, 3'000'000 / (32 * 1024));
    }
}

TEST(compression, happens_from_its_least_size_on) {
    EXPECT_EQ(get(text(1023), "gzip").header("Content-Encoding"), "-");
    EXPECT_EQ(get(text(1023), "gzip").header("Vary"), "-");
    EXPECT_EQ(get(text(1024), "gzip").header("Content-Encoding"), "gzip");
    EXPECT_EQ(get(text(1025), "gzip").header("Content-Encoding"), "gzip");
}

TEST(compression, that_makes_nothing_smaller_is_dropped) {
    for (const std::size_t size : {5'000UZ, 500'000UZ}) {
        const auto inner = [size](http::request&) { return http::response(noise_of(size)); };
        const auto a = get(compressed(inner), "gzip");
        EXPECT_EQ(a.header("Content-Encoding"), "-");
        EXPECT_TRUE(a.body == noise_of(size));
    }
}

TEST(compression, looks_at_the_media_type) {
    const auto typed = [](const char* type, http::compress_options options = {}) {
        const auto inner = [type](http::request&) {
            return http::response(text_of(5000)).set("Content-Type", type);
        };
        return get(compressed(inner, std::move(options)), "gzip").header("Content-Encoding");
    };
    EXPECT_EQ(typed("application/json"), "gzip");
    EXPECT_EQ(typed("image/png"), "-");
    EXPECT_EQ(typed("application/x-mine"), "-");
    http::compress_options options;
    options.types.push_back("application/x-mine");
    EXPECT_EQ(typed("application/x-mine", options), "gzip");
}

TEST(compression, of_an_error_is_that_of_its_problem_details) {
    http::router r;
    r.problem_details();
    r.get("/", http::wrap(http::compress(), [](http::request&) {
              return http::response(http::status::conflict, text_of(5000));
          }));
    const auto a = get(http::handler(r), "gzip");
    EXPECT_EQ(a.header("Content-Type"), "application/problem+json");
    EXPECT_EQ(a.header("Content-Encoding"), "gzip");
    const std::string problem = decoded("gzip", a.body);
    EXPECT_TRUE(problem.starts_with(R"({"title":"Conflict","status":409,"detail":")")) << problem;
    // Bytes that something else has encoded are no text.
    http::router encoded;
    encoded.problem_details();
    encoded.get("/", [](http::request&) {
        http::response res(http::status::conflict, "\x1f\x8b");
        return std::move(res.set("Content-Encoding", "gzip"));
    });
    EXPECT_EQ(get(http::handler(encoded), "gzip").body, "\x1f\x8b");
}

TEST(compression, leaves_alone_what_must_stay_as_it_is) {
    const auto with = [](http::status code, const char* name, const char* value) {
        const auto inner = [=](http::request&) {
            http::response r(code, text_of(5000));
            return std::move(r).set(name, value);
        };
        return get(compressed(inner), "gzip");
    };
    using enum http::status;
    EXPECT_EQ(with(ok, "X", "y").header("Content-Encoding"), "gzip");
    EXPECT_EQ(with(not_found, "X", "y").header("Content-Encoding"), "gzip");
    EXPECT_EQ(with(ok, "Content-Encoding", "br").header("Content-Encoding"), "br");
    EXPECT_EQ(with(ok, "Content-Encoding", "br").header("Vary"), "-");
    EXPECT_EQ(with(ok, "Cache-Control", "public, no-transform").header("Content-Encoding"), "-");
    EXPECT_EQ(with(partial_content, "X", "y").header("Content-Encoding"), "-");
    EXPECT_EQ(with(ok, "Content-Range", "bytes 0-9/10").header("Content-Encoding"), "-");
    EXPECT_EQ(with(ok, "Repr-Digest", "sha-256=:AA==:").header("Content-Encoding"), "-");
    EXPECT_EQ(with(no_content, "X", "y").header("Content-Encoding"), "-");
    EXPECT_EQ(with(not_modified, "ETag", "\"a\"").header("Content-Encoding"), "-");
    EXPECT_EQ(with(not_modified, "ETag", "\"a\"").header("Vary"), "Accept-Encoding");
}

TEST(compression, tells_caches_what_it_did) {
    const auto inner = [](http::request&) {
        http::response r(text_of(5000));
        r.set("ETag", "\"abc\"").set("Accept-Ranges", "bytes").set("Vary", "Origin");
        return r;
    };
    const auto a = get(compressed(inner), "gzip");
    EXPECT_EQ(a.header("ETag"), "W/\"abc\"");
    EXPECT_EQ(a.header("Accept-Ranges"), "-");
    EXPECT_NE(a.head.find("Vary: Origin\r\n"), std::string::npos);
    EXPECT_NE(a.head.find("Vary: Accept-Encoding\r\n"), std::string::npos);
    EXPECT_EQ(get(compressed(inner), "br;q=0").header("ETag"), "\"abc\"");
    // A 304 has the tag of the response that the client holds.
    const auto unchanged = [](http::request&) {
        return std::move(http::response(http::status::not_modified).set("ETag", "\"abc\""));
    };
    const auto tag_of = [&](const char* fields) {
        return response_of(compressed(unchanged), request_for("GET", fields)).header("ETag");
    };
    EXPECT_EQ(tag_of("Accept-Encoding: gzip\r\nIf-None-Match: \"x\", W/\"abc\"\r\n"), "W/\"abc\"");
    EXPECT_EQ(tag_of("Accept-Encoding: gzip\r\nIf-None-Match: \"abc\"\r\n"), "\"abc\"");
    EXPECT_EQ(tag_of("If-None-Match: W/\"abc\"\r\n"), "\"abc\"");
    for (const char* vary : {"accept-encoding", "Origin, Accept-Encoding", "*"}) {
        const auto varied = [vary](http::request&) {
            return http::response(text_of(5000)).set("Vary", vary);
        };
        const auto b = get(compressed(varied), "gzip");
        EXPECT_EQ(b.header("Vary"), vary);
        EXPECT_EQ(b.head.find("Vary: Accept-Encoding\r\n"), std::string::npos);
    }
}

TEST(compression, of_the_response_to_head_is_told_and_not_done) {
    const auto a = get(text(5000), "gzip", "HEAD");
    EXPECT_EQ(a.header("Content-Encoding"), "gzip");
    EXPECT_EQ(a.header("Vary"), "Accept-Encoding");
    EXPECT_EQ(a.header("Content-Length"), "-");
    EXPECT_EQ(a.header("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(a.body, "");
    EXPECT_EQ(get(text(100), "gzip", "HEAD").header("Content-Length"), "100");
}

TEST(compression, of_a_stream_shows_each_piece_when_it_is_written) {
    for (const char* coding : {"zstd", "br", "gzip"}) {
        const auto inner = [](http::request&) -> task<http::response> {
            co_await sleep_for(1s);
            co_return http::stream(
                [](http::body_writer& out) -> task<> {
                    co_await out.write("data: one\n\n");
                    co_await sleep_for(1h);  // the connection would be cut in a minute
                    co_await out.write("data: two\n\n");
                },
                "text/event-stream");
        };
        simulation sim(simulation_options{});
        http::server_options options;
        options.listen = "127.0.0.1:80";
        http::server server(compressed(inner), options);
        server.open(sim.loop());
        std::string first;
        auto main = [&]() -> task<> {
            bool ended = false;
            spawn([&]() -> task<> {
                co_await as_result(server.run(sim.loop()));
                ended = true;
            });
            peer p = co_await connect_peer(server.addresses().front());
            co_await p.send(request_for("GET", "Accept-Encoding: " + std::string(coding) + "\r\n"));
            co_await p.read_until("\r\n\r\n");
            // Reads the size of each chunk, its bytes and CRLF, until the event is there.
            http::content_coding known = *http::find_content_coding(coding);
            coding::decoder d(known);
            while (first.size() < 11) {
                const std::string line = co_await p.read_until("\r\n");
                const std::string bytes = co_await p.read_exactly(std::stoul(line, nullptr, 16));
                co_await p.read_exactly(2);
                char room[100];
                const auto r = d.decode(bytes, room);
                EXPECT_EQ(r.error, http::coding_error::none);
                first.append(room, r.produced);
            }
            p.close();
            server.stop();
            while (!ended) co_await sleep_for(100ms);
        };
        const auto before = sim.now();
        sim.run(main);
        EXPECT_EQ(first, "data: one\n\n");
        EXPECT_LT(sim.now() - before, 1min);
    }
}

TEST(compression, of_a_stream_ends_with_its_coding) {
    for (const char* coding : {"zstd", "br", "gzip"}) {
        const auto inner = [](http::request&) {
            return http::stream(
                [](http::body_writer& out) -> task<> {
                    const std::string all = text_of(500'000);
                    std::string_view left = all;
                    for (std::size_t n = 1; !left.empty(); n = n * 3 + 1) {
                        co_await out.write(left.substr(0, n));
                        left.remove_prefix(std::min(n, left.size()));
                    }
                },
                "application/json");
        };
        const auto a = get(compressed(inner), coding);
        EXPECT_TRUE(a.chunked && a.whole);
        EXPECT_EQ(a.header("Content-Encoding"), coding);
        EXPECT_TRUE(decoded(coding, a.body) == text_of(500'000));
    }
}

TEST(compression, of_an_empty_stream_is_an_empty_content) {
    const auto inner = [](http::request&) {
        return http::stream([](http::body_writer&) -> task<> { co_return; }, "text/plain");
    };
    for (const char* coding : {"zstd", "br", "gzip"}) {
        const auto a = get(compressed(inner), coding);
        EXPECT_TRUE(a.whole);
        EXPECT_EQ(decoded(coding, a.body), "");
    }
}

TEST(compression, of_a_stream_that_fails_is_seen_by_the_client) {
    const auto inner = [](bool begins) {
        return [begins](http::request&) {
            return http::stream(
                [begins](http::body_writer& out) -> task<> {
                    if (begins) co_await out.write("data");
                    throw std::runtime_error("stream");
                },
                "text/plain");
        };
    };
    EXPECT_EQ(get(compressed(inner(false)), "gzip").status(), 500);
    EXPECT_EQ(get(compressed(inner(false)), "gzip").header("Content-Encoding"), "-");
    EXPECT_FALSE(get(compressed(inner(true)), "gzip").whole);
}

TEST(compression, of_a_file_is_streamed) {
    const temporary_directory folder;
    const std::string path = folder.path() / "file.txt";
    folder.write("file.txt", "??" + text_of(300'000) + "??");
    for (const char* coding : {"zstd", "br", "gzip"}) {
        const auto inner = [&path](http::request&) {
            http::response r;
            const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
            r.set_body(http::body::file(http::file_range(fd, 2, 300'000)), "text/plain");
            return r;
        };
        const auto a = get(compressed(inner), coding);
        EXPECT_TRUE(a.chunked && a.whole);
        EXPECT_EQ(a.header("Content-Encoding"), coding);
        EXPECT_TRUE(decoded(coding, a.body) == text_of(300'000));
    }
}

TEST(compression, of_a_file_that_becomes_shorter_is_seen_by_the_client) {
    const temporary_directory folder;
    const std::string path = folder.path() / "file.txt";
    folder.write("file.txt", text_of(100'000));
    const auto inner = [&path](http::request&) {
        http::response r;
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        r.set_body(http::body::file(http::file_range(fd, 0, 100'001)), "text/plain");
        return r;
    };
    EXPECT_FALSE(get(compressed(inner), "gzip").whole);
}

TEST(compression, passes_trailers_on) {
    const auto inner = [](http::request&) {
        return http::stream(
            [](http::body_writer& out) -> task<> {
                co_await out.write("data");
                out.set_trailer("X-Sum", "4");
                // It is about the bytes before they were coded.
                out.set_trailer("Content-Digest", "sha-256=:x:");
            },
            "text/plain");
    };
    const auto a = response_of(compressed(inner),
                               request_for("GET", "Accept-Encoding: gzip\r\nTE: trailers\r\n"));
    EXPECT_EQ(decoded("gzip", a.body), "data");
    EXPECT_EQ(a.trailers, "X-Sum: 4\r\n");
}
