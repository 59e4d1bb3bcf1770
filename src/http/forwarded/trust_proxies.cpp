// The search for the client behind trusted proxies.

#include "http/h1/target.hpp"
#include "http/message/token.hpp"
#include "net/nameless_address.hpp"

#include <coracle/http/forwarded.hpp>

namespace coracle::http {
namespace {

/// One entry of a chain of proxies.
struct hop {
    std::optional<net::address> address;
    std::string scheme;
    std::string host;
};

enum class step : std::uint8_t { hop, end, malformed };

/// Gives list members from the right: of the last field line, then of the one before.
class backward_list {
public:
    backward_list(const fields& of, std::string_view name) noexcept
        : fields_(&of), name_(name), at_(of.end()) {}

    bool next(std::string_view& member) noexcept {
        while (!in_line_) {
            if (at_ == fields_->begin()) return false;
            --at_;
            in_line_ = equal_ignoring_case(at_->name, name_);
            rest_ = at_->value;
        }
        const std::size_t comma = rest_.rfind(',');
        in_line_ = comma != std::string_view::npos;
        member = trim_ows(in_line_ ? rest_.substr(comma + 1) : rest_);
        rest_ = rest_.substr(0, in_line_ ? comma : 0);
        return true;
    }

    /// Returns the next member, and once the list is at its end its first member again: a single
    /// X-Forwarded-Proto that the outermost proxy wrote stands for the whole chain.
    std::string_view next_or_first() noexcept {
        std::string_view member;
        if (next(member)) first_ = member;
        return first_;
    }

private:
    const fields* fields_;
    std::string_view name_;
    const field* at_;
    std::string_view rest_;
    std::string_view first_;
    bool in_line_ = false;
};

/// The chain that X-Forwarded-For tells.
class x_forwarded_chain {
public:
    x_forwarded_chain(const request& req, bool with_host) noexcept
        : for_(req.fields(), "X-Forwarded-For"), proto_(req.fields(), "X-Forwarded-Proto"),
          host_(req.fields(), "X-Forwarded-Host"), with_host_(with_host) {}

    step next(hop& out) {
        std::string_view node;
        if (!for_.next(node)) return step::end;
        // So nginx and `forward_to` call the peer on a Unix socket.
        out.address =
            node == "unix:" ? net::detail::nameless_unix_address() : parse_forwarded_node(node);
        if (!out.address && node != "unknown") return step::malformed;
        out.scheme = proto_.next_or_first();
        if (with_host_) out.host = host_.next_or_first();
        return step::hop;
    }

private:
    backward_list for_;
    backward_list proto_;
    backward_list host_;
    bool with_host_;
};

/// The chain in Forwarded fields. A malformed line does no harm to those after it.
class forwarded_chain {
public:
    explicit forwarded_chain(const request& req) noexcept
        : fields_(&req.fields()), at_(fields_->end()) {}

    step next(hop& out) {
        while (line_.empty()) {
            if (at_ == fields_->begin()) return step::end;
            if ((--at_)->id != field_id::forwarded) continue;
            auto line = parse_forwarded(at_->value);
            if (!line) return step::malformed;
            line_ = std::move(*line);
        }
        forwarded_element e = std::move(line_.back());
        line_.pop_back();
        out.address = parse_forwarded_node(e.for_node);
        const bool hides = equal_ignoring_case(e.for_node, "unknown") ||
                           e.for_node.starts_with('_') || e.for_node.empty();
        if (!out.address && !hides) return step::malformed;
        out.scheme = std::move(e.proto);
        out.host = std::move(e.host);
        return step::hop;
    }

private:
    const fields* fields_;
    const field* at_;
    std::vector<forwarded_element> line_;
};

/// "http" or "https", which the schemes of WebSocket stand for too; nothing for others.
std::optional<std::string_view> scheme_of(std::string_view text) noexcept {
    if (equal_ignoring_case(text, "https") || equal_ignoring_case(text, "wss")) return "https";
    if (equal_ignoring_case(text, "http") || equal_ignoring_case(text, "ws")) return "http";
    return std::nullopt;
}

/// Goes back from the peer, which is trusted; nothing when what it has to rely on is malformed.
template <class Chain>
std::optional<client_info> walk(const std::vector<net::network>& trusted, const net::address& peer,
                                Chain chain) {
    client_info client;
    client.address = peer;
    do {
        hop h;
        ++client.proxies;
        const step s = chain.next(h);
        if (s == step::malformed) return std::nullopt;
        if (s == step::end) {
            // The proxy made the request itself.
            --client.proxies;
            return client;
        }
        const auto scheme =
            h.scheme.empty() ? std::optional<std::string_view>(client.scheme) : scheme_of(h.scheme);
        if (!scheme || (!h.host.empty() && !h1::is_host(h.host))) return std::nullopt;
        client.scheme = *scheme;
        if (!h.host.empty()) client.host = std::move(h.host);
        client.hidden = !h.address.has_value();
        if (client.hidden) return client;
        client.address = *h.address;
    } while (net::is_in_any(trusted, client.address));
    return client;
}

class trusting_handler final : public handler::implementation {
public:
    trusting_handler(handler inner, std::vector<net::network> trusted, proxy_trust how)
        : inner_(std::move(inner)), trusted_(std::move(trusted)), how_(how) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if (net::is_in_any(trusted_, req.peer())) {
            auto client = find_client(req);
            if (!client) {
                out = response(status::bad_request, "the forwarding fields are malformed\n");
                return true;
            }
            req.set_data(std::move(*client));
        }
        return inner_.call(req, out, pending);
    }

private:
    std::optional<client_info> find_client(const request& req) const {
        if (how_.fields == forwarding_fields::forwarded) {
            return walk(trusted_, req.peer(), forwarded_chain(req));
        }
        return walk(trusted_, req.peer(), x_forwarded_chain(req, how_.forwarded_host));
    }

    handler inner_;
    std::vector<net::network> trusted_;
    proxy_trust how_;
};

}  // namespace

trust_proxies::trust_proxies(std::initializer_list<std::string_view> networks, proxy_trust how)
    : how_(how) {
    for (const std::string_view text : networks) {
        auto n = net::network::parse(text);
        if (!n) throw_exception(std::move(n).error());
        networks_.push_back(std::move(*n));
    }
}

handler trust_proxies::operator()(handler inner) const {
    return handler(std::make_shared<trusting_handler>(std::move(inner), networks_, how_));
}

const net::address& request::client() const noexcept {
    const auto* info = data<client_info>();
    return info == nullptr ? peer() : info->address;
}

std::string_view client_scheme(const request& req) noexcept {
    const auto* info = req.data<client_info>();
    return info == nullptr || info->scheme.empty() ? req.scheme() : info->scheme;
}

std::string_view client_host(const request& req) noexcept {
    const auto* info = req.data<client_info>();
    return info == nullptr || info->host.empty() ? req.host() : info->host;
}

}  // namespace coracle::http
