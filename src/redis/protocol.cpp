#include "redis/protocol.hpp"

#include <coracle/redis/error.hpp>

#include <hiredis/read.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <new>
#include <utility>

namespace coracle::redis::detail {
namespace {

/// The longest line of a status, an error or a number, in bytes.
constexpr std::size_t longest_line = 16'384;
/// The longest line with the size of a string.
constexpr std::size_t longest_size = 32;
/// Arrays around another.
constexpr std::size_t deepest = 7;

error malformed(std::string_view why) {
    error e(make_error_code(errc::malformed_reply), "redis reply", phase::receive);
    return e.on(why);
}

error beyond(std::string_view limit) {
    error e(coracle::errc::limit_exceeded, "redis reply", phase::receive);
    return e.on(limit);
}

/// The parts of a reply that is being read.
struct budget {
    reply_limits limits;
    std::size_t bytes = 0;
    std::size_t elements = 0;
    bool exceeded = false;
    const char* fault = nullptr;  ///< of a reply that is refused
};

budget& budget_of(const redisReadTask* t) noexcept {
    return *static_cast<budget*>(t->privdata);
}

// hiredis is C: no exception may pass through it. Null ends the reader with an error.
void* place(const redisReadTask* t, reply&& value) noexcept {
    if (t->parent == nullptr) return new (std::nothrow) reply(std::move(value));
    reply& made = static_cast<reply*>(t->parent->obj)->elements()[static_cast<std::size_t>(t->idx)];
    made = std::move(value);
    return &made;
}

void* refuse(const redisReadTask* t, const char* why) noexcept {
    budget_of(t).fault = why;
    return nullptr;
}

constexpr const char* foreign = "a type that RESP2 does not have";

std::size_t depth_of(const redisReadTask* t) noexcept {
    std::size_t depth = 0;
    for (; t->parent != nullptr; t = t->parent) ++depth;
    return depth;
}

void* make_string(const redisReadTask* t, char* text, std::size_t size) noexcept {
    const bool is_known = t->type == REDIS_REPLY_STRING || t->type == REDIS_REPLY_STATUS ||
                          t->type == REDIS_REPLY_ERROR;
    if (!is_known) return refuse(t, foreign);
    budget& b = budget_of(t);
    b.bytes += size;
    if (b.bytes > b.limits.bytes) {
        b.exceeded = true;
        return nullptr;
    }
    reply_kind kind = reply_kind::string;
    if (t->type == REDIS_REPLY_STATUS) kind = reply_kind::status;
    if (t->type == REDIS_REPLY_ERROR) kind = reply_kind::error;
    try {
        return place(t, reply(kind, std::string(text, size)));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

/// `Size`: int in hiredis 0.14, size_t since 1.0.
template <class Size>
void* make_array(const redisReadTask* t, Size size) noexcept {
    if (t->type != REDIS_REPLY_ARRAY) return refuse(t, foreign);
    if (depth_of(t) > deepest) return refuse(t, "arrays too deep in one another");
    budget& b = budget_of(t);
    const auto count = static_cast<std::size_t>(size);
    // The peer says how many there are before it has sent one.
    if (count > b.limits.elements - b.elements) {
        b.exceeded = true;
        return nullptr;
    }
    b.elements += count;
    try {
        return place(t, reply(std::vector<reply>(count)));
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void* make_integer(const redisReadTask* t, long long n) noexcept {
    return place(t, reply(static_cast<std::int64_t>(n)));
}

void* make_nil(const redisReadTask* t) noexcept {
    return place(t, reply());
}

/// Called with the outermost object only.
void free_object(void* object) noexcept {
    delete static_cast<reply*>(object);
}

/// By their names, for the order has changed between versions. A template, so that members which a
/// version lacks are not looked for. Where a function is missing, hiredis gives a number as object.
template <class Functions>
Functions make_functions() noexcept {
    Functions f{};
    f.createString = &make_string;
    f.createArray = &make_array;
    f.createInteger = &make_integer;
    f.createNil = &make_nil;
    f.freeObject = &free_object;
    if constexpr (requires { f.createDouble; }) {
        f.createDouble = [](const redisReadTask* t, double, char*, std::size_t) -> void* {
            return refuse(t, foreign);
        };
        f.createBool = [](const redisReadTask* t, int) -> void* { return refuse(t, foreign); };
    }
    return f;
}

redisReplyObjectFunctions functions = make_functions<redisReplyObjectFunctions>();

/// The type of what is being read now; negative where nothing has begun.
template <class Reader>
int type_under_way(const Reader& r) noexcept {
    if (r.ridx < 0) return -1;
    if constexpr (requires { r.rstack; })
        return r.rstack[r.ridx].type;
    else
        return r.task[r.ridx]->type;
}

bool equals(std::string_view text, std::string_view upper) noexcept {
    return std::ranges::equal(text, upper, [](char a, char b) {
        return std::toupper(static_cast<unsigned char>(a)) == b;
    });
}

void append_size(std::string& to, char mark, std::size_t n) {
    to.append(1, mark).append(std::to_string(n)).append("\r\n");
}

}  // namespace

void append_command(std::string& to, std::span<const std::string_view> parts) {
    append_size(to, '*', parts.size());
    for (const std::string_view part : parts) {
        append_size(to, '$', part.size());
        to.append(part).append("\r\n");
    }
}

bool changes_connection(std::span<const std::string_view> parts) noexcept {
    constexpr std::array<std::string_view, 23> names = {
        "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE",
        "MONITOR",   "SYNC",       "PSYNC",      "QUIT",        "RESET",        "HELLO",
        "SELECT",    "AUTH",       "MULTI",      "EXEC",        "DISCARD",      "WATCH",
        "UNWATCH",   "ASKING",     "READONLY",   "READWRITE",   "SHUTDOWN"};
    if (parts.empty()) return false;
    const std::string_view name = parts.front();
    if (equals(name, "CLIENT")) return parts.size() > 1 && equals(parts[1], "REPLY");
    return std::ranges::any_of(names, [name](std::string_view n) { return equals(name, n); });
}

struct reply_reader::implementation {
    explicit implementation(const reply_limits& limits) : reader(nullptr) {
        used.limits = limits;
        reader = redisReaderCreateWithFunctions(&functions);
        if (reader == nullptr) throw std::bad_alloc();
        reader->privdata = &used;
    }
    implementation(const implementation&) = delete;
    implementation& operator=(const implementation&) = delete;
    ~implementation() { redisReaderFree(reader); }

    /// Bytes that came and are in no reply yet.
    std::string_view rest() const noexcept {
        return {reader->buf + reader->pos, reader->len - reader->pos};
    }

    /// hiredis looks for the end of a line from its beginning each time that bytes come, and holds
    /// what a peer sends without end.
    std::expected<void, error> check_rest() const {
        const std::string_view waiting = rest();
        // A string waits with its size before it, and the end of the line behind it.
        constexpr std::size_t around = longest_size + 2;
        const std::size_t held = waiting.size() + used.bytes;
        if (held > around && held - around > used.limits.bytes) {
            return std::unexpected(beyond("reply_limits::bytes"));
        }
        const int type = type_under_way(*reader);
        if (type < 0) return {};
        if (type == REDIS_REPLY_STRING) {
            const bool has_size =
                waiting.size() < longest_size ||
                waiting.substr(0, longest_size).find("\r\n") != std::string_view::npos;
            if (!has_size) return std::unexpected(malformed("a string without its size"));
        } else if (waiting.size() > longest_line) {
            return std::unexpected(malformed("a line without an end"));
        }
        return {};
    }

    budget used;
    redisReader* reader;
};

reply_reader::reply_reader(const reply_limits& limits)
    : inner_(std::make_unique<implementation>(limits)) {}
reply_reader::~reply_reader() = default;

std::expected<void, error> reply_reader::feed(std::string_view bytes) {
    if (redisReaderFeed(inner_->reader, bytes.data(), bytes.size()) == REDIS_OK) return {};
    return std::unexpected(malformed(static_cast<const char*>(inner_->reader->errstr)));
}

std::expected<std::optional<reply>, error> reply_reader::next() {
    implementation& in = *inner_;
    void* object = nullptr;
    if (redisReaderGetReply(in.reader, &object) != REDIS_OK) {
        if (in.used.exceeded) {
            const bool by_bytes = in.used.bytes > in.used.limits.bytes;
            std::string_view limit = "reply_limits::elements";
            if (by_bytes) limit = "reply_limits::bytes";
            return std::unexpected(beyond(limit));
        }
        if (in.used.fault != nullptr) return std::unexpected(malformed(in.used.fault));
        if (in.reader->err == REDIS_ERR_OOM) {
            return std::unexpected(error(std::errc::not_enough_memory, "redis reply"));
        }
        return std::unexpected(malformed(static_cast<const char*>(in.reader->errstr)));
    }
    if (object == nullptr) {
        auto fits = in.check_rest();
        if (!fits) return std::unexpected(std::move(fits).error());
        return std::optional<reply>();
    }
    in.used.bytes = 0;
    in.used.elements = 0;
    const std::unique_ptr<reply> made(static_cast<reply*>(object));
    return std::optional<reply>(std::move(*made));
}

}  // namespace coracle::redis::detail
