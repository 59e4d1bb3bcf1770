#include "http/h2/known_heads.hpp"

#include <functional>
#include <utility>

namespace coracle::http::h2 {

void known_heads::note(std::string_view block, head_kind kind, const head& message) {
    if (block.size() > longest || message.text.size() > longest ||
        message.fields.size() > most_fields) {
        return;
    }
    // A head that comes once is not worth its copy.
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>()(block));
    const std::size_t place = block.size() % count;
    if (std::exchange(seen_[place], hash) != hash) return;
    if (kept_ == nullptr) kept_ = std::make_unique<std::array<entry, count>>();
    entry& e = (*kept_)[place];
    e.block.clear();
    keep(e, message);
    e.kind = kind;
    e.block = block;
    any_ = true;
}

/// Copies the head, and moves its views to the copy of their text.
void known_heads::keep(entry& e, const head& message) {
    const std::string_view text = message.text;
    e.text = text;
    e.message = message;
    e.message.text = e.text;
    const auto move = [&e, text](std::string_view& view) {
        if (view.data() == nullptr) return;
        view = std::string_view(e.text).substr(static_cast<std::size_t>(view.data() - text.data()),
                                               view.size());
    };
    for (std::string_view* const view :
         {&e.message.method_text, &e.message.scheme, &e.message.authority, &e.message.path,
          &e.message.protocol}) {
        move(*view);
    }
    for (field& f : e.message.fields) {
        move(f.name);
        move(f.value);
    }
}

void known_heads::forget() noexcept {
    if (!any_) return;
    for (entry& e : *kept_) e.block.clear();
    any_ = false;
}

void known_heads::release() noexcept {
    seen_ = {};
    kept_.reset();
    any_ = false;
}

}  // namespace coracle::http::h2
