#include "http/client/h1/h1_connection.hpp"

#include "http/client/h1/head_pen.hpp"
#include "http/client/pool.hpp"
#include "http/h1/repair.hpp"
#include "http/h1/unfold.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

namespace coracle::http::detail {

namespace {

/// Returns true for faults that `repair_response_head` may mend.
bool is_repairable(h1::parse_error e) noexcept {
    switch (e) {
        case h1::parse_error::bare_line_feed:
        case h1::parse_error::space_before_colon:
        case h1::parse_error::unsupported_transfer_coding:
        case h1::parse_error::transfer_encoding_in_http_1_0:
        case h1::parse_error::transfer_encoding_with_content_length: return true;
        default: return false;
    }
}

}  // namespace

client_h1_connection::client_h1_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                                           const tls::session_info* secured)
    : client_connection(home, std::move(stream), secured),
      hangup_watch{&client_h1_connection::peer_gone} {}

client_h1_connection::~client_h1_connection() = default;

// ---- as a connection

client_exchange& client_h1_connection::begin_exchange() noexcept {
    ++uses_;
    room_ = buffer::default_capacity;
    sent_ = received_ = 0;
    cut_ = keeps_alive_ = left_http_ = false;
    content_.end();
    return *this;
}

bool client_h1_connection::begin_waiting(time_point until) noexcept {
    if (!alive() || !stream_->watch_hangup(this)) return false;
    arm(until);
    return true;
}

void client_h1_connection::end_waiting() noexcept {
    disarm();
    stream_->watch_hangup(nullptr);
}

void client_h1_connection::peer_gone(hangup_watch& w) noexcept {
    auto& self = static_cast<client_h1_connection&>(w);
    self.home().pool().discard_idle(self);
}

void client_h1_connection::end(bool reset) noexcept {
    if (alive()) stream_->close(reset);
    delete this;
}

void client_h1_connection::abandon() noexcept {
    fast_.reset();
    stream_->close(true);
    stream_.reset();
}

// ---- waiting

std::uint32_t client_h1_connection::largest_for(std::uint64_t most) const noexcept {
    if (content_.has_length()) most = std::min(most, *content_.left());
    constexpr std::uint64_t least = buffer::default_capacity;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, least, largest_block));
}

/// Chooses the block to receive into: the current one if it has spare capacity. As long as received
/// bytes fill their blocks, the next one is larger, up to `most`.
/// Returns false without memory.
bool client_h1_connection::prepare_receive(exchange_wait& w, std::uint32_t most) noexcept {
    if (input_ && input_.empty()) {
        const std::size_t filled = input_.capacity() - input_.spare_size();
        if (filled == input_.capacity()) {
            room_ *= 4;
        } else if (filled < input_.capacity() / 4 && !comes_fast()) {
            room_ = buffer::default_capacity;
        }
        input_.release();
    }
    room_ = std::min(room_, most);
    w.capacity = room_;
    if (!input_) return true;
    try {
        if (input_.spare_size() == 0) input_.reserve_spare(input_.capacity());
    } catch (const std::bad_alloc&) {
        return false;
    }
    w.into = std::move(input_);
    w.capacity = 0;
    return true;
}

bool client_h1_connection::start_wait(exchange_wait& w) noexcept {
    bool has_room = false;
    if (w.most() == 0) {
        has_room = prepare_receive(w, buffer::default_capacity);
    } else {
        // For a fast body the receive waits for a whole block.
        const std::uint64_t left = content_.left().value_or(~std::uint64_t{0});
        const bool is_full = input_ && input_.empty() && input_.spare_size() == 0;
        const bool is_fast = comes_fast() || (is_full && input_.capacity() == largest_block);
        has_room = prepare_receive(w, largest_for(w.most()));
        if (is_fast && room_ == largest_block && left >= room_) {
            // Without memory it is as one that is not fast.
            if (fast_ == nullptr) fast_.reset(new (std::nothrow) fast_body(*stream_));
            if (fast_ != nullptr) fast_->wait_for(room_);
        } else if (fast_ != nullptr) {
            fast_->stop();
        }
    }
    if (!has_room) {
        w.receive_operation::result = -ENOMEM;
        return true;
    }
    if (!stream_->start(w)) return false;
    received_by(w);
    return true;
}

void client_h1_connection::cancel_wait(exchange_wait& w) noexcept {
    stream_->cancel(w);
}

void client_h1_connection::received_by(exchange_wait& w) noexcept {
    if (fast_ != nullptr) fast_->came();
    if (w.receive_operation::result > 0) {
        received_ += static_cast<std::uint64_t>(w.receive_operation::result);
    }
    // A block that was lent is always returned.
    input_ = std::move(w.into);
}

std::expected<void, error> client_h1_connection::result_of(exchange_wait& w) {
    const std::int64_t n = w.receive_operation::result;
    if (n > 0) return {};
    if (n == 0) {
        if (!content_.ends_with_connection()) {
            return std::unexpected(error(errc::end_of_stream, exchange_wait::name, phase::receive));
        }
        // A body without a length ends with the connection.
        content_.end();
        keeps_alive_ = false;
        return {};
    }
    error e(stream_->code_of(n), exchange_wait::name, phase::receive);
    return std::unexpected(std::move(e.on(stream_->subject())));
}

