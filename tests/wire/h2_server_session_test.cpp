#include "h2_sent_frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

using namespace coracle::http::h2;
using namespace coracle::http::h2::test;
using namespace std::literals;

namespace {

struct row {
    const char* name;
    std::string bytes;   // after preface and settings
    std::string log;     // of the events
    std::string output;  // a frame that must be among what is sent; empty: nothing is
};

std::string goaway_with(error_code code) {
    // The last stream and the debug data differ; the code is what counts.
    return u32(static_cast<std::uint32_t>(code));
}

std::vector<row> rows() {
    const block get = get_block();
    const std::string end_of_get = "1: GET / end\n1: end\n";
    return {
        {"a request without content", headers(1, get), end_of_get, ""},
        {"a request with content",
         headers(1, post_block(), false) + data(1, "ab") + data(1, "c", true),
         "1: POST /\n1: end\n", ""},
        {"padding of data",
         headers(1, post_block(), false) + frame(frame_type::data, flag::padded | flag::end_stream,
                                                 1,
                                                 "\x02"
                                                 "abc\0\0"s),
         "1: POST /\n1: end\n", ""},
        {"padding and priority of a head",
         frame(frame_type::headers,
               flag::padded | flag::priority | flag::end_stream | flag::end_headers, 1,
               "\x01" + u32(3) + "\x10" + get.bytes() + "\0"s),
         end_of_get, ""},
        {"a head in three frames",
         frame(frame_type::headers, flag::end_stream, 1, get.bytes().substr(0, 5)) +
             frame(frame_type::continuation, 0, 1, get.bytes().substr(5, 7)) +
             frame(frame_type::continuation, flag::end_headers, 1, get.bytes().substr(12)),
         end_of_get, ""},
        {"trailers",
         headers(1, post_block(), false) + data(1, "x") + headers(1, block().add("sum", "1")),
         "1: POST /\n1: end sum=1\n", ""},
        {"crumbs of a cookie are one field",
         headers(1, get_block().add("cookie", "a=1").add("x", "y").add("cookie", "b=2")),
         "1: GET / cookie=a=1; b=2 x=y end\n1: end\n", ""},
        {"a ping is sent back", frame(frame_type::ping, 0, 0, "12345678"), "",
         frame(frame_type::ping, flag::ack, 0, "12345678")},
        {"settings are acknowledged", settings_frame(setting_entry(setting::max_frame_size, 20000)),
         "settings\n", frame(frame_type::settings, flag::ack, 0)},
        {"an unknown frame is ignored",
         frame(static_cast<frame_type>(0x42), 0xff, 7, "what") + headers(1, get), end_of_get, ""},
        {"an unknown setting is ignored",
         settings_frame(setting_entry(static_cast<setting>(0x99), 7)), "settings\n", ""},
        {"the reserved bit is ignored",
         [&] {
             std::string bytes = headers(1, get);
             bytes[5] = static_cast<char>(bytes[5] | '\x80');
             return bytes;
         }(),
         end_of_get, ""},
        {"an extended connect",
         headers(1,
                 block()
                     .add(":method", "CONNECT")
                     .add(":protocol", "websocket")
                     .add(":scheme", "https")
                     .add(":path", "/chat")
                     .add(":authority", "a"),
                 false),
         "1: CONNECT /chat protocol=websocket\n", ""},
        {"a connect",
         headers(1, block().add(":method", "CONNECT").add(":authority", "a:443"), false),
         "1: CONNECT \n", ""},
        {"a reset by the peer", headers(1, post_block(), false) + rst(1, error_code::cancel),
         "1: POST /\n1: failed CANCEL by peer\n", ""},
        {"what only a head may hold is left out of trailers",
         headers(1, post_block(), false) +
             headers(1, block().add("content-length", "7").add("sum", "7").add("host", "b")),
         "1: POST /\n1: end sum=7\n", ""},
        {"blanks at the ends of values are taken off",
         headers(1, get_block("/\xc3\xa9?\xff").add("x", " \t1 2\t ").add("y", " \t ")),
         "1: GET /\xc3\xa9?\xff x=1 2 y= end\n1: end\n", ""},
        {"a priority update",
         headers(1, post_block(), false) + frame(frame_type::priority_update, 0, 0, u32(1) + "u=0"),
         "1: POST /\n", ""},
    };
}

/// Bytes that end the connection, and why.
struct fatal_row {
    const char* name;
    std::string bytes;
    error_code code;
};

std::vector<fatal_row> fatal_rows() {
    const block get = get_block();
    using enum error_code;
    const auto f = [](frame_type t, std::uint8_t flags, std::uint32_t s, std::string_view p = {}) {
        return frame(t, flags, s, p);
    };
    return {
        {"data on stream 0", data(0, "x"), protocol_error},
        {"data on an idle stream", data(1, "x"), protocol_error},
        {"data on a closed stream", headers(3, get) + rst(3, cancel) + data(3, "x"), stream_closed},
        {"data on a stream that was passed over", headers(3, get) + data(1, "x"), stream_closed},
        {"headers on stream 0", headers(0, get), protocol_error},
        {"headers on an even stream", headers(2, get), protocol_error},
        {"headers on a stream that was passed over", headers(5, get) + headers(3, get),
         stream_closed},
        {"headers on a stream that was reset", headers(1, get) + rst(1, cancel) + headers(1, get),
         stream_closed},
        {"padding longer than data",
         headers(1, post_block(), false) + f(frame_type::data, flag::padded, 1,
                                             "\x05"
                                             "abc"),
         protocol_error},
        {"padding longer than a head",
         f(frame_type::headers, flag::padded | flag::end_headers, 1, "\x63" + get.bytes()),
         protocol_error},
        {"padding one byte longer than data",
         headers(1, post_block(), false) + f(frame_type::data, flag::padded, 1,
                                             "\x04"
                                             "abc"),
         protocol_error},
        {"continuation of a head that is whole",
         headers(1, get) + f(frame_type::continuation, flag::end_headers, 1), protocol_error},
        {"padded data without a length",
         headers(1, post_block(), false) + f(frame_type::data, flag::padded, 1), frame_size_error},
        {"a head too short for its priority",
         f(frame_type::headers, flag::priority | flag::end_headers, 1, "abc"), frame_size_error},
        {"continuation of nothing", f(frame_type::continuation, flag::end_headers, 1, get.bytes()),
         protocol_error},
        {"continuation of another stream",
         headers(1, get, true, false) + f(frame_type::continuation, flag::end_headers, 3, ""),
         protocol_error},
        {"a frame amid a head",
         headers(1, get, true, false) + f(frame_type::ping, 0, 0, "12345678"), protocol_error},
        {"an unknown frame amid a head",
         headers(1, get, true, false) + f(static_cast<frame_type>(0x42), 0, 1), protocol_error},
        {"a head that cannot be decompressed",
         f(frame_type::headers, flag::end_headers, 1, "\xff\xff\xff\xff\xff"), compression_error},
        {"a head that is cut within a field",
         f(frame_type::headers, flag::end_headers, 1, get.bytes().substr(0, 9)), compression_error},
        {"push by a client",
         f(frame_type::push_promise, flag::end_headers, 1, u32(2) + get.bytes()), protocol_error},
        {"rst of an idle stream", rst(1, cancel), protocol_error},
        {"rst of stream 0", rst(0, cancel), protocol_error},
        {"rst of three bytes", headers(1, get) + f(frame_type::rst_stream, 0, 1, "abc"),
         frame_size_error},
        {"settings of a stream", f(frame_type::settings, 0, 1), protocol_error},
        {"settings of five bytes", f(frame_type::settings, 0, 0, "abcde"), frame_size_error},
        {"an acknowledgement with settings",
         f(frame_type::settings, flag::ack, 0, setting_entry(setting::max_frame_size, 16384)),
         frame_size_error},
        {"enable_push of two", settings_frame(setting_entry(setting::enable_push, 2)),
         protocol_error},
        {"a window beyond all",
         settings_frame(setting_entry(setting::initial_window_size, 0x80000000)),
         flow_control_error},
        {"frames that are too small", settings_frame(setting_entry(setting::max_frame_size, 16383)),
         protocol_error},
        {"frames that are too large",
         settings_frame(setting_entry(setting::max_frame_size, 0x1000000)), protocol_error},
        {"enable_connect_protocol of two",
         settings_frame(setting_entry(setting::enable_connect_protocol, 2)), protocol_error},
        {"ping of a stream", f(frame_type::ping, 0, 1, "12345678"), protocol_error},
        {"ping of seven bytes", f(frame_type::ping, 0, 0, "1234567"), frame_size_error},
        {"goaway of a stream", f(frame_type::goaway, 0, 1, "12345678"), protocol_error},
        {"goaway of seven bytes", f(frame_type::goaway, 0, 0, "1234567"), frame_size_error},
        {"window update of three bytes", f(frame_type::window_update, 0, 0, "abc"),
         frame_size_error},
        {"window update by nothing", window_update(0, 0), protocol_error},
        {"window update of an idle stream", window_update(1, 1), protocol_error},
        {"a connection's window beyond all", window_update(0, 0x7fffffff), flow_control_error},
        {"a stream's window beyond all by settings",
         headers(1, post_block(), false) + window_update(1, 0x7fffffff - 65535) +
             settings_frame(setting_entry(setting::initial_window_size, 65536)),
         flow_control_error},
        {"priority of stream 0", f(frame_type::priority, 0, 0, u32(1) + "x"), protocol_error},
        {"priority update of a stream", f(frame_type::priority_update, 0, 1, u32(1) + "u=1"),
         protocol_error},
        {"priority update of three bytes", f(frame_type::priority_update, 0, 0, "abc"),
         frame_size_error},
        {"a frame beyond the largest", std::string("\x00\x40\x01\x00\x00\x00\x00\x00\x01", 9),
         frame_size_error},
    };
}

/// Bytes that end stream 1 alone.
std::vector<fatal_row> stream_rows() {
    using enum error_code;
    const auto bad = [](std::string_view name, std::string_view value) {
        return headers(1, get_block().add(name, value));
    };
    const auto request = [](auto... fields) {
        block b;
        const std::string_view all[] = {fields...};
        for (std::size_t i = 0; i < std::size(all); i += 2) b.add(all[i], all[i + 1]);
        return headers(1, b);
    };
    return {
        {"a capital letter in a name", bad("X-y", "1"), protocol_error},
        {"a blank in a name", bad("x y", "1"), protocol_error},
        {"an empty name", bad("", "1"), protocol_error},
        {"a line feed in a value", bad("x", "1\n2"), protocol_error},
        {"a NUL in a value", bad("x", "1\0"sv), protocol_error},
        {"connection", bad("connection", "close"), protocol_error},
        {"keep-alive", bad("keep-alive", "1"), protocol_error},
        {"proxy-connection", bad("proxy-connection", "1"), protocol_error},
        {"transfer-encoding", bad("transfer-encoding", "chunked"), protocol_error},
        {"upgrade", bad("upgrade", "h3"), protocol_error},
        {"te other than trailers", bad("te", "gzip"), protocol_error},
        {"a host that disagrees", bad("host", "b"), protocol_error},
        {"two hosts", headers(1, get_block().add("host", "a").add("host", "a")), protocol_error},
        {"an unknown pseudo-field", bad(":x", "1"), protocol_error},
        {"a pseudo-field behind a field",
         headers(1, block()
                        .add(":method", "GET")
                        .add(":scheme", "http")
                        .add("x", "1")
                        .add(":path", "/")
                        .add(":authority", "a")),
         protocol_error},
        {"a pseudo-field of responses", bad(":status", "200"), protocol_error},
        {"no method", request(":scheme", "http", ":path", "/", ":authority", "a"), protocol_error},
        {"no scheme", request(":method", "GET", ":path", "/", ":authority", "a"), protocol_error},
        {"no path", request(":method", "GET", ":scheme", "http", ":authority", "a"),
         protocol_error},
        {"no authority and no host", request(":method", "GET", ":scheme", "http", ":path", "/"),
         protocol_error},
        {"two methods",
         request(":method", "GET", ":method", "GET", ":scheme", "http", ":path", "/", ":authority",
                 "a"),
         protocol_error},
        {"two paths",
         request(":method", "GET", ":path", "/", ":scheme", "http", ":path", "/", ":authority",
                 "a"),
         protocol_error},
        {"an empty path",
         request(":method", "GET", ":scheme", "http", ":path", "", ":authority", "a"),
         protocol_error},
        {"a path without a slash",
         request(":method", "GET", ":scheme", "http", ":path", "x", ":authority", "a"),
         protocol_error},
        {"an asterisk for GET",
         request(":method", "GET", ":scheme", "http", ":path", "*", ":authority", "a"),
         protocol_error},
        {"a blank in a path",
         request(":method", "GET", ":scheme", "http", ":path", "/a b", ":authority", "a"),
         protocol_error},
        {"user information",
         request(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "u@a"),
         protocol_error},
        {"an authority beyond ASCII",
         request(":method", "GET", ":scheme", "http", ":path", "/", ":authority", "\xc3\xa4"),
         protocol_error},
        {"a protocol without connect",
         request(":method", "GET", ":protocol", "websocket", ":scheme", "http", ":path", "/",
                 ":authority", "a"),
         protocol_error},
        {"a connect with a path", request(":method", "CONNECT", ":path", "/", ":authority", "a:1"),
         protocol_error},
        {"a connect without a port", request(":method", "CONNECT", ":authority", "a"),
         protocol_error},
        {"a length that is none", bad("content-length", "1x"), protocol_error},
        {"a negative length", bad("content-length", "-1"), protocol_error},
        {"a length beyond all", bad("content-length", "9223372036854775808"), protocol_error},
        {"two lengths",
         headers(1, get_block().add("content-length", "0").add("content-length", "0")),
         protocol_error},
        {"a length and no content", bad("content-length", "1"), protocol_error},
        {"less than the length",
         headers(1, post_block().add("content-length", "3"), false) + data(1, "ab", true),
         protocol_error},
        {"more than the length",
         headers(1, post_block().add("content-length", "1"), false) + data(1, "ab"),
         protocol_error},
        {"less than the length, with trailers",
         headers(1, post_block().add("content-length", "3"), false) + data(1, "ab") +
             headers(1, block().add("x", "y")),
         protocol_error},
        {"trailers without an end",
         headers(1, post_block(), false) + headers(1, block().add("x", "y"), false),
         protocol_error},
        {"a pseudo-field in trailers",
         headers(1, post_block(), false) + headers(1, block().add(":path", "/")), protocol_error},
        {"a connection field in trailers",
         headers(1, post_block(), false) + headers(1, block().add("transfer-encoding", "chunked")),
         protocol_error},
        {"data behind the end", headers(1, get_block()) + data(1, "x"), stream_closed},
        {"a head behind the end", headers(1, get_block()) + headers(1, get_block()), stream_closed},
        {"a stream's window by nothing", headers(1, get_block()) + window_update(1, 0),
         protocol_error},
        {"a stream's window beyond all", headers(1, get_block()) + window_update(1, 0x7fffffff),
         flow_control_error},
        {"a stream that depends on itself",
         frame(frame_type::headers, flag::priority | flag::end_headers, 1,
               u32(1) + "x" + get_block().bytes()),
         protocol_error},
        {"priority of six bytes",
         headers(1, get_block()) + frame(frame_type::priority, 0, 1, "123456"), frame_size_error},
    };
}

/// Receives in pieces that end at `first`, `first + step` and so on.
void receive_cut(recording& server, std::string_view bytes, std::size_t first, std::size_t step) {
    for (std::size_t begin = 0, end = first; begin < bytes.size(); begin = end, end += step) {
        end = std::min(end, bytes.size());
        // A copy of its own, so that reading beyond it is found.
        const std::vector<char> piece(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                      bytes.begin() + static_cast<std::ptrdiff_t>(end));
        server.receive({piece.data(), piece.size()});
    }
}

TEST(h2_server_session, takes_the_end_of_a_head_for_no_head_that_came_before) {
    const block get = get_block();
    const auto server = greeted_server();
    recording& r = *server;
    for (const std::uint32_t id : {1U, 3U, 5U}) r.receive(headers(id, get));
    EXPECT_NE(r.log.find("5: GET / end\n"), std::string::npos) << r.log;
    // A field before the pseudo-fields.
    r.receive(frame(frame_type::headers, flag::end_stream, 7, block().add("x", "y").bytes()) +
              frame(frame_type::continuation, flag::end_headers, 7, get.bytes()));
    EXPECT_EQ(r.log.find("7: GET"), std::string::npos) << r.log;
    r.receive(headers(9, get));
    EXPECT_NE(r.log.find("9: GET / end\n"), std::string::npos) << r.log;
}

TEST(h2_server_session, reports_the_same_events_however_its_bytes_are_cut) {
    for (const row& r : rows()) {
        SCOPED_TRACE(r.name);
        const std::size_t size = r.bytes.size();
        for (std::size_t first = 1; first <= size; ++first) {
            const auto server = greeted_server();
            receive_cut(*server, r.bytes, first, size);
            ASSERT_EQ(server->log, r.log) << "cut at " << first;
            ASSERT_FALSE(server->session.failure().has_value());
            const std::string sent = server->take();
            if (!r.output.empty()) {
                ASSERT_NE(sent.find(r.output), std::string::npos);
            }
        }
        const auto server = greeted_server();
        receive_cut(*server, r.bytes, 1, 1);
        ASSERT_EQ(server->log, r.log) << "byte by byte";
    }
}

TEST(h2_server_session, ends_the_connection_for_what_the_rfc_calls_a_connection_error) {
    for (const fatal_row& r : fatal_rows()) {
        SCOPED_TRACE(r.name);
        for (const std::size_t step : {r.bytes.size(), std::size_t{1}}) {
            const auto server = greeted_server();
            receive_cut(*server, r.bytes, step, step);
            ASSERT_TRUE(server->session.failure().has_value());
            EXPECT_EQ(describe(*server->session.failure()), describe(r.code));
            const std::string sent = server->take();
            const std::size_t at = sent.find("\x07\0\0\0\0\0"sv);
            ASSERT_NE(at, std::string::npos) << "no GOAWAY";
            EXPECT_EQ(sent.substr(at + 10, 4), goaway_with(r.code));
            server->log.clear();
            server->receive(frame(frame_type::ping, 0, 0, "12345678"));
            EXPECT_EQ(server->take(), "") << "it goes on after its GOAWAY";
        }
    }
}

TEST(h2_server_session, ends_a_stream_alone_for_what_the_rfc_calls_a_stream_error) {
    for (const fatal_row& r : stream_rows()) {
        SCOPED_TRACE(r.name);
        for (const std::size_t step : {r.bytes.size(), std::size_t{1}}) {
            const auto server = greeted_server();
            receive_cut(*server, r.bytes, step, step);
            ASSERT_FALSE(server->session.failure().has_value())
                << describe(*server->session.failure());
            const std::string sent = server->take();
            EXPECT_NE(sent.find(rst(1, r.code)), std::string::npos) << server->log;
            EXPECT_NE(server->log.find("1: failed " + std::string(describe(r.code)) + '\n'),
                      std::string::npos)
                << server->log;
            EXPECT_EQ(server->session.streams(), 0U);
            // The connection, and its compression, go on.
            server->log.clear();
            server->receive(headers(3, get_block("/next")));
            EXPECT_EQ(server->log, "3: GET /next end\n3: end\n");
        }
    }
}

namespace {

/// A literal with incremental indexing and a new name (RFC 7541 section 6.2.1).
std::string indexed_literal(std::string_view name, std::string_view value) {
    return '\x40' + std::string(1, static_cast<char>(name.size())) + std::string(name) +
           static_cast<char>(value.size()) + std::string(value);
}

/// Representations that refer to the newest entry of the dynamic table, 62.
constexpr std::string_view whole_entry = "\xbe";
std::string name_of_entry(std::string_view value) {
    return "\x0f\x2f" + std::string(1, static_cast<char>(value.size())) + std::string(value);
}
std::string indexed_with_name_of_entry(std::string_view value) {
    return '\x7e' + std::string(1, static_cast<char>(value.size())) + std::string(value);
}

/// Receives a request with these fields. Returns what the session reports, of its fields only.
std::string report_of(recording& server, std::uint32_t stream, std::string_view fields) {
    server.log.clear();
    server.receive(frame(frame_type::headers, flag::end_stream | flag::end_headers, stream,
                         get_block().bytes() + std::string(fields)));
    server.take();
    const std::string id = std::to_string(stream);
    if (server.log == id + ": failed PROTOCOL_ERROR\n") return "malformed";
    const std::string before = id + ": GET / ";
    const std::string after = " end\n" + id + ": end\n";
    if (!server.log.starts_with(before) || !server.log.ends_with(after)) return server.log;
    return server.log.substr(before.size(), server.log.size() - before.size() - after.size());
}

}  // namespace

// A malformed head ends its stream alone; its entries stay in the table (RFC 9113 section 4.3).
TEST(h2_server_session, knows_a_malformed_entry_of_the_table_whenever_it_is_used) {
    const struct {
        std::string_view name;
        std::string_view value;
        const char* first;
        const char* whole;      // of it
        const char* with_name;  // and the value "x"
    } rows[] = {
        {"good", "v", "good=v", "good=v", "good=x"},
        {"Bad", "v", "malformed", "malformed", "malformed"},
        {"b d", "v", "malformed", "malformed", "malformed"},
        {"good", "a\rb", "malformed", "malformed", "good=x"},
        {"good", " v", "good=v", "good=v", "good=x"},
        {":made-up", "v", "malformed", "malformed", "malformed"},
        {"connection", "close", "malformed", "malformed", "malformed"},
    };
    for (const auto& r : rows) {
        SCOPED_TRACE(std::string(r.name) + ": " + std::string(r.value));
        const auto server = greeted_server();
        EXPECT_EQ(report_of(*server, 1, indexed_literal(r.name, r.value)), r.first);
        EXPECT_EQ(report_of(*server, 3, whole_entry), r.whole);
        EXPECT_EQ(report_of(*server, 5, name_of_entry("x")), r.with_name);
        EXPECT_EQ(report_of(*server, 7, name_of_entry("\n")), "malformed");
        EXPECT_EQ(report_of(*server, 9, indexed_with_name_of_entry("x")), r.with_name);
        EXPECT_EQ(report_of(*server, 11, whole_entry), r.with_name);
        EXPECT_EQ(report_of(*server, 13, indexed_with_name_of_entry("\n")), "malformed");
        EXPECT_EQ(report_of(*server, 15, whole_entry), "malformed");
    }
}

namespace {

/// The request of an upgrade, as HTTP/1.1 has read it.
head upgrading_request() {
    head request;
    request.method = coracle::http::method::get;
    request.method_text = "GET";
    request.authority = "a";
    request.path = "/old";
    return request;
}

}  // namespace

TEST(h2_server_session, begins_with_a_request_that_came_over_http_1) {
    recording server(role::server);
    server.session.begin_upgraded(setting_entry(setting::initial_window_size, 3),
                                  upgrading_request(), server.now);
    EXPECT_EQ(server.log, "1: GET /old end\n1: end\n");
    const coracle::http::field control[] = {{":status", "200"}};
    server.session.send_head(server.at(1), control, {}, false);
    const std::string_view piece = "12345";
    ASSERT_TRUE(server.session.send_data(server.at(1), {&piece, 1}, true));
    const std::string sent = server.take();
    EXPECT_TRUE(sent.ends_with(data(1, "123"))) << "the window of its settings";
    server.log.clear();
    server.receive(std::string(client_preface) + settings_frame() + window_update(1, 65535));
    EXPECT_TRUE(server.take().ends_with(data(1, "45", true)));
    EXPECT_EQ(server.log, "settings\n1: sent\n1: closed\n");
    server.log.clear();
    server.receive(headers(3, get_block("/new")));
    EXPECT_EQ(server.log, "3: GET /new end\n3: end\n");
    server.receive(headers(1, get_block()));
    EXPECT_TRUE(server.session.failure().has_value()) << "stream 1 was used";
}

TEST(h2_server_session, receives_nothing_more_on_the_stream_of_an_upgrade) {
    for (const std::string& bytes : {data(1, "x"), headers(1, get_block())}) {
        recording server(role::server);
        server.session.begin_upgraded({}, upgrading_request(), server.now);
        server.take();
        server.receive(std::string(client_preface) + settings_frame() + bytes);
        EXPECT_NE(server.log.find("1: failed STREAM_CLOSED\n"), std::string::npos) << server.log;
    }
}

TEST(h2_server_session, refuses_an_upgrade_with_bad_settings) {
    using enum error_code;
    const std::pair<std::string, error_code> rows[] = {
        {"12345", frame_size_error},
        {setting_entry(setting::enable_push, 2), protocol_error},
        {setting_entry(setting::initial_window_size, 0x80000000), flow_control_error},
        {repeated(1000, setting_entry(setting::enable_push, 0)), enhance_your_calm},
    };
    for (const auto& [settings, code] : rows) {
        recording server(role::server);
        server.session.begin_upgraded(settings, upgrading_request(), server.now);
        ASSERT_TRUE(server.session.failure().has_value());
        EXPECT_EQ(describe(*server.session.failure()), describe(code));
        EXPECT_EQ(server.log.find("GET"), std::string::npos) << server.log;
    }
}

/// A peer that sends content to one stream as far as the windows let it.
struct sender {
    explicit sender(recording& to) : server(&to) {}

