#include "smtp/outgoing_mail.hpp"

#include "smtp/content_error.hpp"
#include "smtp/dkim_signature.hpp"

#include <coracle/mime/extended_parameter.hpp>
#include <coracle/mime/field.hpp>
#include <coracle/mime/media_type.hpp>
#include <coracle/mime/quoted_printable.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/smtp/error.hpp>

#include <algorithm>

namespace coracle::smtp::detail {
namespace {

// Content beyond this is not looked at for a shorter form than base64, and never copied.
constexpr std::size_t looked_at = 1024 * 1024;
constexpr std::size_t block_size = 57 * 1024;  // whole lines of base64
constexpr std::size_t piece_size = 64 * 1024;

std::string crlf_lines(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 40);
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        if (end == std::string_view::npos) return out.append(line);
        if (line.ends_with('\r')) line.remove_suffix(1);
        out.append(line).append("\r\n");
        text.remove_prefix(end + 1);
    }
    return out;
}

bool has_parameter(const mime::media_type& type, std::string_view name) {
    return std::ranges::any_of(type.parameters,
                               [name](const mime::parameter& p) { return p.name == name; });
}

error wrong_size(const content& c) {
    error e(std::errc::invalid_argument, "message");
    return std::move(e.on("the content of " + (c.path.empty() ? "a stream" : c.path) +
                          " has another size than it had"));
}

/// Returns the next bytes of `all`, of which `given` were given: few enough that a slow connection
/// sends them within the timeout of one piece.
std::string_view next_piece(std::string_view all, std::size_t& given) noexcept {
    const std::string_view piece = all.substr(given, piece_size);
    given += piece.size();
    return piece;
}

}  // namespace

task<std::expected<std::unique_ptr<outgoing_mail>, error>> outgoing_mail::open(const message& m) {
    using made = std::expected<std::unique_ptr<outgoing_mail>, error>;
    if (auto problem = m.problem()) co_return std::unexpected(*std::move(problem));
    std::unique_ptr<outgoing_mail> mail(new outgoing_mail(m.state()));
    for (const attachment& a : m.state().attachments) {
        brought b;
        b.what = &a.what;
        if (!a.what.path.empty()) {
            auto opening = fs::open(a.what.path);
            auto file = co_await as_result(opening);
            if (!file) co_return std::unexpected(content_error(std::move(file).error()));
            b.file = *std::move(file);
            auto asking = b.file.status();
            auto status = co_await as_result(asking);
            if (!status) co_return std::unexpected(content_error(std::move(status).error()));
            if (status->kind == file_kind::directory) {
                error e(std::errc::is_a_directory, "open");
                co_return std::unexpected(content_error(std::move(e.on(a.what.path))));
            }
            b.size = status->size;
        }
        mail->brought_.push_back(std::move(b));
    }
    co_return made(std::move(mail));
}

void outgoing_mail::put_encoding(mime::mail_part& p, mime::transfer_encoding e) {
    if (e == mime::transfer_encoding::eight_bit) is_eight_bit_ = true;
    if (e == mime::transfer_encoding::binary) is_binary_ = true;
    static_cast<void>(
        mime::append_field(p.header, "Content-Transfer-Encoding", mime::to_string(e)));
}

mime::mail_part outgoing_mail::text_part(const std::string& text, std::string_view type) {
    mime::content_scan scan;
    scan.add(text);
    mime::mail_part p;
    p.content_type = type;
    p.content_type += scan.has_eight_bit() ? "; charset=utf-8" : "; charset=us-ascii";
    mime::transport_abilities abilities = form_.abilities;
    abilities.binary = false;  // lines are lines
    const auto encoding = scan.cheapest(true, abilities);
    put_encoding(p, encoding);
    if (encoding == mime::transfer_encoding::base64) {
        mime::base64_writer writer;
        writer.add(crlf_lines(text), p.content);
        writer.finish(p.content);
    } else if (encoding == mime::transfer_encoding::quoted_printable) {
        p.content = mime::quoted_printable_encode(text);
    } else {
        p.content = crlf_lines(text);
    }
    return p;
}

