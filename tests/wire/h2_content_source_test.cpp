// Content that a session reads into its frames when there is room for it.

#include "h2_sent_frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

using namespace coracle::http::h2;
using namespace coracle::http::h2::test;
using coracle::http::field;
using namespace std::literals;

namespace {

/// Has so much of a text, and the rest later.
class text_source final : public content_source {
public:
    explicit text_source(std::string text) : text_(std::move(text)), there_(text_.size()) {}
    std::size_t read(std::span<const std::span<char>> places) noexcept override {
        ++reads;
        const std::size_t before = taken_;
        for (const std::span<char> place : places) {
            const std::size_t n = std::min(place.size(), there_ - taken_);
            std::copy_n(text_.data() + taken_, n, place.data());
            taken_ += n;
        }
        return taken_ - before;
    }
    void has(std::size_t bytes) noexcept { there_ = bytes; }
    int reads = 0;

private:
    std::string text_;
    std::size_t there_;
    std::size_t taken_ = 0;
};

std::string text_of(std::size_t size) {
    std::string text;
    for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
    text.resize(size);
    return text;
}

std::string content_in(std::string_view bytes) {
    std::string all;
    for (const sent_frame& f : frames_in(bytes)) {
        if (f.header.type == frame_type::data) all += f.payload;
    }
    return all;
}

TEST(h2_content_source, fills_frames_and_batches) {
    const auto server = server_with(1);
    const std::string text = text_of(100'000);
    text_source from(text);
    ASSERT_TRUE(server->session.send_from(server->at(1), from, text.size(), false));
    server->receive(window_update(1, 100'000));
    std::vector<std::string_view> views;
    server->session.gather(60'000, views);
    ASSERT_EQ(views.size(), 1U);
    const std::string first(views[0]);
    EXPECT_EQ(first.size(), 4U * 16'352) << "four records of TLS";
    EXPECT_EQ(data_frames(first), "1:16384 1:16384 1:16384 1:16220");
    server->session.written();
    EXPECT_EQ(server->log, "");
    const std::string rest = server->take();
    EXPECT_EQ(data_frames(rest), "1:16384 1:16384 1:1860");
    EXPECT_EQ(content_in(first + rest), text);
    EXPECT_EQ(server->log, "1: sent\n");
    EXPECT_FALSE(server->at(1).sending());
    ASSERT_TRUE(server->session.send_data(server->at(1), {}, true));
    EXPECT_EQ(data_frames(server->take()), "1:0!");
}

TEST(h2_content_source, waits_for_windows_and_ends_a_message) {
    const auto server = server_with(1);
    const std::string text = text_of(default_window + 10);
    text_source from(text);
    ASSERT_TRUE(server->session.send_from(server->at(1), from, text.size(), true));
    const std::string first = server->take();
    EXPECT_EQ(content_in(first).size(), std::size_t{default_window});
    EXPECT_TRUE(server->at(1).is_held());
    EXPECT_EQ(server->at(1).unsent(), 10U);
    server->receive(window_update(1, 10));
    const std::string rest = server->take();
    EXPECT_EQ(data_frames(rest), "1:10!");
    EXPECT_EQ(content_in(first + rest), text);
    EXPECT_TRUE(server->at(1).sent_all());
}

TEST(h2_content_source, lets_others_go_on_while_it_has_nothing) {
    const auto server = server_with(2);
    text_source from(text_of(1000));
    from.has(300);
    ASSERT_TRUE(server->session.send_from(server->at(1), from, 1000, true));
    const std::string_view pieces[] = {"abc"};
    EXPECT_EQ(data_frames(server->take()), "1:300");
    EXPECT_FALSE(server->session.wants_to_write());
    ASSERT_TRUE(server->session.send_data(server->at(3), pieces, true));
    EXPECT_EQ(data_frames(server->take()), "3:3!");
    // A window that opens asks it once more.
    const int reads = from.reads;
    server->receive(window_update(1, 10));
    EXPECT_EQ(data_frames(server->take()), "");
    EXPECT_EQ(from.reads, reads + 1);
    EXPECT_FALSE(server->session.wants_to_write());
    from.has(1000);
    EXPECT_FALSE(server->session.wants_to_write());
    server->session.resume(server->at(1));
    EXPECT_EQ(data_frames(server->take()), "1:700!");
}

TEST(h2_content_source, shares_a_batch_with_pieces) {
    const auto server = server_with(2);
    const std::string text = text_of(20'000);
    const std::string content(20'000, 'x');
    const std::string_view pieces[] = {content};
    text_source from(text);
    ASSERT_TRUE(server->session.send_from(server->at(1), from, text.size(), true));
    ASSERT_TRUE(server->session.send_data(server->at(3), pieces, true));
    server->session.prioritize(server->at(1), {3, true});
    server->session.prioritize(server->at(3), {3, true});
    const std::string sent = server->take();
    EXPECT_EQ(data_frames(sent), "1:16384 1:3616! 3:16384 3:3616!");
    std::string mine;
    for (const sent_frame& f : frames_in(sent)) {
        if (f.header.stream == 1) mine += f.payload;
    }
    EXPECT_EQ(mine, text);
}

TEST(h2_content_source, is_forgotten_when_it_is_withdrawn) {
    for (const bool gathered : {false, true}) {
        const auto server = server_with(1);
        text_source from(text_of(1000));
        from.has(100);
        ASSERT_TRUE(server->session.send_from(server->at(1), from, 1000, true));
        std::vector<std::string_view> views;
        if (gathered) server->session.gather(1 << 20, views);
        const int reads = from.reads;
        server->session.withdraw(server->at(1));
        server->session.withdraw(server->at(1));
        EXPECT_EQ(server->at(1).sending(), gathered);
        if (gathered) server->session.written();
        EXPECT_EQ(server->log, gathered ? "1: sent\n" : "");
        EXPECT_FALSE(server->at(1).sending());
        EXPECT_FALSE(server->at(1).sent_all()) << "the message is not complete";
        server->session.resume(server->at(1));
        EXPECT_EQ(server->take(), "");
        EXPECT_EQ(from.reads, reads);
        // The next content of the stream is its own, and nothing to withdraw.
        const std::string_view pieces[] = {"abc"};
        ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
        server->session.withdraw(server->at(1));
        EXPECT_EQ(data_frames(server->take()), "1:3!");
        EXPECT_EQ(from.reads, reads);
    }
}

TEST(h2_content_source, is_forgotten_when_its_stream_is_over) {
    const auto server = server_with(2);
    text_source one(text_of(1000));
    text_source other(text_of(1000));
    ASSERT_TRUE(server->session.send_from(server->at(1), one, 1000, true));
    ASSERT_TRUE(server->session.send_from(server->at(3), other, 1000, true));
    server->session.reset(server->at(1), error_code::cancel);
    server->receive(rst(3, error_code::cancel));
    EXPECT_FALSE(server->at(1).sending());
    EXPECT_FALSE(server->at(3).sending());
    EXPECT_EQ(data_frames(server->take()), "");
    EXPECT_EQ(one.reads + other.reads, 0);
    EXPECT_FALSE(server->session.send_from(server->at(1), one, 1000, true));
}

}  // namespace
