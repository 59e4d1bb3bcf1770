#include "testing/sink_store.hpp"

#include "runtime/century.hpp"

#include <algorithm>
#include <utility>

namespace coracle::testing::detail {
namespace {

constexpr std::size_t lines_kept = 10'000;

}  // namespace
}  // namespace coracle::testing::detail

namespace coracle::testing {

std::size_t sink_message::size() const noexcept {
    std::size_t sum = text.size() + hello.size() + sender.size() + parameters.size() + user.size();
    for (const auto* list : {&recipients, &recipient_parameters}) {
        for (const std::string& one : *list) sum += sizeof(std::string) + one.size();
    }
    return sum;
}

}  // namespace coracle::testing

namespace coracle::testing::detail {

bool sink_store::add(sink_message m) {
    const std::lock_guard lock(guard_);
    const std::size_t size = m.size();
    const bool full = kept_.size() >= options_.messages || kept_bytes_ + size > options_.kept_bytes;
    if (full) return false;
    m.number = numbers_ + 1;
    kept_.push_back(std::move(m));
    ++numbers_;
    ++accepted_;
    kept_bytes_ += size;
    changed_.notify_all();
    return true;
}

std::size_t sink_store::next_number() {
    const std::lock_guard lock(guard_);
    return ++numbers_;
}

void sink_store::count_delivered() {
    const std::lock_guard lock(guard_);
    ++accepted_;
    changed_.notify_all();
}

std::vector<sink_message> sink_store::all() const {
    const std::lock_guard lock(guard_);
    return kept_;
}

std::optional<sink_message> sink_store::find(std::size_t number) const {
    const std::lock_guard lock(guard_);
    const auto found = std::ranges::find(kept_, number, &sink_message::number);
    if (found == kept_.end()) return std::nullopt;
    return *found;
}

std::size_t sink_store::count() const {
    const std::lock_guard lock(guard_);
    return kept_.size();
}

void sink_store::remove(std::size_t number) {
    const std::lock_guard lock(guard_);
    const auto found = std::ranges::find(kept_, number, &sink_message::number);
    if (found == kept_.end()) return;
    kept_bytes_ -= found->size();
    kept_.erase(found);
}

void sink_store::clear() {
    const std::lock_guard lock(guard_);
    kept_.clear();
    kept_bytes_ = 0;
}

bool sink_store::wait_for(std::size_t count, duration limit) const {
    std::unique_lock lock(guard_);
    return changed_.wait_for(lock, std::min(limit, coracle::detail::century),
                             [this, count] { return accepted_ >= count; });
}

void sink_store::note(char who, std::string_view line) {
    constexpr std::size_t longest = 1000;
    const std::lock_guard lock(guard_);
    if (dialogue_.size() == lines_kept) dialogue_.pop_front();
    std::string text(1, who);
    dialogue_.push_back(text.append(": ").append(line.substr(0, longest)));
}

std::vector<std::string> sink_store::dialogue() const {
    const std::lock_guard lock(guard_);
    return {dialogue_.begin(), dialogue_.end()};
}

std::size_t sink_store::connected() {
    const std::lock_guard lock(guard_);
    return connections_++;
}

std::size_t sink_store::connections() const {
    const std::lock_guard lock(guard_);
    return connections_;
}

void sink_store::add_rule(sink_rule r) {
    const std::lock_guard lock(guard_);
    rules_.push_back(std::move(r));
}

void sink_store::clear_rules() {
    const std::lock_guard lock(guard_);
    rules_.clear();
}

std::optional<sink_rule> sink_store::rule_for(std::string_view command, std::string_view line) {
    const std::lock_guard lock(guard_);
    for (sink_rule& r : rules_) {
        if (r.times == 0 || r.command != command) continue;
        if (!r.containing.empty() && line.find(r.containing) == std::string_view::npos) continue;
        if (r.times != SIZE_MAX) --r.times;
        return r;
    }
    return std::nullopt;
}

void sink_store::set_cut(std::size_t index, cut c) {
    const std::lock_guard lock(guard_);
    cut& at = cuts_[index];
    at.received = std::min(at.received, c.received);
    at.sent = std::min(at.sent, c.sent);
}

sink_store::cut sink_store::cut_of(std::size_t index) const {
    const std::lock_guard lock(guard_);
    const auto found = cuts_.find(index);
    return found == cuts_.end() ? cut() : found->second;
}

}  // namespace coracle::testing::detail