// Read while it is sent.
void outgoing_mail::describe_brought(mime::mail_part& p, std::size_t index) {
    brought& b = brought_[index];
    const content& c = *b.what;
    std::optional<std::uint64_t> size = c.size;
    if (c.bytes != nullptr) size = c.bytes->size();
    if (b.file.is_open()) size = b.size;
    b.encoding =
        form_.abilities.binary ? mime::transfer_encoding::binary : mime::transfer_encoding::base64;
    put_encoding(p, b.encoding);
    p.external = index;
    if (size && b.encoding == mime::transfer_encoding::base64) {
        size = mime::base64_writer::encoded_size(*size);
    }
    p.external_size = size;
}

/// Returns true if the mail is one attachment, and nothing around it.
bool outgoing_mail::is_whole_mail() const noexcept {
    const message_state& s = *state_;
    return s.attachments.size() == 1 && !s.has_text();
}

mime::mail_part outgoing_mail::attachment_part(std::size_t index) {
    const attachment& a = state_->attachments[index];
    mime::mail_part p;
    p.content_type = a.type;
    const content& c = a.what;
    auto encoding = mime::transfer_encoding::base64;
    const auto type = mime::parse_media_type(a.type);
    const bool is_message = type && type->type() == "message";
    // The content of a whole mail gets a line end where it has none.
    const bool ends_mail = is_whole_mail() && !is_message;
    const bool is_looked_at = c.bytes != nullptr && c.bytes->size() <= looked_at &&
                              (!ends_mail || c.bytes->ends_with("\r\n"));
    if (is_looked_at) {
        mime::content_scan scan;
        scan.add(*c.bytes);
        encoding = scan.cheapest(false, form_.abilities);
    }
    const bool encoded = encoding == mime::transfer_encoding::base64 ||
                         encoding == mime::transfer_encoding::quoted_printable;
    // RFC 2046 section 5.2.1: a message must not be encoded.
    const bool keeps_type = !is_message || !encoded;
    if (!keeps_type) p.content_type = mime::unknown_media_type;
    const bool has_name = keeps_type && type && has_parameter(*type, "name");
    if (!a.name.empty() && !has_name) mime::append_parameter(p.content_type, "name", a.name);
    std::string disposition = a.id.empty() ? "attachment" : "inline";
    if (!a.name.empty()) mime::append_parameter(disposition, "filename", a.name);
    static_cast<void>(mime::append_field(p.header, "Content-Disposition", disposition));
    if (!a.id.empty()) {
        static_cast<void>(mime::append_field(p.header, "Content-ID", '<' + a.id + '>'));
    }
    if (!is_looked_at || encoding == mime::transfer_encoding::base64) {
        describe_brought(p, index);
        return p;
    }
    put_encoding(p, encoding);
    if (encoding == mime::transfer_encoding::quoted_printable) {
        p.content = mime::quoted_printable_encode(*c.bytes, mime::line_ends::binary);
    } else {
        p.content = *c.bytes;
    }
    return p;
}

/// Returns the text in all its forms, the best one last. `main_form` becomes the number of the one
/// that shows what is embedded: the HTML, or else the plain text.
std::vector<mime::mail_part> outgoing_mail::forms_of_text(std::size_t& main_form) {
    const message_state& s = *state_;
    std::vector<mime::mail_part> forms;
    const auto add_alternatives = [&](bool before_html) {
        for (const alternative_form& a : s.alternatives) {
            if (a.stands_before_html == before_html) forms.push_back(text_part(*a.content, a.type));
        }
    };
    if (s.text != nullptr) forms.push_back(text_part(*s.text, "text/plain"));
    add_alternatives(true);
    main_form = s.html == nullptr ? 0 : forms.size();
    if (s.html != nullptr) forms.push_back(text_part(*s.html, "text/html"));
    add_alternatives(false);
    return forms;
}

