#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::smtp::detail {

/// Takes the mail behind DATA, which comes in pieces of any size: strict, so that nobody can end it
/// in another way than RFC 5321 section 4.1.1.4 has it. Without input or output of its own.
class incoming_data {
public:
    enum class fault : std::uint8_t {
        none,
        lone_cr,    ///< a CR without an LF: some would end a line there
        lone_lf,    ///< an LF without a CR
        too_large,  ///< beyond the limit; the rest is taken and dropped
    };

    explicit incoming_data(std::size_t most) noexcept : most_(most) {}

    /// Consumes up to the end of the mail and no byte behind it.
    std::size_t add(std::string_view in);
    bool complete() const noexcept { return state_ == state::ended; }
    /// The first thing that was wrong, line ends before the size. What is behind a lone CR or LF is
    /// not to be trusted.
    fault problem() const noexcept { return fault_; }
    /// Without the dots that were put in, with its last line end.
    std::string& text() noexcept { return text_; }

private:
    enum class state : std::uint8_t { line_begin, text, cr, dot, dot_cr, ended };

    void put(std::string_view bytes);
    std::size_t add_text(std::string_view in);
    std::size_t step(char c, char wanted, state next) noexcept;
    std::size_t end_line(char c, state next);
    void refuse(fault f) noexcept {
        if (fault_ == fault::none || fault_ == fault::too_large) fault_ = f;
    }

    std::size_t most_;
    std::string text_;
    state state_ = state::line_begin;
    fault fault_ = fault::none;
};

}  // namespace coracle::smtp::detail
