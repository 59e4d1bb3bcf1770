#pragma once

#include "http/h2/head.hpp"

#include <coracle/base/arena.hpp>
#include <coracle/http/fields.hpp>

#include <span>
#include <string_view>

namespace coracle::http::h2 {

/// The text of a head, copied into the memory of the message that gets it: in one piece where it is
/// one. Lives no longer than the head.
class moved_text {
public:
    moved_text(const head& from, arena& to)
        : memory_(&to), from_(from.text), to_(to.copy(from.text)) {}

    /// Returns the copy of a view of the head.
    std::string_view at(std::string_view view) const {
        if (from_.empty()) return memory_->copy(view);
        if (view.empty()) return {};
        return {to_.data() + (view.data() - from_.data()), view.size()};
    }
    /// Gives `to`, which is empty and has the memory, copies of these lines of the head, and of
    /// `last` behind them, unless that is null, whose text lives there already.
    void give_lines(fields& to, std::span<const field> lines, const field* last = nullptr) const;

private:
    arena* memory_;
    std::string_view from_;
    std::string_view to_;
};

}  // namespace coracle::http::h2
