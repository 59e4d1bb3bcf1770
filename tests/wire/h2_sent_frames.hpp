#pragma once

#include "h2_frames.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::h2::test {

struct sent_frame {
    frame_header header;
    std::string payload;
};

/// The frames of what was sent.
inline std::vector<sent_frame> frames_in(std::string_view bytes) {
    std::vector<sent_frame> out;
    while (bytes.size() >= frame_header::size) {
        const frame_header header = read_frame_header(bytes.data());
        out.push_back({header, std::string(bytes.substr(frame_header::size, header.length))});
        bytes.remove_prefix(frame_header::size + header.length);
    }
    EXPECT_TRUE(bytes.empty());
    return out;
}

/// "1:16384 3:5!" for a frame of each of two streams, of which the second ends.
inline std::string data_frames(std::string_view bytes) {
    std::string out;
    for (const sent_frame& f : frames_in(bytes)) {
        if (f.header.type != frame_type::data) continue;
        if (!out.empty()) out += ' ';
        out += std::to_string(f.header.stream) + ':' + std::to_string(f.header.length);
        if (f.header.has(flag::end_stream)) out += '!';
    }
    return out;
}

/// A server that has received so many requests, and the windows to respond.
inline std::unique_ptr<recording> server_with(int requests,
                                              std::uint32_t connection_window = 1 << 20) {
    auto server = greeted_server();
    for (int i = 0; i < requests; ++i) {
        server->receive(headers(static_cast<std::uint32_t>(2 * i + 1), get_block()));
    }
    if (connection_window > default_window) {
        server->receive(window_update(0, connection_window - default_window));
    }
    server->take();
    server->log.clear();
    return server;
}

}  // namespace coracle::http::h2::test
