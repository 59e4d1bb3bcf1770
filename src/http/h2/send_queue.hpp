#pragma once

#include "http/h2/stream.hpp"

#include <array>

namespace coracle::http::h2 {

/// The streams that have content to send and a window to send it in, in the order of RFC 9218
/// section 10: by urgency; within one urgency, streams that are not incremental one after the
/// other, the others in rotation.
class send_queue {
public:
    void add(stream& s) noexcept {
        if (!s.linked()) (s.left_ == 0 ? ends_ : levels_[s.priority_.urgency]).push_back(s);
    }
    void remove(stream& s) noexcept { s.unlink(); }

    /// Returns the stream to send from next, or null.
    [[nodiscard]] stream* next() noexcept {
        if (stream* end = ends_.front()) return end;
        for (auto& level : levels_) {
            if (stream* first = level.front()) return first;
        }
        return nullptr;
    }

    /// To be called after a frame of `s`, the next stream, was made and `s` has more content.
    void sent(stream& s) noexcept {
        if (!s.priority_.incremental) return;
        remove(s);
        add(s);
    }

    void change(stream& s, priority value) noexcept {
        const bool waits = s.linked();
        remove(s);
        s.priority_ = value;
        if (waits) add(s);
    }

private:
    intrusive_list<stream> ends_;  ///< an empty frame that ends its stream needs no window
    std::array<intrusive_list<stream>, 8> levels_;
};

}  // namespace coracle::http::h2
