#include "http/client/call_state.hpp"

#include "http/client/shard.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

std::string address_with_query(const call_state& c) {
    const std::string& query = c.more().query;
    const std::size_t fragment = std::min(c.address.find('#'), c.address.size());
    std::string all = c.address.substr(0, fragment);
    all += all.find('?') == std::string::npos ? '?' : '&';
    all += query;
    return all.append(c.address, fragment);
}

}  // namespace

const call_extras call_state::none{};

void call_state_deleter::operator()(call_state* s) const noexcept {
    // What another thread has allocated would pile up in the pool of this one.
    block_pool* const here = coracle::detail::current_pool;
    if (s->goes_elsewhere) coracle::detail::current_pool = nullptr;
    delete s;
    coracle::detail::current_pool = here;
}

std::expected<url, error> address_of(const call_state& c, client_shard& here) {
    return c.more().query.empty() ? here.read_url(c.address) : url::parse(address_with_query(c));
}

}  // namespace coracle::http::detail
