#include "smtp/client/pool.hpp"

#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace coracle::smtp::detail {

bool connection_pool::take_place() noexcept {
    if (free_places_ == 0) return false;
    --free_places_;
    return true;
}

void connection_pool::give_place() noexcept {
    place* first = line_.pop_front();
    if (first == nullptr) first = followers_.pop_front();
    if (first != nullptr) {
        first->take_over(nullptr);
    } else {
        ++free_places_;
    }
}

std::unique_ptr<connection> connection_pool::take_idle() noexcept {
    while (!idle_.empty()) {
        std::unique_ptr<connection> c = std::move(idle_.back());
        idle_.pop_back();
        --counters_.idle;
        // Bytes that no command asked for are a 421, or the end.
        if (c->fit()) {
            ++counters_.reused;
            return c;
        }
        close(std::move(c));
    }
    return nullptr;
}

void connection_pool::give_back(std::unique_ptr<connection> c) noexcept {
    ++c->mails;
    if (!may_carry(c->mails) || !c->fit() || options_.idle_time <= duration::zero()) {
        close(std::move(c));
        return;
    }
    c->idle_since = owner_.now();
    try {
        idle_.push_back(std::move(c));
    } catch (const std::bad_alloc&) {
        close(std::move(c));
        return;
    }
    ++counters_.idle;
    if (idle_.size() == 1) arm_for_first();
}

void connection_pool::close(std::unique_ptr<connection> c) noexcept {
    --counters_.open;
    c->quit();
}

void connection_pool::close_idle() noexcept {
    for (auto& c : std::exchange(idle_, {})) {
        --counters_.idle;
        close(std::move(c));
    }
    disarm();
}

void connection_pool::abandon() noexcept {
    retired_ = true;
    for (auto& c : idle_) c->break_off();
    close_idle();
}

void connection_pool::arm_for_first() noexcept {
    if (idle_.empty())
        disarm();
    else
        arm(coracle::detail::later(idle_.front()->idle_since, options_.idle_time));
}

void connection_pool::expired() noexcept {
    const time_point now = owner_.now();
    while (!idle_.empty() &&
           coracle::detail::later(idle_.front()->idle_since, options_.idle_time) <= now) {
        std::unique_ptr<connection> c = std::move(idle_.front());
        idle_.erase(idle_.begin());
        --counters_.idle;
        close(std::move(c));
    }
    arm_for_first();
}

}  // namespace coracle::smtp::detail
