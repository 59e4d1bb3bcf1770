#include "mailbox_routes.hpp"

#include "json_object.hpp"

#include <coracle/http/events.hpp>
#include <coracle/http/router.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/net/address.hpp>

#include <algorithm>
#include <utility>

namespace coracle::tool {
namespace {

using mail = std::shared_ptr<const kept_mail>;

/// The page runs its own scripts and shows nothing from elsewhere.
constexpr std::string_view page_policy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; frame-src 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'";

/// A mail runs no scripts and loads nothing; links open another page when they are clicked.
constexpr std::string_view mail_policy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'; "
    "sandbox allow-popups allow-popups-to-escape-sandbox";

/// The host of "host:port", lower case, without the dot at its end and the brackets of IPv6.
std::string host_of(std::string_view authority) {
    if (authority.starts_with('[')) return lower(authority.substr(1, authority.find(']') - 1));
    std::string host = lower(authority.substr(0, authority.rfind(':')));
    if (host.ends_with('.')) host.pop_back();
    return host;
}

/// An address cannot be made to lead elsewhere; names can (DNS rebinding).
bool is_trusted_host(std::string_view authority, const std::vector<std::string>& names) {
    const std::string host = host_of(authority);
    if (host == "localhost" || host.ends_with(".localhost")) return true;
    const bool is_ipv6 = authority.starts_with('[');
    const auto address = net::address::parse(is_ipv6 ? '[' + host + "]:1" : host + ":1");
    const bool is_address = !host.empty() && address && address->family() != net::family::unix_path;
    return is_address || std::ranges::find(names, host) != names.end();
}

/// Scripts of other sites may send requests whose responses they cannot read: none changes
/// anything.
bool is_of_other_site(const http::request& req) {
    const std::string_view site = req.header("Sec-Fetch-Site");
    if (!site.empty() && site != "same-origin" && site != "none") return true;
    const std::string_view origin = req.header("Origin");
    const std::size_t at = origin.find("://");
    return !origin.empty() && (at == std::string_view::npos || origin.substr(at + 3) != req.host());
}

class guard {
public:
    explicit guard(std::vector<std::string> names) : names_(std::move(names)) {
        for (std::string& one : names_) one = lower(one);
    }
    task<http::response> operator()(http::request& req, const http::handler& next) const {
        http::response r;
        if (!is_trusted_host(req.host(), names_)) {
            r = http::response(http::status::misdirected_request,
                               "This host is not known here: see --web-host.\n");
        } else if (req.method() != http::method::get && req.method() != http::method::head &&
                   is_of_other_site(req)) {
            r = http::response(http::status::forbidden, "Not from another site.\n");
        } else {
            r = co_await next(req);
        }
        r.set("X-Content-Type-Options", "nosniff");
        r.set("Referrer-Policy", "no-referrer");
        r.set("Cross-Origin-Resource-Policy", "same-origin");
        if (!r.fields().contains("Cache-Control")) r.set("Cache-Control", "no-store");
        co_return r;
    }

private:
    std::vector<std::string> names_;
};

http::response json(std::string text) {
    http::response r;
    r.set_body(http::body(text + '\n'), "application/json");
    return r;
}

mail found(const mailbox& box, http::request& req) {
    mail m = box.find(req.param<std::size_t>("number"));
    if (m == nullptr) throw http::status_error(http::status::not_found, "There is no such mail.\n");
    return m;
}

/// Lists have the beginning of long texts.
std::string_view brief(std::string_view text) {
    constexpr std::size_t most = 300;
    return text.substr(0, most);
}

std::string summary_of(const kept_mail& m) {
    const auto attached = std::ranges::count_if(m.reading.parts, &mail_part::attached);
    json_object o;
    o.add("number", m.number()).add("from", brief(m.reading.from));
    o.add("to", brief(m.reading.to)).add("subject", brief(m.reading.subject));
    o.add("size", m.envelope.text.size());
    o.add("time", static_cast<std::uint64_t>(std::max<std::int64_t>(m.envelope.unix_time, 0)));
    o.add("attachments", static_cast<std::uint64_t>(attached));
    return std::move(o).done();
}

std::string part_json(const mail_part& p) {
    json_object o;
    o.add("index", p.index).add("type", p.type).add("name", p.name).add("size", p.size);
    return std::move(o).done();
}

std::string details_of(const kept_mail& m) {
    std::vector<mail_part> attached;
    std::ranges::copy_if(m.reading.parts, std::back_inserter(attached), &mail_part::attached);
    json_object o;
    o.add("number", m.number()).add("from", m.reading.from).add("to", m.reading.to);
    o.add("cc", m.reading.cc).add("reply_to", m.reading.reply_to);
    o.add("subject", m.reading.subject).add("date", m.reading.date);
    o.add("size", m.envelope.text.size()).add("sender", m.envelope.sender);
    o.add_json("recipients", json_array(m.envelope.recipients,
                                        [](const std::string& one) { return json_text(one); }));
    o.add_flag("secure", m.envelope.secure).add("user", m.envelope.user);
    o.add_flag("text", m.reading.text.has_value()).add_flag("html", m.reading.html.has_value());
    o.add_json("attachments", json_array(attached, part_json));
    return std::move(o).done();
}

http::response list(const mailbox& box, http::request& req) {
    const auto mails = box.list(req.query("q").value_or(""));
    json_object o;
    o.add("count", box.count()).add("bytes", box.bytes());
    o.add("most_messages", box.limits().messages).add("most_bytes", box.limits().bytes);
    o.add_json("messages", json_array(mails, [](const mail& m) { return summary_of(*m); }));
    return json(std::move(o).done());
}

/// The charset of a part, where it may stand in a field.
std::string charset_of(const mail_part& p) {
    const bool plain = !p.charset.empty() && std::ranges::all_of(p.charset, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
    return plain ? p.charset : "utf-8";
}

http::response text(const kept_mail& m) {
    if (!m.reading.text) throw http::status_error(http::status::not_found, "It has no text.\n");
    const mail_part& part = m.reading.parts[*m.reading.text];
    http::response r;
    r.set_body(http::body(content_of_part(m.envelope.text, part.index)));
    r.set("Content-Type", "text/plain; charset=" + charset_of(part));
    r.set("Content-Security-Policy", mail_policy);
    return r;
}

http::response framed(const kept_mail& m) {
    if (!m.reading.html) throw http::status_error(http::status::not_found, "It has no HTML.\n");
    http::response r;
    r.set_body(http::body(html_for_frame(m.envelope.text, m.reading)));
    r.set("Content-Type", "text/html; charset=" + charset_of(m.reading.parts[*m.reading.html]));
    r.set("Content-Security-Policy", mail_policy);
    return r;
}

/// As a file, never as a page: a browser saves it.
void make_attachment(http::response& r, std::string_view name) {
    r.set("Content-Disposition",
          mime::format_disposition({"attachment", std::nullopt, std::string(name)}));
    r.set("Content-Security-Policy", "default-src 'none'; sandbox");
}

http::response source(const kept_mail& m, http::request& req) {
    http::response r;
    if (req.query("download")) {
        r.set_body(http::body(m.envelope.text), "message/rfc822");
        make_attachment(r, "mail-" + std::to_string(m.number()) + ".eml");
    } else {
        r.set_body(http::body(m.envelope.text), "text/plain; charset=utf-8");
        r.set("Content-Security-Policy", mail_policy);
    }
    return r;
}

http::response part(const kept_mail& m, std::size_t index) {
    if (index >= m.reading.parts.size()) {
        throw http::status_error(http::status::not_found, "There is no such part.\n");
    }
    const mail_part& p = m.reading.parts[index];
    std::string name = mime::safe_filename(p.name);
    if (name.empty()) name = "part-" + std::to_string(index);
    http::response r;
    r.set_body(http::body(content_of_part(m.envelope.text, index)), "application/octet-stream");
    make_attachment(r, name);
    return r;
}

void add_changes(http::router& routes, mailbox& box) {
    routes.del("/api/messages/{number:[0-9]+}", [&box](http::request& req) -> http::response {
        if (box.remove(req.param<std::size_t>("number"))) return http::status::no_content;
        return {http::status::not_found, "There is no such mail.\n"};
    });
    routes.del("/api/messages", [&box](http::request&) -> http::response {
        box.clear();
        return http::status::no_content;
    });
    routes.get("/api/events", [&box](http::request& req) {
        auto send = [topic = box.changes()](http::event_sink& out) mutable -> task<> {
            co_await topic.send_to(out);
        };
        http::event_options o;
        o.retry = std::chrono::seconds(1);
        return http::events(req, std::move(send), o);
    });
}

}  // namespace

http::handler mailbox_page(mailbox& box, std::vector<std::string> names) {
    http::router routes;
    routes.use(guard(std::move(names)));
    routes.get("/", [](http::request&) {
        http::response r;
        r.set_body(http::body::literal(mailbox_html()), "text/html; charset=utf-8");
        r.set("Content-Security-Policy", page_policy);
        return r;
    });
    routes.get("/api/messages", [&box](http::request& req) { return list(box, req); });
    const std::string one = "/api/messages/{number:[0-9]+}";
    routes.get(one, [&box](http::request& req) { return json(details_of(*found(box, req))); });
    routes.get(one + "/text", [&box](http::request& req) { return text(*found(box, req)); });
    routes.get(one + "/html", [&box](http::request& req) { return framed(*found(box, req)); });
    routes.get(one + "/source",
               [&box](http::request& req) { return source(*found(box, req), req); });
    routes.get(one + "/parts/{index:[0-9]+}", [&box](http::request& req) {
        return part(*found(box, req), req.param<std::size_t>("index"));
    });
    add_changes(routes, box);
    return routes;
}

}  // namespace coracle::tool
