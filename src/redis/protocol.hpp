#pragma once

#include <coracle/base/error.hpp>
#include <coracle/redis/options.hpp>
#include <coracle/redis/reply.hpp>

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The bytes of RESP2, without a socket.
namespace coracle::redis::detail {

/// Appends a command.
void append_command(std::string& to, std::span<const std::string_view> parts);

/// Returns true if the command would change the state of the connection for those that share it.
bool changes_connection(std::span<const std::string_view> parts) noexcept;

/// Makes replies of bytes as they come. After an error it is of no more use.
class reply_reader {
public:
    explicit reply_reader(const reply_limits& limits);
    ~reply_reader();
    reply_reader(const reply_reader&) = delete;
    reply_reader& operator=(const reply_reader&) = delete;

    /// Takes bytes that came. Call `next` until it gives nothing before the next ones.
    std::expected<void, error> feed(std::string_view bytes);
    /// Gives the next whole reply, nothing when more bytes are needed, or why there can be none.
    std::expected<std::optional<reply>, error> next();

private:
    struct implementation;
    std::unique_ptr<implementation> inner_;
};

}  // namespace coracle::redis::detail
