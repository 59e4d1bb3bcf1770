#include "http/message/token.hpp"
#include "http/middleware/filter.hpp"

#include <coracle/http/middleware/request_id.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cstring>

namespace coracle::http {
namespace {

constexpr std::size_t digits = 32;
constexpr std::size_t longest = 128;

/// The name of one request, in its data.
struct request_name {
    char text[longest];
    unsigned char size;
};

bool may_be_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    });
}

void make_name(request_name& n) noexcept {
    constexpr char hex[] = "0123456789abcdef";
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i != digits; ++i) {
        if (i % 16 == 0) bits = loop::current()->random();
        n.text[i] = hex[bits & 15];
        bits >>= 4;
    }
    n.size = digits;
}

}  // namespace

class request_id::rules {
public:
    explicit rules(request_id_options o) : options_(std::move(o)) {
        if (is_token(options_.field)) return;
        error e(std::errc::invalid_argument, "request_id_options");
        throw_exception(std::move(e.on("field")));
    }

    bool admit(request& req, response&) const {
        auto& name = req.emplace_data<request_name>();
        const std::string_view given =
            options_.trust ? req.header(options_.field) : std::string_view();
        if (may_be_name(given)) {
            std::memcpy(name.text, given.data(), given.size());
            name.size = static_cast<unsigned char>(given.size());
        } else {
            make_name(name);
        }
        return true;
    }
    void finish(const request& req, response& out) const { out.set(options_.field, of(req)); }

private:
    request_id_options options_;
};

request_id::request_id(request_id_options options)
    : rules_(std::make_shared<const rules>(std::move(options))) {}

handler request_id::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

std::string_view request_id::of(const request& req) noexcept {
    const auto* const name = req.data<request_name>();
    return name == nullptr ? std::string_view() : std::string_view(name->text, name->size);
}

}  // namespace coracle::http
