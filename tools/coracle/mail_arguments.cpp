#include "mail_arguments.hpp"

#include "client_arguments.hpp"
#include "file_argument.hpp"
#include "input_file.hpp"
#include "settings.hpp"

#include <coracle/runtime/operation.hpp>
#include <coracle/smtp/dkim.hpp>

#include <utility>

namespace coracle::tool {
namespace {

constexpr const char* standard_input = "-";

/// Returns a text, or the content of a file.
std::string content_or_file(const std::string& text) {
    return text.starts_with('@') ? content_of(text.substr(1)) : text;
}

/// The last part of a path.
std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

void check_path(const char* option, const std::string& path) {
    if (path.empty()) throw failure(std::string(option) + " needs the name of a file");
}

void add_attachment(smtp::message& m, const std::string& text) {
    const file_argument a = read_file_argument(text, "name");
    check_path("--attach", a.value);
    const std::string type = a.type.value_or("");
    if (a.value == standard_input) {
        m.attach(a.name.value_or("input"), content_of(a.value), type);
    } else {
        m.attach_file(a.value, a.name.value_or(""), type);
    }
}

void add_inline(smtp::message& m, const std::string& text) {
    const file_argument a = read_file_argument(text, "id");
    check_path("--inline", a.value);
    m.embed_file(a.name.value_or(name_of(a.value)), a.value, a.type.value_or(""));
}

void add_signer(smtp::message& m, const std::string& text) {
    const std::size_t first = text.find(':');
    const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
    if (second == std::string::npos || second + 1 == text.size()) {
        throw failure("cannot read --dkim '" + text +
                      "': write it as in --dkim example.org:2026:key.pem");
    }
    smtp::dkim_options o;
    o.domain = text.substr(0, first);
    o.selector = text.substr(first + 1, second - first - 1);
    const std::string path = text.substr(second + 1);
    o.key = secret(path);
    try {
        m.dkim(smtp::dkim_signer(std::move(o)));
    } catch (const exception& e) {
        const error& why = e.error();
        if (why == std::errc::invalid_argument) {
            throw failure("cannot sign for --dkim '" + text + "': " + std::string(why.subject()));
        }
        throw unreadable("cannot read the key '" + path + "' of --dkim: " + why.code().message());
    }
}

void set_envelope_of_raw(smtp::message& m, const mail_arguments& a) {
    for (const std::string& one : a.from) m.envelope_from(one);
    for (const auto* list : {&a.to, &a.cc, &a.bcc}) {
        for (const std::string& one : *list) m.envelope_to(one);
    }
}

void refuse_beside_raw(const mail_arguments& a) {
    const bool has_content = a.text || a.html || a.subject || !a.attachments.empty() ||
                             !a.inlines.empty() || !a.headers.empty() || !a.reply_to.empty();
    if (!has_content) return;
    throw failure(
        "--raw is a whole mail: beside it only the envelope can be given (--from, --to, --cc, "
        "--bcc, --envelope-from), and --dkim");
}

void add_fields(smtp::message& m, const mail_arguments& a) {
    for (const std::string& one : a.from) m.from(one);
    for (const std::string& one : a.to) m.to(one);
    for (const std::string& one : a.cc) m.cc(one);
    for (const std::string& one : a.bcc) m.bcc(one);
    for (const std::string& one : a.reply_to) m.reply_to(one);
    if (a.subject) m.subject(*a.subject);
    for (const std::string& one : a.headers) {
        const auto [name, value] = header_field(one);
        m.header(name, value);
    }
}

void add_content(smtp::message& m, const mail_arguments& a) {
    if (a.text) m.text(content_or_file(*a.text));
    if (a.html) m.html(content_or_file(*a.html));
    if (!a.text && !a.html) m.text(content_of(standard_input));
    for (const std::string& one : a.inlines) add_inline(m, one);
    for (const std::string& one : a.attachments) add_attachment(m, one);
}

/// Standard input can be read once.
void check_input_is_wanted_once(const mail_arguments& a) {
    int readers = !a.text && !a.html && !a.raw ? 1 : 0;
    for (const auto* one : {&a.text, &a.html}) readers += *one == "@-" ? 1 : 0;
    for (const std::string& one : a.attachments) {
        readers += read_file_argument(one, "name").value == standard_input ? 1 : 0;
    }
    if (readers < 2) return;
    throw failure("only one argument can have the standard input ('-'): give the text with --text");
}

}  // namespace

smtp::message mail_of(const mail_arguments& a) {
    check_input_is_wanted_once(a);
    smtp::message m;
    if (a.raw) {
        refuse_beside_raw(a);
        m.raw(content_of(*a.raw));
        set_envelope_of_raw(m, a);
    } else {
        add_fields(m, a);
        add_content(m, a);
    }
    if (a.envelope_from) m.envelope_from(*a.envelope_from);
    for (const std::string& one : a.signers) add_signer(m, one);
    if (const auto problem = m.problem()) {
        std::string text(problem->subject());
        if (text.starts_with("no sender: from")) text = "no sender: give one with --from";
        if (text.starts_with("no recipient")) {
            text = "no recipient: give one with --to, --cc or --bcc";
        }
        throw failure("cannot send the mail: " + text);
    }
    return m;
}

}  // namespace coracle::tool
