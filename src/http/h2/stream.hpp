#pragma once

#include "http/h2/content_source.hpp"
#include "http/h2/error.hpp"
#include "http/h2/priority.hpp"
#include "http/h2/receive_window.hpp"

#include <coracle/base/detail/intrusive_list.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace coracle::http::h2 {

/// The session's part of a stream. The connection derives its own type from it and owns the
/// objects. A stream must live until it is over (`session_events::closed`, `failed`, or after
/// `session::reset`), and while `sending()` returns true.
class stream : list_hook {
public:
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
    /// The peer has sent the end of its message.
    [[nodiscard]] bool received_all() const noexcept { return remote_ended_; }
    /// The end of our message is on its way.
    [[nodiscard]] bool sent_all() const noexcept { return local_ended_; }
    /// The session has removed the stream: nothing may be sent on it.
    [[nodiscard]] bool over() const noexcept { return id_ == 0 || over_; }
    /// Returns true while the session refers to content of `session::send_data` or `send_from`.
    [[nodiscard]] bool sending() const noexcept { return offered_; }
    /// Returns true while this content waits for the peer to open the stream's window.
    [[nodiscard]] bool is_held() const noexcept { return left_ > 0 && send_window_ <= 0; }
    /// Returns true if the peer has to open the stream's window before all of this content is out.
    [[nodiscard]] bool needs_window() const noexcept {
        return left_ > 0 && std::cmp_greater(left_, send_window_);
    }
    /// Returns the bytes of this content that are in no frame yet.
    [[nodiscard]] std::uint64_t unsent() const noexcept { return left_; }
    /// Returns the bytes of the last content that were in no frame when it was given up.
    [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

protected:
    stream() noexcept : window_(default_window, default_window) {}
    ~stream() = default;

private:
    friend class session;
    friend class send_queue;
    template <class T>
    friend class coracle::intrusive_list;

    std::uint32_t id_ = 0;
    std::uint32_t charged_ = 0;  ///< charge for small frames that wait to be consumed
    /// `session::gathers_` when the end of our message was queued without content.
    std::uint32_t end_queued_at_ = 0;
    std::uint32_t interim_ = 0;  ///< interim responses received
    std::int64_t send_window_ = 0;
    std::uint64_t unread_ = 0;     ///< bytes received and not consumed
    std::uint64_t received_ = 0;   ///< bytes of content
    std::int64_t announced_ = -1;  ///< by Content-Length
    receive_window window_;
    std::span<const std::string_view> pieces_;  ///< the rest of the content to send
    std::size_t taken_ = 0;                     ///< bytes sent of the first piece
    content_source* source_ = nullptr;          ///< has the content, in place of the pieces
    std::uint64_t left_ = 0;                    ///< bytes left to send
    std::uint64_t given_up_ = 0;
    priority priority_;
    bool head_received_ = false;
    bool no_content_ = false;  ///< the response has no content, whatever it announces
    bool connects_ = false;    ///< the request is a CONNECT
    bool remote_ended_ = false;
    bool local_ended_ = false;
    bool end_after_ = false;  ///< our message ends after this content
    bool offered_ = false;    ///< content was given and has not been reported as sent
    bool in_batch_ = false;   ///< the batch has some of it
    bool over_ = false;
};

}  // namespace coracle::http::h2
