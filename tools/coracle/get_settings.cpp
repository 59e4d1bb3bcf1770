// The meaning of the arguments of `coracle get`.

#include "client_arguments.hpp"
#include "get_texts.hpp"
#include "input_file.hpp"
#include "settings.hpp"

#include <coracle/http/client_settings.hpp>
#include <coracle/http/field_id.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <sstream>
#include <utility>

namespace coracle::tool {
namespace {

/// Returns true if --header says that the client shall not send it.
bool is_left_out(const get_settings& s, std::string_view name) {
    return std::ranges::any_of(s.left_out, [name](const std::string& one) {
        return http::find_field_id(one) == http::find_field_id(name);
    });
}

/// Removes a field that the client would send itself.
void leave_out(get_settings& s, std::string_view name) {
    s.left_out.emplace_back(name);
    switch (http::find_field_id(name)) {
        case http::field_id::user_agent: s.client.user_agent.clear(); break;
        case http::field_id::accept_encoding: s.client.accept_compression = false; break;
        case http::field_id::accept: s.fields.emplace_back("Accept", ""); break;
        case http::field_id::content_type: s.has_media_type = false; break;
        case http::field_id::authorization:
            s.client.authentication = {};
            s.client.netrc = false;
            break;
        default: break;
    }
}

void add_field(get_settings& s, const std::string& text) {
    auto [name, value] = http_header_field(text);
    if (value.empty() && text.back() != ';') {
        leave_out(s, name);
    } else {
        s.fields.emplace_back(std::move(name), std::move(value));
    }
}

/// "Name: value", or "@FILE" with a field in each line.
void add_fields(get_settings& s, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        if (!text.starts_with('@')) {
            add_field(s, text);
            continue;
        }
        std::istringstream lines(content_of(text.substr(1)));
        for (std::string line; std::getline(lines, line);) {
            if (line.ends_with('\r')) line.pop_back();
            if (!line.empty()) add_field(s, line);
        }
    }
}

/// Adds a field that has an option of its own, where --header has not set it.
void add_unless_given(get_settings& s, const char* name, std::string value) {
    const auto is_it = [name](const auto& f) {
        return http::find_field_id(f.first) == http::find_field_id(name);
    };
    if (value.empty() || is_left_out(s, name) || std::ranges::any_of(s.fields, is_it)) return;
    s.fields.emplace_back(name, std::move(value));
}

/// "500" is the range from there on.
std::string whole_range(const std::string& text) {
    const bool is_number = text.find_first_not_of("0123456789") == text.npos;
    return is_number ? text + '-' : text;
}

/// Cookies themselves, or names of files; an empty one only switches cookies on.
void add_cookies(get_settings& s, const std::vector<std::string>& texts) {
    std::string own;
    for (const std::string& text : texts) {
        if (text.find('=') == std::string::npos) {
            s.client.cookies = true;
            if (!text.empty()) s.cookie_files.push_back(text);
            continue;
        }
        if (!own.empty()) own += "; ";
        own += text;
    }
    add_unless_given(s, "Cookie", own);
    if (!s.cookie_jar.empty()) s.client.cookies = true;
}

/// "-", or a byte.
void set_resuming(get_settings& s, const std::string& text) {
    s.resume = true;
    if (text == "-") return;
    std::uint64_t from = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), from);
    if (failed != std::errc() || end != text.data() + text.size()) {
        throw failure("cannot read --continue-at '" + text +
                      "': it wants a number of bytes, or '-' for where the file ends");
    }
    s.resume = from != 0;
    if (s.resume) s.resume_from = from;
}

}  // namespace

void get_options::understand_limits(get_settings& s) const {
    const texts& t = *texts_;
    http::client_options& o = s.client;
    if (!t.rate.empty()) {
        check_read("--limit-rate", http::read_options(o, "rate_limit=" + t.rate));
    }
    if (command_->count("--max-time") != 0) o.total_timeout = seconds_of(t.total);
    if (command_->count("--retry-delay") != 0) {
        o.retry.delay = seconds_of(t.retry_delay);
        o.retry.longest_delay = std::max(o.retry.longest_delay, o.retry.delay);
        o.retry.backoff = false;
    }
    // With a given number of retries, all of them are made: no budget holds them back.
    if (command_->count("--retry") != 0) o.retry.budget_percent = 0;
    if (t.location) o.follow = http::follow::standard;
    if (command_->count("--max-redirs") != 0) o.redirects = t.redirects;
    if (t.all_at_once && command_->count("--parallel") == 0) s.parallel = 50;
    if (!t.resume_at.empty()) set_resuming(s, t.resume_at);
    if (t.resume) s.resume = true;
}

get_settings get_options::settings() const {
    const texts& t = *texts_;
    get_settings s = t.settings;
    s.client = {};
    // The defaults of curl.
    s.client.redirects = 50;
    s.client.first_byte_timeout = s.client.idle_timeout = duration::zero();
    s.client.response_limit = 0;
    s.client.retry.longest_delay = std::chrono::minutes(10);
    client_.apply(s.client, s.pool);
    if (t.no_compressed) s.client.accept_compression = false;
    s.globbing = !t.no_globbing;
    understand_limits(s);
    add_fields(s, t.fields);
    add_unless_given(s, "Referer", t.referer);
    if (!t.range.empty() && !s.uploads.empty()) {
        throw failure("--range does not go with --upload-file: a part of a file is not sent");
    }
    add_unless_given(s, "Range", t.range.empty() ? "" : "bytes=" + whole_range(t.range));
    add_cookies(s, t.cookies);
    return s;
}

}  // namespace coracle::tool
