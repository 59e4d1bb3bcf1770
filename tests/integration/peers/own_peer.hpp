#pragma once

#include "http/client/auth/challenge.hpp"
#include "support/temporary_directory.hpp"
#include "tls/digest.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/files.hpp>
#include <coracle/http/router.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing {

/// HELLO, TEXT and FILE of tests/support/http_peers/process.py.
inline constexpr std::string_view hello_of_peers = "Hello, World!";

inline std::string text_of_peers() {
    std::string text;
    for (int i = 0; i != 2000; ++i) {
        text.append("line ").append(std::to_string(i));
        text += " of a text that is worth compressing\n";
    }
    return text;
}

inline std::string file_of_peers() {
    std::string bytes;
    for (int i = 0; i != 100'000; ++i) bytes += static_cast<char>(7 * i + i / 251);
    return bytes;
}

/// Lets in a client that meets its challenge with the password (RFC 7616 section 3.4), and takes
/// each count of a nonce once.
class digest_door {
public:
    explicit digest_door(tls::detail::hash function) : function_(function) {}

    http::response respond(http::request& req) {
        if (opens_to(req)) return hello_of_peers;
        const bool is_md5 = function_ == tls::detail::hash::md5;
        const std::string nonce = "nonce " + std::to_string(nonces_.size());
        nonces_[nonce].clear();
        http::response refused(http::status::unauthorized);
        refused.set("WWW-Authenticate", "Digest realm=\"a realm\", qop=\"auth\", nonce=\"" + nonce +
                                            "\", algorithm=" + (is_md5 ? "MD5" : "SHA-256"));
        return refused;
    }

private:
    bool opens_to(const http::request& req) {
        std::vector<http::detail::challenge> told;
        http::detail::read_challenges(req.header("Authorization"), told);
        if (told.empty() || told[0].scheme != "digest") return false;
        const auto part = [&](const char* name) {
            const std::string* const value = told[0].find(name);
            return value == nullptr ? std::string() : *value;
        };
        const auto nonce = nonces_.find(part("nonce"));
        if (nonce == nonces_.end() || part("uri") != req.target()) return false;
        const auto key = digest(function_, {"user:a realm:secret"}).value();
        const auto what = digest(function_, {req.method_text(), ":", req.target()}).value();
        const auto expected = digest(function_, {key, ":", nonce->first, ":", part("nc"), ":",
                                                 part("cnonce"), ":auth:", what});
        return part("username") == "user" && part("response") == expected &&
               nonce->second.insert(part("nc")).second;
    }

    tls::detail::hash function_;
    std::map<std::string, std::set<std::string>> nonces_;  ///< with the counts that were used
};

/// Our server in this process, with the behaviours that process.py lists. Not `http10`: a server
/// responds with its own version, whatever the client's is (RFC 9110 section 6.2).
class own_peer {
public:
    own_peer() : server_(routes()), refusing_(say_hello, one_request_each()) {}

    /// The URL of each behaviour, and "base".
    std::map<std::string, std::string> urls() const {
        std::map<std::string, std::string> all;
        for (const std::string& name : behaviours_) all[name] = server_.url('/' + name);
        all["no_keep_alive"] = refusing_.url();
        all["base"] = server_.url("");
        return all;
    }

private:
    static http::response say_hello(http::request&) { return hello_of_peers; }

    static local_server::options one_request_each() {
        local_server::options o;
        o.limits.requests = 1;
        return o;
    }

    http::router routes() {
        plays("hello", say_hello);
        redirect();
        compress();
        files_.write("file", file_of_peers());
        plays("file", http::serve_files(files_.path()));
        use_cookies();
        ask_for_credentials();
        take_time();
        plays("trailers", [](http::request&) {
            http::response r = http::stream(write_with_trailer);
            r.set("Trailer", "X-Sum");
            return r;
        });
        plays("echo", [](http::request& req) -> task<http::response> {
            http::response r(co_await req.body().text(64 * 1024 * 1024));
            r.set("X-Method", req.method_text());
            co_return r;
        });
        plays("close_early", [](http::request&) { return falls_short(write_hello); });
        plays("no_response", [](http::request&) { return falls_short(write_nothing); });
        return std::move(routes_);
    }

    void redirect() {
        for (const http::status s :
             {http::status::moved_permanently, http::status::found, http::status::see_other,
              http::status::temporary_redirect, http::status::permanent_redirect}) {
            plays("redirect_" + std::to_string(static_cast<unsigned>(s)),
                  [s](http::request&) { return http::redirect("/echo", s); });
        }
        plays("redirect_loop", [](http::request&) { return http::redirect("/redirect_loop"); });
    }

    void compress() {
        for (const auto c : {http::content_coding::gzip, http::content_coding::deflate,
                             http::content_coding::brotli, http::content_coding::zstd}) {
            const http::compress in_this({.codings = {c}});
            plays(std::string(to_string(c)), in_this(http::handler([](http::request&) {
                      return http::stream(write_text, http::response::plain);
                  })));
        }
    }

    void use_cookies() {
        plays("cookies", [](http::request&) {
            return http::response("set").add_cookie(http::set_cookie("flavour", "oat").path("/"));
        });
        plays("cookie_wanted", [](http::request& req) -> http::response {
            if (req.header("Cookie") != "flavour=oat") return http::status::forbidden;
            return hello_of_peers;
        });
    }

    void ask_for_credentials() {
        plays("basic", [](http::request& req) -> http::response {
            if (req.header("Authorization") == "Basic " + mime::base64_encode("user:secret")) {
                return hello_of_peers;
            }
            return http::response(http::status::unauthorized)
                .set("WWW-Authenticate", "Basic realm=\"a realm\"");
        });
        for (const auto& [name, function] :
             {std::pair("digest", tls::detail::hash::md5),
              std::pair("digest_sha256", tls::detail::hash::sha256)}) {
            plays(name, [door = std::make_shared<digest_door>(function)](http::request& req) {
                return door->respond(req);
            });
        }
    }

    void take_time() {
        plays("drip", [](http::request&) { return http::stream(write_slowly); });
        plays("delay", [](http::request& req) -> task<http::response> {
            co_await sleep_for(std::chrono::seconds(1));
            co_return say_hello(req);
        });
    }

    static task<> write_text(http::body_writer& out) {
        const std::string all = text_of_peers();
        for (std::size_t i = 0; i < all.size(); i += 5000) {
            co_await out.write(std::string_view(all).substr(i, 5000));
        }
    }

    static task<> write_slowly(http::body_writer& out) {
        for (int i = 0; i != 10; ++i) {
            co_await out.write("*");
            co_await sleep_for(std::chrono::milliseconds(100));
        }
    }

    static task<> write_with_trailer(http::body_writer& out) {
        co_await out.write(hello_of_peers);
        out.set_trailer("X-Sum", "abc");
    }

    static task<> write_hello(http::body_writer& out) { co_await out.write(hello_of_peers); }
    static task<> write_nothing(http::body_writer&) { co_return; }

    /// Announces more than `write` writes: the server resets the connection.
    static http::response falls_short(task<> (*write)(http::body_writer&)) {
        http::response r;
        r.set_body(http::body::stream(write, 100));
        return r;
    }

    template <class F>
    void plays(const std::string& name, F&& f) {
        routes_.any('/' + name, std::forward<F>(f));
        behaviours_.push_back(name);
    }

    temporary_directory files_;
    http::router routes_;
    std::vector<std::string> behaviours_;
    local_server server_;
    local_server refusing_;
};

}  // namespace coracle::testing
