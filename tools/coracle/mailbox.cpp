#include "mailbox.hpp"

#include <algorithm>
#include <utility>

namespace coracle::tool {
namespace {

bool has_all(const std::string& words, std::string_view query) {
    while (!query.empty()) {
        const std::size_t end = std::min(query.find(' '), query.size());
        if (words.find(query.substr(0, end)) == std::string::npos) return false;
        query.remove_prefix(std::min(end + 1, query.size()));
    }
    return true;
}

bool matches(const kept_mail& m, std::string_view query) {
    if (query.empty()) return true;
    std::string words = m.reading.words;
    for (const std::string& one : m.envelope.recipients) words.append("\n").append(lower(one));
    return has_all(words.append("\n").append(lower(m.envelope.sender)), query);
}

}  // namespace

void mailbox::forget_oldest() {
    const auto oldest = mails_.front();
    bytes_ -= oldest->size();
    mails_.pop_front();
    changes_.publish(std::to_string(oldest->number()), "removed");
}

void mailbox::add(testing::sink_message& m) {
    auto one = std::make_shared<kept_mail>();
    one->envelope = std::move(m);
    one->reading = read_mail(one->envelope.text);
    mails_.push_back(one);
    bytes_ += one->size();
    while (mails_.size() > 1 && (mails_.size() > limits_.messages || bytes_ > limits_.bytes)) {
        forget_oldest();
    }
    changes_.publish(std::to_string(one->number()), "mail");
}

std::shared_ptr<const kept_mail> mailbox::find(std::size_t number) const {
    const auto found = std::ranges::find(mails_, number, [](const auto& m) { return m->number(); });
    return found == mails_.end() ? nullptr : *found;
}

bool mailbox::remove(std::size_t number) {
    const auto found = std::ranges::find(mails_, number, [](const auto& m) { return m->number(); });
    if (found == mails_.end()) return false;
    bytes_ -= (*found)->size();
    mails_.erase(found);
    changes_.publish(std::to_string(number), "removed");
    return true;
}

void mailbox::clear() {
    mails_.clear();
    bytes_ = 0;
    changes_.publish("", "cleared");
}

std::vector<std::shared_ptr<const kept_mail>> mailbox::list(std::string_view query) const {
    const std::string folded = lower(query);
    std::vector<std::shared_ptr<const kept_mail>> found;
    for (const auto& m : mails_) {
        if (matches(*m, folded)) found.push_back(m);
    }
    std::ranges::reverse(found);
    return found;
}

}  // namespace coracle::tool
