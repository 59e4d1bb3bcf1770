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

/// Copies a body, unless a function writes it.
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
      may_be_tunnel(other.may_be_tunnel), parts(other.parts) {
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
        // The body is made of the parts when the call begins.
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
    // Memory of another thread would accumulate in this thread's pool.
    block_pool* const here = coracle::detail::current_pool;
    if (s->goes_elsewhere) coracle::detail::current_pool = nullptr;
    delete s;
    coracle::detail::current_pool = here;
}

std::expected<url, error> target_url(const call_state& c, client_shard& here) {
    const client_options& o = c.own() != nullptr ? *c.own() : here.options()->values;
    const bool has_query = !c.more().query.empty();
    if (!has_query && !o.path_as_is) return here.read_url(c.address);
    return url::parse(has_query ? address_with_query(c) : c.address,
                      o.path_as_is ? url_path::as_is : url_path::normal);
}

}  // namespace coracle::http::detail
