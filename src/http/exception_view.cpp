#include "http/exception_view.hpp"

#include "base/ascii.hpp"
#include "base/exception_text.hpp"
#include "base/unprintable.hpp"
#include "http/local_client.hpp"
#include "http/masking.hpp"
#include "http/message/token.hpp"

#include <coracle/base/html.hpp>
#include <coracle/http/middleware/request_id.hpp>
#include <coracle/http/problem.hpp>
#include <coracle/http/rejection.hpp>
#include <coracle/http/request.hpp>

#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http::detail {
namespace {

using pairs = std::vector<std::pair<std::string, std::string>>;

// No script and nothing from elsewhere: texts of the client are on the page.
constexpr std::string_view page_policy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

constexpr std::string_view page_begin = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>)";
constexpr std::string_view page_style = R"(</title><style>
body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}
h1{font-size:1.4em}h2{font-size:1.1em;margin:1.5em 0 .5em}
ol,pre,td{overflow-wrap:anywhere}li{margin:.5em 0}
code,pre,td{font-family:ui-monospace,monospace;font-size:.9em}pre{white-space:pre-wrap;margin:.2em 0}
td{padding:.1em 1em .1em 0;vertical-align:top}td:first-child{opacity:.7;white-space:nowrap}
footer{margin-top:2em;opacity:.7;font-size:.85em}
</style></head><body>
)";

/// A failure as it is shown, secrets masked.
struct view {
    std::string line;  ///< "500 Internal Server Error"
    std::vector<coracle::detail::exception_link> chain;
    pairs request;
    pairs fields;
};

view view_of(const request& req, const std::exception_ptr& e, status code) {
    view v;
    v.line = std::to_string(to_code(code)) + ' ' + std::string(reason_phrase(code));
    v.chain = coracle::detail::exception_chain(e);
    v.request = {{"request", std::string(req.method_text()) + ' ' + masked_url(req.target())},
                 {"version", std::string(to_string(req.version()))},
                 {"route", std::string(req.route())},
                 {"client", req.client().to_string()}};
    if (const std::string_view id = request_id::of(req); !id.empty()) {
        v.request.emplace_back("request id", id);
    }
    for (const field& f : req.fields()) {
        v.fields.emplace_back(f.name, masked_field(f));
    }
    return v;
}

// ---- HTML

void append_table(std::string& out, std::string_view heading, const pairs& rows) {
    if (rows.empty()) return;
    out.append("<h2>").append(heading).append("</h2><table>\n");
    for (const auto& [name, value] : rows) {
        out += "<tr><td>" + html_escape(name) + "</td><td>" + html_escape(value) + "</td></tr>\n";
    }
    out += "</table>\n";
}

std::string as_html(const view& v) {
    std::string out(page_begin);
    out += html_escape(v.line);
    out.append(page_style).append("<h1>").append(html_escape(v.line)).append("</h1>\n<ol>\n");
    for (const auto& link : v.chain) {
        out += "<li><code>" + html_escape(link.type) + "</code>";
        if (!link.text.empty()) out += "<pre>" + html_escape(link.text) + "</pre>";
        out += "</li>\n";
    }
    out += "</ol>\n";
    append_table(out, "Request", v.request);
    append_table(out, "Fields", v.fields);
    return out +
           "<footer>Shown by http::exception_page, which is for developers.</footer>\n"
           "</body></html>\n";
}

// ---- text

void append_lines(std::string& out, std::string_view heading, const pairs& rows) {
    if (rows.empty()) return;
    out.append("\n").append(heading).append(":\n");
    for (const auto& [name, value] : rows) {
        out += "  " + coracle::detail::escape_unprintable(name) + ": " +
               coracle::detail::escape_unprintable(value) + '\n';
    }
}

std::string as_text(const view& v) {
    std::string out = v.line + "\n\n";
    std::string_view before = "";
    for (const auto& link : v.chain) {
        out.append(before).append(coracle::detail::escape_unprintable(link.type));
        if (!link.text.empty()) out += ": " + coracle::detail::escape_unprintable(link.text);
        out += '\n';
        before = "  because of ";
    }
    append_lines(out, "request", v.request);
    append_lines(out, "fields", v.fields);
    return out;
}

// ---- JSON

std::string as_object(const pairs& rows) {
    std::string out = "{";
    for (const auto& [name, value] : rows) {
        if (out.size() > 1) out += ',';
        out += json_quoted(name) + ':' + json_quoted(value);
    }
    return out + '}';
}

/// Fields may come several times, so they are no object.
std::string as_list(const pairs& rows) {
    std::string out = "[";
    for (const auto& [name, value] : rows) {
        if (out.size() > 1) out += ',';
        out += '[' + json_quoted(name) + ',' + json_quoted(value) + ']';
    }
    return out + ']';
}

problem as_problem(const view& v, status code) {
    std::string chain = "[";
    for (const auto& link : v.chain) {
        if (chain.size() > 1) chain += ',';
        chain +=
            "{\"type\":" + json_quoted(link.type) + ",\"text\":" + json_quoted(link.text) + '}';
    }
    problem p(code, v.chain.empty() ? std::string_view() : v.chain.front().text);
    p.add_json("exceptions", chain + ']');
    p.add_json("request", as_object(v.request));
    p.add_json("fields", as_list(v.fields));
    return p;
}

/// Returns true if the client names HTML among what it accepts, as browsers do; "*/*" does not.
bool accepts_html(const request& req) noexcept {
    for (const field& f : req.fields()) {
        if (f.id != field_id::accept) continue;
        std::string_view rest = f.value;
        while (!rest.empty()) {
            const std::string_view range = coracle::detail::take_item(rest);
            if (equal_ignoring_case(trim_ows(range.substr(0, range.find(';'))), "text/html")) {
                return true;
            }
        }
    }
    return false;
}

/// Replaces the body, and keeps the fields that do not describe it.
void replace_body(response& out, std::string text, std::string_view type) {
    out.fields().remove("Content-Type");
    out.fields().remove("Content-Length");
    out.set_body(body(std::move(text)), {});
    out.set("Content-Type", type);
    out.set("Cache-Control", "no-store");
    out.set("X-Content-Type-Options", "nosniff");
}

bool is_meant(const std::exception_ptr& e) noexcept {
    try {
        std::rethrow_exception(e);
    } catch (const status_error&) {
        return true;
    } catch (...) {
        return false;
    }
}

void show(const request& req, const std::exception_ptr& e, response& out) {
    const view v = view_of(req, e, out.status());
    // A script that takes both wants JSON; no browser does that.
    if (accepts_json(req)) {
        replace_body(out, as_problem(v, out.status()).text(), "application/problem+json");
    } else if (accepts_html(req)) {
        replace_body(out, as_html(v), "text/html; charset=utf-8");
        out.set("Content-Security-Policy", page_policy);
    } else {
        replace_body(out, as_text(v), "text/plain; charset=utf-8");
    }
}

}  // namespace

void show_exception(const request& req, const std::exception_ptr& e, response& out) noexcept {
    const auto* const wanted = req.data<exception_view>();
    if (wanted == nullptr || is_meant(e) || !is_server_error(out.status())) return;
    if (wanted->loopback_only && !comes_from_here(req)) return;
    try {
        show(req, e, out);
    } catch (...) {  // NOLINT(bugprone-empty-catch): without memory the short response stays
    }
}

}  // namespace coracle::http::detail
