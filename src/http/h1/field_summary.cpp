#include "http/h1/field_summary.hpp"

#include "http/h1/target.hpp"
#include "http/message/char_table.hpp"
#include "http/message/fold.hpp"
#include "http/message/token.hpp"

namespace coracle::http::h1 {

namespace {

// A length that fits a signed 64-bit offset, or the largest unsigned number.
constexpr std::uint64_t no_length = ~std::uint64_t{0};

std::uint64_t parse_length(std::string_view text) noexcept {
    if (text.empty()) {
        return no_length;
    }
    std::uint64_t value = 0;
    for (const char byte : text) {
        const auto digit = static_cast<std::uint64_t>(byte - '0');
        if (!is_char(byte, char_digit) || value > (no_length / 2 - digit) / 10) {
            return no_length;
        }
        value = value * 10 + digit;
    }
    return value;
}

// Calls `use` with each element of a comma-separated list, empty ones left out (RFC 9110 section
// 5.6.1).
template <class Use>
void for_each_element(std::string_view list, Use use) {
    for (;;) {
        const std::size_t comma = list.find(',');
        const std::string_view element = trim_ows(list.substr(0, comma));
        if (!element.empty()) {
            use(element);
        }
        if (comma == std::string_view::npos) {
            return;
        }
        list.remove_prefix(comma + 1);
    }
}

// Returns true if `note` has a case for the field.
constexpr bool decides(field_id id) noexcept {
    return id == field_id::content_length || id == field_id::transfer_encoding ||
           id == field_id::connection || id == field_id::upgrade || id == field_id::expect;
}

}  // namespace

void field_summary::identify() noexcept {
    for (head_field& field : fields_) {
        field.id = find_field_id(field.name);
        if (field.id == field_id::host) {
            host_ = field.value;
            hosts_ = hosts_ == 0 ? 1 : 2;
        } else if (decides(field.id)) {
            note(field.id, field.value);
        }
    }
}

void field_summary::note(field_id id, std::string_view value) noexcept {
    switch (id) {
        case field_id::content_length: add_content_length(value); break;
        case field_id::transfer_encoding: add_transfer_encoding(value); break;
        case field_id::connection: add_connection(value); break;
        case field_id::upgrade: upgrade_field_ = true; break;
        case field_id::expect: expect_continue_ = is_folded(value, "100-continue"); break;
        default: break;
    }
}

// Lists and equal duplicates may be repaired (RFC 9110 section 8.6). In requests they are refused,
// since they are how requests are smuggled; for those in responses see `repeated_length`.
void field_summary::add_content_length(std::string_view value) noexcept {
    if (++content_lengths_ > 1) {
        content_lengths_ = 2;
        content_length_error_ = parse_error::duplicate_content_length;
        return;
    }
    content_length_ = parse_length(value);
    if (content_length_ == no_length) {
        content_length_error_ = parse_error::bad_content_length;
    }
}

// Only "chunked" alone is supported. For the others RFC 9112 section 6.1 distinguishes what is
// wrong (400) from what is not implemented (501).
void field_summary::add_transfer_encoding(std::string_view value) noexcept {
    if (++transfer_encodings_ > 1) {
        transfer_encodings_ = 2;
        transfer_encoding_error_ = parse_error::duplicate_transfer_encoding;
        return;
    }
    if (is_folded(value, "chunked")) {
        return;
    }
    bool malformed = false;
    bool chunked = false;
    bool other = false;
    for_each_element(value, [&](std::string_view element) {
        const std::string_view coding = trim_ows(element.substr(0, element.find(';')));
        malformed = malformed || chunked || !is_token(coding);
        chunked = is_folded(coding, "chunked");
        malformed = malformed || (chunked && coding.size() != element.size());
        other = other || !chunked;
    });
    transfer_encoding_error_ = malformed || !other ? parse_error::bad_transfer_encoding
                                                   : parse_error::unsupported_transfer_coding;
}

void field_summary::add_connection(std::string_view value) noexcept {
    if (is_folded(value, "keep-alive")) {  // what browsers send: not taken apart
        keep_alive_ = true;
        return;
    }
    for_each_element(value, [this](std::string_view option) { add_connection_option(option); });
}

void field_summary::add_connection_option(std::string_view option) noexcept {
    if (is_folded(option, "keep-alive")) {
        keep_alive_ = true;
    } else if (is_folded(option, "close")) {
        close_ = true;
    } else if (is_folded(option, "upgrade")) {
        connection_upgrade_ = true;
    } else if (!is_token(option)) {
        bad_connection_ = true;
    }
}

// Returns the length that all Content-Length fields and the elements of their lists agree on, or
// `no_length`: old servers and gateways send it twice.
std::uint64_t field_summary::repeated_length() const noexcept {
    std::uint64_t agreed = 0;
    std::size_t seen = 0;
    for (const head_field& field : fields_) {
        if (field.id != field_id::content_length) {
            continue;
        }
        if (field.value.empty()) {
            return no_length;
        }
        for_each_element(field.value, [&](std::string_view element) {
            const std::uint64_t length = parse_length(element);
            agreed = seen++ == 0 || length == agreed ? length : no_length;
        });
    }
    return seen == 0 ? no_length : agreed;
}

// RFC 9112 sections 6.1 and 6.3. Cases in which the RFC permits a lenient reading are refused all
// the same.
parse_error field_summary::check_framing(version version, parse_error length_error) const noexcept {
    if (length_error != parse_error::none) {
        return length_error;
    }
    if (transfer_encodings_ == 0) {
        return parse_error::none;
    }
    if (version == version::http_1_0) {
        return parse_error::transfer_encoding_in_http_1_0;
    }
    if (content_lengths_ != 0) {
        return parse_error::transfer_encoding_with_content_length;
    }
    return transfer_encoding_error_;
}

// RFC 9112 section 3.2. An empty Host is for targets that have no authority: not for origin form.
parse_error field_summary::check_host(request_head& head) const noexcept {
    if (hosts_ > 1) {
        return parse_error::duplicate_host;
    }
    const bool required = head.version == version::http_1_1;
    if (hosts_ == 0) {
        return required ? parse_error::missing_host : parse_error::none;
    }
    const bool may_be_empty = !required || head.form != target_form::origin;
    if (host_.empty() ? !may_be_empty : !is_host(host_)) {
        return parse_error::bad_host;
    }
    if (head.form == target_form::origin || head.form == target_form::asterisk) {
        head.host = host_;
    }
    return parse_error::none;
}

bool field_summary::keeps_alive(version version) const noexcept {
    return !close_ && (version == version::http_1_1 || keep_alive_);  // RFC 9112 section 9.3
}

parse_error field_summary::finish(request_head& head) const noexcept {
    if (const parse_error error = check_framing(head.version, content_length_error_);
        error != parse_error::none) {
        return error;
    }
    if (const parse_error error = check_host(head); error != parse_error::none) {
        return error;
    }
    if (bad_connection_) {
        return parse_error::bad_connection;
    }
    const bool chunked = transfer_encodings_ != 0;
    // Bytes after CONNECT belong to the tunnel, whatever a field says (RFC 9110 section 9.3.6).
    if (head.method == method::connect && (chunked || content_length_ != 0)) {
        return parse_error::content_on_connect;
    }
    head.framing = chunked                ? body_framing::chunked
                   : content_length_ != 0 ? body_framing::length
                                          : body_framing::none;
    head.content_length = content_length_;
    head.has_content_length = content_lengths_ != 0;
    head.keep_alive = keeps_alive(head.version);
    const bool modern = head.version == version::http_1_1;
    head.upgrade = modern && upgrade_field_ && connection_upgrade_;
    // RFC 9110 section 10.1.1: ignored on HTTP/1.0, and without content there is nothing to expect.
    head.expect_continue = modern && expect_continue_ && head.framing != body_framing::none;
    return parse_error::none;
}

parse_error field_summary::finish(response_head& head, method request) const noexcept {
    const bool modern = head.version == version::http_1_1;
    const bool tunnel = request == method::connect && head.code / 100 == 2;
    head.framing = body_framing::none;
    head.content_length = 0;
    head.has_content_length = false;
    // Some say "keep-alive; timeout=5": what that means for the connection nobody knows.
    head.keep_alive = !bad_connection_ && keeps_alive(head.version);
    head.upgrade = modern && upgrade_field_ && connection_upgrade_;
    if (tunnel) {
        return parse_error::none;  // both framing fields are ignored: RFC 9110 section 9.3.6
    }
    std::uint64_t length = content_length_;
    parse_error length_error = content_length_error_;
    if (length_error != parse_error::none) {
        length = repeated_length();
        if (length != no_length) {
            length_error = parse_error::none;
        }
    }
    const bool bodiless =
        request == method::head || head.code / 100 == 1 || head.code == 204 || head.code == 304;
    if (const parse_error error = check_framing(head.version, length_error);
        error != parse_error::none) {
        if (!bodiless) return error;
        // It ends with its head, whatever its fields say (RFC 9112 section 6.3): a server that is
        // wrong there is trusted with no further request.
        head.keep_alive = false;
        return parse_error::none;
    }
    head.content_length = length;
    head.has_content_length = content_lengths_ != 0;
    if (bodiless) {
        return parse_error::none;
    }
    if (transfer_encodings_ != 0) {
        head.framing = body_framing::chunked;
    } else if (content_lengths_ == 0) {
        head.framing = body_framing::until_close;
        head.keep_alive = false;
    } else if (length != 0) {
        head.framing = body_framing::length;
    }
    return parse_error::none;
}

}  // namespace coracle::http::h1
