#pragma once

#include "http/h2/frame.hpp"
#include "http/h2/head_writer.hpp"
#include "http/h2/session.hpp"

#include <coracle/base/buffer.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Frames made by hand, and sessions whose events are written down as text.
namespace coracle::http::h2::test {

inline std::string frame(frame_type type, std::uint8_t flags, std::uint32_t stream,
                         std::string_view payload = {}) {
    std::string out(frame_header::size, '\0');
    write_frame_header(out.data(),
                       {static_cast<std::uint32_t>(payload.size()), type, flags, stream});
    return out += payload;
}

inline std::string repeated(int n, std::string_view bytes) {
    std::string all;
    for (int i = 0; i != n; ++i) all += bytes;
    return all;
}

inline std::string u32(std::uint32_t value) {
    std::string out(4, '\0');
    write_u32(out.data(), value);
    return out;
}

inline std::string setting_entry(setting id, std::uint32_t value) {
    std::string out(2, '\0');
    write_u16(out.data(), static_cast<std::uint16_t>(id));
    return out += u32(value);
}

inline std::string settings_frame(std::string_view entries = {}) {
    return frame(frame_type::settings, 0, 0, entries);
}

inline std::string rst(std::uint32_t stream, error_code code) {
    return frame(frame_type::rst_stream, 0, stream, u32(static_cast<std::uint32_t>(code)));
}

inline std::string window_update(std::uint32_t stream, std::uint32_t increment) {
    return frame(frame_type::window_update, 0, stream, u32(increment));
}

inline std::string data(std::uint32_t stream, std::string_view bytes, bool end = false) {
    return frame(frame_type::data, end ? flag::end_stream : std::uint8_t{0}, stream, bytes);
}

/// A block of literals without indexing or Huffman coding, which needs no state: names may be
/// anything.
class block {
public:
    block& add(std::string_view name, std::string_view value) {
        bytes_ += '\0';
        append(name);
        append(value);
        return *this;
    }
    block& add_all(const block& other) {
        bytes_ += other.bytes_;
        return *this;
    }
    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    void append(std::string_view text) {
        if (text.size() < 127) {
            bytes_ += static_cast<char>(text.size());
        } else {
            bytes_ += '\x7f';
            std::size_t rest = text.size() - 127;
            for (; rest >= 128; rest >>= 7) bytes_ += static_cast<char>(rest % 128 + 128);
            bytes_ += static_cast<char>(rest);
        }
        bytes_ += text;
    }
    std::string bytes_;
};

inline block get_block(std::string_view path = "/") {
    return block()
        .add(":method", "GET")
        .add(":scheme", "http")
        .add(":path", path)
        .add(":authority", "a");
}

inline block post_block() {
    return block()
        .add(":method", "POST")
        .add(":scheme", "http")
        .add(":path", "/")
        .add(":authority", "a");
}

inline std::string headers(std::uint32_t stream, const block& fields, bool end = true,
                           bool whole = true) {
    const auto flags =
        static_cast<std::uint8_t>((end ? flag::end_stream : 0) | (whole ? flag::end_headers : 0));
    return frame(frame_type::headers, flags, stream, fields.bytes());
}

/// A stream of a recording session.
struct recorded_stream : stream {
    std::string content;
};

/// A session whose events become lines of text.
class recording final : session_events {
public:
    explicit recording(role side, coracle::http::h2_limits limits = {})
        : limits_{limits}, session{side, *this, limits_} {}

