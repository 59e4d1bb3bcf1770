#pragma once

#include <coracle/redis/client.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace coracle::redis::detail {

/// A Lua script of one key, sent by its digest; as a whole only where the server does not know it.
class script {
public:
    /// `text` is a literal.
    explicit script(std::string_view text);

    /// All must live until it has ended.
    task<std::expected<reply, error>> run(client& c, const std::string& key,
                                          std::span<const std::string> arguments) const;

private:
    std::string_view text_;
    std::string digest_;
};

}  // namespace coracle::redis::detail
