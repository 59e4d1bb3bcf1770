#include "base/ascii.hpp"
#include "mime/comments.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/extended_parameter.hpp>
#include <coracle/mime/message_parser.hpp>

#include <algorithm>
#include <utility>

namespace coracle::mime {
namespace {

// The longest line of a boundary: 70 bytes, the hyphens, and blanks that a relay may have added.
constexpr std::size_t longest_boundary_line = 256;
constexpr std::size_t data_at_once = 32 * 1024;
constexpr std::size_t most_header_bytes = ~std::size_t{0} / 2;

std::string_view line_end(std::string_view line) noexcept {
    return line.ends_with("\r\n") ? "\r\n" : line.ends_with('\n') ? "\n" : "";
}

std::string_view without_end(std::string_view line) noexcept {
    return line.substr(0, line.size() - line_end(line).size());
}

bool is_name_byte(char c) noexcept {
    return c > 0x20 && c < 0x7f && c != ':';
}

}  // namespace

std::string_view message_part::field(std::string_view name) const noexcept {
    for (const message_field& f : fields) {
        if (detail::equal_ignoring_case(f.name, name)) return f.value;
    }
    return {};
}

std::optional<std::string> message_part::filename() const {
    const std::string text = detail::without_comments(field("Content-Disposition"));
    const std::size_t end = text.find(';');
    if (end != std::string::npos) {
        if (auto parameters = parse_parameters(std::string_view(text).substr(end))) {
            const auto name = std::ranges::find(*parameters, "filename", &parameter::name);
            if (name != parameters->end()) return std::move(name->value);
        }
    }
    if (const auto name = type.get("name")) return std::string(*name);
    return std::nullopt;
}

std::string message_part::disposition() const {
    const std::string text = detail::without_comments(field("Content-Disposition"));
    return coracle::detail::lower(detail::trim(std::string_view(text).substr(0, text.find(';'))));
}

message_parser::message_parser(const message_limits& limits, bool decode)
    : limits_(limits), decode_(decode) {
    // The parser adds a little to it.
    limits_.header_bytes = std::min(limits_.header_bytes, most_header_bytes);
}

message_event message_parser::next(std::size_t consumed) {
    if (queue_begin_ == queue_.size()) {
        queue_.clear();
        queue_begin_ = 0;
        if (out_.empty()) return {kind::need_more, consumed, {}};
        push_data();
    }
    queued& first = queue_[queue_begin_++];
    message_event e{first.what, consumed, {}};
    if (e.what == kind::data) {
        given_ = std::move(first.data);
        e.data = given_;
    } else if (e.what == kind::part_begin) {
        part_ = std::move(first.part);
    }
    return e;
}

void message_parser::push_data() {
    if (out_.empty()) return;
    queue_.push_back({kind::data, std::move(out_), {}});
    out_.clear();
}

message_event message_parser::parse(std::string_view in) {
    const std::size_t size = in.size();
    while (queue_begin_ == queue_.size() && out_.size() < data_at_once && !in.empty() &&
           state_ != state::ended) {
        if (state_ == state::header)
            take_header(in);
        else
            take_content(in);
    }
    if (state_ == state::ended) in = {};
    return next(size - in.size());
}

void message_parser::take_header(std::string_view& in) {
    const std::size_t end = in.find('\n');
    const std::string_view more = in.substr(0, end == std::string_view::npos ? end : end + 1);
    in.remove_prefix(more.size());
    if (line_.empty() && end != std::string_view::npos && more.size() <= limits_.header_bytes + 2) {
        add_header_line(more);
        return;
    }
    // Bytes beyond the limit are dropped, except for the end of the line.
    const std::size_t room =
        limits_.header_bytes + 2 - std::min(limits_.header_bytes + 2, line_.size());
    if (more.size() > room) defects_.limit_reached = true;
    line_ += more.substr(0, room);
    if (end == std::string_view::npos) return;
    if (!line_.ends_with('\n')) line_ += '\n';
    const std::string line = std::exchange(line_, {});
    add_header_line(line);
}

void message_parser::add_header_line(std::string_view line) {
    if (line.starts_with("--") && take_boundary(line)) return;
    const std::string_view text = without_end(line);
    if (text.empty()) {
        open_part();
        return;
    }
    header_size_ += line.size();
    const bool too_long = header_size_ > limits_.header_bytes;
    if (coracle::detail::is_blank(text.front())) {
        if (too_long || dropped_field_)
            defects_.limit_reached = true;
        else if (coming_.fields.empty())
            defects_.malformed_field = true;
        else
            coming_.fields.back().value += text;
        return;
    }
    // Mbox files and some relays prepend such a line.
    if (coming_.fields.empty() && text.starts_with("From ")) return;
    const auto colon = std::ranges::find_if_not(text, is_name_byte);
    if (colon == text.end() || *colon != ':' || colon == text.begin()) {
        // The empty line of RFC 5322 between header and body is missing.
        defects_.malformed_field = true;
        open_part();
        if (state_ == state::header)
            add_header_line(line);
        else
            take_line(line);
        return;
    }
    dropped_field_ = too_long || coming_.fields.size() >= limits_.fields;
    if (dropped_field_) {
        defects_.limit_reached = true;
        return;
    }
    const auto size = static_cast<std::size_t>(colon - text.begin());
    coming_.fields.push_back(
        {std::string(text.substr(0, size)), std::string(detail::trim(text.substr(size + 1)))});
}

void message_parser::begin_header() noexcept {
    state_ = state::header;
    header_size_ = 0;
    dropped_field_ = false;
    held_.clear();
}

// Reads the type of the part from its fields.
void message_parser::describe(message_part& p) {
    const bool digest = !open_.empty() && open_.back().digest;
    p.type.essence = digest ? "message/rfc822" : "text/plain";
    for (message_field& f : p.fields) f.value = std::string(detail::trim(f.value));
    const std::string read = detail::without_comments(p.field("Content-Type"));
    const std::string_view text = read;
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string essence = coracle::detail::lower(detail::trim(text.substr(0, end)));
    const std::size_t slash = essence.find('/');
    if (slash != std::string::npos &&
        detail::is_token(std::string_view(essence).substr(0, slash)) &&
        detail::is_token(std::string_view(essence).substr(slash + 1))) {
        p.type.essence = essence;
        p.type.parameters = parse_parameters(text.substr(end)).value_or(std::vector<parameter>());
    } else if (!detail::trim(text).empty()) {
        p.type.essence = "text/plain";  // RFC 2045 section 5.2
    }
    const std::string encoding = detail::without_comments(p.field("Content-Transfer-Encoding"));
    if (!encoding.empty()) {
        const auto known = parse_transfer_encoding(
            detail::trim(std::string_view(encoding).substr(0, encoding.find(';'))));
        p.encoding = known.value_or(transfer_encoding::binary);
        if (!known) defects_.unknown_encoding = true;
    }
    p.depth = open_.size();
}

bool message_parser::is_container() noexcept {
    const message_part& p = coming_;
    const bool encoded = p.encoding == transfer_encoding::base64 ||
                         p.encoding == transfer_encoding::quoted_printable;
    const bool multipart = p.type.type() == "multipart";
    // Other types of message hold what is no mail (RFC 2046 section 5.2.4).
    const std::string& type = p.type.essence;
    const bool message = !encoded && (type == "message/rfc822" || type == "message/global" ||
                                      type == "message/news");
    if (!multipart && !message) return false;
    if (open_.size() + 1 >= limits_.depth || parts_ >= limits_.parts) {
        defects_.limit_reached = true;
        return false;
    }
    if (message) return true;
    const auto boundary = p.type.get("boundary");
    if (!boundary || boundary->empty() || boundary->size() > longest_boundary_line - 8) {
        defects_.no_boundary = true;
        return false;
    }
    if (encoded) defects_.encoded_multipart = true;
    return true;
}

// Begins the content of a part whose header has ended.
void message_parser::open_part() {
    message_part& p = coming_;
    describe(p);
    ++parts_;
    p.container = is_container();
    frame f;
    const bool multipart = p.container && p.type.type() == "multipart";
    if (multipart) {
        f.boundary = *p.type.get("boundary");
        f.digest = p.type.essence == "multipart/digest";
    }
    const bool decodes = decode_ && !p.container;
    decoder_ = content_decoder(decodes ? p.encoding : transfer_encoding::binary);
    const bool container = p.container;
    queue_.push_back({kind::part_begin, {}, std::exchange(coming_, {})});
    open_.push_back(std::move(f));
    held_.clear();
    state_ = !container ? state::content : state::skipped;
    if (container && !multipart) begin_header();
}

void message_parser::close_down_to(std::size_t frames) {
    if (state_ == state::content) {
        decoder_.finish(out_);
        if (decoder_.damaged()) defects_.damaged_content = true;
    }
    push_data();
    while (open_.size() > frames) {
        const frame& f = open_.back();
        if (!f.boundary.empty()) {
            if (!f.started) defects_.missing_start = true;
            if (!f.closed) defects_.missing_end = true;
        }
        open_.pop_back();
        queue_.push_back({kind::part_end, {}, {}});
    }
}

std::optional<message_parser::found_boundary> message_parser::find_boundary(
    std::string_view line) const noexcept {
    // However it arrives: `take_content` does not keep longer ones.
    if (line.size() - (line.ends_with('\n') ? 1 : 0) > longest_boundary_line) return std::nullopt;
    const std::string_view text = without_end(line);
    for (std::size_t i = open_.size(); i-- != 0;) {
        const frame& f = open_[i];
        if (f.boundary.empty() || f.closed) continue;
        if (text.substr(2, f.boundary.size()) != f.boundary) continue;
        std::string_view rest = text.substr(2 + f.boundary.size());
        const bool last = rest.starts_with("--");
        if (last) rest.remove_prefix(2);
        if (rest.find_first_not_of(" \t") == std::string_view::npos) return found_boundary{i, last};
    }
    return std::nullopt;
}

// Handles a line that begins with "--". Returns true if it is a boundary.
bool message_parser::take_boundary(std::string_view line) {
    const auto found = find_boundary(line);
    if (!found) return false;
    if (state_ == state::header) {
        // A header that ends at a boundary belongs to a part without content. Before the first
        // boundary there is no part.
        open_part();
    }
    close_down_to(found->frame + 1);
    held_.clear();
    frame& f = open_[found->frame];
    f.started = true;
    if (found->last) {
        f.closed = true;
        state_ = state::skipped;
    } else if (parts_ >= limits_.parts) {
        defects_.limit_reached = true;
        state_ = state::skipped;
    } else {
        begin_header();
    }
    return true;
}

void message_parser::emit(std::string_view bytes) {
    if (state_ != state::content) {
        held_.clear();
        return;
    }
    decoder_.add(held_, out_);
    held_.clear();
    decoder_.add(bytes, out_);
}

// Adds complete lines, none of which is a boundary.
void message_parser::take_run(std::string_view run) {
    emit(without_end(run));
    held_ = line_end(run);
}

void message_parser::take_line(std::string_view line) {
    if (state_ == state::ended) return;
    if (line.starts_with("--") && take_boundary(line)) return;
    take_run(line);
}

void message_parser::take_content(std::string_view& in) {
    if (in_long_line_) {
        const std::size_t end = in.find('\n');
        std::string_view more = in.substr(0, end == std::string_view::npos ? end : end + 1);
        in.remove_prefix(more.size());
        if (more == "\n" && held_ == "\r") {
            held_ = "\r\n";
        } else if (end != std::string_view::npos) {
            take_run(more);
        } else {
            const bool cr = more.ends_with('\r');  // perhaps half of a line end
            if (cr) more.remove_suffix(1);
            emit(more);
            if (cr) held_ = "\r";
        }
        in_long_line_ = end == std::string_view::npos;
        return;
    }
    if (line_.empty() && in.front() != '-') {
        // Takes all lines before the next possible boundary at once.
        std::size_t end = in.find("\n-");
        if (end == std::string_view::npos) end = in.rfind('\n');
        if (end != std::string_view::npos) {
            take_run(in.substr(0, end + 1));
            in.remove_prefix(end + 1);
            return;
        }
    }
    const std::size_t end = in.find('\n');
    const std::string_view more = in.substr(0, end == std::string_view::npos ? end : end + 1);
    in.remove_prefix(more.size());
    if (line_.empty() && end != std::string_view::npos) {
        take_line(more);
        return;
    }
    line_ += more;
    if (end != std::string_view::npos) {
        const std::string line = std::exchange(line_, {});
        take_line(line);
    } else if (line_.size() > longest_boundary_line ||
               !std::string_view("--").starts_with(std::string_view(line_).substr(0, 2))) {
        std::string line = std::exchange(line_, {});
        const bool cr = line.ends_with('\r');
        if (cr) line.pop_back();
        emit(line);
        if (cr) held_ = "\r";
        in_long_line_ = true;
    }
}

message_event message_parser::finish() {
    if (queue_begin_ != queue_.size()) return next(0);
    if (state_ == state::ended) {
        const message_event e = next(0);
        return e.what == kind::need_more ? message_event{kind::end, 0, {}} : e;
    }
    const std::string rest = std::exchange(line_, {});
    if (state_ == state::header) {
        if (!rest.empty()) add_header_line(rest);
    } else if (!rest.empty()) {
        take_line(rest);
    }
    if (state_ == state::header) open_part();
    // A message within a message may end with its header.
    if (state_ == state::header) open_part();
    emit({});
    close_down_to(0);
    state_ = state::ended;
    return finish();
}

}  // namespace coracle::mime
