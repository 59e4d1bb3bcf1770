#include "http/message/ranges.hpp"

#include "http/error_style.hpp"
#include "http/exchange/preconditions.hpp"
#include "http/exchange/replace_response.hpp"
#include "http/file_reader.hpp"
#include "http/files/conditional.hpp"

#include <coracle/http/ranges.hpp>
#include <coracle/runtime/loop.hpp>

namespace coracle::http {
namespace {

using detail::content_range;
using detail::range_plan;

bool if_range_holds(const request& req, const response& whole) noexcept {
    detail::validators current = detail::validators_of(whole.fields());
    if (loop* const l = loop::current(); l != nullptr) current.now = l->unix_time();
    return detail::if_range_holds(req.fields(), current);
}

response not_satisfiable(const request& req, std::uint64_t size) {
    response r = detail::error_response(req, status::range_not_satisfiable);
    r.set("Content-Range", detail::to_unsatisfied_range(size));
    return r;
}

std::string boundary() {
    loop* const l = loop::current();
    if (l == nullptr) return detail::byteranges_boundary(0, 0);
    const std::uint64_t high = l->random();
    return detail::byteranges_boundary(high, l->random());
}

/// Several parts of one file, and what stands around them.
class file_parts {
public:
    file_parts(file_range file, const range_plan& plan, std::uint64_t size, std::string type)
        : plan_(plan), type_(std::move(type)), boundary_(boundary()), offset_(file.offset()),
          framing_(plan_.parts(), size, type_, boundary_), reader_(std::move(file)) {}
    file_parts(const file_parts&) = delete;
    file_parts& operator=(const file_parts&) = delete;

    const detail::multipart_byteranges& framing() const noexcept { return framing_; }

    task<> write(body_writer& out) {
        for (std::size_t i = 0; i != plan_.count; ++i) {
            const std::string head = framing_.part_head(i);
            co_await out.write(head);
            co_await write_bytes(out, plan_.list[i]);
        }
        const std::string end = framing_.end();
        co_await out.write(end);
    }

private:
    task<> write_bytes(body_writer& out, content_range part) {
        std::uint64_t left = part.size();
        while (left != 0) {
            auto piece = co_await reader_.read(offset_ + part.first, left);
            if (!piece) throw_exception(std::move(piece).error());
            co_await out.write(*piece);
            part.first += piece->size();
            left -= piece->size();
        }
    }

    range_plan plan_;
    std::string type_;
    std::string boundary_;
    std::uint64_t offset_;
    detail::multipart_byteranges framing_;
    detail::file_reader reader_;
};

/// Several parts of a body that can seek.
class seekable_parts {
public:
    seekable_parts(body whole, const range_plan& plan, std::uint64_t size, std::string type)
        : plan_(plan), type_(std::move(type)), boundary_(boundary()), whole_(std::move(whole)),
          framing_(plan_.parts(), size, type_, boundary_) {}
    seekable_parts(const seekable_parts&) = delete;
    seekable_parts& operator=(const seekable_parts&) = delete;

    const detail::multipart_byteranges& framing() const noexcept { return framing_; }

