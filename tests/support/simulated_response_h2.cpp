// The counterpart over HTTP/2 of a request and response of HTTP/1.1.

#include "base/ascii.hpp"
#include "support/h2_peer.hpp"
#include "support/simulated_response.hpp"

#include <coracle/http/h1/chunked_decoder.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <optional>

namespace coracle::testing {
namespace {

using lines = h2_peer::lines;

/// A message of HTTP/1.1, taken apart.
struct message {
    std::string start;
    lines fields;
    std::string body;
    lines trailers;
};

using coracle::detail::lower;

std::string_view trim(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

/// Takes lines off up to an empty one; false where one is no field.
bool take_fields(std::string_view& text, lines& to) {
    for (;;) {
        const std::size_t end = text.find("\r\n");
        if (end == std::string_view::npos) return false;
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 2);
        if (line.empty()) return true;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return false;
        to.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
    }
}

bool has(const lines& all, std::string_view name, std::string_view value) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& f) { return f.first == name && lower(f.second) == value; });
}

bool take_chunks(std::string_view rest, message& to) {
    http::h1::chunked_decoder decoder;
    for (;;) {
        const auto e = decoder.decode(rest);
        rest.remove_prefix(e.consumed);
        to.body += e.data;
        if (e.status == http::h1::chunk_status::end) break;
        if (e.status != http::h1::chunk_status::data) return false;
    }
    for (const auto& f : decoder.trailers()) {
        to.trailers.emplace_back(lower(f.name), f.value);
    }
    return rest.empty();
}

/// Returns true for a field of the connection (RFC 9113 section 8.2.2), or of when a message was
/// sent.
bool is_of_version(std::string_view name) {
    for (const char* one : {"connection", "keep-alive", "transfer-encoding", "upgrade", "date",
                            "te", "host", "trailer"}) {
        if (name == one) return true;
    }
    return false;
}

std::optional<message> request_of(std::string_view text) {
    message m;
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    m.start = text.substr(0, end);
    text.remove_prefix(end + 2);
    if (!m.start.ends_with(" HTTP/1.1") || !take_fields(text, m.fields)) return std::nullopt;
    if (has(m.fields, "transfer-encoding", "chunked")) {
        if (!take_chunks(text, m)) return std::nullopt;
    } else {
        m.body = text;
    }
    for (const auto& [name, value] : m.fields) {
        // One that does not send all of what it announces is another test's.
        if (name == "content-length" && value != std::to_string(m.body.size())) return std::nullopt;
        if (name == "upgrade") return std::nullopt;
    }
    return m;
}

lines comparable(const lines& all) {
    lines some;
    for (const auto& f : all) {
        if (!is_of_version(f.first)) some.push_back(f);
    }
    std::sort(some.begin(), some.end());
    return some;
}

/// A text without what chance or the version decides: the boundary of parts, the case of names.
std::string comparable_text(std::string text, std::string_view type) {
    constexpr std::string_view parameter = "boundary=";
    const std::size_t at = type.find(parameter);
    const std::string boundary(at == type.npos ? "" : type.substr(at + parameter.size()));
    if (!boundary.empty()) {
        for (std::size_t i = 0; (i = text.find(boundary, i)) != text.npos;) {
            text.replace(i, boundary.size(), "boundary");
        }
    }
    return lower(text);
}

std::string type_of(const lines& all) {
    for (const auto& [name, value] : all) {
        if (name == "content-type") return value;
    }
    return {};
}

std::string text_of(const lines& all) {
    std::string text;
    for (const auto& [name, value] : comparable(all)) text += name + ": " + value + '\n';
    return comparable_text(std::move(text), type_of(all));
}

task<> play(h2_peer& p, const message& m, h2_message*& response) {
    const std::size_t space = m.start.find(' ');
    const std::string method = m.start.substr(0, space);
    const std::string target = m.start.substr(space + 1, m.start.rfind(' ') - space - 1);
    lines fields;
    for (const auto& f : m.fields) {
        if (!is_of_version(f.first)) fields.push_back(f);
        // RFC 9113 section 8.2.2: no more than this is said of codings.
        const bool takes_trailers = f.first == "te" && f.second.contains("trailers");
        if (takes_trailers) fields.emplace_back("te", "trailers");
    }
    const bool has_more = !m.body.empty() || !m.trailers.empty();
    response = &p.request(method, target, fields, !has_more);
    if (!m.body.empty()) p.write(*response, m.body, m.trailers.empty());
    const auto sent = [&] { return response->sent || response->over(); };
    co_await p.until(sent);
    if (!m.trailers.empty() && !response->over()) {
        std::vector<http::field> trailers;
        for (const auto& [n, v] : m.trailers) trailers.push_back({n, v, http::find_field_id(n)});
        p.session().send_head(*response, {}, trailers, true);
    }
    co_await p.until_over(*response);
}

}  // namespace

void expect_same_over_http_2(const simulated_response& a, const http::handler& h,
                             std::string_view request, http::server_options options) {
    const auto asked = request_of(request);
    if (!asked) return;
    SCOPED_TRACE("over HTTP/2: " + std::string(request.substr(0, 300)));
    message first;
    std::string_view head = a.head;
    head.remove_prefix(std::min(head.size(), head.find("\r\n") + 2));
    take_fields(head, first.fields);
    std::string_view trailers = a.trailers;
    take_fields(trailers, first.trailers);
    const auto talk = [&](http::server& server) -> task<> {
        h2_peer p(co_await connect_peer(server.addresses().front()));
        h2_message* response = nullptr;
        const auto all = [&]() -> task<> { co_await play(p, *asked, response); };
        co_await as_result(with_timeout(std::chrono::minutes(10), all));
        if (response == nullptr) co_return;
        EXPECT_EQ(response->ended, a.whole);
        // One that was cut at once may have sent its head, or not.
        if (a.head.empty()) co_return;
        EXPECT_EQ(response->status, a.status());
        EXPECT_EQ(text_of(response->fields), text_of(first.fields));
        if (a.whole) {
            EXPECT_EQ(comparable_text(response->content, type_of(response->fields)),
                      comparable_text(a.body, type_of(first.fields)));
        }
        EXPECT_EQ(comparable(response->trailers), comparable(first.trailers));
        std::string interim;
        for (const int code : response->interim) interim += std::to_string(code) + ' ';
        std::string expected;
        constexpr std::string_view start = "HTTP/1.1 ";
        for (std::size_t at = 0; (at = a.interim.find(start, at)) != std::string::npos;) {
            at += start.size();
            expected += a.interim.substr(at, 3) + ' ';
        }
        EXPECT_EQ(interim, expected);
    };
    detail::serve_once(h, std::move(options), talk);
}

}  // namespace coracle::testing
