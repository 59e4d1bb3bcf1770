#include "http/client/h1/head_pen.hpp"

#include <coracle/http/h1/head_writer.hpp>

namespace coracle::http::detail {
namespace {

/// Writes fields into reserved capacity.
class head_pen {
public:
    explicit head_pen(buffer& out) noexcept : out_(out), at_(out.spare()) {}
    ~head_pen() { out_.commit(static_cast<std::size_t>(at_ - out_.spare())); }
    head_pen(const head_pen&) = delete;
    head_pen& operator=(const head_pen&) = delete;

    void start(std::string_view method, std::string_view target) {
        at_ = h1::write_request_line(at_, method, target);
    }
    void field(const http::field& f) {
        has_te_ = has_te_ || f.id == field_id::te;
        at_ = h1::write_field(at_, f.name, f.value);
    }
    void field(field_id name, std::string_view value) { at_ = h1::write_field(at_, name, value); }
    void length(std::uint64_t n) { at_ = h1::write_content_length(at_, n); }
    void chunked() { at_ = h1::write_transfer_encoding_chunked(at_); }
    void end() { at_ = h1::write_head_end(at_); }
    bool has_te() const noexcept { return has_te_; }

private:
    buffer& out_;
    char* at_;
    bool has_te_ = false;
};

std::size_t bound(const outgoing_head& h) noexcept {
    // The size of the names and line ends of the fields added here.
    std::size_t size = 512 + h.method.size() + h.to->text().size() * 2 +
                       h.options->user_agent.size() + h.cookies.size() + h.authorization.size() +
                       h.proxy_authorization.size() + h.call->more().type.size() +
                       h.tunnel().size() * 2;
    for (const field& f : h.call->fields) size += h1::field_size(f.name, f.value);
    return size;
}

}  // namespace

void write_h1_head(buffer& out, const outgoing_head& h) {
    out.reserve_spare(bound(h));
    head_pen pen(out);
    const std::string_view tunnel = h.tunnel();
    if (!tunnel.empty()) {
        pen.start(h.method, tunnel);
    } else if (h.whole_url) {
        pen.start(h.method, absolute_form(*h.to));
    } else {
        pen.start(h.method, h.to->target());
    }
    if (h.has_own_host()) {
        for (const field& f : h.call->fields) {
            if (f.id == field_id::host) pen.field(f);
        }
    } else {
        pen.field(field_id::host, tunnel.empty() ? h.to->authority() : tunnel);
    }
    write_fields(pen, h);
    // RFC 9110 section 10.1.4.
    const std::string_view options = !pen.has_te() ? "close" : h.closes ? "TE, close" : "TE";
    if ((pen.has_te() || h.closes) && !h.upgrades) pen.field(field_id::connection, options);
    if (h.has_body && !h.length) pen.chunked();
    pen.end();
}

}  // namespace coracle::http::detail
