#include "mail_reading.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/mime/encoded_word.hpp>
#include <coracle/mime/message_parser.hpp>

#include <algorithm>
#include <functional>

namespace coracle::tool {
namespace {

using kind = mime::message_event::kind;

constexpr std::size_t most_words = 64 * 1024;
constexpr std::size_t most_inline_bytes = 16 * 1024 * 1024;
constexpr std::size_t most_inline_images = 100;  // each takes a walk through the mail

/// Calls `begin(part)` for each part, containers too, and `data(bytes)` for the content of those
/// that are none.
void walk(std::string_view whole, const std::function<void(const mime::message_part&)>& begin,
          const std::function<void(std::string_view)>& data) {
    mime::message_parser parser;
    const auto take = [&](const mime::message_event& e) {
        if (e.what == kind::part_begin) begin(parser.part());
        if (e.what == kind::data) data(e.data);
    };
    for (auto e = parser.parse(whole); e.what != kind::need_more; e = parser.parse(whole)) {
        whole.remove_prefix(e.consumed);
        take(e);
    }
    for (auto e = parser.finish(); e.what != kind::end; e = parser.finish()) take(e);
}

mail_part describe(const mime::message_part& p, std::size_t index) {
    mail_part one;
    one.index = index;
    one.type = p.type.essence;
    one.charset = lower(p.type.get("charset").value_or(""));
    one.name = mime::decode_words(p.filename().value_or(""));
    std::string_view id = p.field("Content-ID");
    if (id.starts_with('<') && id.ends_with('>')) id = id.substr(1, id.size() - 2);
    one.id = id;
    return one;
}

/// Fills in a mail while its parts come.
class reader {
public:
    void begin(const mime::message_part& p) {
        if (p.depth == 0) read_header(p);
        // The parts of a mail within a mail are not what this one says.
        if (p.depth <= forwarded_depth_) forwarded_depth_ = none;
        if (p.container) {
            if (p.type.type() == "message" && forwarded_depth_ == none) forwarded_depth_ = p.depth;
            in_words_ = false;
            return;
        }
        mail_part one = describe(p, mail_.parts.size());
        const bool may_be_shown =
            p.disposition() != "attachment" && one.name.empty() && forwarded_depth_ == none;
        const bool is_text = may_be_shown && one.type == "text/plain" && !mail_.text;
        const bool is_html = may_be_shown && one.type == "text/html" && !mail_.html;
        if (is_text) mail_.text = one.index;
        if (is_html) mail_.html = one.index;
        one.attached = !is_text && !is_html;
        in_words_ = !one.attached;
        mail_.parts.push_back(std::move(one));
    }
    void data(std::string_view bytes) {
        mail_.parts.back().size += bytes.size();
        if (in_words_) add_words(bytes);
    }
    mail_reading take() {
        mail_.words = lower(mail_.words);
        return std::move(mail_);
    }

private:
    static constexpr std::size_t none = SIZE_MAX;

    void read_header(const mime::message_part& p) {
        const auto text = [&](std::string_view name) { return mime::decode_words(p.field(name)); };
        mail_.from = text("From");
        mail_.to = text("To");
        mail_.cc = text("Cc");
        mail_.reply_to = text("Reply-To");
        mail_.subject = text("Subject");
        mail_.date = text("Date");
        for (const std::string* one : {&mail_.from, &mail_.to, &mail_.cc, &mail_.subject}) {
            add_words(*one);
            add_words("\n");
        }
    }
    void add_words(std::string_view bytes) {
        mail_.words += bytes.substr(0, most_words - std::min(most_words, mail_.words.size()));
    }

    mail_reading mail_;
    std::size_t forwarded_depth_ = none;
    bool in_words_ = false;
};

/// A type that may stand in an attribute.
bool is_plain_image(std::string_view type) noexcept {
    return type.starts_with("image/") && std::ranges::all_of(type, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '-' ||
                      c == '+' || c == '.';
           });
}

/// The place behind `<head ...>`, or else behind the doctype.
std::size_t place_for_base(std::string_view html) {
    const std::string folded = lower(html.substr(0, 4096));
    for (const char* const tag : {"<head", "<html", "<!doctype"}) {
        const std::size_t at = folded.find(tag);
        const std::size_t end = at == std::string::npos ? at : folded.find('>', at);
        if (end != std::string::npos) return end + 1;
    }
    return 0;
}

}  // namespace

mail_reading read_mail(std::string_view whole) {
    reader r;
    walk(whole, [&](const auto& p) { r.begin(p); }, [&](std::string_view bytes) { r.data(bytes); });
    return r.take();
}

std::string content_of_part(std::string_view whole, std::size_t index) {
    std::string content;
    std::size_t begun = 0;
    walk(
        whole, [&](const auto& p) { begun += p.container ? 0 : 1; },
        [&](std::string_view bytes) {
            if (begun == index + 1) content += bytes;
        });
    return content;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    }
    return out;
}

std::string html_for_frame(std::string_view whole, const mail_reading& m) {
    if (!m.html) return {};
    std::string html = content_of_part(whole, *m.html);
    html.insert(place_for_base(html), "<base target=\"_blank\">");
    std::string out;
    std::size_t images = 0;
    std::string_view rest = html;
    std::size_t longest_id = 0;
    for (const mail_part& p : m.parts) longest_id = std::max(longest_id, p.id.size());
    for (std::size_t at = rest.find("cid:"); at != rest.npos; at = rest.find("cid:")) {
        out += rest.substr(0, at);
        rest.remove_prefix(at + 4);
        const std::string_view next = rest.substr(0, longest_id + 1);
        const std::string_view id = next.substr(0, next.find_first_of("\"' \t\r\n)>"));
        const auto part = std::ranges::find(m.parts, id, &mail_part::id);
        const bool fits = !id.empty() && part != m.parts.end() && is_plain_image(part->type) &&
                          images != most_inline_images &&
                          out.size() + part->size < most_inline_bytes;
        if (!fits) {
            out += "cid:";
            continue;
        }
        ++images;
        const std::string bytes = content_of_part(whole, part->index);
        out.append("data:")
            .append(part->type)
            .append(";base64,")
            .append(mime::base64_encode(bytes));
        rest.remove_prefix(id.size());
    }
    return out.append(rest);
}

}  // namespace coracle::tool
