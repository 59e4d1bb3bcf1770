#include "base/whole_number.hpp"

#include <coracle/http/event.hpp>

#include <algorithm>
#include <utility>

namespace coracle::http {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_one_line(std::string_view text) noexcept {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void append_line(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\n");
}

// Each line of `text`, the last also when it is empty.
void append_lines(std::string& out, std::string_view name, std::string_view text) {
    for (;;) {
        const std::size_t end = text.find_first_of("\r\n");
        append_line(out, name, text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    }
}

}  // namespace

bool append_event(std::string& out, const server_event& e) {
    if (!is_one_line(e.event) || !is_one_line(e.id.value_or(""))) return false;
    if (e.id) append_line(out, "id", *e.id);
    if (!e.event.empty()) append_line(out, "event", e.event);
    if (e.retry) append_line(out, "retry", std::to_string(e.retry->count()));
    if (e.data) append_lines(out, "data", *e.data);
    out += '\n';
    return true;
}

void append_event_comment(std::string& out, std::string_view text) {
    append_lines(out, "", text);
    out += '\n';
}

event_parser::result event_parser::parse(std::string_view in) {
    std::size_t at = 0;
    while (at != in.size() && exceeded_.empty()) {
        if (std::exchange(after_cr_, false) && in[at] == '\n') {
            ++at;
            continue;
        }
        const std::size_t end = std::min(in.find_first_of("\r\n", at), in.size());
        const std::string_view piece = in.substr(at, end - at);
        if (piece.size() > limits_.line - line_.size()) {
            exceeded_ = "event_limits::line";
            break;
        }
        line_ += piece;
        at = end;
        if (at == in.size()) break;
        after_cr_ = in[at++] == '\r';
        const bool complete = take_line(line_);
        line_.clear();
        if (complete) return {status::event, at};
    }
    return {exceeded_.empty() ? status::need_more : status::limit_exceeded, at};
}

// Returns true when an event is complete.
bool event_parser::take_line(std::string_view line) {
    if (std::exchange(first_line_, false) && line.starts_with(byte_order_mark)) {
        line.remove_prefix(byte_order_mark.size());
    }
    if (line.empty()) return dispatch();
    const std::size_t colon = line.find(':');
    std::string_view value =
        colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (!take_field(line.substr(0, colon), value)) exceeded_ = "event_limits::data";
    return false;
}

// Returns false if a limit is exceeded. A comment has no name.
bool event_parser::take_field(std::string_view name, std::string_view value) {
    if (name == "data") {
        // The line end that is added counts, but not after the last line.
        if (data_.size() > limits_.data || value.size() > limits_.data - data_.size()) return false;
        data_.append(value).append("\n");
    } else if (name == "event") {
        type_ = value;
    } else if (name == "id") {
        if (value.find('\0') != std::string_view::npos) return true;
        id_ = value;
        id_changed_ = true;
    } else if (name == "retry") {
        if (const auto ms = coracle::detail::whole_number<std::uint32_t>(value)) {
            retry_ = std::chrono::milliseconds(*ms);
        }
    }
    return true;
}

bool event_parser::dispatch() {
    // Shared, not copied: few events change it, and copying a long one for each would be expensive.
    if (std::exchange(id_changed_, false)) event_.id.swap(id_);
    if (data_.empty()) {
        type_.clear();
        return false;
    }
    data_.pop_back();
    event_.event = type_.empty() ? "message" : std::exchange(type_, {});
    event_.data = std::exchange(data_, {});
    event_.retry = retry_;
    return true;
}

}  // namespace coracle::http
