#pragma once

#include "mail_reading.hpp"

#include <coracle/http/events.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

/// A received mail with its envelope. Immutable.
struct kept_mail {
    testing::sink_message envelope;  ///< and the text
    mail_reading reading;

    std::size_t number() const noexcept { return envelope.number; }
    /// Bytes of memory, about.
    std::size_t size() const noexcept { return envelope.size() + reading.words.size(); }
};

struct mailbox_limits {
    std::size_t messages = 1000;                   ///< that are kept
    std::size_t bytes = 256 * 1024 * 1024;         ///< of all that are kept
    std::size_t message_bytes = 32 * 1024 * 1024;  ///< of one; a larger one is refused
};

/// The latest mails: removes the oldest when a new one does not fit. Publishes changes. Belongs to
/// one loop.
class mailbox {
public:
    explicit mailbox(const mailbox_limits& limits) : limits_(limits) {}

    void add(testing::sink_message& m);
    /// Returns the mail of that number; null if it was removed.
    std::shared_ptr<const kept_mail> find(std::size_t number) const;
    bool remove(std::size_t number);
    void clear();

    /// Returns the mails, newest first. `query`: words that a mail must all contain, in any case;
    /// empty: all mails.
    std::vector<std::shared_ptr<const kept_mail>> list(std::string_view query) const;
    std::size_t count() const noexcept { return mails_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }
    const mailbox_limits& limits() const noexcept { return limits_; }

    /// Events: "mail" with the number of a new one, "removed" with a number, "cleared".
    http::event_topic& changes() noexcept { return changes_; }

private:
    void forget_oldest();

    mailbox_limits limits_;
    std::deque<std::shared_ptr<const kept_mail>> mails_;
    std::size_t bytes_ = 0;
    http::event_topic changes_;
};

}  // namespace coracle::tool
