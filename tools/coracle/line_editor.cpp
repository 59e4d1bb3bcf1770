#include "line_editor.hpp"

#include <coracle/base/printable.hpp>

#include <algorithm>
#include <utility>

namespace coracle::tool {
namespace {

/// The most lines of the history.
constexpr std::size_t most_history = 1000;

constexpr char ctrl(char letter) noexcept {
    return static_cast<char>(letter & 0x1f);
}
constexpr char escape_byte = 0x1b;
constexpr char delete_byte = 0x7f;

bool continues(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns the size of the character that begins with this byte; 1 if it begins none.
std::size_t length_of(char first) noexcept {
    const auto b = static_cast<unsigned char>(first);
    return b >= 0xF0 ? 4 : b >= 0xE0 ? 3 : b >= 0xC0 ? 2 : 1;
}

std::size_t characters(std::string_view text) noexcept {
    return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

}  // namespace

std::size_t line_editor::before(std::size_t at) const noexcept {
    if (at != 0) --at;
    while (at != 0 && continues(line_[at])) --at;
    return at;
}

std::size_t line_editor::behind(std::size_t at) const noexcept {
    if (at != line_.size()) ++at;
    while (at != line_.size() && continues(line_[at])) ++at;
    return at;
}

std::size_t line_editor::word_before(std::size_t at) const noexcept {
    while (at != 0 && line_[at - 1] == ' ') --at;
    while (at != 0 && line_[at - 1] != ' ') --at;
    return at;
}

typed line_editor::insert(std::string_view bytes) {
    line_.insert(cursor_, bytes);
    cursor_ += bytes.size();
    return typed::changed;
}

typed line_editor::move_to(std::size_t at) {
    if (at == cursor_) return typed::nothing;
    cursor_ = at;
    return typed::changed;
}

typed line_editor::erase(std::size_t from, std::size_t to) {
    if (from == to) return typed::nothing;
    line_.erase(from, to - from);
    cursor_ = from;
    return typed::changed;
}

typed line_editor::recall(std::size_t which) {
    if (which > history_.size() || which == shown_) return typed::nothing;
    if (shown_ == history_.size()) new_line_ = line_;
    shown_ = which;
    line_ = which == history_.size() ? new_line_ : history_[which];
    cursor_ = line_.size();
    return typed::changed;
}

typed line_editor::control(char byte) {
    switch (byte) {
        case '\r':
        case '\n': return typed::submitted;
        case ctrl('C'): return typed::interrupt;
        case ctrl('D'): return line_.empty() ? typed::ended : erase(cursor_, behind(cursor_));
        case ctrl('A'): return move_to(0);
        case ctrl('E'): return move_to(line_.size());
        case ctrl('B'): return move_to(before(cursor_));
        case ctrl('F'): return move_to(behind(cursor_));
        case ctrl('P'): return recall(shown_ == 0 ? shown_ : shown_ - 1);
        case ctrl('N'): return recall(shown_ + 1);
        case ctrl('K'): return erase(cursor_, line_.size());
        case ctrl('U'): return erase(0, cursor_);
        case ctrl('W'): return erase(word_before(cursor_), cursor_);
        case ctrl('H'):
        case delete_byte: return erase(before(cursor_), cursor_);
        case ctrl('L'): return typed::changed;
        case '\t': return insert("\t");
        default: return typed::nothing;
    }
}

typed line_editor::key(char byte) {
    const bool is_control = static_cast<unsigned char>(byte) < 0x20 || byte == delete_byte;
    if (is_control) {
        character_.clear();
        return control(byte);
    }
    if (!continues(byte)) character_.clear();
    character_ += byte;
    if (character_.size() < length_of(character_.front())) return typed::nothing;
    const std::string whole = std::exchange(character_, {});
    return printable_character_size(whole) == whole.size() ? insert(whole) : typed::nothing;
}

// The keys that terminals send as ESC [ ... or ESC O ... (ECMA-48 section 5.4).
typed line_editor::finish_sequence(char last) {
    state_ = state::plain;
    switch (last) {
        case 'A': return control(ctrl('P'));
        case 'B': return control(ctrl('N'));
        case 'C': return control(ctrl('F'));
        case 'D': return control(ctrl('B'));
        case 'H': return move_to(0);
        case 'F': return move_to(line_.size());
        case '~': break;
        default: return typed::nothing;
    }
    if (arguments_ == "3") return erase(cursor_, behind(cursor_));
    if (arguments_ == "1" || arguments_ == "7") return move_to(0);
    if (arguments_ == "4" || arguments_ == "8") return move_to(line_.size());
    return typed::nothing;
}

typed line_editor::feed(char byte) {
    if (byte == escape_byte) {
        state_ = state::escape;
        return typed::nothing;
    }
    if (state_ == state::escape) {
        const bool begins = byte == '[' || byte == 'O';
        state_ = begins ? state::sequence : state::plain;
        arguments_.clear();
        return typed::nothing;
    }
    if (state_ == state::plain) return key(byte);
    if (byte >= '@' && byte <= '~') return finish_sequence(byte);
    arguments_ += byte;
    return typed::nothing;
}

std::string line_editor::take() {
    std::string whole = std::exchange(line_, {});
    if (!whole.empty() && (history_.empty() || history_.back() != whole)) history_.push_back(whole);
    if (history_.size() > most_history) history_.erase(history_.begin());
    shown_ = history_.size();
    new_line_.clear();
    cursor_ = 0;
    return whole;
}

std::string line_editor::drawing(std::string_view prompt, std::size_t prompt_width,
                                 std::size_t columns) const {
    // Leaves the last column free: a character there would move the cursor to the next line.
    const std::size_t width = columns > prompt_width + 1 ? columns - prompt_width - 1 : 1;
    std::size_t from = cursor_;
    for (std::size_t n = 1; n < width && from != 0; ++n) from = before(from);
    std::size_t to = cursor_;
    const std::string_view line(line_);
    while (to != line.size() && characters(line.substr(from, to - from)) < width) to = behind(to);
    std::string shown(line.substr(from, to - from));
    std::ranges::replace(shown, '\t', ' ');
    const std::size_t back = characters(line.substr(cursor_, to - cursor_));
    std::string text = "\r\x1b[K";
    text.append(prompt).append(shown);
    if (back != 0) text += "\x1b[" + std::to_string(back) + 'D';
    return text;
}

}  // namespace coracle::tool
