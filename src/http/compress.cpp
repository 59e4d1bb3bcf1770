#include "http/coding/accept_encoding.hpp"
#include "http/coding/compressible.hpp"
#include "http/encoding_writer.hpp"
#include "http/error_style.hpp"
#include "http/file_reader.hpp"
#include "http/message/digest_fields.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

using coding::coded_at_once;
using coding::encode_action;
using coding::pooled_encoder;
using detail::encoding_writer;

using shared_options = std::shared_ptr<const compress_options>;

bool is_compressible(const response& r, const compress_options& options) {
    std::string_view type = r.fields().get(field_id::content_type);
    if (type.empty()) type = r.default_type();
    return detail::is_compressible(type) ||
           std::ranges::any_of(options.types, [type](const std::string& pattern) {
               return detail::matches_media_type(type, pattern);
           });
}

bool has_content(status code) noexcept {
    return static_cast<int>(code) >= 200 && code != status::no_content &&
           code != status::reset_content && code != status::partial_content &&
           code != status::not_modified;
}

/// Returns true if the fields demand that the bytes stay as they are.
bool is_fixed(const fields& all) noexcept {
    return all.contains(field_id::content_encoding) || all.contains(field_id::content_range) ||
           all.has_token(field_id::cache_control, "no-transform") ||
           std::ranges::any_of(detail::digest_fields,
                               [&all](std::string_view name) { return all.contains(name); });
}

void add_vary(fields& all) {
    if (all.has_token(field_id::vary, "accept-encoding") || all.has_token(field_id::vary, "*")) {
        return;
    }
    all.add("Vary", "Accept-Encoding");
}

/// RFC 9110 section 8.8.1: a weak one is the same for what means the same, but not byte for byte.
void weaken_tag(fields& all) {
    const std::string_view tag = all.get(field_id::etag);
    if (tag.starts_with('"')) all.set("ETag", "W/" + std::string(tag));
}

/// Returns true if what the client has is a response that was encoded, by its tag.
bool has_encoded(const request& req, std::string_view tag) {
    const std::string weak = "W/" + std::string(tag);
    return std::ranges::any_of(req.fields(), [&weak](const field& f) {
        return f.id == field_id::if_none_match && f.value.find(weak) != std::string_view::npos;
    });
}

/// Returns the coding for the response. Adds Vary when the choice depends on the request.
content_coding choose_coding(response& r, const request& req, const compress_options& options) {
    if (r.status() == status::not_modified) {
        // RFC 9110 section 15.4.5: what the 200 would have said.
        add_vary(r.fields());
        if (detail::negotiate_coding(req.fields(), options.codings) != content_coding::identity &&
            has_encoded(req, r.fields().get(field_id::etag))) {
            weaken_tag(r.fields());
        }
        return content_coding::identity;
    }
    // RFC 9110 section 15.3.7: likewise.
    if (r.status() == status::partial_content) add_vary(r.fields());
    const detail::error_style* const style = req.error_style();
    if (style != nullptr && style->problems) detail::become_problem(r);
    if (!has_content(r.status()) || r.upgrade() != nullptr || is_fixed(r.fields()) ||
        !is_compressible(r, options)) {
        return content_coding::identity;
    }
    const auto size = r.body().size();
    if (size && *size < options.least) return content_coding::identity;
    add_vary(r.fields());
    return detail::negotiate_coding(req.fields(), options.codings);
}

void mark_encoded(response& r, content_coding coding) {
    fields& all = r.fields();
    all.set("Content-Encoding", to_string(coding));
    all.remove("Accept-Ranges");
    weaken_tag(all);
}

void replace_body(response& r, body encoded, content_coding coding) {
    mark_encoded(r, coding);
    const std::string_view type = r.default_type();
    r.set_body(std::move(encoded), type);
}

/// Replaces the body by one that was encoded in one go; leaves it when that is not smaller.
void encode_at_once(response& r, content_coding coding) {
    const std::string_view in = r.body().bytes();
    pooled_encoder encoder(coding, in.size());
    std::string out(in.size(), '\0');
    const auto done = encoder->encode(in, out, encode_action::finish);
    if (!done.done || done.produced == in.size()) return;
    out.resize(done.produced);
    out.shrink_to_fit();
    replace_body(r, body(std::move(out)), coding);
}

