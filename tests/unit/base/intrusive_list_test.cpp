#include <coracle/base/detail/intrusive_list.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

using coracle::intrusive_list;
using coracle::list_hook;

namespace {

struct item : list_hook {
    explicit item(char c) : letter(c) {}
    char letter;
};

std::string letters(intrusive_list<item>& list) {
    std::string all;
    for (item* i = list.front(); i != nullptr; i = list.next(*i)) all += i->letter;
    return all;
}

}  // namespace

TEST(intrusive_list, keeps_the_order_of_insertion) {
    item a('a'), b('b'), c('c');
    intrusive_list<item> list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.front(), nullptr);
    EXPECT_EQ(list.pop_front(), nullptr);
    list.push_back(b);
    list.push_back(c);
    list.push_front(a);
    EXPECT_EQ(letters(list), "abc");
    EXPECT_EQ(list.pop_front(), &a);
    EXPECT_FALSE(a.linked());
    EXPECT_EQ(letters(list), "bc");
}

TEST(intrusive_list, is_walked_backwards_and_takes_items_in_its_midst) {
    item a('a'), b('b'), c('c');
    intrusive_list<item> list;
    EXPECT_EQ(list.back(), nullptr);
    list.push_back(a);
    list.insert_behind(a, c);
    list.insert_behind(a, b);
    EXPECT_EQ(letters(list), "abc");
    std::string backwards;
    for (item* i = list.back(); i != nullptr; i = list.previous(*i)) backwards += i->letter;
    EXPECT_EQ(backwards, "cba");
    list.insert_behind(a, b);
    EXPECT_EQ(letters(list), "abc") << "there already";
    list.insert_behind(c, a);
    EXPECT_EQ(letters(list), "bca");
}

TEST(intrusive_list, forgets_an_item_that_is_destroyed) {
    intrusive_list<item> list;
    item a('a'), c('c');
    list.push_back(a);
    {
        item b('b');
        list.push_back(b);
        list.push_back(c);
        EXPECT_EQ(letters(list), "abc");
    }
    EXPECT_EQ(letters(list), "ac");
}

TEST(intrusive_list, lets_its_items_go_when_it_is_destroyed) {
    item a('a');
    {
        intrusive_list<item> list;
        list.push_back(a);
        EXPECT_TRUE(a.linked());
    }
    EXPECT_FALSE(a.linked());
}

TEST(intrusive_list, moves_an_item_that_stands_in_another_list) {
    item a('a'), b('b');
    intrusive_list<item> first;
    intrusive_list<item> second;
    first.push_back(a);
    first.push_back(b);
    second.push_back(a);
    EXPECT_EQ(letters(first), "b");
    EXPECT_EQ(letters(second), "a");
    first.push_back(b);
    EXPECT_EQ(letters(first), "b") << "at the end already";
    a.unlink();
    a.unlink();
    EXPECT_TRUE(second.empty());
}

TEST(intrusive_list, splices_all_of_another_behind_its_own) {
    item a('a'), b('b'), c('c'), d('d');
    intrusive_list<item> first;
    intrusive_list<item> second;
    first.splice(second);
    EXPECT_TRUE(first.empty());
    second.push_back(c);
    second.push_back(d);
    first.splice(second);
    EXPECT_EQ(letters(first), "cd");
    EXPECT_TRUE(second.empty());
    second.push_back(a);
    second.push_back(b);
    second.splice(first);
    EXPECT_EQ(letters(second), "abcd");
    second.splice(first);
    EXPECT_EQ(letters(second), "abcd");
}
