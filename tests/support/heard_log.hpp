#pragma once

#include <coracle/base/log.hpp>
#include <coracle/runtime/background.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing {

/// A log of which a test hears: the lines of one layer, which are at level info, and whatever any
/// layer said.
class heard_log {
public:
    explicit heard_log(log_level from, log_layer layer = log_layer::http) : layer_(layer) {
        logger_.set_sink(&heard_log::hear, this);
        logger_.set_level(from);
    }
    heard_log(const heard_log&) = delete;
    heard_log& operator=(const heard_log&) = delete;

    /// For a loop that writes to it.
    background_options options() {
        background_options b;
        b.log = &logger_;
        return b;
    }
    /// Those that came since this was called last.
    std::vector<std::string> lines() {
        const std::lock_guard lock(guard_);
        return std::exchange(lines_, {});
    }
    std::string all() {
        const std::lock_guard lock(guard_);
        return all_;
    }

private:
    static void hear(void* self, log_level level, log_layer layer, std::string_view text) {
        auto& log = *static_cast<heard_log*>(self);
        const std::lock_guard lock(log.guard_);
        log.all_.append(text).append("\n");
        if (layer != log.layer_) return;
        log.lines_.emplace_back(text);
        EXPECT_EQ(level, log_level::info) << text;
    }

    const log_layer layer_;
    std::mutex guard_;
    std::vector<std::string> lines_;
    std::string all_;
    logger logger_;
};

}  // namespace coracle::testing