    task<> write(body_writer& out) {
        for (std::size_t i = 0; i != plan_.count; ++i) {
            const std::string head = framing_.part_head(i);
            co_await out.write(head);
            const content_range& part = plan_.list[i];
            co_await whole_.part()(out, whole_.part_offset() + part.first, part.size());
        }
        const std::string end = framing_.end();
        co_await out.write(end);
    }

private:
    range_plan plan_;
    std::string type_;
    std::string boundary_;
    body whole_;
    detail::multipart_byteranges framing_;
};

template <class Parts>
void set_streamed_parts(response& r, std::unique_ptr<Parts> parts) {
    const std::uint64_t total = parts->framing().total_size();
    r.set("Content-Type", parts->framing().content_type());
    r.set_body(body::stream(
        [parts = std::move(parts)](body_writer& out) { return parts->write(out); }, total));
}

void set_seekable_parts(response& r, const range_plan& plan, std::uint64_t size, std::string type) {
    set_streamed_parts(
        r, std::make_unique<seekable_parts>(std::move(r.body()), plan, size, std::move(type)));
}

void set_file_parts(response& r, const range_plan& plan, std::uint64_t size, std::string type) {
    set_streamed_parts(r, std::make_unique<file_parts>(std::move(r.body().file_part()), plan, size,
                                                       std::move(type)));
}

void set_parts_in_memory(response& r, const range_plan& plan, std::uint64_t size,
                         std::string_view type) {
    const std::string limit = boundary();
    const detail::multipart_byteranges framing(plan.parts(), size, type, limit);
    std::string all;
    all.reserve(static_cast<std::size_t>(framing.total_size()));
    for (std::size_t i = 0; i != plan.count; ++i) {
        all += framing.part_head(i);
        all += r.body().bytes().substr(static_cast<std::size_t>(plan.list[i].first),
                                       static_cast<std::size_t>(plan.list[i].size()));
    }
    all += framing.end();
    r.set("Content-Type", framing.content_type());
    r.set_body(body(std::move(all)));
}

void set_parts(response& r, const range_plan& plan, std::uint64_t size) {
    std::string type(r.fields().get(field_id::content_type));
    if (type.empty()) type = r.default_type();
    if (r.body().type() == body::kind::file)
        set_file_parts(r, plan, size, std::move(type));
    else if (r.body().type() == body::kind::stream)
        set_seekable_parts(r, plan, size, std::move(type));
    else
        set_parts_in_memory(r, plan, size, type);
}

/// Returns true if parts of it can be sent.
bool is_seekable(const response& r) noexcept {
    return r.status() == status::ok && r.body().can_seek() &&
           !r.fields().contains(field_id::content_range);
}

void apply_ranges(response& r, const request& req) {
    const bool get = req.method() == method::get;
    if (!is_seekable(r) || !(get || req.method() == method::head)) return;
    if (!r.fields().contains(field_id::accept_ranges)) r.set("Accept-Ranges", "bytes");
    // A part is of no use to who has the whole, or has a part of another version.
    if (!detail::meets_preconditions(req, r)) return;
    // RFC 9110 section 14.2: Range means nothing to methods other than GET.
    if (!get || !req.fields().contains(field_id::range) || !if_range_holds(req, r)) return;
    const std::uint64_t size = *r.body().size();
    const range_plan plan = detail::requested_ranges(req.fields(), size);
    if (plan.what == range_plan::result::whole) return;
    if (plan.what == range_plan::result::unsatisfiable) {
        detail::replace_response(r, not_satisfiable(req, size));
        return;
    }
    r.set_status(status::partial_content);
    // That of the whole (RFC 9530 section 2). Repr-Digest is about the whole in a part too.
    r.fields().remove("Content-Digest");
    if (plan.count > 1) {
        set_parts(r, plan, size);
        return;
    }
    r.set("Content-Range", detail::to_content_range(plan.list[0], size));
    r.body().narrow(plan.list[0].first, plan.list[0].size());
}

task<response> apply_later(task<response> pending, const request* req) {
    response r = co_await std::move(pending);
    apply_ranges(r, *req);
    co_return r;
}

class ranges_handler final : public handler::implementation {
public:
    explicit ranges_handler(handler inner) noexcept : inner_(std::move(inner)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if (inner_.call(req, out, pending)) {
            apply_ranges(out, req);
            return true;
        }
        pending = apply_later(std::move(pending), &req);
        return false;
    }

private:
    handler inner_;
};

}  // namespace

response ranged(response whole, const request& req) {
    apply_ranges(whole, req);
    return whole;
}

handler ranges::operator()(handler inner) const {
    return handler(std::make_shared<ranges_handler>(std::move(inner)));
}

}  // namespace coracle::http
