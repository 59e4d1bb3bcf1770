#include <coracle/http/multipart.hpp>
#include <coracle/http/request.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/mime/media_type.hpp>

namespace coracle::http {
namespace {

using kind = mime::multipart_event::kind;

error failure(status code, std::string_view why) {
    error e(make_error_code(code), "multipart", phase::receive);
    return std::move(e.on(why));
}

std::string boundary_of(request& req) {
    const auto type = mime::parse_media_type(req.header(field_id::content_type));
    return type ? std::string(type->get("boundary").value_or("")) : std::string();
}

bool is_multipart(request& req) {
    // Also if its parameters are malformed: then the request is bad, and not of another type.
    const std::string_view type = req.header(field_id::content_type);
    const auto essence = mime::parse_media_type(type.substr(0, type.find(';')));
    return essence && essence->type() == "multipart";
}

}  // namespace

multipart_reader::multipart_reader(request& req, const multipart_limits& limits)
    : request_(&req), limits_(limits), parser_(boundary_of(req), limits.format), part_(*this) {
    if (!is_multipart(req)) {
        error_ = failure(status::unsupported_media_type, "not a multipart body");
    } else if (const auto length = req.body().length(); length && *length > limits.body) {
        error_ = failure(status::content_too_large, "multipart_limits::body");
    }
}

std::unexpected<error> multipart_reader::fail(error e) {
    error_ = e;
    return std::unexpected(std::move(e));
}

std::unexpected<error> multipart_reader::fail(mime::multipart_error e) {
    const status code = mime::is_limit(e) ? status::content_too_large : status::bad_request;
    return fail(failure(code, mime::make_error_code(e).message()));
}

std::expected<void, error> multipart_reader::take_piece(std::string_view piece) {
    if (piece.empty()) {
        const mime::multipart_error e = parser_.finish();
        if (e != mime::multipart_error::none) return fail(e);
        // The last boundary was the end of the body.
        ended_ = true;
        return {};
    }
    body_bytes_ += piece.size();
    if (body_bytes_ > limits_.body) {
        return fail(failure(status::content_too_large, "multipart_limits::body"));
    }
    rest_ = piece;
    return {};
}

// Returns the next event in the received bytes; `need_more` if there is none.
std::expected<mime::multipart_event, error> multipart_reader::take() {
    if (error_) return std::unexpected(*error_);
    if (ended_) return mime::multipart_event{kind::end};
    const mime::multipart_event e = parser_.parse(rest_);
    rest_.remove_prefix(e.consumed);
    switch (e.what) {
        case kind::error: return fail(e.error);
        case kind::data:
            part_bytes_ += e.data.size();
            if (part_bytes_ > limits_.part) {
                return fail(failure(status::content_too_large, "multipart_limits::part"));
            }
            break;
        case kind::part_begin: {
            auto opened = open_part();
            if (!opened) return std::unexpected(std::move(opened).error());
            break;
        }
        case kind::part_end: in_part_ = false; break;
        case kind::end: ended_ = true; break;
        case kind::need_more: break;
    }
    return e;
}

std::expected<void, error> multipart_reader::open_part() {
    in_part_ = true;
    part_bytes_ = 0;
    part_.name_.clear();
    part_.filename_.reset();
    const std::string_view type = mime::find_field(parser_.fields(), "content-type");
    part_.type_ = type.empty() ? "text/plain" : type;
    const std::string_view text = mime::find_field(parser_.fields(), "content-disposition");
    if (text.empty()) return {};
    auto disposition = mime::parse_disposition(text);
    if (!disposition) {
        return fail(failure(status::bad_request, "a Content-Disposition is malformed"));
    }
    part_.name_ = std::move(disposition->name).value_or("");
    part_.filename_ = std::move(disposition->filename);
    if (part_.filename_ && ++files_ > limits_.files) {
        return fail(failure(status::content_too_large, "multipart_limits::files"));
    }
    return {};
}

task<std::expected<mime::multipart_event, error>> multipart_reader::next_event(
    multipart_reader* self) {
    for (;;) {
        auto e = self->take();
        if (!e || e->what != kind::need_more) co_return e;
        auto piece = co_await as_result(self->request_->body().read());
        if (!piece) co_return self->fail(std::move(piece).error());
        auto taken = self->take_piece(*piece);
        if (!taken) co_return std::unexpected(std::move(taken).error());
    }
}

task<std::expected<multipart_part*, error>> multipart_reader::next_part(multipart_reader* self) {
    for (;;) {
        auto e = co_await next_event(self);
        if (!e) co_return std::unexpected(std::move(e).error());
        if (e->what == kind::part_begin) co_return &self->part_;
        if (e->what == kind::end) break;
    }
    // Reads the epilogue, after which the connection can be used for the next request.
    for (;;) {
        auto piece = co_await as_result(self->request_->body().read());
        if (!piece) co_return self->fail(std::move(piece).error());
        if (piece->empty()) co_return nullptr;
        auto taken = self->take_piece(*piece);
        if (!taken) co_return std::unexpected(std::move(taken).error());
    }
}

operation<multipart_part*> multipart_reader::next() {
    return next_part(this);
}

std::span<const mime::part_field> multipart_part::fields() const noexcept {
    return reader_->parser_.fields();
}

task<std::expected<std::string_view, error>> multipart_part::read_piece(multipart_reader* reader) {
    auto e = co_await multipart_reader::next_event(reader);
    if (!e) co_return std::unexpected(std::move(e).error());
    co_return e->data;
}

operation<std::string_view> multipart_part::read() {
    using result = std::expected<std::string_view, error>;
    if (!reader_->in_part_) return result(std::string_view());
    // Most pieces have been received already.
    if (!reader_->rest_.empty()) {
        auto e = reader_->take();
        if (!e) return result(std::unexpected(std::move(e).error()));
        if (e->what != kind::need_more) return result(e->data);
    }
    return read_piece(reader_);
}

task<std::expected<std::string, error>> multipart_part::read_all(multipart_reader* reader,
                                                                 std::size_t limit) {
    std::string all;
    while (reader->in_part_) {
        auto e = co_await multipart_reader::next_event(reader);
        if (!e) co_return std::unexpected(std::move(e).error());
        if (e->data.size() > limit - all.size()) {
            co_return reader->fail(failure(status::content_too_large, reader->part_.name()));
        }
        all += e->data;
    }
    co_return std::move(all);
}

operation<std::string> multipart_part::text(std::size_t limit) {
    return read_all(reader_, limit);
}

const multipart_form::part* multipart_form::find(std::string_view name) const noexcept {
    for (const part& p : parts_) {
        if (p.name == name) return &p;
    }
    return nullptr;
}

std::optional<std::string_view> multipart_form::get(std::string_view name) const noexcept {
    const part* found = find(name);
    return found == nullptr ? std::nullopt : std::optional<std::string_view>(found->data);
}

namespace {

task<std::expected<multipart_form, error>> read_parts(request* req, multipart_limits limits) {
    multipart_reader reader(*req, limits);
    multipart_form all;
    for (;;) {
        auto next = co_await as_result(reader.next());
        if (!next) co_return std::unexpected(std::move(next).error());
        if (*next == nullptr) co_return std::move(all);
        multipart_form::part p;
        p.name = (*next)->name();
        if (const auto sent = (*next)->filename()) p.filename = *sent;
        p.type = (*next)->type();
        auto data = co_await as_result((*next)->text(SIZE_MAX));
        if (!data) co_return std::unexpected(std::move(data).error());
        p.data = *std::move(data);
        all.add(std::move(p));
    }
}

}  // namespace

operation<multipart_form> read_multipart(request& req, multipart_limits limits) {
    return read_parts(&req, limits);
}

}  // namespace coracle::http
