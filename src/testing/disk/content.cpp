#include "testing/disk/content.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::testing::detail {
namespace {

/// Changes of what has not reached the disk before which the disk takes it, one in so many.
constexpr std::uint64_t early = 4;

}  // namespace

std::size_t file_content::read(std::uint64_t from, char* into, std::size_t size) const {
    if (from >= size_) return 0;
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, size_ - from));
    for (std::size_t done = 0; done != size;) {
        const std::size_t within = (from + done) % page_size;
        const std::size_t n = std::min(page_size - within, size - done);
        const auto found = pages_.find((from + done) / page_size);
        if (found == pages_.end() || found->second == nullptr) {
            std::memset(into + done, 0, n);
        } else {
            std::memcpy(into + done, found->second->bytes + within, n);
        }
        done += n;
    }
    return size;
}

std::size_t file_content::write(std::uint64_t at, std::string_view bytes) {
    std::size_t done = 0;
    while (done != bytes.size()) {
        page* const p = change((at + done) / page_size);
        if (p == nullptr) break;
        const std::size_t within = (at + done) % page_size;
        const std::size_t n = std::min(page_size - within, bytes.size() - done);
        std::memcpy(p->bytes + within, bytes.data() + done, n);
        done += n;
    }
    if (done != 0 && at + done > size_) set_size(at + done);
    return done;
}

void file_content::truncate(std::uint64_t size) {
    if (size < size_) {
        const std::uint64_t first_gone = (size + page_size - 1) / page_size;
        while (!pages_.empty() && pages_.rbegin()->first >= first_gone) {
            drop(pages_.rbegin()->first);
        }
        if (size % page_size != 0) zero(size / page_size, size % page_size, page_size);
    }
    if (size != size_) set_size(size);
}

bool file_content::allocate(std::uint64_t at, std::uint64_t size) {
    const std::uint64_t end = (at + size + page_size - 1) / page_size;
    const std::uint64_t first = at / page_size;
    const auto there = static_cast<std::uint64_t>(
        std::distance(pages_.lower_bound(first), pages_.lower_bound(end)));
    if (end - first - there > medium_->room() / page_size) return false;
    for (std::uint64_t index = first; index != end; ++index) {
        if (!pages_.try_emplace(index, nullptr).second) continue;
        medium_->used += page_size;
        dirty_.insert(index);
    }
    return true;
}

void file_content::punch(std::uint64_t at, std::uint64_t size) {
    const std::uint64_t end = at + size;
    for (auto p = pages_.lower_bound(at / page_size); p != pages_.end();) {
        const std::uint64_t index = (p++)->first;
        const std::uint64_t start = index * page_size;
        if (start >= end) return;
        if (start >= at && start + page_size <= end) {
            drop(index);
        } else {
            zero(index, static_cast<std::size_t>(at > start ? at - start : 0),
                 static_cast<std::size_t>(std::min<std::uint64_t>(page_size, end - start)));
        }
    }
}

/// The page, to be written to; null when there is no room for it.
file_content::page* file_content::change(std::uint64_t index) {
    const auto [place, is_new] = pages_.try_emplace(index, nullptr);
    if (is_new && medium_->room() < page_size) {
        pages_.erase(place);
        return nullptr;
    }
    if (is_new) medium_->used += page_size;
    may_reach_disk(index);
    dirty_.insert(index);
    page_ref& p = place->second;
    if (p == nullptr) {
        p = std::make_shared<page>();
    } else if (p.use_count() != 1) {
        p = std::make_shared<page>(*p);
    }
    return p.get();
}

void file_content::drop(std::uint64_t index) {
    may_reach_disk(index);
    if (pages_.erase(index) != 0) medium_->used -= page_size;
    dirty_.insert(index);
}

void file_content::zero(std::uint64_t index, std::size_t from, std::size_t to) {
    const auto found = pages_.find(index);
    if (found == pages_.end() || found->second == nullptr) return;
    std::memset(change(index)->bytes + from, 0, to - from);
}

void file_content::may_reach_disk(std::uint64_t index) {
    if (dirty_.contains(index) && medium_->chance.one_in(early)) reach_disk(index);
}

void file_content::reach_disk(std::uint64_t index) {
    const auto found = pages_.find(index);
    if (found == pages_.end()) {
        durable_.erase(index);
    } else {
        durable_[index] = found->second;
    }
}

void file_content::set_size(std::uint64_t size) {
    if (size_is_dirty_ && medium_->chance.one_in(early)) durable_size_ = size_;
    size_ = size;
    size_is_dirty_ = true;
}

// ---- what reaches the disk ----------------------------------------------------------------------

void file_content::sync() {
    for (const std::uint64_t index : dirty_) reach_disk(index);
    dirty_.clear();
    if (size_is_dirty_) durable_size_ = size_;
    size_is_dirty_ = false;
}

void file_content::fail_to_sync() {
    for (const std::uint64_t index : dirty_) {
        if (medium_->chance.one_in(2)) reach_disk(index);
    }
    dirty_.clear();
    if (size_is_dirty_ && medium_->chance.one_in(2)) durable_size_ = size_;
    size_is_dirty_ = false;
}

void file_content::release() {
    medium_->used -= pages_.size() * page_size;
    pages_.clear();
    dirty_.clear();
    size_is_dirty_ = false;
}

void file_content::crash(random_source& chance) {
    for (const std::uint64_t index : dirty_) {
        switch (chance.up_to(2)) {
            case 0: break;
            case 1: reach_disk(index); break;
            default: tear(index, chance);
        }
    }
    durable_size_ = size_after_crash(chance);
    release();
    pages_ = durable_;
    size_ = durable_size_;
    medium_->used += pages_.size() * page_size;
    // The bytes of a page after the end of the file are not part of it.
    while (!pages_.empty() && pages_.rbegin()->first * page_size >= size_) {
        drop(pages_.rbegin()->first);
    }
    if (size_ % page_size != 0) zero(size_ / page_size, size_ % page_size, page_size);
    sync();
}

void file_content::tear(std::uint64_t index, random_source& chance) {
    const auto bytes_in = [index](const page_map& pages) {
        const auto found = pages.find(index);
        return found == pages.end() || found->second == nullptr ? page() : *found->second;
    };
    const page after = bytes_in(pages_);
    page torn = bytes_in(durable_);
    for (std::size_t at = 0; at != page_size; at += sector_size) {
        if (chance.one_in(2)) std::memcpy(torn.bytes + at, after.bytes + at, sector_size);
    }
    durable_[index] = std::make_shared<page>(torn);
}

/// A file grows on the disk as its pages are written, so any size between is possible.
std::uint64_t file_content::size_after_crash(random_source& chance) const {
    if (!size_is_dirty_) return durable_size_;
    switch (chance.up_to(2)) {
        case 0: return durable_size_;
        case 1: return size_;
        default: break;
    }
    if (size_ <= durable_size_) return size_;
    const std::uint64_t between = durable_size_ + chance.up_to(size_ - durable_size_);
    return std::min(size_, (between + sector_size - 1) / sector_size * sector_size);
}

}  // namespace coracle::testing::detail
