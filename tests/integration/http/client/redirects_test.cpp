// Redirects: which method and body go on, and what stays behind.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// "/STATUS/rest" redirects to "/rest".
task<http::response> redirect_by_path(http::request& req) {
    const std::string path(req.path());
    const int code = path.size() > 4 && path[4] == '/' ? std::stoi(path.substr(1, 3)) : 0;
    if (code == 0) return tell_request(req);
    return [](std::string to, int status) -> task<http::response> {
        co_return http::redirect(to, static_cast<http::status>(status));
    }(path.substr(4), code);
}

class client_redirects : public each_version {
protected:
    std::string told(http::call c) { return std::move(c).wait().body; }

    local_server server_{redirect_by_path};
    http::client client_{options()};
};

TEST_P(client_redirects, are_not_followed_unless_asked_for) {
    const auto r = client_.get(server_.url("/302/end")).wait();
    EXPECT_EQ(r.status, http::status::found);
    EXPECT_EQ(r.header("Location"), "/end");
    EXPECT_EQ(r.info.redirects, 0U);
}

TEST_P(client_redirects, keep_the_connection_whatever_the_framing_of_their_body) {
    const auto chunked = [](http::request& req) -> http::response {
        if (req.path() == "/end") return "there";
        http::response r = http::stream([](http::body_writer& out) -> task<> {
            co_await out.write("it has ");
            co_await yield();
            co_await out.write("moved\n");
        });
        r.set_status(http::status::found).set("Location", "/end");
        return r;
    };
    const local_server server(chunked);
    const auto r = client_.get(server.url("/")).follow(http::follow::standard).wait();
    EXPECT_EQ(r.body, "there");
    EXPECT_EQ(client_.statistics().opened, 1U);
    EXPECT_EQ(server.counters().connections, 1U);
    EXPECT_EQ(server.counters().clients_gone, 0U);
}

TEST(client_redirects_in_time, do_not_wait_for_a_body_whose_end_ends_the_connection) {
    const std::string moved = "HTTP/1.1 302 Found\r\nLocation: /end\r\n";
    const auto time_for = [](const std::string& response) {
        simulation sim(1);
        std::vector<script> scripts;
        scripts.push_back(script().read_head().send(response).stall());
        scripts.push_back(script().read_head().respond("there"));
        scripted_peer there(sim.loop(), std::move(scripts));
        sim.run([&]() -> task<> {
            http::client_options o;
            o.proxy_from_environment = false;
            http::client client(o);
            auto asking = client.get(there.url()).follow(http::follow::standard).full();
            const http::full_response r = co_await asking;
            EXPECT_EQ(r.body, "there");
            EXPECT_EQ(client.statistics().failed, 0U);
            there.stop();
        });
        return sim.elapsed();
    };
    EXPECT_LT(time_for(moved + "\r\nmore"), 500ms);
    const duration chunked = time_for(moved + "Transfer-Encoding: chunked\r\n\r\n4\r\nmore\r\n");
    EXPECT_GE(chunked, 1s);
    EXPECT_LT(chunked, 1500ms);
}

TEST_P(client_redirects, inherit_the_fragment_where_they_name_none) {
    const auto end_of = [&](const std::string& path) {
        const auto r = client_.get(server_.url(path)).follow(http::follow::standard).wait();
        EXPECT_THAT(r.body, Not(HasSubstr("#")));
        const std::string end(r.info.url.text());
        return end.substr(end.rfind('/'));
    };
    EXPECT_EQ(end_of("/302/end#part"), "/end#part");
    EXPECT_EQ(end_of("/301/302/end?q#p%20t"), "/end#p%20t");
    EXPECT_EQ(end_of("/302/end"), "/end");
    const local_server named([](http::request& req) -> http::response {
        if (req.path() == "/end") return "there";
        return http::redirect("/end#other", http::status::found);
    });
    const auto r = client_.get(named.url("/#part")).follow(http::follow::standard).wait();
    EXPECT_EQ(r.info.url.fragment(), "other");
}

TEST_P(client_redirects, of_what_was_processed_make_no_call_safe_to_repeat) {
    const local_server first([](http::request& req) -> http::response {
        if (req.path() == "/again") return http::redirect("/again", http::status::see_other);
        return http::redirect(req.path() == "/bad" ? "http://[" : "http://127.0.0.1:1/",
                              http::status::see_other);
    });
    for (const char* path : {"/away", "/bad", "/again"}) {
        const error posted =
            failure_of(client_.post(first.url(path)).body("x").follow(http::follow::standard, 3));
        EXPECT_FALSE(posted.safe_to_retry()) << posted;
        const error put =
            failure_of(client_.put(first.url(path)).body("x").follow(http::follow::standard, 3));
        EXPECT_EQ(put.code(), posted.code());
        EXPECT_TRUE(put.safe_to_retry()) << put;
    }
}