    void receive(std::string_view bytes) { session.receive(bytes, now); }
    /// All that there is to send, as sent.
    std::string take(std::size_t limit = 1 << 20) {
        std::string out;
        while (session.wants_to_write()) {
            std::vector<std::string_view> views;
            session.gather(limit, views);
            const std::size_t before = out.size();
            for (const std::string_view view : views) out += view;
            session.written();
            if (out.size() == before) break;
        }
        return out;
    }
    recorded_stream& at(std::uint32_t id) { return *streams_.at(id); }
    recorded_stream& request(std::string_view method = "GET", bool end = true,
                             std::string_view path = "/") {
        auto made = std::make_unique<recorded_stream>();
        const field control[] = {
            {":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "a"}};
        if (!session.open(*made, control, {}, end)) throw std::runtime_error("no place");
        recorded_stream& s = *made;
        streams_[s.id()] = std::move(made);
        return s;
    }

    std::string log;
    instant now{1};
    bool refuses = false;
    bool consumes = true;
    bool resets = false;  ///< each stream, at the first piece of its content
    bool reuses = false;  ///< the object of the last stream, where it is over

private:
    stream* open() override {
        if (refuses) return nullptr;
        if (reuses && !streams_.empty() && streams_.rbegin()->second->over())
            opened_ = std::move(streams_.extract(std::prev(streams_.end())).mapped());
        else
            opened_ = std::make_unique<recorded_stream>();
        return opened_.get();
    }
    void name(stream& s) {
        if (opened_ && opened_.get() == &s) streams_[s.id()] = std::move(opened_);
    }
    void head_received(stream& s, const head& message, bool end) override {
        name(s);
        line(s, message.code != 0
                    ? std::to_string(message.code)
                    : std::string(message.method_text) + ' ' + std::string(message.path));
        if (!message.protocol.empty()) log += " protocol=" + std::string(message.protocol);
        for (const field& f : message.fields)
            log += ' ' + std::string(f.name) + '=' + std::string(f.value);
        log += end ? " end\n" : "\n";
    }
    void head_too_large(stream& s, head_fault) override {
        name(s);
        line(s, "too large\n");
    }
    void data_received(stream& s, std::string_view piece) override {
        static_cast<recorded_stream&>(s).content += piece;
        if (resets) {
            session.reset(s, error_code::cancel);
            return;
        }
        if (consumes) session.consume(s, piece.size(), now);
    }
    void end_received(stream& s, const head* trailers) override {
        line(s, "end");
        if (trailers != nullptr) {
            for (const field& f : trailers->fields)
                log += ' ' + std::string(f.name) + '=' + std::string(f.value);
        }
        log += '\n';
    }
    void sent(stream& s) override { line(s, "sent\n"); }
    void closed(stream& s) override { line(s, "closed\n"); }
    void failed(stream& s, error_code code, bool by_peer) override {
        name(s);
        line(s, "failed " + std::string(describe(code)) + (by_peer ? " by peer\n" : "\n"));
    }
    void settings_received(const peer_settings&) override { log += "settings\n"; }
    void goaway_received(std::uint32_t last, error_code code, std::string_view) override {
        log += "goaway " + std::to_string(last) + ' ' + std::string(describe(code)) + '\n';
    }
    void pong_received(std::uint64_t payload) override {
        log += "pong " + std::to_string(payload) + '\n';
    }
    void limit_reached(limit_kind kind) override {
        log += std::string("limit ") + to_string(kind) + '\n';
    }

    void line(stream& s, const std::string& text) { log += std::to_string(s.id()) + ": " + text; }

    coracle::http::h2_limits limits_;
    std::map<std::uint32_t, std::unique_ptr<recorded_stream>> streams_;
    std::unique_ptr<recorded_stream> opened_;

public:
    h2::session session;
};

/// A server that has had the preface and the settings of its client.
inline std::unique_ptr<recording> greeted_server(const coracle::http::h2_limits& limits = {}) {
    auto server = std::make_unique<recording>(role::server, limits);
    server->receive(std::string(client_preface) + settings_frame());
    server->take();
    server->log.clear();
    return server;
}

inline std::unique_ptr<recording> greeted_client(const coracle::http::h2_limits& limits = {}) {
    auto client = std::make_unique<recording>(role::client, limits);
    client->receive(settings_frame());
    client->take();
    client->log.clear();
    return client;
}

}  // namespace coracle::http::h2::test