/// Encodes a body that takes long, in several turns of the loop.
task<response> encode_in_turns(response r, content_coding coding) {
    std::string_view in = r.body().bytes();
    const std::size_t size = in.size();
    pooled_encoder encoder(coding, size);
    const auto room = std::make_unique<char[]>(coded_at_once);
    std::string out;
    for (bool done = false; !done;) {
        const std::string_view some = in.substr(0, coded_at_once);
        const bool last = some.size() == in.size();
        const auto step = encoder->encode(some, {room.get(), coded_at_once},
                                          last ? encode_action::finish : encode_action::process);
        in.remove_prefix(step.consumed);
        out.append(room.get(), step.produced);
        done = last && step.done;
        if (out.size() >= size) co_return std::move(r);
        if (!done) co_await yield();
    }
    replace_body(r, body(std::move(out)), coding);
    co_return std::move(r);
}

task<> encode_stream(body::stream_function* inner, std::optional<std::uint64_t> size,
                     content_coding coding, body_writer* out) {
    encoding_writer writer(*out, coding);
    task<> work = (*inner)(writer);
    co_await std::move(work);
    // A part must not pass for the whole.
    if (size && writer.taken() != *size) throw_exception(error(errc::end_of_stream, "body"));
    auto ended = co_await writer.encode({}, encode_action::finish);
    if (!ended) throw_exception(std::move(ended).error());
}

task<> encode_file(file_range* file, content_coding coding, body_writer* out) {
    std::uint64_t at = file->offset();
    std::uint64_t left = file->size();
    detail::file_reader reader(std::move(*file));
    encoding_writer writer(*out, coding);
    while (left != 0) {
        auto piece = co_await reader.read(at, left);
        if (!piece) throw_exception(std::move(piece).error());
        at += piece->size();
        left -= piece->size();
        const auto action = left == 0 ? encode_action::finish : encode_action::process;
        auto written = co_await writer.encode(*piece, action);
        if (!written) throw_exception(std::move(written).error());
    }
}

body encoded_stream(body::stream_function inner, std::optional<std::uint64_t> size,
                    content_coding coding) {
    return body::stream([inner = std::move(inner), size, coding](body_writer& out) mutable {
        return encode_stream(&inner, size, coding, &out);
    });
}

body encoded_file(file_range file, content_coding coding) {
    return body::stream([file = std::move(file), coding](body_writer& out) mutable {
        return encode_file(&file, coding, &out);
    });
}

/// The body of a response to HEAD: it is never written, and its length is unknown.
body unknown_body() {
    return body::stream([](body_writer&) -> task<> { co_return; });
}

/// Encodes the response, or makes it encode itself. Returns false if that needs `encode_in_turns`.
bool encode_now(response& r, const request& req, content_coding coding) {
    if (req.method() == method::head) {
        replace_body(r, unknown_body(), coding);
        return true;
    }
    switch (r.body().type()) {
        case body::kind::stream:
            replace_body(r,
                         encoded_stream(std::move(r.body().stream_part()), r.body().size(), coding),
                         coding);
            return true;
        case body::kind::file:
            if (*r.body().size() == 0) return true;
            replace_body(r, encoded_file(std::move(r.body().file_part()), coding), coding);
            return true;
        default: break;
    }
    if (r.body().bytes().size() > coded_at_once) return false;
    encode_at_once(r, coding);
    return true;
}

task<response> encode_later(task<response> pending, const request* req, shared_options options) {
    response r = co_await std::move(pending);
    const content_coding coding = choose_coding(r, *req, *options);
    if (coding == content_coding::identity || encode_now(r, *req, coding)) co_return std::move(r);
    task<response> work = encode_in_turns(std::move(r), coding);
    co_return co_await std::move(work);
}

class compressing_handler final : public handler::implementation {
public:
    compressing_handler(handler inner, shared_options options) noexcept
        : inner_(std::move(inner)), options_(std::move(options)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if (!inner_.call(req, out, pending)) {
            pending = encode_later(std::move(pending), &req, options_);
            return false;
        }
        const content_coding coding = choose_coding(out, req, *options_);
        if (coding == content_coding::identity || encode_now(out, req, coding)) return true;
        pending = encode_in_turns(std::move(out), coding);
        return false;
    }

private:
    handler inner_;
    shared_options options_;
};

}  // namespace

compress::compress(compress_options options)
    : options_(std::make_shared<const compress_options>(std::move(options))) {}

handler compress::operator()(handler inner) const {
    return handler(std::make_shared<compressing_handler>(std::move(inner), options_));
}

}  // namespace coracle::http
