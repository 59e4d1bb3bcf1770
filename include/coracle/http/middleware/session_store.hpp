#pragma once

#include <coracle/base/error.hpp>
#include <coracle/runtime/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

/// The two ways to save a session.
enum class session_save : std::uint8_t {
    create,   ///< under a key that is new
    replace,  ///< only where the key has data, so that no request brings back what another ended
};

/// The place where `sessions` keeps its data: in memory, or in a server that several nodes share.
/// A key is 43 characters of base64url (the SHA-256 digest of an id, so that reading a store gives
/// nobody a session), data are bytes. Keys and data live until the task has ended. The functions
/// are called from every loop that serves, also at the same time. They bound how long they take,
/// and report failures by their result, not by exceptions.
class session_store {
public:
    virtual ~session_store() = default;

    /// Gives the data under `key`, or nothing where there are none, and keeps them for at least
    /// `time_to_live` from now on.
    virtual task<std::expected<std::optional<std::string>, error>> load(
        std::string_view key, std::chrono::seconds time_to_live) = 0;
    /// Puts data under `key`, in place of those that are there, for `time_to_live`. With `replace`,
    /// and nothing there, it puts nothing and has succeeded.
    virtual task<std::expected<void, error>> save(std::string_view key, std::string_view data,
                                                  std::chrono::seconds time_to_live,
                                                  session_save how) = 0;
    /// Removes the data under `key`. Gives false where there were none; of several that remove them
    /// at the same time, one gets true.
    virtual task<std::expected<bool, error>> remove(std::string_view key) = 0;
};

struct memory_session_store_options {
    /// Sessions that are kept, in 16 parts with an equal share each. Beyond it the one of the part
    /// that was not used for longest is dropped. Default 100,000.
    std::size_t sessions = 100'000;
    /// Bytes of their data, with 200 for each session. Beyond it, as above. Default 256 MiB.
    std::size_t bytes = 256 * 1024 * 1024;
};

/// Keeps sessions in the memory of the process, for all of its loops. It takes a lock, one of 16 by
/// the key, for the time of a look-up and a copy of the data; it never waits for anything else.
/// Each of the 16 parts holds its share of the limits. What has expired is dropped when it is
/// looked up, or when room is wanted.
class memory_session_store final : public session_store {
public:
    /// Throws `exception` (invalid_argument) naming an option that is 0.
    explicit memory_session_store(memory_session_store_options options = {});
    ~memory_session_store() override;

    task<std::expected<std::optional<std::string>, error>> load(
        std::string_view key, std::chrono::seconds time_to_live) override;
    task<std::expected<void, error>> save(std::string_view key, std::string_view data,
                                          std::chrono::seconds time_to_live,
                                          session_save how) override;
    task<std::expected<bool, error>> remove(std::string_view key) override;

    /// Sessions that are kept now, those that have expired unnoticed among them. Thread-safe.
    std::size_t size() const noexcept;
    /// Sessions that were dropped before they had expired, since others wanted room. Thread-safe.
    std::uint64_t dropped() const noexcept;

    class parts;

private:
    std::unique_ptr<parts> parts_;
};

}  // namespace coracle::http
