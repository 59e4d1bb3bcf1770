#pragma once

#include "http/h2/frame.hpp"
#include "support/hpack_blocks.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/testing/peer.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing {

/// A request that offers to go on in HTTP/2 (RFC 7540 section 3.2), with the payload of SETTINGS.
inline std::string h2c_offer(std::string_view path, const std::string& settings = {},
                             std::string_view method = "GET") {
    return std::string(method) + ' ' + std::string(path) +
           " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
           "HTTP2-Settings: " +
           mime::base64_encode(settings, mime::base64_alphabet::url) + "\r\n\r\n";
}

/// A client that has offered an upgrade, and notes what comes on each stream.
class upgraded_client {
public:
    explicit upgraded_client(peer p) : peer_(std::move(p)) {}

    task<> offer_and_switch(const std::string& bytes) {
        co_await peer_.send(bytes);
        const std::string head = co_await peer_.read_until("\r\n\r\n");
        EXPECT_EQ(head,
                  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                  "Upgrade: h2c\r\n\r\n");
    }
    task<> send(std::string bytes) { return peer_.send(std::move(bytes)); }
    /// Returns the fields and the content of the response, or "reset" behind what came of it.
    task<std::string> response(std::uint32_t stream) {
        while (!ended_.contains(stream)) co_await read_frame();
        co_return text_[stream];
    }
    /// Reads one frame and returns its type.
    task<http::h2::frame_type> read_frame() {
        const std::string bytes = co_await peer_.read_exactly(http::h2::frame_header::size);
        const http::h2::frame_header h = http::h2::read_frame_header(bytes.data());
        payload.clear();
        if (h.length != 0) payload = co_await peer_.read_exactly(h.length);
        const bool is_head = h.type == http::h2::frame_type::headers;
        const bool is_content = h.type == http::h2::frame_type::data;
        if (is_head) text_[h.stream] += heads_.read(payload);
        if (is_content) text_[h.stream] += payload;
        const bool is_reset = h.type == http::h2::frame_type::rst_stream;
        if (is_reset) text_[h.stream] += "reset\n";
        const bool ends = (is_head || is_content) && h.has(http::h2::flag::end_stream);
        if (is_reset || ends) ended_[h.stream] = true;
        co_return h.type;
    }
    task<> read_to(http::h2::frame_type wanted) {
        for (;;) {
            const http::h2::frame_type came = co_await read_frame();
            if (came == wanted) co_return;
        }
    }
    peer& connection() noexcept { return peer_; }

    std::string payload;  ///< of the last frame

private:
    peer peer_;
    http::h2::hpack::reader heads_;
    std::map<std::uint32_t, std::string> text_;
    std::map<std::uint32_t, bool> ended_;
};

}  // namespace coracle::testing
