#include "http/h2/session.hpp"
#include "require.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A session of either side that is given structured frames: their types, flags, streams and
// payloads come from the input, so that most of it gets past the headers. Whatever comes, each
// stream that was opened ends at most once, memory is bounded by the limits, and what the session
// sends are whole frames.

using namespace coracle::http::h2;
using coracle::http::field;

namespace {

class driver final : session_events {
public:
    driver(role side, std::uint8_t behaviour, bool narrow)
        : limits_{narrow ? narrow_limits : coracle::http::h2_limits{}},
          is_server_{side == role::server}, behaviour_{behaviour}, session{side, *this, limits_} {}

    struct one final : stream {
        bool over_seen = false;
        std::uint64_t unread = 0;
        std::string_view piece;
    };

    void request() {
        static constexpr field control[] = {
            {":method", "GET"}, {":scheme", "https"}, {":path", "/"}, {":authority", "a"}};
        auto& s = *streams_.emplace_back(std::make_unique<one>());
        if (session.open(s, control, {}, (behaviour_ & 1) != 0)) return;
        streams_.pop_back();
    }
    void flush() {
        while (session.wants_to_write()) {
            std::vector<std::string_view> views;
            session.gather(20'000, views);
            if (views.empty()) {
                session.written();
                return;
            }
            std::string bytes;
            for (const std::string_view view : views) bytes += view;
            session.written();
            check_frames(bytes);
        }
    }
    void consume_all() {
        for (const auto& s : streams_) {
            session.consume(*s, std::exchange(s->unread, 0), now);
        }
    }
    instant now{1};

private:
    void check_frames(std::string_view bytes) {
        if (bytes.starts_with(client_preface)) bytes.remove_prefix(client_preface.size());
        while (!bytes.empty()) {
            require(bytes.size() >= frame_header::size);
            const frame_header header = read_frame_header(bytes.data());
            require(header.length <= default_max_frame_size &&
                    bytes.size() >= frame_header::size + header.length);
            bytes.remove_prefix(frame_header::size + header.length);
        }
    }
    stream* open() override {
        if ((behaviour_ & 2) != 0 && streams_.size() % 4 == 3) return nullptr;
        std::size_t open = 0;
        std::uint64_t unread = 0;
        for (const auto& s : streams_) {
            open += s->over() ? 0U : 1U;
            unread += s->unread;
        }
        require(!is_server_ || open < limits_.streams);
        require(unread <= std::max<std::uint32_t>(limits_.connection_window, 65'535));
        return streams_.emplace_back(std::make_unique<one>()).get();
    }
    void head_received(stream& s, const head& message, bool) override {
        require(message.fields.size() <= limits_.fields);
        std::size_t bytes = 0;
        for (const field& f : message.fields) bytes += f.name.size() + f.value.size();
        require(bytes <= limits_.head);
        if (message.code != 0) return;
        static constexpr field ok[] = {{":status", "200"}};
        session.send_head(s, ok, message.fields, (behaviour_ & 4) != 0);
        if ((behaviour_ & 4) != 0) return;
        auto& mine = static_cast<one&>(s);
        mine.piece = content_;
        static_cast<void>(session.send_data(s, {&mine.piece, 1}, true));
    }
    void head_too_large(stream& s, head_fault) override { session.reset(s, error_code::cancel); }
    void data_received(stream& s, std::string_view piece) override {
        require(!piece.empty());
        static_cast<one&>(s).unread += piece.size();
        if ((behaviour_ & 8) == 0)
            session.consume(s, std::exchange(static_cast<one&>(s).unread, 0), now);
        if ((behaviour_ & 16) != 0) session.reset(s, error_code::cancel);
    }
    void end_received(stream&, const head*) override {}
    void sent(stream&) override {}
    void closed(stream& s) override { over(s); }
    void failed(stream& s, error_code, bool) override {
        static_cast<one&>(s).unread = 0;
        over(s);
    }
    void over(stream& s) {
        require(!static_cast<one&>(s).over_seen);
        static_cast<one&>(s).over_seen = true;
    }
    void settings_received(const peer_settings&) override {}
    void goaway_received(std::uint32_t, error_code, std::string_view) override {}
    void pong_received(std::uint64_t) override {}
    void limit_reached(limit_kind) override {}

    /// Such as short inputs can reach.
    static constexpr coracle::http::h2_limits narrow_limits{.streams = 3,
                                                            .head = 600,
                                                            .heads = 1000,
                                                            .fields = 6,
                                                            .compressed_head = 300,
                                                            .continuations = 2,
                                                            .trailers = 300,
                                                            .trailer_fields = 2,
                                                            .resets = 3,
                                                            .resets_per_second = 1,
                                                            .reset_handlers = 2,
                                                            .pings = 3,
                                                            .settings_frames = 2,
                                                            .settings_entries = 2,
                                                            .idle_frames = 4,
                                                            .idle_frames_per_second = 1,
                                                            .empty_data = 2,
                                                            .small_data = 2000,
                                                            .queued_control = 100,
                                                            .interim_responses = 2,
                                                            .stream_window = 300,
                                                            .max_stream_window = 600,
                                                            .connection_window = 65'535};
    const coracle::http::h2_limits limits_;
    const bool is_server_;
    const std::string content_ = std::string(70'000, 'c');
    std::uint8_t behaviour_;
    std::vector<std::unique_ptr<one>> streams_;

public:
    coracle::http::h2::session session;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    const role side = (input[0] & 1) != 0 ? role::client : role::server;
    driver d(side, static_cast<std::uint8_t>(input[1]), (input[0] & 4) != 0);
    std::string_view rest = input.substr(2);
    if (side == role::server && (input[0] & 2) != 0) {
        head request;
        request.method_text = "GET";
        request.path = "/";
        d.session.begin_upgraded(rest.substr(0, 3 * setting_size), request, d.now);
        rest.remove_prefix(std::min(rest.size(), 3 * setting_size));
    }
    std::string settings(frame_header::size, '\0');
    write_frame_header(settings.data(), {0, frame_type::settings, 0, 0});
    d.session.receive(side == role::server ? std::string(client_preface) + settings : settings,
                      d.now);
    if (side == role::client) {
        for (int i = 0; i < 3; ++i) d.request();
    }
    // Each frame: type, flags, stream, and the size of its payload in one byte.
    while (rest.size() >= 4) {
        const auto payload = rest.substr(4, static_cast<unsigned char>(rest[3]));
        std::string frame(frame_header::size, '\0');
        write_frame_header(
            frame.data(),
            {static_cast<std::uint32_t>(payload.size()), static_cast<frame_type>(rest[0] & 0x1f),
             static_cast<std::uint8_t>(rest[1]), static_cast<std::uint32_t>(rest[2] & 0x3f)});
        frame += payload;
        rest.remove_prefix(4 + payload.size());
        d.now += std::chrono::milliseconds(1);
        const std::size_t half = frame.size() / 2;
        d.session.receive(std::string_view(frame).substr(0, half), d.now);
        d.session.receive(std::string_view(frame).substr(half), d.now);
        if ((frame[3] & 2) != 0) d.flush();
        if ((frame[4] & 16) != 0) d.consume_all();
    }
    d.flush();
    return 0;
}
