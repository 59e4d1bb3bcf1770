#pragma once

#include "testing/random.hpp"

#include <coracle/http/server.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scripted {

using coracle::testing::detail::random_source;

/// The requests of a scripted client, and the right responses.
struct request {
    std::string id;
    std::string head;
    std::string body;      ///< as it is sent, chunked or not
    bool waits = false;    ///< until everything before has its response
    bool expects = false;  ///< sends the body when it is told to go on
    bool ignored = false;  ///< the server reads no body
    int status = 200;
    bool has_body = true;  ///< of the response
    std::string response;
};

/// One client: when it comes, what it asks for, how it goes.
struct client {
    std::uint64_t number = 0;
    std::int64_t comes_after_us = 0;
    std::vector<request> requests;
    enum class leaving : std::uint8_t { close, reset, finish } leaves = leaving::close;
};

struct scenario {
    std::vector<client> clients;
    std::int64_t drains_after_us = -1;  ///< -1: when all clients have gone
    bool drains_midway() const noexcept { return drains_after_us >= 0; }
};

/// Bytes that tell where they belong.
inline std::string pattern(std::string_view id, std::size_t n) {
    std::uint32_t x = 2166136261;
    for (const char c : id) x = (x ^ static_cast<unsigned char>(c)) * 16777619;
    std::string text(n, '\0');
    for (char& c : text) {
        x = x * 1664525 + 1013904223;
        c = static_cast<char>('a' + (x >> 24) % 26);
    }
    return text;
}

class scenario_maker {
public:
    explicit scenario_maker(std::uint64_t seed) : chance_(seed * 2 + 1) {}

    scenario make() {
        scenario s;
        const std::uint64_t count = 1 + chance_.up_to(4);
        for (std::uint64_t i = 0; i != count; ++i) s.clients.push_back(make_client(i));
        if (chance_.one_in(3)) {
            s.drains_after_us = static_cast<std::int64_t>(size_up_to(3'000'000));
        }
        return s;
    }

private:
    client make_client(std::uint64_t number) {
        client c;
        c.number = number;
        c.comes_after_us = static_cast<std::int64_t>(size_up_to(200'000));
        const std::uint64_t count = 1 + chance_.up_to(7);
        const bool pipelines = chance_.one_in(2);
        for (std::uint64_t i = 0; i != count; ++i) {
            request r = make_request(std::to_string(number) + '-' + std::to_string(i));
            r.waits = pipelines ? chance_.one_in(6) : true;
            c.requests.push_back(std::move(r));
        }
        c.leaves = static_cast<client::leaving>(chance_.up_to(2));
        return c;
    }

    request make_request(std::string id) {
        request r;
        r.id = std::move(id);
        switch (chance_.up_to(11)) {
            case 0:
            case 1: return get(std::move(r), "/text", size_up_to(2000));
            case 2: return get(std::move(r), "/text", size_up_to(150'000));
            case 3: {
                const std::size_t n = size_up_to(150'000);
                r = get(std::move(r), "/text", n);
                r.head.replace(0, 3, "HEAD");
                r.has_body = false;
                return r;
            }
            case 4: return get(std::move(r), "/stream", size_up_to(60'000));
            case 5: r = get(std::move(r), "/later", size_up_to(500)); return r;
            case 6: return post(std::move(r), "/echo", size_up_to(20'000), false);
            case 7: return post(std::move(r), "/echo", size_up_to(20'000), true);
            case 8: return post(std::move(r), "/echo-stream", size_up_to(60'000), true);
            case 9:
                r = post(std::move(r), "/echo", 1 + size_up_to(20'000), chance_.one_in(2));
                add_field(r, "Expect: 100-continue\r\n");
                r.expects = true;
                return r;
            case 10:
                r = post(std::move(r), "/ignore", size_up_to(1000), chance_.one_in(2));
                r.ignored = true;
                r.response = "ignored";
                return r;
            default:
                r = get(std::move(r), "/throw", 1);
                r.status = 500;
                return r;
        }
    }

    static void add_field(request& r, std::string_view line) {
        r.head.insert(r.head.size() - 2, line);
    }

    request get(request r, const char* path, std::size_t n) {
        r.head = std::string("GET ") + path + "?id=" + r.id + "&n=" + std::to_string(n) +
                 " HTTP/1.1\r\nHost: x\r\n\r\n";
        if (chance_.one_in(3)) add_field(r, "X-Padding: " + pattern("p", size_up_to(300)) + "\r\n");
        r.response = pattern(r.id, n);
        return r;
    }

    request post(request r, const char* path, std::size_t n, bool chunked) {
        r.head = std::string("POST ") + path + "?id=" + r.id + " HTTP/1.1\r\nHost: x\r\n\r\n";
        r.response = pattern(r.id, n);
        if (!chunked) {
            add_field(r, "Content-Length: " + std::to_string(n) + "\r\n");
            r.body = r.response;
            return r;
        }
        add_field(r, "Transfer-Encoding: chunked\r\n");
        for (std::string_view left = r.response; !left.empty();) {
            const std::size_t size = 1 + chance_.up_to(size_up_to(left.size()) + 30);
            const std::string_view chunk = left.substr(0, size);
            left.remove_prefix(chunk.size());
            char line[24];
            std::snprintf(line, sizeof line, "%zx", chunk.size());
            r.body += line;
            if (chance_.one_in(20)) r.body += ";a=b";
            r.body.append("\r\n").append(chunk).append("\r\n");
        }
        r.body += "0\r\n";
        if (chance_.one_in(4)) r.body += "X-Trailer: 1\r\n";
        r.body += "\r\n";
        return r;
    }

    /// Small numbers as often as large ones.
    std::size_t size_up_to(std::size_t most) {
        std::size_t bound = most;
        for (std::uint64_t halvings = chance_.up_to(9); halvings != 0; --halvings) bound /= 2;
        return chance_.up_to(bound);
    }

    random_source chance_;
};

}  // namespace scripted
