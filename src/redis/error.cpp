#include <coracle/redis/error.hpp>

#include <algorithm>
#include <string>

namespace coracle::redis {
namespace {

const char* text_of(errc e) noexcept {
    switch (e) {
        case errc::error_reply: return "Redis replied with an error";
        case errc::not_authenticated: return "Redis wants a password, or another one";
        case errc::no_permission: return "the user of Redis may not do this";
        case errc::wrong_type: return "the key holds another kind of value";
        case errc::no_script: return "Redis does not know the script";
        case errc::out_of_memory: return "Redis takes no more data";
        case errc::read_only: return "Redis is a replica that takes no writes";
        case errc::moved: return "another node of the Redis cluster has the key";
        case errc::cross_slot: return "the keys are on several nodes of the Redis cluster";
        case errc::unavailable: return "Redis cannot do this now";
        case errc::malformed_reply: return "the peer does not speak the protocol of Redis";
        case errc::shared_connection: return "the command needs a connection of its own";
    }
    return "unknown error of Redis";
}

class redis_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "redis"; }
    std::string message(int value) const override { return text_of(static_cast<errc>(value)); }
};

struct named_error {
    std::string_view word;
    errc code;
};

constexpr named_error words[] = {
    {"NOAUTH", errc::not_authenticated},
    {"WRONGPASS", errc::not_authenticated},
    {"NOPERM", errc::no_permission},
    {"WRONGTYPE", errc::wrong_type},
    {"NOSCRIPT", errc::no_script},
    {"OOM", errc::out_of_memory},
    {"READONLY", errc::read_only},
    {"MOVED", errc::moved},
    {"ASK", errc::moved},
    {"CROSSSLOT", errc::cross_slot},
    {"LOADING", errc::unavailable},
    {"BUSY", errc::unavailable},
    {"MASTERDOWN", errc::unavailable},
    {"CLUSTERDOWN", errc::unavailable},
    {"TRYAGAIN", errc::unavailable},
};

}  // namespace

const std::error_category& category() noexcept {
    static const redis_category instance;
    return instance;
}

std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), category()};
}

errc code_of_reply(std::string_view text) noexcept {
    const std::string_view word = text.substr(0, text.find(' '));
    const auto* const found = std::ranges::find(words, word, &named_error::word);
    return found == std::end(words) ? errc::error_reply : found->code;
}

}  // namespace coracle::redis
