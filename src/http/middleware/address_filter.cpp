#include "http/middleware/filter.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/address_filter.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

std::vector<net::network> parse(const std::vector<std::string_view>& texts) {
    std::vector<net::network> all;
    for (const std::string_view text : texts) {
        auto n = net::network::parse(text);
        if (!n) throw_exception(std::move(n).error());
        all.push_back(*n);
    }
    return all;
}

bool any_contains(const std::vector<net::network>& networks, const net::address& a) noexcept {
    return std::ranges::any_of(networks, [&a](const net::network& n) { return n.contains(a); });
}

}  // namespace

class address_filter::rules {
public:
    explicit rules(const address_filter_options& o)
        : allow_(parse(o.allow)), deny_(parse(o.deny)) {}

    bool admit(request& req, response& out) const {
        const net::address& a = req.client();
        const auto* const info = req.data<client_info>();
        // Its proxy's address stands for it, and the rights of that are not its own.
        const bool is_hidden = info != nullptr && info->hidden;
        const bool is_allowed = allow_.empty() || (!is_hidden && any_contains(allow_, a));
        if (!any_contains(deny_, a) && is_allowed) return true;
        out = response(status::forbidden);
        return false;
    }
    void finish(const request&, response&) const noexcept {}

private:
    std::vector<net::network> allow_;
    std::vector<net::network> deny_;
};

address_filter::address_filter(const address_filter_options& options)
    : rules_(std::make_shared<const rules>(options)) {}

handler address_filter::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

}  // namespace coracle::http
