#include "http/client/request_head.hpp"

#include "http/h1/head_writer.hpp"

namespace coracle::http::detail {
namespace {

constexpr std::string_view codings = "gzip, deflate, br, zstd";

/// Fields that are the client's business, or must not go where this request goes.
bool is_left_out(const field& f, const head_extras& extras) noexcept {
    switch (f.id) {
        case field_id::content_length:
        case field_id::transfer_encoding: return true;
        case field_id::connection:
        case field_id::upgrade: return !extras.upgrades;
        case field_id::authorization:
        case field_id::proxy_authorization:
        case field_id::cookie: return extras.without_credentials;
        case field_id::content_type:
        case field_id::content_encoding:
        case field_id::content_language: return extras.without_body;
        default: return false;
    }
}

bool sends_length(std::string_view method) noexcept {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

/// Writes fields where there is room for them.
class head_pen {
public:
    explicit head_pen(buffer& out) noexcept : out_(out), at_(out.spare()) {}
    ~head_pen() { out_.commit(static_cast<std::size_t>(at_ - out_.spare())); }
    head_pen(const head_pen&) = delete;
    head_pen& operator=(const head_pen&) = delete;

    void start(std::string_view method, std::string_view target) {
        at_ = h1::write_request_line(at_, method, target);
    }
    template <class Name>
    void field(Name name, std::string_view value) {
        at_ = h1::write_field(at_, name, value);
    }
    void length(std::uint64_t n) { at_ = h1::write_content_length(at_, n); }
    void chunked() { at_ = h1::write_transfer_encoding_chunked(at_); }
    void end() { at_ = h1::write_head_end(at_); }

private:
    buffer& out_;
    char* at_;
};

std::size_t bound(std::string_view method, const url& to, const call_state& c,
                  const client_options& o, const head_extras& extras) noexcept {
    // Names of the fields that are added here, and their line ends.
    std::size_t size = 512 + method.size() + to.text().size() * 2 + o.user_agent.size() +
                       extras.cookies.size() + extras.authorization.size() +
                       extras.proxy_authorization.size() + c.more().type.size() +
                       c.more().tunnel.size() * 2;
    for (const field& f : c.fields) size += h1::field_size(f.name, f.value);
    return size;
}

}  // namespace

std::string absolute_form(const url& to) {
    std::string whole;
    whole.append(to.scheme()).append("://").append(to.authority()).append(to.target());
    return whole;
}

void write_request_head(buffer& out, std::string_view method, const url& to, const call_state& c,
                        const client_options& o, const head_extras& extras, bool has_body,
                        std::optional<std::uint64_t> length) {
    out.reserve_spare(bound(method, to, c, o, extras));
    head_pen pen(out);
    const std::string& tunnel = c.more().tunnel;
    if (!tunnel.empty()) {
        pen.start(method, tunnel);
    } else if (extras.whole_url) {
        pen.start(method, absolute_form(to));
    } else {
        pen.start(method, to.target());
    }
    const bool own_host = c.fields.contains(field_id::host) && !extras.without_credentials;
    if (!own_host) pen.field(field_id::host, tunnel.empty() ? to.authority() : tunnel);
    bool agent = !o.user_agent.empty();
    bool accept = true;
    bool encoding = o.accept_compression && tunnel.empty();
    bool type = has_body && !c.more().type.empty();
    bool authorization = !extras.authorization.empty();
    for (const field& f : c.fields) {
        if (is_left_out(f, extras) || (f.id == field_id::host && !own_host)) continue;
        agent = agent && f.id != field_id::user_agent;
        accept = accept && f.id != field_id::accept;
        encoding = encoding && f.id != field_id::accept_encoding && f.id != field_id::range;
        type = type && f.id != field_id::content_type;
        authorization = authorization && f.id != field_id::authorization;
        pen.field(f.name, f.value);
    }
    if (agent) pen.field(field_id::user_agent, o.user_agent);
    if (accept) pen.field(field_id::accept, "*/*");
    if (encoding) pen.field(field_id::accept_encoding, codings);
    if (authorization) pen.field(field_id::authorization, extras.authorization);
    if (!extras.proxy_authorization.empty()) {
        pen.field(field_id::proxy_authorization, extras.proxy_authorization);
    }
    if (!extras.cookies.empty()) pen.field(field_id::cookie, extras.cookies);
    if (type) pen.field(field_id::content_type, c.more().type);
    if (has_body && !length) {
        pen.chunked();
    } else if (has_body || sends_length(method)) {
        pen.length(has_body ? *length : 0);
    }
    if (extras.expect_continue) pen.field(field_id::expect, "100-continue");
    pen.end();
}

}  // namespace coracle::http::detail
