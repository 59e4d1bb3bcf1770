// The client against servers of other makers and our own, and through a proxy that spoils what
// passes.

#include "http/h2/error.hpp"
#include "integration/peers/own_peer.hpp"
#include "support/client_calls.hpp"
#include "support/http_peer.hpp"

#include <coracle/http/cookie_jar.hpp>
#include <coracle/testing/local_server.hpp>

#include <gmock/gmock.h>

#include <atomic>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class client_with_peer : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        if (is_h2()) {
            http::client_options o = client_.defaults();
            o.http_version = http::version_choice::http_2;
            client_.set_defaults(o);
        }
        if (std::string_view(GetParam()).starts_with("coracle")) {
            own_ = std::make_unique<own_peer>();
            peer_ = std::make_unique<http_peer>("coracle", own_->urls());
            return;
        }
        peer_ = http_peer::start(GetParam());
        if (peer_ == nullptr) GTEST_SKIP() << GetParam() << " is not installed";
    }
    static bool is_h2() { return std::string_view(GetParam()).ends_with("_h2"); }
    /// Behaviours that this server lacks are left out.
    bool has(const char* behaviour) const { return peer_->has(behaviour); }
    http::call get(const char* behaviour) { return client_.get(peer_->url(behaviour)); }

    void gets_and_uses_the_connection_again();
    void follows_redirects_of_every_kind();
    void posts_through_redirects_of_every_kind();
    void decodes();
    void gets_ranges();
    void keeps_cookies();
    void makes_itself_known();
    void waits_for_what_drips_and_comes_late();
    void reads_trailers();
    void sends_bodies();
    void sees_the_end_of_connections();

    std::unique_ptr<own_peer> own_;
    std::unique_ptr<http_peer> peer_;
    http::client client_;
};

void client_with_peer::gets_and_uses_the_connection_again() {
    EXPECT_TRUE(get("hello").wait().ok());
    const auto second = get("hello").wait();
    EXPECT_TRUE(second.info.reused);
    EXPECT_NE(second.body, "");
    EXPECT_EQ(client_.head(peer_->url("hello")).wait().body, "");
    EXPECT_EQ(client_.statistics().opened, 1U);
}

void client_with_peer::follows_redirects_of_every_kind() {
    for (const char* status : {"301", "302", "303", "307", "308"}) {
        const std::string behaviour = std::string("redirect_") + status;
        const auto plain = get(behaviour.c_str()).wait();
        EXPECT_EQ(std::to_string(static_cast<unsigned>(plain.status)), status);
        const auto r = get(behaviour.c_str()).follow(http::follow::standard).wait();
        EXPECT_EQ(r.status, http::status::ok) << status;
        EXPECT_EQ(r.info.redirects, 1U) << status;
    }
    if (!has("redirect_loop")) return;
    EXPECT_EQ(failure_of(get("redirect_loop").follow(http::follow::standard)),
              errc::limit_exceeded);
}

/// A peer that shows the request of a redirect's target shows whether it was still the same one.
void client_with_peer::posts_through_redirects_of_every_kind() {
    if (!has("echo")) return;
    for (const char* status : {"301", "302", "303", "307", "308"}) {
        const auto r = client_.post(peer_->url(std::string("redirect_") + status))
                           .body("what was posted", "text/plain")
                           .follow(http::follow::standard)
                           .wait();
        EXPECT_EQ(r.status, http::status::ok) << status;
        const bool again = status == std::string_view("307") || status == std::string_view("308");
        EXPECT_EQ(r.body.contains("what was posted"), again) << status << ": " << r.body;
        const std::string_view method = again ? "POST" : "GET";
        EXPECT_TRUE(r.header("X-Method") == method ||
                    r.body.contains("\"method\": \"" + std::string(method)))
            << status << ": " << r.body;
    }
}

void client_with_peer::decodes() {
    for (const char* coding : {"gzip", "deflate", "br", "zstd"}) {
        if (!has(coding)) continue;
        const auto r = get(coding).wait();
        EXPECT_EQ(r.header("Content-Encoding"), "");
        EXPECT_THAT(r.info.decoded, ElementsAre(*http::find_content_coding(coding),
                                                http::content_coding::identity));
        const bool is_text = r.body == text_of_peers();
        EXPECT_TRUE(is_text || (peer_->name() == "httpbin" && r.body.starts_with('{')))
            << coding << ": " << r.body.substr(0, 40);
    }
}

