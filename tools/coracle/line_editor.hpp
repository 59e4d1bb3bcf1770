#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

/// The effect of a typed byte.
enum class typed : std::uint8_t {
    nothing,    ///< a part of a key
    changed,    ///< the line has changed
    submitted,  ///< `line_editor::take` gives the line
    ended,      ///< Ctrl-D on an empty line
    interrupt,  ///< Ctrl-C
};

/// A line editor for a terminal in raw mode, with a history: takes typed bytes, and returns text to
/// draw. Keys: arrows, Home, End, Backspace, Delete, and Ctrl with A, E, B, F, P, N, K, U, W, H, L.
class line_editor {
public:
    typed feed(char byte);
    /// Returns the line that was submitted, and begins a new one.
    std::string take();

    /// Returns what shows the prompt and the line in `columns` columns, from their first on, and
    /// leaves the cursor where it belongs. Of a line that is too long the part around the cursor.
    std::string drawing(std::string_view prompt, std::size_t prompt_width,
                        std::size_t columns) const;

private:
    enum class state : std::uint8_t { plain, escape, sequence };

    typed key(char byte);
    typed control(char byte);
    typed finish_sequence(char last);
    typed insert(std::string_view bytes);
    typed move_to(std::size_t at);
    typed erase(std::size_t from, std::size_t to);
    typed recall(std::size_t which);
    std::size_t before(std::size_t at) const noexcept;
    std::size_t behind(std::size_t at) const noexcept;
    std::size_t word_before(std::size_t at) const noexcept;

    std::string line_;
    std::size_t cursor_ = 0;  ///< in bytes
    std::string character_;   ///< bytes of an incomplete character
    std::string arguments_;   ///< of an escape sequence
    state state_ = state::plain;
    std::vector<std::string> history_;
    std::size_t shown_ = 0;  ///< index in the history; its size: the new line
    std::string new_line_;   ///< while an older one is shown
};

}  // namespace coracle::tool