TEST_P(client_redirects, keep_or_change_the_method_as_their_status_and_the_mode_say) {
    using http::follow;
    struct {
        const char* method;
        int code;
        follow mode;
        const char* then;
    } const table[] = {
        {"GET", 301, follow::standard, "GET"},      {"GET", 308, follow::standard, "GET"},
        {"POST", 301, follow::standard, "GET"},     {"POST", 302, follow::standard, "GET"},
        {"POST", 303, follow::standard, "GET"},     {"POST", 307, follow::standard, "POST"},
        {"POST", 308, follow::standard, "POST"},    {"PUT", 301, follow::standard, "PUT"},
        {"PUT", 302, follow::standard, "PUT"},      {"PUT", 303, follow::standard, "GET"},
        {"POST", 301, follow::same_method, "POST"}, {"POST", 303, follow::same_method, "POST"},
        {"POST", 307, follow::first_only, "GET"},   {"POST", 308, follow::first_only, "GET"},
    };
    for (const auto& [method, code, mode, then] : table) {
        const std::string to = server_.url("/" + std::to_string(code) + "/end");
        http::call c = client_.request(method, to).follow(mode);
        const bool has_body = method != std::string_view("GET");
        if (has_body) c.body("payload", "text/plain");
        const std::string got = told(std::move(c));
        EXPECT_THAT(got, StartsWith(std::string(then) + " /end\n")) << method << code;
        const bool kept = has_body && then != std::string_view("GET");
        EXPECT_EQ(body_told(got), kept ? "payload" : "") << method << code;
        EXPECT_EQ(got.find("Content-Type") != std::string::npos, kept) << method << code;
    }
    EXPECT_EQ(client_.statistics().opened, 1U);
}

TEST_P(client_redirects, of_head_stay_head) {
    const auto r = client_.head(server_.url("/303/end")).follow(http::follow::standard).wait();
    EXPECT_EQ(r.status, http::status::ok);
    EXPECT_EQ(r.body, "");
}

TEST_P(client_redirects, without_a_place_to_go_to_are_given_as_they_are) {
    const local_server server([](http::request&) {
        http::response r(http::status::found, "here");
        r.set("Location", "");
        return r;
    });
    const auto r = client_.get(server.url()).follow(http::follow::standard).wait();
    EXPECT_EQ(r.status, http::status::found);
    EXPECT_EQ(r.body, "here");
    EXPECT_EQ(r.info.redirects, 0U);
}

TEST_P(client_redirects, to_a_scheme_with_one_slash_are_refused) {
    const local_server server([](http::request&) {
        http::response r(http::status::found);
        r.set("Location", "http:/other/x");
        return r;
    });
    const error e = failure_of(client_.get(server.url()).follow(http::follow::standard));
    EXPECT_EQ(e, std::errc::invalid_argument);
    EXPECT_THAT(e.message(), HasSubstr("no \"//\" follows the scheme: Location 'http:/other/x'"));
}

TEST_P(client_redirects, go_to_the_bytes_of_their_location) {
    const local_server server([](http::request& req) {
        if (req.path() != "/begin") return http::response(std::string(req.target()));
        http::response r(http::status::found);
        r.set("Location", "/x/../%7Ej/%2e%2E/a?sig=a%2fb%3d&p=x|y%");
        return r;
    });
    const auto call = client_.get(server.url("/begin")).follow(http::follow::standard).wait();
    EXPECT_EQ(call.body, "/a?sig=a%2fb%3d&p=x|y%");
}

TEST_P(client_redirects, say_where_they_should_have_gone) {
    const local_server server([](http::request& req) {
        http::response r(http::status::found);
        r.set("Location", req.path() == "/long" ? "mail:" + std::string(300, 'x')
                                                : "http://ada:secret@a\x9b b/");
        return r;
    });
    const auto said = [&](std::string_view path) {
        return failure_of(client_.get(server.url(path)).follow(http::follow::standard)).message();
    };
    EXPECT_THAT(said("/"), HasSubstr(": Location 'a\\x9b b/'"));
    EXPECT_THAT(said("/long"), HasSubstr(": Location 'mail:" + std::string(195, 'x') + "...'"));
}

TEST_P(client_redirects, may_be_as_many_as_the_limit) {
    http::full_response r =
        client_.get(server_.url("/301/302/303/end")).follow(http::follow::standard, 3).wait();
    EXPECT_EQ(r.info.redirects, 3U);
    EXPECT_EQ(r.info.url.path(), "/end");
    const error e =
        failure_of(client_.get(server_.url("/301/302/303/end")).follow(http::follow::standard, 2));
    EXPECT_EQ(e, errc::limit_exceeded);
    EXPECT_THAT(e.message(), HasSubstr("client_options::redirects"));
}

