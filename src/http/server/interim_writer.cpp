#include "http/server/interim_writer.hpp"

#include "http/h1/head_writer.hpp"
#include "http/server/connection.hpp"

namespace coracle::http::detail {
namespace {

/// Fields that say something of a body, which an interim answer has not (RFC 9110 section 15.2).
bool is_left_out(field_id id) noexcept {
    switch (id) {
        case field_id::content_length:
        case field_id::transfer_encoding:
        case field_id::connection:
        case field_id::keep_alive:
        case field_id::trailer:
        case field_id::upgrade: return true;
        default: return false;
    }
}

void write_interim(buffer& out, const response& interim) {
    std::size_t bound = h1::status_line_size() + h1::head_end_size;
    for (const field& f : interim.fields()) bound += h1::field_size(f.name, f.value);
    out.reserve_spare(bound);
    char* const begin = out.spare();
    char* end = h1::write_status_line(begin, interim.status());
    for (const field& f : interim.fields()) {
        if (!is_left_out(f.id)) end = h1::write_field(end, f.name, f.value);
    }
    end = h1::write_head_end(end);
    out.commit(static_cast<std::size_t>(end - begin));
}

}  // namespace

task<std::expected<void, error>> interim_writer::send_interim(const response& interim) {
    const int code = static_cast<int>(interim.status());
    if (code < 100 || code > 199 || interim.status() == status::switching_protocols) {
        co_return std::unexpected(error(std::errc::invalid_argument, "inform"));
    }
    // A client of HTTP/1.0 knows no interim answers (RFC 9110 section 15.2).
    if (request_->version() == version::http_1_0) co_return std::expected<void, error>();
    connection& c = *connection_;
    if (c.waits()) co_return one_at_a_time("inform");
    if (!c.output_) c.shard_->take_output(c.output_);
    write_interim(c.output_, interim);
    const bool ok = co_await c.flush();
    if (ok) co_return std::expected<void, error>();
    co_return std::unexpected(error(std::errc::broken_pipe, "inform", coracle::phase::send));
}

}  // namespace coracle::http::detail
