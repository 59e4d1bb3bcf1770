#include "redis/script.hpp"

#include <coracle/tls/hash.hpp>

#include <utility>
#include <vector>

namespace coracle::redis::detail {

script::script(std::string_view text)
    : text_(text), digest_(tls::to_hex(tls::digest(tls::hash::sha1, text))) {}

task<std::expected<reply, error>> script::run(client& c, const std::string& key,
                                              std::span<const std::string> arguments) const {
    std::vector<std::string> parts;
    for (const std::string_view part : {std::string_view("EVALSHA"), std::string_view(digest_),
                                        std::string_view("1"), std::string_view(key)}) {
        parts.emplace_back(part);
    }
    parts.insert(parts.end(), arguments.begin(), arguments.end());
    auto by_digest = c.command(parts);
    auto said = co_await as_result(by_digest);
    if (said || said.error() != make_error_code(errc::no_script)) co_return std::move(said);
    parts[0] = "EVAL";
    parts[1] = text_;
    auto as_a_whole = c.command(parts);
    co_return co_await as_result(as_a_whole);
}

}  // namespace coracle::redis::detail
