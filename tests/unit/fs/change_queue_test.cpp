#include "fs/change_queue.hpp"

#include <gtest/gtest.h>

#include <string>

using coracle::duration;
using coracle::time_point;
using namespace coracle::fs;
using coracle::fs::detail::change_queue;
using std::chrono_literals::operator""ms;

namespace {

change of(change_kind kind, std::string path, std::string from = {}) {
    return {kind, false, std::move(path), std::move(from)};
}

/// Returns the due changes, as "kind path " each.
std::string due(change_queue& q, time_point now) {
    std::string all;
    while (auto c = q.take(now)) {
        all.append(to_string(c->kind)).append(1, ' ').append(c->path).append(1, ' ');
    }
    return all;
}

constexpr time_point start{std::chrono::hours(1)};

std::string together(std::initializer_list<change_kind> kinds) {
    change_queue q("root", 50ms, 100);
    for (const change_kind k : kinds) q.add(of(k, "f"), start);
    return due(q, start + 50ms);
}

}  // namespace

TEST(change_queue, may_wait_for_ever) {
    change_queue q("root", duration::max(), 100);
    q.add(of(change_kind::created, "f"), start);
    EXPECT_EQ(q.next_due(), time_point::max());
    EXPECT_EQ(due(q, start + std::chrono::hours(24)), "");
}

TEST(change_queue, makes_one_change_of_a_burst) {
    using enum change_kind;
    EXPECT_EQ(together({created, modified, attributes, modified}), "created f ");
    EXPECT_EQ(together({created, created}), "created f ");
    EXPECT_EQ(together({created, modified, removed}), "");
    EXPECT_EQ(together({modified, modified, attributes}), "modified f ");
    EXPECT_EQ(together({attributes, modified}), "modified f ");
    EXPECT_EQ(together({attributes, attributes}), "attributes f ");
    EXPECT_EQ(together({modified, removed}), "removed f ");
    EXPECT_EQ(together({removed, created}), "created f ");
    EXPECT_EQ(together({removed, created, modified, removed}), "removed f ");
    EXPECT_EQ(together({created, removed, created}), "created f ");
}

TEST(change_queue, tells_that_what_replaced_another_is_gone) {
    change_queue q("root", 50ms, 100);
    q.add(of(change_kind::created, "a"), start, true);
    q.add(of(change_kind::removed, "a"), start);
    q.add(of(change_kind::created, "b"), start);
    q.add(of(change_kind::removed, "b"), start);
    EXPECT_EQ(due(q, start + 50ms), "removed a ");
}

TEST(change_queue, keeps_the_last_change_behind_all_others) {
    change_queue q("root", 50ms, 100);
    q.add(of(change_kind::attributes, "root"), start);
    q.add(of(change_kind::created, "root/a"), start);
    q.add_last(of(change_kind::removed, "root"), start);
    EXPECT_EQ(due(q, start + 50ms), "attributes root created root/a removed root ");
}

TEST(change_queue, tells_when_the_time_since_the_first_has_passed) {
    change_queue q("root", 50ms, 100);
    EXPECT_EQ(q.next_due(), time_point::max());
    q.add(of(change_kind::modified, "a"), start);
    q.add(of(change_kind::modified, "b"), start + 10ms);
    q.add(of(change_kind::modified, "a"), start + 49ms);
    EXPECT_EQ(q.next_due(), start + 50ms);
    EXPECT_EQ(due(q, start + 50ms - duration(1)), "");
    EXPECT_EQ(due(q, start + 50ms), "modified a ");
    EXPECT_EQ(q.next_due(), start + 60ms);
    q.add(of(change_kind::modified, "a"), start + 51ms);
    EXPECT_EQ(due(q, start + 60ms), "modified b ");
    EXPECT_EQ(due(q, start + 101ms), "modified a ");
    EXPECT_EQ(q.next_due(), time_point::max());
}

TEST(change_queue, keeps_apart_what_a_move_separates) {
    change_queue q("root", 50ms, 100);
    q.add(of(change_kind::modified, "a"), start);
    q.add(of(change_kind::moved, "b", "a"), start);
    q.add(of(change_kind::created, "a"), start);
    q.add(of(change_kind::modified, "b"), start);
    q.add(of(change_kind::removed, "a"), start);
    EXPECT_EQ(due(q, start + 50ms), "modified a moved b modified b ");
}

TEST(change_queue, merges_nothing_without_a_time_to_settle) {
    change_queue q("root", 0ms, 100);
    for (const change_kind k :
         {change_kind::created, change_kind::modified, change_kind::removed}) {
        q.add(of(k, "f"), start);
    }
    EXPECT_EQ(due(q, start), "created f modified f removed f ");
}

TEST(change_queue, gives_way_to_an_overflow_at_its_limit) {
    change_queue q("root", 50ms, 3);
    for (const char* name : {"a", "b", "c"}) q.add(of(change_kind::created, name), start);
    EXPECT_EQ(q.next_due(), start + 50ms);
    q.add(of(change_kind::modified, "a"), start);  // one that is there takes no room
    q.add(of(change_kind::created, "d"), start);
    EXPECT_EQ(due(q, start), "overflow root ");
    q.add(of(change_kind::created, "a"), start);
    EXPECT_EQ(due(q, start + 50ms), "created a ");
}
