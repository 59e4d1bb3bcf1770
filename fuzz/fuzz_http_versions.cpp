// Requests over HTTP/1.1 and over HTTP/2, from our client to our server. The input says
// what they are: method, path, fields, a body and how it is cut, and what is responded. Checked:
// the handler sees the same, and so does the caller.
#include <coracle/http/client.hpp>
#include <coracle/http/server.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;

namespace {

/// Takes the input apart, front to back.
class reader {
public:
    reader(const std::uint8_t* data, std::size_t size)
        : left_(reinterpret_cast<const char*>(data), size) {}
    bool empty() const noexcept { return left_.empty(); }
    unsigned number() noexcept {
        if (left_.empty()) return 0;
        const auto n = static_cast<unsigned char>(left_.front());
        left_.remove_prefix(1);
        return n;
    }
    std::string text() {
        const std::string_view t = left_.substr(0, number());
        left_.remove_prefix(t.size());
        return std::string(t);
    }

private:
    std::string_view left_;
};

struct message {
    std::string method;
    std::string target;
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;
    bool has_body = false;
    bool streams = false;
    std::string response;
    unsigned status = 200;
    bool response_streams = false;
};

/// Every byte that has no place in a target is escaped.
std::string target_of(const std::string& bytes) {
    std::string t = "/";
    for (const char c : bytes) {
        const bool plain = (c >= '!' && c <= '~') &&
                           std::string_view("\"<>\\^`{|}#").find(c) == std::string_view::npos;
        char escaped[4];
        std::snprintf(escaped, sizeof escaped, "%%%02X", static_cast<unsigned char>(c));
        t += plain ? std::string(1, c) : std::string(escaped);
    }
    return t;
}

/// A value without control bytes, and without blanks at its ends.
std::string value_of(std::string bytes) {
    std::erase_if(bytes, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    while (bytes.starts_with(' ')) bytes.erase(0, 1);
    while (bytes.ends_with(' ')) bytes.pop_back();
    return bytes;
}

std::vector<message> messages_in(reader in) {
    constexpr std::array<const char*, 8> methods{"GET",    "HEAD",    "POST",  "PUT",
                                                 "DELETE", "OPTIONS", "PATCH", "BREW"};
    constexpr std::array<const char*, 8> names{"Accept",  "Cookie",         "X-One", "x-two",
                                               "Referer", "Accept-Charset", "Range", "If-Match"};
    constexpr std::array<unsigned, 6> codes{200, 201, 404, 500, 204, 304};
    std::vector<message> all;
    while (!in.empty() && all.size() != 4) {
        message m;
        m.method = methods[in.number() % methods.size()];
        m.target = target_of(in.text());
        for (unsigned n = in.number() % 5; n != 0; --n) {
            const std::string name = names[in.number() % names.size()];
            // Several lines of Cookie are one over HTTP/2 (RFC 9113 section 8.2.3).
            const auto is_there = [&name](const auto& f) { return f.first == name; };
            if (name == "Cookie" && std::ranges::any_of(m.fields, is_there)) continue;
            m.fields.emplace_back(name, value_of(in.text()));
        }
        const unsigned flags = in.number();
        m.has_body = (flags & 1) != 0;
        m.streams = (flags & 2) != 0;
        m.response_streams = (flags & 4) != 0;
        m.status = codes[(flags >> 3) % codes.size()];
        for (unsigned n = in.number() % 8; n != 0; --n) m.body += in.text();
        m.response = in.text();
        all.push_back(std::move(m));
    }
    return all;
}

/// Fields that say how a version frames a message, or when it was sent.
bool is_of_version(std::string_view name) {
    constexpr std::array<std::string_view, 5> those{"connection", "transfer-encoding",
                                                    "content-length", "date", "host"};
    return std::ranges::find(those, name) != those.end();
}

std::string text_of(const http::fields& all) {
    std::string text;
    for (const http::field& f : all) {
        std::string name(f.name);
        for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        if (!is_of_version(name)) text += name + "=" + std::string(f.value) + '\n';
    }
    return text;
}

task<http::response> respond(http::request& req, std::string* seen, const message* m) {
    *seen += std::string(req.method_text()) + ' ' + std::string(req.target()) + ' ' +
             std::string(req.path()) + ' ' + std::string(req.query_text()) + ' ' +
             std::string(req.host()) + ' ' + std::string(req.header("Host")) + '\n' +
             text_of(req.fields());
    *seen += co_await req.body().text() + '\n';
    http::response r;
    if (m->response_streams) {
        const std::string* const text = &m->response;
        r = http::stream([text](http::body_writer& out) -> task<> { co_await out.write(*text); },
                         "text/plain");
    } else {
        r = http::response(m->response);
    }
    r.set_status(static_cast<http::status>(m->status));
    co_return r;
}

http::call call_for(http::client& client, const message& m, const std::string& url) {
    auto c = client.request(m.method, url + m.target);
    for (const auto& [name, value] : m.fields) c.add_header(name, value);
    if (!m.has_body) return c;
    if (!m.streams) {
        c.body(http::body(std::string(m.body)), "text/plain");
        return c;
    }
    const std::string* const text = &m.body;
    c.body(http::body::stream([text](http::body_writer& out) -> task<> {
               const std::string_view all = *text;
               co_await out.write(all.substr(0, all.size() / 2));
               co_await out.write(all.substr(all.size() / 2));
           }),
           "text/plain");
    return c;
}

/// Returns what the handler and the caller saw, one after the other.
std::string seen_over(http::version_choice version, const std::vector<message>& messages) {
    std::string seen;
    testing::simulation sim;
    sim.run([&]() -> task<> {
        std::size_t at = 0;
        testing::local_server server(*loop::current(), [&](http::request& req) {
            return respond(req, &seen, &messages[at]);
        });
        http::client_options o;
        o.proxy_from_environment = false;
        o.http_version = version;
        http::client client(o);
        const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
        for (const message& m : messages) {
            http::call c = call_for(client, m, url);
            auto asking = c.full();
            const auto r = co_await as_result(std::move(asking));
            if (r) {
                seen += std::to_string(static_cast<unsigned>(r->status)) + '\n' +
                        text_of(r->fields) + r->body + '\n';
            } else {
                seen += "failed: " + r.error().code().message() + '\n';
            }
            ++at;
        }
        server.stop();
        co_await server.stopped();
    });
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<message> messages = messages_in(reader(data, size));
    if (messages.empty()) return 0;
    const std::string old = seen_over(http::version_choice::http_1_1, messages);
    const std::string now = seen_over(http::version_choice::http_2, messages);
    if (old == now) return 0;
    std::fprintf(stderr, "over HTTP/1.1:\n%s\nover HTTP/2:\n%s\n", old.c_str(), now.c_str());
    std::abort();
}