// ---- the response

/// Puts the repaired head in the place of the one that came. Returns false where its end has not
/// come yet, within the limit.
bool client_h1_connection::repair_head() {
    const auto repaired = h1::repair_response_head(input_.view());
    // One that is too large is left for the parser to refuse.
    if (!repaired) return input_.size() > head_limit_;
    buffer whole;
    whole.reserve_spare(repaired->text.size() + input_.size() - repaired->size);
    whole.append(repaired->text);
    whole.append(input_.view().substr(repaired->size));
    input_ = std::move(whole);
    h1::unfold(input_.spare() - input_.size(), input_.size());
    return true;
}

head_state client_h1_connection::read_head(response_start& start, http::fields* of_interim) {
    if (input_.empty()) return head_state::partial;
    h1::response_head& head = home().pool().parsed_head();
    const h1::head_limits limits{
        .total = head_limit_, .fields = field_limit_, .field = head_limit_};
    h1::parse_result r = parser_.parse(input_.view(), asked_, head, limits);
    // The block is not shared, so its bytes may be changed.
    if (r.error == h1::parse_error::folded_field &&
        h1::unfold(input_.spare() - input_.size(), input_.size())) {
        r = parser_.parse(input_.view(), asked_, head, limits);
    }
    if (lenient_ && is_repairable(r.error)) {
        if (!repair_head()) return head_state::partial;
        r = parser_.parse(input_.view(), asked_, head, limits);
    }
    switch (r.status) {
        case h1::parse_status::need_more: return head_state::partial;
        case h1::parse_status::error: head_error_ = r.error; return head_state::broken;
        case h1::parse_status::complete: break;
    }
    head_size_ = r.consumed;
    start.code = head.code;
    start.version = head.version;
    start.has_content_length = head.has_content_length;
    start.content_length = head.content_length;
    start.has_body = head.framing != h1::body_framing::none;
    start.size = head_size_;
    const bool switches = head.code == 101 && upgrades_;
    if (head.code < 200 && !switches) {
        if (of_interim != nullptr) copy_fields(*of_interim);
        input_.consume(r.consumed);
        // Its framing is wrong, or it says that the server closes.
        cut_ = cut_ || !head.keep_alive;
        return head_state::interim;
    }
    // A head received while the body was sent is parsed again.
    left_http_ = switches || (asked_ == method::connect && head.code / 100 == 2);
    return head_state::final;
}

error client_h1_connection::head_error() const {
    error too_large(errc::limit_exceeded, "response");
    switch (head_error_) {
        case h1::parse_error::head_too_large:
            return std::move(too_large.on("client_options::head_limit"));
        case h1::parse_error::too_many_fields:
            return std::move(too_large.on("client_options::field_limit"));
        default: return {make_error_code(head_error_), "response"};
    }
}

/// Copies the fields of the head that was parsed last, whose bytes have not been consumed.
void client_h1_connection::copy_fields(http::fields& to) {
    h1::response_head& head = home().pool().parsed_head();
    const std::string_view kept = to.memory().copy(input_.view().substr(0, head_size_));
    h1::rebase(head, input_.data(), head_size_, kept.data());
    to.adopt(head.fields.data(), head.fields.size());
}

void client_h1_connection::take_fields(http::fields& to) {
    copy_fields(to);
    const h1::response_head& head = home().pool().parsed_head();
    input_.consume(head_size_);
    keeps_alive_ = head.keep_alive;
    content_.begin(head.framing, head.content_length, {}, lenient_);
}

std::optional<std::string_view> client_h1_connection::take_whole_body(std::uint64_t most) noexcept {
    return content_.take_whole(input_, most);
}

std::expected<std::string_view, error> client_h1_connection::read_body() {
    const bool was_complete = content_.complete();
    const auto piece = content_.next(input_);
    if (!piece) return std::unexpected(error(make_error_code(piece.error()), "body"));
    if (content_.complete() && !was_complete) keep_trailers();
    return *piece;
}

void client_h1_connection::keep_trailers() {
    if (content_.trailers().empty()) return;
    trailers_ = std::make_unique<http::fields>();
    // The trailers outlive the connection with its decoder.
    for (const field& f : content_.trailers()) trailers_->add(f.name, f.value);
}

// ---- the end

void client_h1_connection::release(fate how) noexcept {
    connection_pool& pool = home().pool();
    content_.give_back(input_);
    out_.forget();
    content_.release();
    trailers_.reset();
    if (how == fate::cancelled) {
        pool.close(*this, true);
        return;
    }
    // Bytes received without a request make the connection unusable.
    const bool keeps =
        keeps_alive_ && !cut_ && content_.complete() && !left_http_ && input_.empty();
    if (how == fate::finished && !keeps) {
        pool.close(*this, false);
        return;
    }
    input_.release();
    if (fast_ != nullptr) fast_->stop();
    pool.give_back(*this);
}

bool client_h1_connection::replace() noexcept {
    home().pool().replace(*this);
    return true;
}

std::unique_ptr<net::byte_stream> client_h1_connection::detach(buffer& received,
                                                               client_shard&) noexcept {
    received = std::move(input_);
    fast_.reset();
    auto stream = std::move(stream_);
    home().pool().detached(*this);
    return stream;
}

}  // namespace coracle::http::detail
