#pragma once

#include <coracle/base/log.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// The last warnings and errors of a log, equal ones as one. Thread-safe.
class message_list {
public:
    struct message {
        log_level level;
        std::string text;
        std::uint64_t count;
    };

    explicit message_list(std::size_t most) noexcept : most_(most) {}

    /// A sink of a `logger`: keeps warnings and errors, and writes all to standard error.
    static void write(void* self, log_level level, log_layer layer, std::string_view text);

    void add(log_level level, std::string_view text);
    void clear() noexcept;
    /// The last one first.
    std::vector<message> all() const;

private:
    static constexpr std::size_t longest = 400;

    mutable std::mutex guard_;
    std::list<message> list_;
    std::size_t most_;
};

}  // namespace coracle::http::detail
