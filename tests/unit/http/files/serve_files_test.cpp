#include "support/temporary_directory.hpp"
#include "support/virtual_time.hpp"

#include <coracle/http/files.hpp>
#include <coracle/http/router.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>
#include <utility>

using namespace coracle;
using namespace std::string_view_literals;
using coracle::testing::temporary_directory;
using http::status;

namespace {

/// Returns the bytes that a response would send.
std::string content(const http::response& r) {
    if (r.body().type() != http::body::kind::file) return std::string(r.body().bytes());
    const auto& part = r.body().file_part();
    std::string text(part.size(), '\0');
    const auto n = ::pread(part.fd(), text.data(), text.size(), static_cast<off_t>(part.offset()));
    return n == static_cast<ssize_t>(text.size()) ? text : "short";
}

/// Takes what a streamed body writes.
class written_body final : public http::body_writer {
public:
    std::string text;

private:
    task<std::expected<void, error>> write_piece(std::string_view piece) override {
        text += piece;
        co_return std::expected<void, error>();
    }
    task<std::expected<void, error>> send_head() override {
        co_return std::expected<void, error>();
    }
};

class serve_files_test : public ::testing::TestWithParam<fs::beneath_method> {
protected:
    serve_files_test() {
        all_.write("secret", "outside");
        all_.write("root/a.txt", "0123456789");
        all_.write("root/empty.css", "");
        all_.write("root/.hidden", "dot");
        all_.write("root/100%.txt", "percent");
        all_.write("root/site/index.html", "<p>index");
        all_.write("root/no index/x", "");
        all_.write("root/a:b/index.html", "colon");
        large_.assign(100'000, 'x');
        large_.replace(50'000, 4, "here");
        all_.write("root/large.bin", large_);
        std::filesystem::create_symlink("../secret", root() / "escape");
        std::filesystem::create_symlink("loop", root() / "loop");
        EXPECT_EQ(::mkfifo((root() / "fifo").c_str(), 0600), 0);
        set_time("a.txt", 784111777);
        options_.how = GetParam();
    }

    std::filesystem::path root() const { return all_.path() / "root"; }

    void set_time(const char* name, time_t seconds) const {
        const timespec times[2] = {{0, UTIME_OMIT}, {seconds, 5}};
        EXPECT_EQ(::utimensat(AT_FDCWD, (root() / name).c_str(), times, 0), 0);
    }

    using lines = std::initializer_list<std::pair<const char*, std::string>>;

    /// Asks for a path as it stands in `request::path`.
    http::response ask(http::method m, std::string_view path, lines fields = {},
                       std::string_view query = {}) const {
        return ask(http::serve_files(root(), options_), m, path, fields, query);
    }
    static http::response ask(const http::handler& h, http::method m, std::string_view path,
                              lines fields = {}, std::string_view query = {}) {
        http::request req;
        for (const auto& [name, value] : fields) req.fields().add(name, value);
        http::request::parts parts;
        parts.method = m;
        parts.method_text = http::to_string(m);
        parts.path = path;
        parts.query = query;
        req.assign(parts);
        http::response response;
        task<http::response> pending;
        EXPECT_TRUE(h.call(req, response, pending));
        return response;
    }
    http::response get(std::string_view path, lines fields = {}) const {
        return ask(http::method::get, path, fields);
    }

    temporary_directory all_;
    std::string large_;
    http::file_options options_;
};

std::string name_of(const ::testing::TestParamInfo<fs::beneath_method>& info) {
    return info.param == fs::beneath_method::walk ? "walk" : "automatic";
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(both_ways, serve_files_test,
                         ::testing::Values(fs::beneath_method::automatic, fs::beneath_method::walk),
                         name_of);

TEST_P(serve_files_test, responds_with_a_file_and_its_fields) {
    const auto r = get("/a.txt");
    EXPECT_EQ(r.status(), status::ok);
    EXPECT_EQ(content(r), "0123456789");
    EXPECT_EQ(r.fields().get("Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(r.fields().get("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(r.fields().get("Accept-Ranges"), "bytes");
    EXPECT_EQ(r.fields().get("Last-Modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_TRUE(r.fields().get("ETag").starts_with("\"a-"));
    EXPECT_FALSE(r.fields().contains("Cache-Control"));
    EXPECT_EQ(get("/100%.txt").status(), status::ok);
    EXPECT_EQ(get("/empty.css").status(), status::ok);
}

TEST_P(serve_files_test, sends_large_files_from_the_descriptor) {
    const auto r = get("/large.bin");
    EXPECT_EQ(r.body().type(), http::body::kind::file);
    EXPECT_EQ(content(r), large_);
    EXPECT_EQ(get("/a.txt").body().type(), http::body::kind::text);
}

TEST_P(serve_files_test, responds_to_head_like_get) {
    const auto r = ask(http::method::head, "/a.txt", {{"Range", "bytes=0-0"}});
    EXPECT_EQ(r.status(), status::ok);
    EXPECT_EQ(r.body().size(), 10u);
    EXPECT_TRUE(r.fields().contains("ETag"));
}

TEST_P(serve_files_test, refuses_other_methods) {
    for (const auto m : {http::method::post, http::method::put, http::method::delete_,
                         http::method::options, http::method::other}) {
        const auto r = ask(m, "/a.txt");
        EXPECT_EQ(r.status(), status::method_not_allowed);
        EXPECT_EQ(r.fields().get("Allow"), "GET, HEAD");
    }
}

TEST_P(serve_files_test, gives_nothing_from_outside_of_the_root) {
    for (const auto path : {"/../secret"sv,
                            "/.."sv,
                            "/site/../../secret"sv,
                            "/..%2Fsecret"sv,
                            "/..%2fsecret"sv,
                            "/%2e%2e/secret"sv,
                            "/..\\secret"sv,
                            "/..%5csecret"sv,
                            "//etc/passwd"sv,
                            "/%2Fetc%2Fpasswd"sv,
                            "/site//index.html"sv,
                            "//"sv,
                            "/./a.txt"sv,
                            "/a.txt\0"sv,
                            "/a.txt\0.html"sv,
                            "/escape"sv,
                            "/escape/"sv,
                            "/loop"sv,
                            "/loop/"sv,
                            "/fifo"sv,
                            "/fifo/"sv,
                            "/a.txt/"sv,
                            "/a.txt/b"sv,
                            "/nothing"sv,
                            "/no index/"sv,
                            "/"sv,
                            "*"sv,
                            ""sv,
                            "/site\\index.html"sv}) {
        const auto r = get(path);
        EXPECT_EQ(r.status(), status::not_found) << path;
        EXPECT_EQ(content(r), "404 Not Found\n") << path;
    }
    EXPECT_EQ(get("/" + std::string(300, 'x')).status(), status::not_found);
    EXPECT_EQ(get("/" + std::string(10'000, 'x')).status(), status::not_found);
    std::string deep;
    for (int i = 0; i != 5000; ++i) deep += "/x";
    EXPECT_EQ(get(deep).status(), status::not_found);
    for (const bool in_rule : {false, true}) {
        http::file_options bad;
        if (in_rule) bad.cache = {{"*", "a\nb"}};
        if (!in_rule) bad.cache_control = "a\r\nb";
        EXPECT_THROW(http::serve_files("/dev", bad), exception);
    }
    EXPECT_EQ(ask(http::serve_files("/dev"), http::method::get, "/null").status(),
              status::not_found);
}

TEST_P(serve_files_test, hides_dotfiles_unless_told_otherwise) {
    EXPECT_EQ(get("/.hidden").status(), status::not_found);
    options_.hidden = true;
    EXPECT_EQ(content(get("/.hidden")), "dot");
    EXPECT_EQ(get("/..").status(), status::not_found);
}

TEST_P(serve_files_test, adds_the_slash_of_a_directory_and_finds_its_index) {
    const auto r = get("/site");
    EXPECT_EQ(r.status(), status::moved_permanently);
    EXPECT_EQ(r.fields().get("Location"), "./site/");
    EXPECT_EQ(content(get("/site/")), "<p>index");
    EXPECT_EQ(get("/site/").fields().get("Content-Type"), "text/html; charset=utf-8");
    EXPECT_EQ(get("/no index").fields().get("Location"), "./no%20index/");
    EXPECT_EQ(get("/a:b").fields().get("Location"), "./a%3Ab/");
    EXPECT_EQ(ask(http::method::get, "/site", {}, "a=b").fields().get("Location"), "./site/?a=b");
    EXPECT_EQ(ask(http::method::get, "/site", {}, "a=\xc3\xb6").fields().get("Location"),
              "./site/?a=%C3%B6");
    options_.index.clear();
    EXPECT_EQ(get("/site/").status(), status::not_found);
}

TEST_P(serve_files_test, takes_the_path_from_the_route) {
    http::router routes;
    routes.get("/static/{*path}", http::serve_files(root(), options_));
    const http::handler h = routes;
    EXPECT_EQ(content(ask(h, http::method::get, "/static/a.txt")), "0123456789");
    EXPECT_EQ(ask(h, http::method::get, "/static/a.txt/").status(), status::not_found);
    EXPECT_EQ(ask(h, http::method::get, "/static//a.txt").status(), status::not_found);
    all_.write("root/index.html", "top");
    all_.write("root/static/index.html", "wrong");
    EXPECT_EQ(content(ask(h, http::method::get, "/static/")), "top");
    EXPECT_EQ(ask(h, http::method::get, "/a.txt").status(), status::not_found);
}

TEST_P(serve_files_test, responds_to_conditional_requests) {
    const std::string tag(get("/a.txt").fields().get("ETag"));
    const auto unchanged = get("/a.txt", {{"If-None-Match", tag}});
    EXPECT_EQ(unchanged.status(), status::not_modified);
    EXPECT_EQ(unchanged.fields().get("ETag"), tag);
    EXPECT_EQ(unchanged.body().size(), 0u);
    EXPECT_EQ(get("/a.txt", {{"If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"}}).status(),
              status::not_modified);
    EXPECT_EQ(get("/a.txt", {{"If-Match", "\"other\""}}).status(), status::precondition_failed);
    EXPECT_EQ(get("/a.txt", {{"If-Match", tag}}).status(), status::ok);

    set_time("a.txt", 784111778);
    EXPECT_EQ(get("/a.txt", {{"If-None-Match", tag}}).status(), status::ok);
}

TEST_P(serve_files_test, responds_with_one_range) {
    const auto r = get("/a.txt", {{"Range", "bytes=2-4"}});
    EXPECT_EQ(r.status(), status::partial_content);
    EXPECT_EQ(r.fields().get("Content-Range"), "bytes 2-4/10");
    EXPECT_EQ(content(r), "234");
    EXPECT_EQ(content(get("/a.txt", {{"Range", "bytes=-1"}})), "9");

    const auto large = get("/large.bin", {{"Range", "bytes=50000-69999"}});
    EXPECT_EQ(large.fields().get("Content-Range"), "bytes 50000-69999/100000");
    EXPECT_EQ(large.body().type(), http::body::kind::file);
    EXPECT_EQ(content(large), large_.substr(50'000, 20'000));
    EXPECT_EQ(content(get("/large.bin", {{"Range", "bytes=50000-50003"}})), "here");
}

TEST_P(serve_files_test, says_when_a_range_cannot_be_had) {
    const auto r = get("/a.txt", {{"Range", "bytes=10-"}});
    EXPECT_EQ(r.status(), status::range_not_satisfiable);
    EXPECT_EQ(r.fields().get("Content-Range"), "bytes */10");
    EXPECT_EQ(get("/empty.css", {{"Range", "bytes=0-0"}}).status(), status::ok);
}

TEST_P(serve_files_test, applies_a_range_only_to_what_if_range_names) {
    const std::string tag(get("/a.txt").fields().get("ETag"));
    EXPECT_EQ(get("/a.txt", {{"Range", "bytes=0-0"}, {"If-Range", tag}}).status(),
              status::partial_content);
    const auto r = get("/a.txt", {{"Range", "bytes=0-0"}, {"If-Range", "\"old\""}});
    EXPECT_EQ(r.status(), status::ok);
    EXPECT_EQ(content(r), "0123456789");
    EXPECT_EQ(get("/a.txt", {{"Range", "bytes=99-"}, {"If-Range", "\"old\""}}).status(),
              status::ok);
}

TEST_P(serve_files_test, sends_cache_control_when_told_to) {
    options_.cache_control = "max-age=60";
    const auto r = get("/a.txt");
    EXPECT_EQ(r.fields().get("Cache-Control"), "max-age=60");
    const std::string tag(r.fields().get("ETag"));
    EXPECT_EQ(get("/a.txt", {{"If-None-Match", tag}}).fields().get("Cache-Control"), "max-age=60");
    EXPECT_FALSE(get("/nothing").fields().contains("Cache-Control"));
}

TEST_P(serve_files_test, says_403_where_the_system_refuses) {
    const http::handler h = http::serve_files(root(), options_);
    ASSERT_EQ(::chmod((root() / "a.txt").c_str(), 0), 0);
    // Root may read everything, so it must be somebody else for a moment.
    const uid_t me = ::geteuid();
    ASSERT_EQ(me == 0 ? ::seteuid(65534) : 0, 0);
    const auto r = ask(h, http::method::get, "/a.txt");
    ASSERT_EQ(me == 0 ? ::seteuid(me) : 0, 0);
    EXPECT_EQ(r.status(), status::forbidden);
}

TEST_P(serve_files_test, says_503_without_descriptors) {
    const http::handler h = http::serve_files(root(), options_);
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
    // The lowest free number is the first that cannot be had.
    const int next = ::dup(0);
    ASSERT_GE(next, 0);
    ::close(next);
    const rlimit none{static_cast<rlim_t>(next), old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto r = ask(h, http::method::get, "/a.txt");
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
    EXPECT_EQ(r.status(), status::service_unavailable);
    EXPECT_EQ(r.fields().get("Retry-After"), "1");
}

TEST_P(serve_files_test, responds_with_several_ranges) {
    const auto r = get("/a.txt", {{"Range", "bytes=0-0,-1"}});
    // Nearer than the head of a part is long: one.
    EXPECT_EQ(r.status(), status::partial_content);
    EXPECT_EQ(r.fields().get("Content-Range"), "bytes 0-9/10");

    auto parts = get("/large.bin", {{"Range", "bytes=50000-50003,0-1"}});
    EXPECT_EQ(parts.status(), status::partial_content);
    EXPECT_FALSE(parts.fields().contains("Content-Range"));
    const std::string_view type = parts.fields().get("Content-Type");
    ASSERT_TRUE(type.starts_with("multipart/byteranges; boundary="));
    ASSERT_EQ(parts.body().type(), http::body::kind::stream);
    const std::string boundary(type.substr(type.find('=') + 1));
    const std::string head = "\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes ";
    const std::string expected = "--" + boundary + head + "50000-50003/100000\r\n\r\nhere\r\n--" +
                                 boundary + head + "0-1/100000\r\n\r\nxx\r\n--" + boundary +
                                 "--\r\n";
    EXPECT_EQ(parts.body().size(), expected.size());
    written_body body;
    coracle::testing::run_virtually([&]() -> task<> { co_await parts.body().stream_part()(body); });
    EXPECT_EQ(body.text, expected);
}

TEST_P(serve_files_test, ignores_more_ranges_than_the_limit) {
    const auto ranges = [](std::size_t n) {
        std::string value = "bytes=";
        for (std::size_t i = 0; i != n; ++i) {
            value +=
                (i == 0 ? "" : ",") + std::to_string(i * 1000) + '-' + std::to_string(i * 1000);
        }
        return value;
    };
    EXPECT_EQ(get("/large.bin", {{"Range", ranges(15)}}).status(), status::partial_content);
    EXPECT_EQ(get("/large.bin", {{"Range", ranges(16)}}).status(), status::partial_content);
    EXPECT_EQ(get("/large.bin", {{"Range", ranges(17)}}).status(), status::ok);
}

TEST_P(serve_files_test, takes_the_precompressed_sibling_that_the_client_likes_best) {
    all_.write("root/app.js", std::string(2000, 'j'));
    all_.write("root/app.js.br", "brotli");
    all_.write("root/app.js.gz", "gzipped");
    const auto plain = get("/app.js");
    EXPECT_FALSE(plain.fields().contains("Content-Encoding"));
    EXPECT_EQ(plain.fields().get("Vary"), "Accept-Encoding");

    const auto br = get("/app.js", {{"Accept-Encoding", "gzip, br, zstd"}});
    EXPECT_EQ(br.fields().get("Content-Encoding"), "br");
    EXPECT_EQ(br.fields().get("Content-Type"), "text/javascript; charset=utf-8");
    EXPECT_EQ(br.fields().get("Vary"), "Accept-Encoding");
    EXPECT_EQ(content(br), "brotli");
    const auto gz = get("/app.js", {{"Accept-Encoding", "gzip, br;q=0.5"}});
    EXPECT_EQ(gz.fields().get("Content-Encoding"), "gzip");
    EXPECT_EQ(content(gz), "gzipped");
    // Each has its own tag, and its own bytes.
    const std::string tag(br.fields().get("ETag"));
    EXPECT_NE(tag, plain.fields().get("ETag"));
    EXPECT_NE(tag, gz.fields().get("ETag"));
    EXPECT_EQ(get("/app.js", {{"Accept-Encoding", "br"}, {"If-None-Match", tag}}).status(),
              status::not_modified);
    EXPECT_EQ(
        get("/app.js", {{"Accept-Encoding", "br"}, {"If-None-Match", tag}}).fields().get("Vary"),
        "Accept-Encoding");
    EXPECT_EQ(get("/app.js", {{"If-None-Match", tag}}).status(), status::ok);
    const auto part = get("/app.js", {{"Accept-Encoding", "br"}, {"Range", "bytes=1-2"}});
    EXPECT_EQ(part.fields().get("Content-Range"), "bytes 1-2/6");
    EXPECT_EQ(content(part), "ro");
}

TEST_P(serve_files_test, takes_no_sibling_that_is_stale_out_of_reach_or_not_wanted) {
    all_.write("root/app.js", "original");
    all_.write("root/app.js.br", "brotli");
    const auto is_plain = [this](const char* path) {
        return !get(path, {{"Accept-Encoding", "br, gzip"}}).fields().contains("Content-Encoding");
    };
    EXPECT_FALSE(is_plain("/app.js"));
    set_time("app.js", 2'000'000'000);
    set_time("app.js.br", 2'000'000'000);  // to the second
    EXPECT_FALSE(is_plain("/app.js"));
    set_time("app.js.br", 1'999'999'999);
    EXPECT_TRUE(is_plain("/app.js"));

    all_.write("root/b.js", "b");
    std::filesystem::create_symlink("../secret", root() / "b.js.br");
    std::filesystem::create_directory(root() / "b.js.gz");
    EXPECT_TRUE(is_plain("/b.js"));
    // Files that do not compress have no siblings.
    all_.write("root/large.bin.br", "brotli");
    EXPECT_TRUE(is_plain("/large.bin"));
    EXPECT_FALSE(get("/large.bin").fields().contains("Vary"));

    set_time("app.js.br", 2'000'000'000);
    options_.precompressed = false;
    EXPECT_TRUE(is_plain("/app.js"));
}

TEST_P(serve_files_test, sets_cache_control_by_the_first_rule_that_matches) {
    options_.cache = {{"/site/*", "immutable"}, {"*.txt", "max-age=9"}, {"*.html", "no-cache"}};
    options_.cache_control = "max-age=60";
    EXPECT_EQ(get("/a.txt").fields().get("Cache-Control"), "max-age=9");
    EXPECT_EQ(get("/site/").fields().get("Cache-Control"), "immutable");
    EXPECT_EQ(get("/a:b/").fields().get("Cache-Control"), "no-cache");
    EXPECT_EQ(get("/empty.css").fields().get("Cache-Control"), "max-age=60");
}

TEST_P(serve_files_test, knows_the_media_types_that_it_is_told) {
    options_.media_types = {{"TXT", "text/x-mine"}, {"bin", "image/x-raw"}};
    options_.nosniff = false;
    EXPECT_EQ(get("/a.txt").fields().get("Content-Type"), "text/x-mine");
    EXPECT_EQ(get("/large.bin").fields().get("Content-Type"), "image/x-raw");
    EXPECT_EQ(get("/empty.css").fields().get("Content-Type"), "text/css; charset=utf-8");
    EXPECT_FALSE(get("/a.txt").fields().contains("X-Content-Type-Options"));
}

TEST_P(serve_files_test, falls_back_for_pages_alone) {
    all_.write("root/index.html", "<p>app");
    const auto page = [this](const char* path, const char* accept = "text/html,*/*;q=0.8") {
        const auto r = get(path, {{"Accept", accept}});
        return r.status() == status::ok ? content(r) : std::to_string(http::to_code(r.status()));
    };
    EXPECT_EQ(page("/users/7"), "404");
    options_.fallback = "index.html";
    EXPECT_EQ(page("/users/7"), "<p>app");
    EXPECT_EQ(page("/users/"), "<p>app");
    EXPECT_EQ(page("/v1.2/users"), "<p>app");
    EXPECT_EQ(page("/no index/"), "<p>app");
    EXPECT_EQ(page("/site/"), "<p>index");
    EXPECT_EQ(page("/a.txt"), "0123456789");
    EXPECT_EQ(page("/users/7.js"), "404");
    EXPECT_EQ(page("/.hidden"), "404");
    EXPECT_EQ(page("/users/7", "*/*"), "404");
    EXPECT_EQ(page("/users/7", "application/json"), "404");
    EXPECT_EQ(page("/users%2F7"), "404");
    EXPECT_EQ(page("/users\\7"), "404");
    EXPECT_EQ(page("/../secret"), "404");
    EXPECT_EQ(ask(http::method::head, "/users/7", {{"Accept", "text/html"}}).status(), status::ok);
    EXPECT_EQ(ask(http::method::post, "/users/7", {{"Accept", "text/html"}}).status(),
              status::method_not_allowed);
}

TEST_P(serve_files_test, says_to_caches_that_the_fallback_depends_on_accept) {
    all_.write("root/index.html", "<p>app");
    options_.fallback = "index.html";
    const auto vary = [&](const char* path, lines fields, status expected) {
        const auto r = get(path, fields);
        EXPECT_EQ(r.status(), expected) << path;
        return r.fields().has_token(http::field_id::vary, "accept");
    };
    EXPECT_TRUE(vary("/users/7", {{"Accept", "text/html"}}, status::ok));
    EXPECT_TRUE(vary("/users/7", {{"Accept", "text/html"}, {"Range", "bytes=0-1"}},
                     status::partial_content));
    EXPECT_TRUE(
        vary("/users/7", {{"Accept", "text/html"}, {"If-None-Match", "*"}}, status::not_modified));
    EXPECT_TRUE(vary("/users/7", {{"Accept", "*/*"}}, status::not_found));
    EXPECT_FALSE(vary("/index.html", {{"Accept", "text/html"}}, status::ok));
    EXPECT_FALSE(vary("/site/", {{"Accept", "text/html"}}, status::ok));
    const auto page = get("/users/7", {{"Accept", "text/html"}});
    EXPECT_TRUE(page.fields().has_token(http::field_id::vary, "accept-encoding"));
    options_.fallback.clear();
    EXPECT_FALSE(vary("/users/7", {{"Accept", "*/*"}}, status::not_found));
}

TEST_P(serve_files_test, redirects_to_no_other_host) {
    std::filesystem::create_directories(root() / "dir/evil.example");
    for (const char* path : {"//evil.example", "//evil.example/dir", "/\\evil.example/dir",
                             "/%2F%2Fevil.example/dir"}) {
        EXPECT_EQ(get(path).status(), status::not_found) << path;
    }
    const auto r = ask(http::method::get, "/dir/evil.example", {}, "x=//evil.example");
    EXPECT_EQ(r.status(), status::moved_permanently);
    EXPECT_EQ(r.fields().get("Location"), "./evil.example/?x=//evil.example");
}

TEST(serve_files, throws_when_the_root_is_no_directory) {
    const temporary_directory all;
    const auto file = all.write("f", "").string();
    EXPECT_THROW(http::serve_files(file), exception);
    EXPECT_THROW(http::serve_files(file + "/nothing"), exception);
}

TEST(file_range, closes_what_it_holds_when_it_takes_another) {
    const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
    const int first = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int second = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    {
        http::file_range a(first, 1, 2);
        http::file_range b(second, 3, 4);
        a = std::move(b);
        EXPECT_FALSE(is_open(first));
        EXPECT_TRUE(is_open(second));
        EXPECT_EQ(a.fd(), second);
        EXPECT_EQ(a.offset(), 3u);
        EXPECT_EQ(a.size(), 4u);
        EXPECT_EQ(b.fd(), -1);
    }
    EXPECT_FALSE(is_open(second));
}
