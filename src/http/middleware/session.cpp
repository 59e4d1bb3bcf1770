#include "http/middleware/csrf_secret.hpp"

#include <coracle/http/middleware/sessions.hpp>

#include <algorithm>
#include <cstring>

namespace coracle::http {
namespace {

/// The first byte of what is stored, so that another form can be told from it.
constexpr char stored_form = 1;
/// Bytes that a value takes in the store beside its name and itself.
constexpr std::size_t value_overhead = 8;

void append_text(std::string& out, std::string_view text) {
    for (unsigned i = 0; i != 4; ++i) out += static_cast<char>(text.size() >> (8 * i) & 0xff);
    out += text;
}

/// Reads what `session::pack` made.
class unpacker {
public:
    explicit unpacker(std::string_view data) noexcept : rest_(data) {}

    bool at_end() const noexcept { return rest_.empty(); }
    bool number(std::uint64_t& value, unsigned bytes) noexcept {
        if (rest_.size() < bytes) return false;
        value = 0;
        for (unsigned i = 0; i != bytes; ++i) {
            value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
        }
        rest_.remove_prefix(bytes);
        return true;
    }
    bool text(std::string& value) {
        std::uint64_t size = 0;
        if (!number(size, 4) || size > rest_.size()) return false;
        value = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
    }

private:
    std::string_view rest_;
};

}  // namespace

session& session::of(request& req) {
    if (session* const s = find(req)) return *s;
    error e(std::errc::invalid_argument, "session");
    throw_exception(std::move(e.on("no http::sessions around this handler")));
}

const session::pair* session::find_pair(std::string_view name) const noexcept {
    const auto at = std::ranges::find(pairs_, name, &pair::name);
    return at == pairs_.end() ? nullptr : &*at;
}

std::optional<std::string_view> session::bytes(std::string_view name) const noexcept {
    const pair* const p = find_pair(name);
    if (p == nullptr) return std::nullopt;
    return p->value;
}

/// The bytes that it takes of a session.
std::size_t session::pair::size() const noexcept {
    return name.size() + value.size() + value_overhead;
}

std::size_t session::size_without(std::string_view name) const noexcept {
    std::size_t sum = user_.size();
    for (const pair& p : pairs_) {
        if (p.name != name) sum += p.size();
    }
    return sum;
}

void session::check_size(std::size_t size) const {
    if (size <= longest_) return;
    error e(errc::limit_exceeded, "session");
    throw_exception(std::move(e.on("session_options::longest")));
}

void session::set_bytes(std::string_view name, std::string_view value) {
    check_size(size_without(name) + name.size() + value.size() + value_overhead);
    std::string copy(value);  // the value may be one of this session
    if (const pair* const p = find_pair(name)) {
        const_cast<pair*>(p)->value = std::move(copy);
    } else {
        pairs_.push_back({std::string(name), std::move(copy)});
    }
    changed_ = true;
}

void session::erase(std::string_view name) noexcept {
    if (std::erase_if(pairs_, [name](const pair& p) { return p.name == name; }) != 0) {
        changed_ = true;
    }
}

void session::log_in(std::string_view user) {
    const bool is_of_another = !user_.empty() && user_ != user;
    const std::size_t kept = is_of_another ? 0 : size_without(detail::csrf_secret) - user_.size();
    check_size(kept + user.size());
    std::string name(user);  // it may be a value of this session
    erase(detail::csrf_secret);
    if (is_of_another) pairs_.clear();
    user_ = std::move(name);
    made_ = 0;
    renew();
}

void session::end() noexcept {
    pairs_.clear();
    user_.clear();
    ended_ = changed_ = true;
}

std::string session::pack() const {
    std::string out(1, stored_form);
    for (unsigned i = 0; i != 8; ++i) {
        out += static_cast<char>(static_cast<std::uint64_t>(made_) >> (8 * i) & 0xff);
    }
    append_text(out, user_);
    for (const pair& p : pairs_) {
        append_text(out, p.name);
        append_text(out, p.value);
    }
    return out;
}

bool session::unpack(std::string_view data) {
    if (data.empty() || data.front() != stored_form) return false;
    unpacker in(data.substr(1));
    std::uint64_t made = 0;
    if (!in.number(made, 8) || !in.text(user_)) return false;
    if (!std::in_range<std::int64_t>(made)) return false;
    made_ = static_cast<std::int64_t>(made);
    while (!in.at_end()) {
        pair p;
        if (!in.text(p.name) || !in.text(p.value)) return false;
        pairs_.push_back(std::move(p));
    }
    return true;
}

}  // namespace coracle::http