mime::mail_part outgoing_mail::body() {
    const message_state& s = *state_;
    std::vector<mime::mail_part> shown;
    std::vector<mime::mail_part> attached;
    for (std::size_t i = 0; i != s.attachments.size(); ++i) {
        auto& list = s.attachments[i].id.empty() ? attached : shown;
        list.push_back(attachment_part(i));
    }
    std::size_t main_form = 0;
    std::vector<mime::mail_part> forms = forms_of_text(main_form);
    if (forms.empty() && attached.empty()) forms.push_back(text_part({}, "text/plain"));
    const auto wrap = [this](std::string_view type, std::vector<mime::mail_part> parts) {
        if (parts.size() == 1) return std::move(parts.front());
        mime::mail_part p;
        p.content_type = type;
        // RFC 2045 section 6.4: without a field they would say that all in them is 7bit.
        if (is_binary_ || is_eight_bit_) {
            put_encoding(p, is_binary_ ? mime::transfer_encoding::binary
                                       : mime::transfer_encoding::eight_bit);
        }
        p.children = std::move(parts);
        return p;
    };
    // Images that the HTML shows belong to it alone (RFC 2387).
    if (!shown.empty() && !forms.empty()) {
        const std::string& whole = forms[main_form].content_type;
        const std::string type = whole.substr(0, whole.find(';'));
        std::vector<mime::mail_part> related;
        related.push_back(std::move(forms[main_form]));
        std::ranges::move(shown, std::back_inserter(related));
        forms[main_form] = wrap("multipart/related; type=\"" + type + '"', std::move(related));
    } else {
        std::ranges::move(shown, std::back_inserter(attached));
    }
    std::vector<mime::mail_part> all;
    if (!forms.empty()) all.push_back(wrap("multipart/alternative", std::move(forms)));
    std::ranges::move(attached, std::back_inserter(all));
    return wrap("multipart/mixed", std::move(all));
}

std::expected<void, error> outgoing_mail::lay_out_raw() {
    is_eight_bit_ = state_->raw_is_eight_bit;
    if (is_eight_bit_ && !form_.abilities.eight_bit) {
        return std::unexpected(error(errc::needs_8bitmime, "message"));
    }
    raw_ = *state_->raw;
    segments_.emplace_back();  // for signatures
    return {};
}

std::expected<void, error> outgoing_mail::lay_out(const mail_form& form, loop& on) {
    form_ = form;
    segments_.clear();
    is_eight_bit_ = is_binary_ = false;
    is_utf8_ = needs_utf8(*state_);
    rewind();
    if (is_utf8_ && !form.utf8) return std::unexpected(error(errc::needs_smtputf8, "message"));
    if (state_->raw != nullptr) return lay_out_raw();
    // A server on the way that takes 7bit alone would recode it, and break the signatures (RFC 6376
    // section 5.3).
    if (has_signers()) form_.abilities = {};
    const auto charset = is_utf8_ ? mime::header_charset::utf8 : mime::header_charset::ascii;
    auto header = write_header(*state_, charset);
    if (!header) return std::unexpected(std::move(header).error());
    auto seeds = [&on] { return mime::boundary_seed{on.random(), on.random()}; };
    auto laid = mime::lay_out_mail(*std::move(header), body(), std::move(seeds));
    if (!laid) return std::unexpected(std::move(laid).error());
    segments_ = *std::move(laid);
    return {};
}

task<std::expected<void, error>> outgoing_mail::sign(std::int64_t unix_time) {
    std::vector<dkim_signature> all;
    all.reserve(state_->signers.size());
    for (const dkim_signer& s : state_->signers) all.emplace_back(s);
    const std::string_view first = raw_.empty() ? std::string_view(segments_.front().bytes) : raw_;
    const std::size_t end = first.find("\r\n\r\n");
    const std::string header(first.substr(0, end + 2));
    std::size_t skip = header.size() + 2;
    rewind();
    for (;;) {
        auto bytes = co_await next();
        if (!bytes) co_return std::unexpected(std::move(bytes).error());
        if (bytes->empty()) break;
        const std::size_t skipped = std::min(skip, bytes->size());
        skip -= skipped;
        for (dkim_signature& s : all) s.add_body(bytes->substr(skipped));
    }
    std::string signatures;
    for (dkim_signature& s : all) {
        auto field = s.finish(header, unix_time);
        if (!field) co_return std::unexpected(std::move(field).error());
        signatures += *field;
    }
    segments_.front().bytes.insert(0, signatures);
    rewind();
    co_return std::expected<void, error>();
}

