#pragma once

#include "line_editor.hpp"
#include "message_text.hpp"

#include <coracle/io/standard_streams.hpp>
#include <coracle/io/terminal.hpp>
#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/task.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tool {

/// Where messages are shown: standard output, and on a terminal the line that is typed below them.
/// Notes go to standard error. Its tasks may be awaited by several tasks at once.
class ws_screen {
public:
    /// `interactive`: lines are typed on the terminal that messages are shown on.
    ws_screen(const message_style& style, bool interactive)
        : style_(style), interactive_(interactive) {}

    bool interactive() const noexcept { return interactive_; }
    /// Begins to take keys, and shows the prompt.
    task<> begin();
    /// Restores the terminal: call it before anything else writes to it, and before the loop ends.
    void end() noexcept;

    /// Shows a message. Fails where standard output cannot be written.
    task<std::expected<void, error>> show(bool is_text, std::string_view bytes);
    /// Shows a line for the user, and not for who reads standard output.
    task<> note(std::string text);
    /// Shows the typed line anew.
    task<> draw();
    /// Shows a line that was typed, and a new one below it.
    task<> leave_line(std::string line);

    line_editor editor;

private:
    task<std::expected<void, error>> write(std::string text);
    std::string for_screen(std::string text) const;
    std::string prompt() const;

    message_style style_;
    bool interactive_;
    mutex<> one_at_a_time_;
    std::unique_ptr<io::descriptor_stream> output_;
    std::optional<io::terminal_mode> mode_;
};

}  // namespace coracle::tool