TEST_P(client_redirects, take_credentials_to_no_other_origin) {
    const local_server other(tell_request);
    const local_server away([&](http::request& req) {
        return http::redirect(req.path() == "/home" ? "/end" : other.url("/end"));
    });
    const auto call = [&](std::string_view path) {
        return client_.get(away.url(path))
            .follow(http::follow::standard)
            .header("Authorization", "mine")
            .header("Cookie", "a=1")
            .header("X-Other", "kept");
    };
    const std::string got = told(call("/abroad"));
    EXPECT_THAT(got, HasSubstr("X-Other: kept"));
    EXPECT_THAT(got, Not(HasSubstr("Authorization")));
    EXPECT_THAT(got, Not(HasSubstr("Cookie")));
    EXPECT_THAT(told(client_.get(away.url("/abroad"))
                         .follow(http::follow::standard)
                         .basic("user", secret("pass"))),
                Not(HasSubstr("Authorization")));
    EXPECT_THAT(told(client_.get(server_.url("/302/end"))
                         .follow(http::follow::standard)
                         .basic("user", secret("pass"))),
                HasSubstr("Authorization: Basic"));
}

TEST_P(client_redirects, go_to_safe_protocols_only) {
    const local_server away([](http::request& req) {
        return http::redirect(req.path() == "/file" ? "file://localhost/etc/passwd"
                                                    : "ftp://127.0.0.1/");
    });
    for (const char* path : {"/file", "/ftp"}) {
        EXPECT_EQ(failure_of(client_.get(away.url(path)).follow(http::follow::standard)),
                  std::errc::protocol_not_supported);
    }
    local_server_options so;
    so.self_signed = true;
    const local_server down([&](http::request&) { return http::redirect(server_.url("/end")); },
                            so);
    http::client_options o = options();
    o.insecure = true;
    o.follow = http::follow::standard;
    EXPECT_THAT(told(client_.get(down.url()).options(o)), StartsWith("GET /end"));
    o.safe_protocols = "https";
    EXPECT_EQ(failure_of(client_.get(down.url()).options(o)), std::errc::protocol_not_supported);
}

TEST_P(client_redirects, cannot_repeat_a_stream) {
    const auto write = [](http::body_writer& out) -> task<> { co_await out.write("once"); };
    const error e = failure_of(client_.post(server_.url("/307/end"))
                                   .follow(http::follow::standard)
                                   .body(http::body::stream(write)));
    EXPECT_EQ(e, std::errc::operation_not_supported) << e;
    EXPECT_THAT(e.message(), HasSubstr("the body cannot be sent again"));
    EXPECT_THAT(told(client_.post(server_.url("/303/end"))
                         .follow(http::follow::standard)
                         .body(http::body::stream(write))),
                StartsWith("GET /end\n"));
}

TEST_P(client_redirects, take_no_field_about_a_body_that_they_drop) {
    const auto put = [&](const char* path) {
        return client_.post(server_.url(path))
            .body("data", "text/x")
            .header("Content-Digest", "sha-256=:x:")
            .header("Repr-Digest", "sha-256=:y:")
            .header("Content-Location", "/a")
            .header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
            .header("X-Kept", "1")
            .follow(http::follow::standard)
            .wait()
            .body;
    };
    const std::string dropped = put("/303/end");
    EXPECT_THAT(dropped, StartsWith("GET /end\n"));
    EXPECT_THAT(dropped, HasSubstr("X-Kept: 1\n"));
    for (const char* name : {"Content-", "Digest", "Last-Modified"}) {
        EXPECT_THAT(dropped, Not(HasSubstr(name)));
    }
    const std::string kept = put("/307/end");
    EXPECT_THAT(kept, StartsWith("POST /end\n"));
    EXPECT_THAT(kept, HasSubstr("Content-Digest: sha-256=:x:\n"));
}

TEST_P(client_redirects, without_a_location_are_responses) {
    const local_server odd([](http::request&) { return http::response(http::status::found); });
    const auto r = client_.get(odd.url()).follow(http::follow::standard).wait();
    EXPECT_EQ(r.status, http::status::found);
}

TEST_P(client_redirects, may_be_challenged_anew) {
    const auto challenge = [](http::request& req) {
        const bool first = req.path() == "/first";
        const std::string nonce = first ? "nonce=\"one\"" : "nonce=\"two\"";
        if (req.header("Authorization").find(nonce) == std::string_view::npos) {
            http::response r(http::status::unauthorized);
            r.set("WWW-Authenticate", "Digest realm=\"r\", qop=\"auth\", " + nonce);
            return r;
        }
        return first ? http::redirect("/second") : http::response("let in");
    };
    const local_server server(challenge);
    http::client client(options());
    const auto r = client.get(server.url("/first"))
                       .digest("ada", secret("x"))
                       .follow(http::follow::standard)
                       .wait();
    EXPECT_EQ(r.status, http::status::ok);
    EXPECT_EQ(r.body, "let in");
}

INSTANTIATE_TEST_SUITE_P(over, client_redirects, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