void outgoing_mail::rewind() noexcept {
    at_ = 0;
    text_given_ = 0;
    raw_given_ = 0;
    offset_ = 0;
    ended_ = false;
    source_.reset();
    base64_ = {};
}

std::optional<std::uint64_t> outgoing_mail::size() const noexcept {
    auto laid = mime::size_of(segments_);
    if (laid) *laid += raw_.size();
    return laid;
}

task<std::expected<std::string_view, error>> outgoing_mail::next() {
    while (at_ != segments_.size()) {
        const mime::mail_segment& s = segments_[at_];
        const std::string_view text = next_piece(s.bytes, text_given_);
        if (!text.empty()) co_return text;
        const std::string_view raw = next_piece(raw_, raw_given_);
        if (!raw.empty()) co_return raw;
        if (s.external) {
            auto bytes = co_await next_brought(s);
            if (!bytes) co_return std::unexpected(content_error(std::move(bytes).error()));
            if (!bytes->empty()) co_return std::move(bytes);
        }
        ++at_;
        text_given_ = 0;
        offset_ = 0;
        ended_ = false;
        source_.reset();
        base64_ = {};
    }
    co_return std::string_view();
}

// Into `block_`.
std::expected<std::size_t, error> outgoing_mail::read_memory(brought& b) {
    const std::string_view all = *b.what->bytes;
    const std::string_view piece = all.substr(static_cast<std::size_t>(offset_), block_size);
    block_.assign(piece);
    return piece.size();
}

task<std::expected<std::size_t, error>> outgoing_mail::read_brought(brought& b) {
    if (b.what->bytes != nullptr) co_return read_memory(b);
    block_.resize(block_size);
    std::size_t size = 0;
    if (b.file.is_open()) {
        auto reading = b.file.read_at(offset_, block_);
        auto read = co_await as_result(reading);
        if (!read) co_return std::unexpected(std::move(read).error());
        size = *read;
    } else {
        if (source_ == nullptr) source_ = b.what->open();
        if (source_ == nullptr) {
            error e(std::errc::io_error, "message");
            co_return std::unexpected(std::move(e.on("a stream could not be opened")));
        }
        auto reading = source_->read_some(block_);
        auto read = co_await std::move(reading);
        if (!read) co_return std::unexpected(std::move(read).error());
        size = *read;
    }
    block_.resize(size);
    co_return size;
}

task<std::expected<std::string_view, error>> outgoing_mail::next_brought(
    const mime::mail_segment& s) {
    brought& b = brought_[*s.external];
    encoded_.clear();
    while (!ended_ && encoded_.empty()) {
        auto reading = read_brought(b);
        auto read = co_await std::move(reading);
        if (!read) co_return std::unexpected(std::move(read).error());
        offset_ += *read;
        ended_ = *read == 0;
        // A server was told the size: what follows would be taken for something else.
        const bool known = b.file.is_open() || (b.what->size && b.what->bytes == nullptr);
        const std::uint64_t told = b.file.is_open() ? b.size : b.what->size.value_or(0);
        if (known && (offset_ > told || (ended_ && offset_ != told))) {
            co_return std::unexpected(wrong_size(*b.what));
        }
        if (b.encoding == mime::transfer_encoding::binary) co_return std::string_view(block_);
        base64_.add(block_, encoded_);
        if (ended_) base64_.finish(encoded_);
    }
    co_return std::string_view(encoded_);
}

}  // namespace coracle::smtp::detail
