#include "http/dashboard/message_list.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// The line without the address of a client in front, which would make each line another one.
std::string_view without_client(std::string_view text) noexcept {
    const std::string_view word = text.substr(0, text.find(' '));
    const std::size_t colon = word.rfind(':');
    if (colon == word.npos || colon + 1 == word.size() || word.size() == text.size()) return text;
    const std::string_view port = word.substr(colon + 1);
    const bool is_port = port.find_first_not_of("0123456789") == port.npos;
    return is_port ? text.substr(word.size() + 1) : text;
}

}  // namespace

void message_list::write(void* self, log_level level, log_layer layer, std::string_view text) {
    log_to_stderr(nullptr, level, layer, text);
    if (level < log_level::warning) return;
    try {
        static_cast<message_list*>(self)->add(level, text);
    } catch (...) {
        static_cast<message_list*>(self)->clear();  // no memory: gives some back
    }
}

void message_list::add(log_level level, std::string_view text) {
    text = without_client(text).substr(0, longest);
    const std::lock_guard hold(guard_);
    const auto known = std::ranges::find(list_, text, &message::text);
    if (known != list_.end()) {
        ++known->count;
        list_.splice(list_.begin(), list_, known);
        return;
    }
    if (list_.size() >= most_ && !list_.empty()) list_.pop_back();
    list_.push_front({level, std::string(text), 1});
}

void message_list::clear() noexcept {
    const std::lock_guard hold(guard_);
    list_.clear();
}

std::vector<message_list::message> message_list::all() const {
    const std::lock_guard hold(guard_);
    return {list_.begin(), list_.end()};
}

}  // namespace coracle::http::detail
