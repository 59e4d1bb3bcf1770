#pragma once

#include "support/h2_script.hpp"
#include "support/test_ca.hpp"

#include <coracle/testing/peer.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/stream.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace coracle::testing {

/// A server with TLS that speaks both versions, and does over HTTP/2 what `on_end` says.
class reluctant_server {
public:
    h2_script_connection::handler on_head;
    h2_script_connection::handler on_end;
    unsigned over_h2 = 0;            ///< connections
    std::vector<std::string> heads;  ///< of requests over HTTP/1.1
    std::string response = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold";
    /// Makes the response to a head over HTTP/1.1, in place of `response`.
    std::function<std::string(const std::string& head)> respond;

    reluctant_server()
        : context_(options()),
          listener_(
              net::listener::open(*loop::current(), net::address::parse("127.0.0.1:0").value())
                  .value()) {
        context_.offer({"h2", "http/1.1"});
    }
    std::string url() const { return "https://" + listener_.local().to_string() + '/'; }

    task<> serve(task_group& group) {
        for (;;) {
            std::unique_ptr<net::byte_stream> s = co_await listener_.accept();
            streams_.push_back(std::move(s));
            group.spawn([this, n = streams_.size() - 1] { return serve_one(n); });
        }
    }

private:
    static tls::server_options options() {
        const test_ca ca;
        tls::server_options o;
        o.certificates.push_back(ca.issue({.names = {"localhost", "127.0.0.1"}}));
        return o;
    }
    task<> serve_one(std::size_t n) {
        auto shaking = tls::accept(context_, std::move(streams_[n]));
        std::unique_ptr<tls::stream> s = co_await std::move(shaking);
        if (s->protocol() == "h2") {
            ++over_h2;
            connections_.push_back(std::make_unique<h2_script_connection>(std::move(s), limits_,
                                                                          on_head, on_end, false));
            co_await connections_.back()->run();
            co_return;
        }
        peer p(std::move(s));
        for (;;) {
            auto reading = p.read_until("\r\n\r\n");
            auto head = co_await as_result(std::move(reading));
            if (!head) co_return;
            heads.push_back(*head);
            std::string sent = respond ? respond(*head) : response;
            co_await p.send(std::move(sent));
        }
    }

    http::h2_limits limits_;
    tls::server_context context_;
    net::listener listener_;
    std::vector<std::unique_ptr<net::byte_stream>> streams_;
    std::vector<std::unique_ptr<h2_script_connection>> connections_;
};

}  // namespace coracle::testing
