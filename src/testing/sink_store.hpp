#pragma once

#include <coracle/testing/smtp_sink.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing::detail {

/// The mails, the dialogue and the rules of a sink. Thread-safe.
class sink_store {
public:
    explicit sink_store(const smtp_sink_options& o) noexcept : options_(o) {}

    /// False: it is full.
    bool add(sink_message m);
    /// The number of a mail that is delivered elsewhere.
    std::size_t next_number();
    /// One that was delivered elsewhere has been accepted.
    void count_delivered();
    std::vector<sink_message> all() const;
    std::optional<sink_message> find(std::size_t number) const;
    std::size_t count() const;
    void remove(std::size_t number);
    void clear();
    bool wait_for(std::size_t count, duration limit) const;

    void note(char who, std::string_view line);
    std::vector<std::string> dialogue() const;

    std::size_t connected();
    std::size_t connections() const;

    void add_rule(sink_rule r);
    void clear_rules();
    /// The first rule for this command, which counts as used.
    std::optional<sink_rule> rule_for(std::string_view command, std::string_view line);

    struct cut {
        std::uint64_t received = UINT64_MAX;
        std::uint64_t sent = UINT64_MAX;
    };
    void set_cut(std::size_t index, cut c);
    cut cut_of(std::size_t index) const;

private:
    const smtp_sink_options& options_;
    mutable std::mutex guard_;
    mutable std::condition_variable changed_;
    std::vector<sink_message> kept_;
    std::size_t kept_bytes_ = 0;
    std::size_t numbers_ = 0;
    std::size_t accepted_ = 0;
    std::size_t connections_ = 0;
    std::deque<std::string> dialogue_;
    std::vector<sink_rule> rules_;
    std::map<std::size_t, cut> cuts_;
};

}  // namespace coracle::testing::detail
