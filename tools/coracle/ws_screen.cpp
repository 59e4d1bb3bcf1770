#include "ws_screen.hpp"

#include <cstdio>
#include <utility>

namespace coracle::tool {
namespace {

constexpr std::string_view prompt_text = "> ";
constexpr std::string_view clear_line = "\r\x1b[K";
constexpr std::size_t usual_columns = 80;

/// In a colour of a terminal, by the number of ECMA-48 section 8.3.117.
std::string coloured(std::string_view text, int colour, bool colours) {
    if (!colours) return std::string(text);
    return "\x1b[" + std::to_string(colour) + 'm' + std::string(text) + "\x1b[0m";
}

constexpr int cyan = 36;
constexpr int green = 32;
constexpr int grey = 90;

}  // namespace

/// A terminal in raw mode wants both ends of lines.
std::string ws_screen::for_screen(std::string text) const {
    if (!mode_) return text;
    std::string all(clear_line);
    for (const char c : text) {
        if (c == '\n') all += '\r';
        all += c;
    }
    return all;
}

std::string ws_screen::prompt() const {
    if (!mode_) return {};
    const auto size = io::terminal(1).size();
    const std::size_t columns = size && size->columns != 0 ? size->columns : usual_columns;
    return editor.drawing(coloured(prompt_text, cyan, style_.colours), prompt_text.size(), columns);
}

task<std::expected<void, error>> ws_screen::write(std::string text) {
    auto turn = one_at_a_time_.lock();
    const auto guard = co_await turn;
    if (output_ == nullptr) {
        auto opened = io::standard_output();
        if (!opened) co_return std::unexpected(std::move(opened).error());
        output_ = *std::move(opened);
    }
    const std::string all = for_screen(std::move(text)) + prompt();
    auto sending = output_->send(all);
    auto sent = co_await as_result(sending);
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return std::expected<void, error>();
}

task<> ws_screen::begin() {
    if (!interactive_) co_return;
    auto mode = io::terminal(0).set_mode(io::input_mode::raw);
    if (!mode) {
        interactive_ = false;
        co_return;
    }
    mode_.emplace(*std::move(mode));
    co_await draw();
}

void ws_screen::end() noexcept {
    output_.reset();
    if (!mode_) return;
    mode_.reset();
    std::fwrite(clear_line.data(), 1, clear_line.size(), stdout);
    std::fflush(stdout);
}

task<std::expected<void, error>> ws_screen::show(bool is_text, std::string_view bytes) {
    std::string text = is_text ? text_to_show(bytes, style_) : binary_to_show(bytes, style_);
    if (mode_) text.insert(0, coloured("< ", green, style_.colours));
    co_return co_await write(std::move(text));
}

task<> ws_screen::note(std::string text) {
    text += '\n';
    if (!mode_) {
        std::fwrite(text.data(), 1, text.size(), stderr);
        co_return;
    }
    std::string shown = coloured(text, grey, style_.colours);
    static_cast<void>(co_await write(std::move(shown)));
}

task<> ws_screen::draw() {
    std::string nothing;
    static_cast<void>(co_await write(std::move(nothing)));
}

task<> ws_screen::leave_line(std::string line) {
    std::string text = coloured(prompt_text, cyan, style_.colours);
    text.append(line).append("\n");
    static_cast<void>(co_await write(std::move(text)));
}

}  // namespace coracle::tool