    /// Sends up to `most` bytes; returns how many.
    std::size_t send(std::size_t most) {
        std::size_t sent = 0;
        while (sent != most) {
            const std::size_t n = std::min({most - sent, connection, window, std::size_t{16'384}});
            if (n == 0) break;
            server->receive(data(id, std::string(n, 'x')));
            connection -= n;
            window -= n;
            sent += n;
            take_updates();
        }
        return sent;
    }
    void take_updates() {
        for (const sent_frame& f : frames_in(server->take())) {
            if (f.header.type != frame_type::window_update) continue;
            const std::uint32_t more = read_u32(f.payload.data());
            if (f.header.stream == 0) ++updates, connection += more;
            if (f.header.stream == id) window += more;
        }
    }

    recording* server;
    std::uint32_t id = 1;
    std::size_t connection = coracle::http::h2_limits().connection_window;
    std::size_t window = coracle::http::h2_limits().stream_window;
    int updates = 0;  ///< of the connection
};

TEST(h2_server_session, counts_all_crumbs_of_a_cookie_as_one_field) {
    coracle::http::h2_limits limits;
    limits.fields = 3;
    for (const int others : {2, 3}) {
        for (const bool first : {false, true}) {
            const auto server = greeted_server(limits);
            block crumbs;
            block rest;
            for (int i = 0; i != 20; ++i) crumbs.add("cookie", "a=1");
            for (int i = 0; i != others; ++i) rest.add("x", "y");
            block all = get_block();
            all.add_all(first ? crumbs : rest).add_all(first ? rest : crumbs);
            server->receive(headers(1, all));
            const bool refused = server->log.find("1: too large\n") != std::string::npos;
            EXPECT_EQ(refused, others == 3) << server->log;
        }
    }
}

TEST(h2_server_session, gives_the_window_back_in_halves_where_all_is_read) {
    const auto server = greeted_server();
    sender from(*server);
    server->receive(headers(1, post_block(), false));
    EXPECT_EQ(from.send(8 << 20), std::size_t{8 << 20});
    EXPECT_LE(from.updates, 8);
}

// Content that nobody reads yet must not stop the streams beside it.
TEST(h2_server_session, gives_the_window_back_early_where_much_is_unread) {
    const std::size_t stream = coracle::http::h2_limits().stream_window;
    for (const std::size_t unread : {9U, 20U, 31U}) {
        const auto server = greeted_server();
        sender from(*server);
        server->consumes = false;
        for (std::size_t i = 0; i != unread; ++i) {
            from.id = static_cast<std::uint32_t>(2 * i + 1);
            from.window = stream;
            server->receive(headers(from.id, post_block(), false));
            EXPECT_EQ(from.send(stream), stream);
        }
        server->consumes = true;
        from.id += 2;
        from.window = stream;
        server->receive(headers(from.id, post_block(), false));
        EXPECT_EQ(from.send(8 << 20), std::size_t{8 << 20}) << unread;
        // All comes back once the others are read too.
        for (std::size_t i = 0; i != unread; ++i) {
            server->session.consume(server->at(static_cast<std::uint32_t>(2 * i + 1)), stream,
                                    server->now);
        }
        from.take_updates();
        EXPECT_GT(from.connection, coracle::http::h2_limits().connection_window / 2);
        EXPECT_EQ(static_cast<std::int64_t>(from.connection),
                  server->session.receive_window_left());
    }
}

// Content that was read before is given back although nothing is read any more.
TEST(h2_server_session, gives_the_window_back_where_nothing_more_is_read) {
    const coracle::http::h2_limits limits;
    const auto server = greeted_server();
    sender from(*server);
    server->receive(headers(from.id, post_block(), false));
    const std::size_t read = limits.connection_window / 2 - 16'384;
    EXPECT_EQ(from.send(read), read);
    EXPECT_EQ(from.updates, 0);
    server->consumes = false;
    std::size_t unread = 0;
    for (int i = 0; i != 17; ++i) {
        from.id += 2;
        from.window = limits.stream_window;
        server->receive(headers(from.id, post_block(), false));
        unread += from.send(limits.stream_window);
    }
    EXPECT_EQ(unread, 17 * limits.stream_window);
    server->consumes = true;
    from.id += 2;
    from.window = limits.stream_window;
    server->receive(headers(from.id, post_block(), false));
    EXPECT_EQ(from.send(8 << 20), std::size_t{8 << 20});
}

TEST(h2_server_session, refuses_what_does_not_begin_with_the_preface) {
    for (const std::string_view bytes :
         {"GET / HTTP/1.1\r\n\r\n"sv, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r "sv}) {
        recording server(role::server);
        server.take();
        server.receive(bytes);
        EXPECT_TRUE(server.session.failure().has_value());
    }
    recording server(role::server);
    server.receive(std::string(client_preface) + frame(frame_type::ping, 0, 0, "12345678"));
    EXPECT_TRUE(server.session.failure().has_value());
}

}  // namespace
