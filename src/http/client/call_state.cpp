#include "http/client/call_state.hpp"

#include "fs/duplicate.hpp"
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

/// Of a body that is not written by a function.
std::expected<body, error> copy_of(const body& b) {
    if (b.in_memory()) return body(b.bytes());
    error e(std::errc::operation_not_supported, "copy");
    if (b.type() != body::kind::file) {
        return std::unexpected(std::move(e.on("the body is written by a function")));
    }
    const file_range& part = b.file_part();
    auto another = fs::detail::duplicate(part.fd());
    if (!another) return std::unexpected(std::move(another).error());
    return body::file({another->release(), part.offset(), part.size()});
}

}  // namespace

call_extras::call_extras(const call_extras& other)
    : other_method(other.other_method), query(other.query), tunnel(other.tunnel), type(other.type),
      parts(other.parts) {
    if (other.own != nullptr) own = std::make_unique<client_options>(*other.own);
    if (other.problem != nullptr) problem = std::make_unique<error>(*other.problem);
}

call_state::call_state(const call_state& other)
    : core(other.core), address(other.address), fields(other.fields),
      total_timeout(other.total_timeout), method(other.method), has_body(other.has_body),
      is_form(other.is_form) {
    if (other.extras != nullptr) extras = std::make_unique<call_extras>(*other.extras);
    if (!has_body) return;
    if (more().parts != nullptr) {
        // The body is made of them when the call is.
        if (more().parts->can_be_made_again()) return;
        error e(std::errc::operation_not_supported, "copy");
        refuse(std::move(e.on("a part of the body is written by a function")));
        return;
    }
    auto content = copy_of(other.body);
    if (content) {
        body = *std::move(content);
    } else {
        refuse(std::move(content).error());
    }
}

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
