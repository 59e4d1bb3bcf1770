// HTTP/1.1 over input and output of one's own: reads requests from standard input and writes
// responses to standard output, as a program that inetd starts does. Try it:
//     printf 'POST /shout HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nboat' | own_io
#include <coracle/http/h1.hpp>

#include <cctype>
#include <iostream>
#include <string>

using namespace coracle::http;

namespace {

/// Bytes that came and were not used yet.
std::string input;

bool read_more() {
    char block[4096];
    std::cin.read(block, 1);
    const auto more = std::cin ? std::cin.readsome(block + 1, sizeof block - 1) : -1;
    if (more >= 0) input.append(block, static_cast<std::size_t>(more) + 1);
    return more >= 0;
}

void respond(status code, const std::string& body, bool keep_alive, bool with_body = true) {
    const std::string length = std::to_string(body.size());
    const field fields[] = {
        {"Content-Length", length, field_id::content_length},
        {"Connection", keep_alive ? "keep-alive" : "close", field_id::connection}};
    std::string out;
    h1::append_response_head(out, code, fields);
    std::cout << out << (with_body ? body : "") << std::flush;
}

/// Reads a body of announced length or in chunks; false when it is broken or cut.
bool read_body(const h1::request_head& head, std::string& body) {
    h1::chunked_decoder decoder;
    std::uint64_t left = head.content_length;
    for (;;) {
        if (head.framing == h1::body_framing::chunked) {
            const h1::chunk_event e = decoder.decode(input);
            body += e.data;
            input.erase(0, e.consumed);
            if (e.status == h1::chunk_status::error) return false;
            if (e.status == h1::chunk_status::end) return true;
            if (e.status == h1::chunk_status::data) continue;
        } else {
            const std::string piece = input.substr(0, static_cast<std::size_t>(left));
            body += piece;
            input.erase(0, piece.size());
            left -= piece.size();
            if (left == 0) return true;
        }
        if (!read_more()) return false;
    }
}

/// One request; false when the connection is at its end.
bool serve_one(h1::request_parser& parser) {
    h1::request_head head;
    h1::parse_result parsed = parser.parse(input, head);
    while (parsed.status == h1::parse_status::need_more) {
        if (!read_more()) return false;
        parsed = parser.parse(input, head);
    }
    if (parsed.status == h1::parse_status::error) {
        respond(h1::status_for(parsed.error), std::string(describe(parsed.error)) + '\n', false);
        return false;
    }
    // The head consists of views into the input, which is about to be used up.
    std::string text = std::string(head.method_text) + ' ' + std::string(head.path) + ' ';
    const bool keep_alive = head.keep_alive;
    const method asked = head.method;
    if (asked == method::connect) {
        respond(status::not_implemented, "no tunnels here\n", false);
        return false;
    }
    input.erase(0, parsed.consumed);
    if (!read_body(head, text)) return false;
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    // The response to HEAD tells the length of a body, and has none.
    respond(status::ok, text + '\n', keep_alive, asked != method::head);
    return keep_alive;
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    h1::request_parser parser;
    while (serve_one(parser)) {
    }
}
