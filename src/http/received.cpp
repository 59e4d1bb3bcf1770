// The reading of a response by a client.

#include "http/body/save_pieces.hpp"

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>
#include <coracle/http/response_info.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

error too_large(response& r, std::size_t limit) {
    error e(errc::limit_exceeded, "body", phase::receive);
    detail::response_extension& rest = *r.extension();
    rest.received()->refuse(e);
    const bool by_default = limit == rest.body_limit();
    return std::move(
        e.on(detail::about(r, by_default ? "client_options::body_limit" : "text(limit)")));
}

task<std::expected<std::string, error>> read_all(response* r, std::size_t limit) {
    auto reading = r->extension()->received()->text(limit);
    auto all = co_await as_result(reading);
    if (!all && all.error() == make_error_code(status::content_too_large)) {
        co_return std::unexpected(too_large(*r, limit));
    }
    co_return all;
}

task<std::expected<std::vector<std::byte>, error>> read_bytes(response* from) {
    auto reading = from->text();
    auto text = co_await as_result(reading);
    if (!text) co_return std::unexpected(std::move(text).error());
    const auto* const first = reinterpret_cast<const std::byte*>(text->data());
    co_return std::vector<std::byte>(first, first + text->size());
}

task<std::expected<std::uint64_t, error>> save_response(response* from, std::string path) {
    const auto read = [from] { return from->read(); };
    auto saving = detail::save_pieces_at(read, std::move(path));
    auto saved = co_await std::move(saving);
    if (!saved) co_return std::unexpected(std::move(saved).error());
    co_return saved->size;
}

[[noreturn]] void too_long(std::string_view limit) {
    error e(errc::limit_exceeded, "read", phase::receive);
    throw_exception(std::move(e.on(limit)));
}

async_generator<std::string_view> lines_of(response* from, std::size_t limit) {
    line_splitter lines(limit);
    for (;;) {
        auto reading = from->read();
        std::string_view piece = co_await reading;
        if (piece.empty()) break;
        while (!piece.empty()) {
            const auto r = lines.parse(piece);
            piece.remove_prefix(r.consumed);
            if (r.what == line_splitter::status::limit_exceeded) too_long("limit of lines");
            if (r.what == line_splitter::status::line) co_yield lines.line();
        }
    }
    const auto last = lines.finish();
    if (last == line_splitter::status::limit_exceeded) too_long("limit of lines");
    if (last == line_splitter::status::line) co_yield lines.line();
}

async_generator<received_event> events_of(response* from, event_limits limits) {
    event_parser events(limits);
    for (;;) {
        auto reading = from->read();
        std::string_view piece = co_await reading;
        if (piece.empty()) co_return;
        while (!piece.empty()) {
            const auto r = events.parse(piece);
            piece.remove_prefix(r.consumed);
            if (r.what == event_parser::status::limit_exceeded) too_long(events.exceeded());
            if (r.what == event_parser::status::event) co_yield events.event();
        }
    }
}

}  // namespace

std::string detail::about(const response& r, std::string_view what) {
    const response_info* const info = r.info();
    if (info == nullptr) return std::string(what);
    return info->url.redacted().append(": ").append(what);
}

operation<std::string_view> response::read() {
    received_body* const from = extension_ == nullptr ? nullptr : extension_->received();
    if (from == nullptr) return std::expected<std::string_view, error>(std::string_view());
    return from->read();
}

operation<std::string> response::text(std::size_t limit) {
    received_body* const from = extension_ == nullptr ? nullptr : extension_->received();
    if (from == nullptr || from->ended()) return std::expected<std::string, error>(std::string());
    const std::string_view* const rest = extension_->rest();
    if (rest == nullptr || rest->size() > limit) return read_all(this, limit);
    std::expected<std::string, error> all(std::in_place, *rest);
    // The rest was received already: the body is over.
    extension_->take_rest();
    return all;
}

operation<std::string> response::text() {
    return text(extension_ == nullptr ? received_body::default_limit : extension_->body_limit());
}

operation<std::vector<std::byte>> response::bytes() {
    return read_bytes(this);
}

async_generator<std::string_view> response::lines(std::size_t limit) {
    return lines_of(this, limit);
}

async_generator<received_event> response::events(const event_limits& limits) {
    return events_of(this, limits);
}

operation<std::uint64_t> response::save_to(std::string path) {
    return save_response(this, std::move(path));
}

std::optional<std::uint64_t> response::length() const noexcept {
    received_body* const from = extension_ == nullptr ? nullptr : extension_->received();
    return from == nullptr ? std::optional<std::uint64_t>(0) : from->length();
}

const fields& response::trailers() const noexcept {
    static const http::fields none;
    received_body* const from = extension_ == nullptr ? nullptr : extension_->received();
    return from == nullptr ? none : from->trailers();
}

}  // namespace coracle::http
