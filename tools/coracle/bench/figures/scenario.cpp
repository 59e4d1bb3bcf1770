#include "scenario.hpp"

#include "json_value.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace coracle::tool::bench {
namespace {

using result = std::expected<planned_request, std::string>;

bool is_http(const url& u) noexcept {
    return u.scheme() == "http" || u.scheme() == "https";
}

std::expected<url, std::string> resolve(const std::string& text, const url& base) {
    const bool absolute = text.find("://") != std::string::npos;
    if (base.empty() && !absolute) {
        return std::unexpected("'" + text + "' is relative, and no URL was given");
    }
    auto u = base.empty() ? url::parse(text) : base.resolve(text);
    if (!u) return std::unexpected("'" + text + "': " + std::string(u.error().subject()));
    return *std::move(u);
}

/// Fields that the connection has, or that frame the message, are its own business.
bool is_own(std::string_view name) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::string_view own[] = {"host",       "connection",        "content-length",
                                        "keep-alive", "transfer-encoding", "upgrade"};
    return lower.starts_with(':') || std::ranges::find(own, lower) != std::end(own);
}

/// Takes the origin of the first request where no URL was given. False for another origin.
bool belongs(scenario& s, const url& u) {
    if (s.origin.empty()) s.origin = u;
    return s.origin.same_origin(u);
}

result read_line(const json_value& v, const url& base, scenario& s) {
    if (!v.is_object()) return std::unexpected("an object is wanted");
    for (const auto& [name, value] : v.members()) {
        constexpr std::string_view known[] = {"url", "method", "headers", "body", "weight"};
        if (std::ranges::find(known, name) == std::end(known)) {
            return std::unexpected("there is no '" + name +
                                   "': there are url, method, headers, body and weight");
        }
    }
    planned_request r;
    if (!v["url"].is_text()) return std::unexpected("'url' is wanted, a string");
    auto u = resolve(v["url"].text(), base);
    if (!u) return std::unexpected(std::move(u).error());
    if (!is_http(*u) || !belongs(s, *u)) {
        return std::unexpected("'" + v["url"].text() + "' goes to another server than " +
                               s.origin.redacted());
    }
    r.target = u->target();
    if (v.find("body") != nullptr) {
        if (!v["body"].is_text()) return std::unexpected("'body' has to be a string");
        r.body = v["body"].text();
        r.method = "POST";
    }
    if (v.find("method") != nullptr) r.method = v["method"].text();
    if (r.method.empty()) return std::unexpected("'method' has to be a string");
    for (const auto& [name, value] : v["headers"].members()) {
        if (!value.is_text()) return std::unexpected("header '" + name + "' has to be a string");
        r.fields.emplace_back(name, value.text());
    }
    if (v.find("weight") != nullptr) {
        const double w = v["weight"].number();
        if (!(w >= 1 && w <= scenario::most_weight)) {
            return std::unexpected("'weight' has to be a number from 1 to 1000000");
        }
        r.weight = static_cast<std::uint32_t>(w);
    }
    return r;
}

std::expected<scenario, std::string> read_lines(std::string_view text, const url& base) {
    scenario s;
    s.origin = base;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string where = "line " + std::to_string(number) + ": ";
        const auto v = json_value::parse(line);
        if (!v) return std::unexpected(where + v.error());
        auto r = read_line(*v, s.origin, s);
        if (!r) return std::unexpected(where + r.error());
        if (s.requests.size() == scenario::most_requests) {
            return std::unexpected(where + "more than 100000 requests");
        }
        s.requests.push_back(*std::move(r));
    }
    return s;
}

/// The request of an entry of a HAR; nothing for one that goes elsewhere.
std::optional<planned_request> read_entry(const json_value& entry, scenario& s) {
    const json_value& r = entry["request"];
    auto u = url::parse(r["url"].text());
    if (!u || !is_http(*u) || !belongs(s, *u)) return {};
    planned_request p;
    p.target = u->target();
    p.method = r["method"].text();
    if (p.method.empty()) return {};
    for (const json_value& h : r["headers"].elements()) {
        const std::string& name = h["name"].text();
        if (!name.empty() && !is_own(name)) p.fields.emplace_back(name, h["value"].text());
    }
    p.body = r["postData"]["text"].text();
    return p;
}

std::expected<scenario, std::string> read_har(const json_value& log, const url& base) {
    scenario s;
    s.origin = base;
    s.in_order = true;
    for (const json_value& entry : log["entries"].elements()) {
        auto r = read_entry(entry, s);
        if (!r || s.requests.size() == scenario::most_requests) {
            ++s.left_out;
            continue;
        }
        s.requests.push_back(*std::move(r));
    }
    return s;
}

}  // namespace

bool planned_request::has_field(std::string_view name) const noexcept {
    return std::ranges::any_of(fields, [&](const auto& f) {
        return std::ranges::equal(f.first, name, [](unsigned char a, unsigned char b) {
            return std::tolower(a) == std::tolower(b);
        });
    });
}

std::size_t scenario::draw(std::uint64_t random) const noexcept {
    if (sums_.size() < 2) return 0;
    const std::uint64_t at = random % sums_.back();
    return static_cast<std::size_t>(std::ranges::upper_bound(sums_, at) - sums_.begin());
}

void scenario::add_up_weights() {
    sums_.clear();
    std::uint64_t sum = 0;
    for (const planned_request& r : requests) sums_.push_back(sum += r.weight);
}

std::expected<scenario, std::string> read_scenario(std::string_view text, const url& base) {
    // A HAR is one value, and no line of one is.
    const auto whole = json_value::parse(text);
    const bool is_har = whole && (*whole)["log"]["entries"].is_array();
    auto s = is_har ? read_har((*whole)["log"], base) : read_lines(text, base);
    if (s && s->requests.empty()) {
        return std::unexpected(is_har ? "no request of the HAR goes to this server"
                                      : "there is no request in it");
    }
    if (s) s->add_up_weights();
    return s;
}

}  // namespace coracle::tool::bench