void client_with_peer::gets_ranges() {
    const auto whole = get("file").wait();
    ASSERT_GT(whole.body.size(), 20'000U);
    const std::size_t size = whole.body.size();
    const struct {
        std::string range;
        std::string body;
    } parts[] = {
        {"bytes=100-299", whole.body.substr(100, 200)},
        {"bytes=" + std::to_string(size - 50) + "-", whole.body.substr(size - 50)},
        {"bytes=-100", whole.body.substr(size - 100)},
    };
    for (const auto& [range, body] : parts) {
        const auto part = get("file").header("Range", range).wait();
        EXPECT_EQ(part.status, http::status::partial_content) << range;
        EXPECT_TRUE(part.body == body) << range;
    }
    const auto none = get("file").header("Range", "bytes=999999999-").wait();
    EXPECT_EQ(none.status, http::status::range_not_satisfiable);
    if (peer_->name() == "httpbin") return;  // takes no conditions here
    ASSERT_NE(whole.header("ETag"), "");
    const auto same = get("file").header("If-None-Match", whole.header("ETag")).wait();
    EXPECT_EQ(same.status, http::status::not_modified);
}

void client_with_peer::keeps_cookies() {
    http::client_options o = client_.defaults();
    o.cookies = true;
    o.follow = http::follow::standard;
    http::client client(o);
    if (has("cookie_wanted")) {
        EXPECT_EQ(client.get(peer_->url("cookie_wanted")).wait().status, http::status::forbidden);
    }
    const auto r = client.get(peer_->url("cookies")).wait();
    EXPECT_TRUE(r.ok());
    const url at = *url::parse(peer_->url("cookies"));
    EXPECT_THAT(client.cookies().cookies_for(at, 1'800'000'000), HasSubstr("flavour=oat"));
    if (has("cookie_wanted")) {
        EXPECT_EQ(client.get(peer_->url("cookie_wanted")).wait().status, http::status::ok);
    } else {
        // It goes on, by a redirect, to what shows the cookies of the request.
        EXPECT_THAT(r.body, HasSubstr("\"flavour\": \"oat\""));
    }
}

void client_with_peer::makes_itself_known() {
    for (const char* scheme : {"basic", "digest", "digest_sha256"}) {
        if (!has(scheme)) continue;
        EXPECT_EQ(get(scheme).wait().status, http::status::unauthorized) << scheme;
        const auto as = [&](const char* password) {
            http::call c = get(scheme);
            if (scheme == std::string_view("basic")) {
                c.basic("user", secret(password));
            } else {
                c.digest("user", secret(password));
            }
            return std::move(c).wait().status;
        };
        EXPECT_EQ(as("secret"), http::status::ok) << scheme;
        EXPECT_EQ(as("secret"), http::status::ok) << scheme;
        EXPECT_EQ(as("wrong"), http::status::unauthorized) << scheme;
    }
}

void client_with_peer::waits_for_what_drips_and_comes_late() {
    for (const char* behaviour : {"drip", "delay"}) {
        if (!has(behaviour)) continue;
        const auto r = get(behaviour).wait();
        EXPECT_TRUE(r.ok()) << behaviour;
        const auto& t = r.info.times;
        const bool drips = behaviour == std::string_view("drip");
        EXPECT_GT(drips ? t.ended : t.first_byte, 400ms) << behaviour;
        EXPECT_EQ(failure_of(get(behaviour).timeout(100ms)), std::errc::timed_out) << behaviour;
    }
    EXPECT_EQ(client_.statistics().connections, client_.statistics().idle);
}

void client_with_peer::reads_trailers() {
    if (!has("trailers")) return;
    const auto r = get("trailers").header("TE", "trailers").wait();
    EXPECT_EQ(r.trailers.get("X-Sum"), "abc");
}

void client_with_peer::sends_bodies() {
    if (!has("echo")) return;
    const auto write = [](http::body_writer& out) -> task<> {
        co_await out.write("in ");
        co_await out.write("pieces");
    };
    const std::string to = peer_->url("echo");
    EXPECT_THAT(client_.post(to).body("at once", "text/plain").wait().body, HasSubstr("at once"));
    EXPECT_THAT(client_.post(to).body(http::body::stream(write), "text/plain").wait().body,
                HasSubstr("in pieces"));
    const std::string large(1'000'000, 'x');
    EXPECT_THAT(client_.post(to).body(large, "text/plain").wait().body.size(),
                ::testing::Ge(large.size()));
}

void client_with_peer::sees_the_end_of_connections() {
    for (const char* behaviour : {"close_early", "no_response"}) {
        if (!has(behaviour)) continue;
        const error e = failure_of(get(behaviour));
        const bool of_stream = e.code().category() == http::h2::error_code_category();
        EXPECT_TRUE(e == errc::end_of_stream || e == std::errc::connection_reset || of_stream) << e;
    }
    for (const char* behaviour : {"http10", "no_keep_alive"}) {
        if (!has(behaviour)) continue;
        const std::size_t before = client_.statistics().connections;
        const auto r = get(behaviour).wait();
        EXPECT_TRUE(r.ok()) << behaviour;
        const bool is_old = behaviour == std::string_view("http10");
        const auto older = is_old ? http::version::http_1_0 : http::version::http_1_1;
        EXPECT_EQ(r.info.version, is_h2() ? http::version::http_2 : older);
        if (!is_h2()) {
            EXPECT_LE(client_.statistics().connections, before) << behaviour;
        }
    }
}

// In one: what takes long is to start the servers.
TEST_P(client_with_peer, passes_the_suite) {
    gets_and_uses_the_connection_again();
    follows_redirects_of_every_kind();
    posts_through_redirects_of_every_kind();
    decodes();
    gets_ranges();
    keeps_cookies();
    makes_itself_known();
    waits_for_what_drips_and_comes_late();
    reads_trailers();
    sends_bodies();
    sees_the_end_of_connections();
}

INSTANTIATE_TEST_SUITE_P(each, client_with_peer,
                         ::testing::Values("nginx", "apache", "httpbin", "aiohttp", "coracle",
                                           "nginx_h2", "coracle_h2"),
                         [](const auto& with) { return std::string(with.param); });

/// Calls, so many at a time, through what toxiproxy does to them. Each ends, in a response that is
/// whole or an error, within its deadline.
struct spoiled_run {
    std::atomic<int> good = 0;
    std::atomic<int> failed = 0;
    std::atomic<int> wrong = 0;
    std::atomic<int> late = 0;

    void in_time(const background_call& c) {
        if (!c.wait_for(45s)) ++late;
    }

    void make(http::client& client, const std::string& url, int count, std::string_view body) {
        constexpr int at_once = 50;
        std::vector<background_call> calls;
        for (int i = 0; i != count; ++i) {
            if (i >= at_once) in_time(calls[static_cast<std::size_t>(i - at_once)]);
            calls.push_back(client.get(url).start([this, body](auto r) {
                ++(!r ? failed : r->body == body ? good : wrong);
            }));
        }
        for (const auto& c : calls) in_time(c);
    }
};

TEST(client_through_toxiproxy, ends_every_call_and_keeps_no_connection) {
    const auto proxy = http_peer::start("toxiproxy");
    if (proxy == nullptr) GTEST_SKIP() << "toxiproxy is not installed";
    const std::string body(20'000, 'b');
    const local_server server([&](http::request&) { return http::response(body); });
    const std::string made = proxy->tell("proxy " + std::to_string(server.port()));
    const std::string name = made.substr(0, made.find(' '));
    const std::string url = "http://127.0.0.1:" + made.substr(made.find(' ') + 1) + "/";
    struct {
        const char* toxic;
        bool all_good;
    } const table[] = {
        {"latency 1 latency=5 jitter=5", true},
        {"slicer 1 average_size=900 size_variation=400 delay=50", true},
        {"reset_peer 0.3 timeout=2", false},
        {"limit_data 0.5 bytes=9000", false},
        // Out of some fifty connections: at a lower rate none might be spoiled.
        {"timeout 0.5 timeout=100", false},
    };
    for (const auto& [toxic, all_good] : table) {
        http::client_options o;
        o.total_timeout = 30s;
        http::client client(o);
        spoiled_run run;
        proxy->tell("toxic " + name + " " + toxic);
        // With all five toxics 10,000.
        constexpr int calls = 2'000;
        run.make(client, url, calls, body);
        EXPECT_EQ(run.good + run.failed, calls) << toxic;
        EXPECT_EQ(run.wrong, 0) << toxic;
        EXPECT_EQ(run.late, 0) << toxic;
        EXPECT_EQ(run.failed == 0, all_good) << toxic << ": " << run.failed;
        const auto s = client.statistics();
        EXPECT_EQ(s.connections, s.idle) << toxic;
        EXPECT_EQ(s.waiting, 0U) << toxic;
        proxy->tell("reset");
    }
}

}  // namespace
}  // namespace coracle::testing
