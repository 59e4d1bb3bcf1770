#include <coracle/testing/peer.hpp>

#include <utility>

namespace coracle::testing {

task<> peer::send(std::string text) {
    co_await stream_->send(text);
}

task<> peer::read_more() {
    auto received = co_await as_result(stream_->receive());
    if (received) {
        pending_ += received->view();
        co_return;
    }
    const bool in_order = received.error() == errc::end_of_stream;
    if (in_order || received.error() == std::errc::connection_reset) {
        ending_ = in_order ? ending::finished : ending::reset;
    }
    throw_exception(std::move(received.error().on(pending_)));
}

task<std::string> peer::read_until(std::string text) {
    std::size_t at = 0;
    while ((at = pending_.find(text)) == std::string::npos) co_await read_more();
    std::string found = pending_.substr(0, at + text.size());
    pending_.erase(0, found.size());
    co_return found;
}

task<std::string> peer::read_exactly(std::size_t n) {
    while (pending_.size() < n) co_await read_more();
    std::string found = pending_.substr(0, n);
    pending_.erase(0, n);
    co_return found;
}

task<std::string> peer::read_to_end() {
    for (;;) {
        const auto more = co_await as_result(read_more());
        if (more) continue;
        if (!(more.error() == errc::end_of_stream) &&
            !(more.error() == std::errc::connection_reset)) {
            throw_exception(more.error());
        }
        co_return std::exchange(pending_, {});
    }
}

task<> peer::expect_close() {
    const std::string left = co_await read_to_end();
    if (!left.empty() || ending_ != ending::finished) {
        throw_exception(std::move(error(errc::protocol_error, "expect_close")
                                      .on(left.empty() ? std::string("a reset") : left)));
    }
}

task<peer> connect_peer(net::address to) {
    std::unique_ptr<net::byte_stream> stream = co_await net::connect(to);
    co_return peer(std::move(stream));
}

}  // namespace coracle::testing
