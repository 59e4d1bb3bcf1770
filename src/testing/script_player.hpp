#pragma once

#include "testing/journal.hpp"

#include <coracle/net/byte_stream.hpp>

namespace coracle::testing::detail {

/// Plays a script on one connection, and keeps its record. What the script says of a connection is
/// all that it does: a peer that goes, or says something else, ends it.
class script_player {
public:
    script_player(const script& s, const scripted_peer_options& o, journal& j, std::size_t index,
                  std::unique_ptr<net::byte_stream> stream)
        : script_(&s), options_(&o), journal_(&j), index_(index), stream_(std::move(stream)),
          wire_(stream_.get()) {}
    ~script_player();
    script_player(const script_player&) = delete;
    script_player& operator=(const script_player&) = delete;

    task<> play();
    void fail(std::string why);

private:
    /// Takes a step. Gives whether the script goes on.
    task<bool> take(const step& s);
    task<bool> take_reading(const step& s);
    task<bool> start_tls();
    task<bool> receive_more();
    task<bool> read_until(const std::string& text);
    task<bool> read_exactly(std::uint64_t bytes);
    task<bool> read_to_end();
    task<bool> expect(const std::string& bytes);
    task<bool> send(std::string_view bytes);
    task<bool> send_slowly(const step& s);
    task<bool> send_endlessly(const step& s);
    task<bool> stand_still(const step& s);
    task<> close();

    bool begins_with_tls() const;
    void mismatch(const std::string& wanted);
    template <class F>
    void note(F f) {
        journal_->change(index_, f);
    }

    const script* script_;
    const scripted_peer_options* options_;
    journal* journal_;
    std::size_t index_;
    std::unique_ptr<net::byte_stream> stream_;
    net::byte_stream* wire_;  ///< beneath TLS
    std::string pending_;     ///< received, and not used up by a step
    bool secured_ = false;
    bool closed_ = false;
};

}  // namespace coracle::testing::detail
