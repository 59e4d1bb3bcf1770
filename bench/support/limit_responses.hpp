#pragma once

// The part of HTTP that the limits understand, on every kernel interface alike: of a request only
// the blank line that ends one without a body; the response has the length of the one that
// examples/hello gives.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace bench {

// The state of one connection of a limit.
class limit_peer {
public:
    std::size_t owed = 0;     // bytes of responses that the socket did not take yet
    bool keep_alive = false;  // the first read decides which response this connection gets

    // Takes what was read; gives how many requests end in it.
    std::size_t take(std::string_view bytes) {
        const std::size_t requests = count_ends(bytes);
        if (!seen_) {
            seen_ = true;
            keep_alive = bytes.find("eep-") != bytes.npos;
        }
        return requests;
    }
    bool seen() const { return seen_; }

private:
    static constexpr std::string_view blank_line = "\r\n\r\n";

    std::size_t count_ends(std::string_view bytes) {
        std::size_t count = 0;
        const char* at = bytes.data();
        const char* const end = at + bytes.size();
        while (matched_ != 0 && at != end) step(*at++, count);
        const char* rest = at;
        while (const auto* feed = static_cast<const char*>(
                   std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) {
            at = feed + 1;
            if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') {
                ++count;
                at += 2;
                rest = at;
            }
            if (at == end) break;
        }
        // The last three bytes may begin a blank line.
        for (rest = std::max(rest, end - std::min<std::ptrdiff_t>(3, end - rest)); rest != end;) {
            step(*rest++, count);
        }
        return count;
    }

    void step(char byte, std::size_t& count) {
        if (byte == blank_line[matched_]) {
            if (++matched_ == blank_line.size()) {
                matched_ = 0;
                ++count;
            }
        } else {
            matched_ = byte == '\r' ? 1 : 0;
        }
    }

    unsigned char matched_ = 0;  // how much of the blank line ended the last read
    bool seen_ = false;
};

// Blocks of repeated responses, from which any number of them is sent.
class limit_responses {
public:
    limit_responses() {
        constexpr std::size_t copies = 256;
        for (std::size_t i = 0; i < copies; ++i) {
            plain_ += plain_response;
            keep_alive_ += keep_alive_response;
        }
    }

    static std::size_t size_for(const limit_peer& peer) {
        return peer.keep_alive ? keep_alive_response.size() : plain_response.size();
    }

    // The next bytes of what is owed, as many as one block has.
    std::string_view next_for(const limit_peer& peer) const {
        const std::string& block = peer.keep_alive ? keep_alive_ : plain_;
        const std::size_t unit = size_for(peer);
        const std::size_t skip = peer.owed % unit == 0 ? 0 : unit - peer.owed % unit;
        return std::string_view(block).substr(skip, peer.owed);
    }

private:
    static constexpr std::string_view plain_response =
        "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
        "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 14\r\n\r\nHello, World!\n";
    // ab speaks HTTP/1.0, and keeps a connection only where the response says so.
    static constexpr std::string_view keep_alive_response =
        "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
        "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 14\r\n"
        "Connection: keep-alive\r\n\r\nHello, World!\n";

    std::string plain_;
    std::string keep_alive_;
};

}  // namespace bench
