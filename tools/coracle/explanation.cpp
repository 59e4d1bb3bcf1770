#include "explanation.hpp"

#include "get_command.hpp"

#include <coracle/connect/proxy.hpp>
#include <coracle/http/curlev.hpp>
#include <coracle/http/response_info.hpp>

#include <string_view>

namespace coracle::tool {
namespace {

constexpr int not_trusted = 60;
constexpr int filesize_exceeded = 63;

std::string_view what_failed(phase p) noexcept {
    switch (p) {
        case phase::resolve: return "cannot find the host: ";
        case phase::connect: return "cannot connect: ";
        case phase::proxy: return "the proxy does not connect: ";
        case phase::tls: return "TLS failed: ";
        case phase::send: return "cannot send: ";
        case phase::first_byte: return "no response: ";
        case phase::receive: return "the response broke off: ";
        default: return "";
    }
}

/// The subject without the method, URL and peer that the client begins it with.
std::string_view detail_of(const error& e) noexcept {
    const std::string_view subject = e.subject();
    if (http::info_of(e) == nullptr) return subject;
    const std::size_t end = subject.find(": ");
    return end == std::string_view::npos ? std::string_view() : subject.substr(end + 2);
}

std::string time_limit(const error& e) {
    const std::string limit(e.operation());
    if (limit == "total_timeout") return "timeout (--max-time)";
    if (limit == "connect_timeout") return "timeout (--connect-timeout)";
    if (limit.ends_with("_timeout")) return "timeout (--options " + limit + ')';
    return e.code().message();
}

std::string size_limit(const error& e) {
    const std::string_view detail = detail_of(e);
    constexpr std::string_view of_client = "client_options::";
    const std::size_t at = detail.rfind(of_client);
    if (at == std::string_view::npos) return e.code().message() + ": " + std::string(detail);
    const std::string name(detail.substr(at + of_client.size()));
    if (name == "redirects") return "too many redirects (--max-redirs allows more)";
    if (name == "field_limit") {
        return "the response has too many headers (--options field_limit allows more)";
    }
    if (name == "head_limit") {
        return "the headers of the response are too large (--options head_limit allows more)";
    }
    if (name == "interim_limit") {
        return "too many interim responses (--options interim_limit allows more)";
    }
    return "the response is too large (--options " + name + " allows more)";
}

bool is_malformed(const error& e) noexcept {
    const bool by_parser = std::string_view(e.code().category().name()) == "http/1";
    return e.phase() != phase::proxy && (by_parser || e == errc::protocol_error);
}

/// Returns the text for an error that needs no other explanation; empty for the rest.
std::string whole_explanation(const error& e) {
    const std::string detail(detail_of(e));
    if (e == errc::limit_exceeded) return size_limit(e);
    if (is_malformed(e)) return "the response is malformed: " + e.code().message();
    if (e == std::errc::protocol_not_supported) {
        return "only http and https URLs are supported, not " + detail;
    }
    if (e.operation() == "url:") {
        const bool of_redirect = e.phase() == phase::receive;
        return (of_redirect ? "the URL of the redirect is malformed: " : "the URL is malformed: ") +
               detail;
    }
    if (e == std::errc::operation_not_supported && e.phase() == phase::send) {
        return "the redirect needs the body again, and it cannot be read twice";
    }
    if (e == std::errc::no_message_available && e.phase() == phase::send) {
        return "the file was shortened while it was sent";
    }
    if (e.operation() == "authorize") return "the credentials cannot be sent: " + detail;
    if (e.operation() == "method") return "this is not a method: " + detail;
    if (e.operation() == "proxy" && e == std::errc::invalid_argument) {
        return "this is not a proxy (--proxy): " + detail;
    }
    if (e == errc::end_of_stream && e.phase() == phase::first_byte && e.bytes() != 0) {
        return "the response ended within its headers";
    }
    return {};
}

/// Returns true if the subject of the error is a file, a key, an option or the words of a proxy.
bool is_about_subject(const error& e) noexcept {
    const std::string_view what = e.operation();
    const bool of_file = e.phase() == phase::tls && e.code().category() == std::generic_category();
    const bool of_proxy = e.code().category() == connect::proxy_category();
    return of_file || of_proxy || what == "authorities" || what == "certificate" || what == "key" ||
           e.code() == std::make_error_code(std::errc::invalid_argument);
}

}  // namespace

std::string explain(const error& e) {
    std::string text = whole_explanation(e);
    if (!text.empty()) return text;
    text = what_failed(e.phase());
    if (e == std::errc::timed_out) return text + time_limit(e);
    text += e.code().message();
    const std::string_view detail = detail_of(e);
    // The host may be that of a proxy, or of a redirect.
    const bool is_about_host = e.phase() == phase::connect || e.phase() == phase::resolve;
    if (is_about_host && !detail.empty()) return text.append(" (").append(detail).append(")");
    if (is_about_subject(e) && !detail.empty()) text.append(": ").append(detail);
    if (http::curlev_code(e) == not_trusted) {
        // The owner of the certificate, and its fault.
        if (!detail.empty()) text.append(": ").append(detail);
        text += " (--cacert trusts other authorities, -k any certificate)";
    }
    return text;
}

int exit_code_of(const error& e) noexcept {
    const bool is_size = e == errc::limit_exceeded && detail_of(e).ends_with("::response_limit");
    if (is_size) return filesize_exceeded;
    const int code = http::curlev_code(e);
    return code > 0 ? code : get_usage;
}

}  // namespace coracle::tool
