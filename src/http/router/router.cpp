#include "http/router/route_tree.hpp"

#include <coracle/http/router.hpp>

#include <algorithm>

namespace coracle::http {

struct router::table {
    detail::route_node root;
    std::string description;
    handler not_found;
    std::string all_methods;  ///< every method that some route has, for `OPTIONS *`
};

/// The router as a handler.
class router::matcher final : public handler::implementation {
public:
    explicit matcher(std::shared_ptr<const table> t) noexcept : table_(std::move(t)) {}

    bool call(request& req, response& answer, task<response>& pending) const override {
        detail::route_match found;
        if (!detail::match_path(table_->root, req.path(), found)) {
            return unknown_path(req, answer, pending);
        }
        const auto* entry = detail::find_method(*found.node, req.method(), req.method_text());
        if (entry == nullptr) return other_method(*found.node, req, answer);
        for (std::size_t i = 0; i != found.count; ++i) {
            req.add_param(entry->names[i], {found.values[i].data, found.values[i].size});
        }
        return entry->target.call(req, answer, pending);
    }

private:
    bool unknown_path(request& req, response& answer, task<response>& pending) const {
        if (req.method() == method::options && req.path() == "*") {
            answer = response(status::no_content).set("Allow", table_->all_methods);
            return true;
        }
        if (table_->not_found) return table_->not_found.call(req, answer, pending);
        answer = response(status::not_found, "404 Not Found\n");
        return true;
    }

    static bool other_method(const detail::route_node& node, request& req, response& answer) {
        const bool asks = req.method() == method::options;
        answer = asks ? response(status::no_content)
                      : response(status::method_not_allowed, "405 Method Not Allowed\n");
        answer.set("Allow", detail::allowed_methods(node));
        return true;
    }

    std::shared_ptr<const table> table_;
};

router::router()
    : table_(std::make_shared<table>()),
      middleware_(std::make_shared<std::vector<unique_function<handler(handler)>>>()) {
    table_->all_methods = "OPTIONS";
}
router::~router() = default;
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;

/// Handlers that were made share the table.
void router::refuse_when_served(std::string_view what) const {
    if (table_.use_count() == 1) return;
    throw_exception(error(std::errc::device_or_resource_busy, "route").on(what));
}

/// A handler that asks for a part of the path that no request can have would fail each of them.
static void check_path_names(std::string_view pattern, const std::vector<std::string>& has,
                             const handler& h) {
    for (const std::string_view name : h.path_names()) {
        if (std::find(has.begin(), has.end(), name) != has.end()) continue;
        throw_exception(error(std::errc::invalid_argument, "route")
                            .on(std::string(pattern) + ": its handler asks for {" +
                                std::string(name) + "}, which the pattern does not have"));
    }
}

void router::route(std::string_view method, std::string_view pattern, handler h) {
    refuse_when_served(pattern);
    std::vector<std::string> names;
    detail::route_node& node = detail::insert_pattern(table_->root, pattern, names);
    check_path_names(pattern, names, h);
    for (const auto& e : node.entries) {
        if (e.method != method) continue;
        throw_exception(error(std::errc::file_exists, "route")
                            .on(std::string(pattern) + " (already " + node.pattern + ')'));
    }
    if (node.pattern.empty()) node.pattern = pattern;
    node.entries.push_back(
        {std::string(method), parse_method(method), std::move(h), std::move(names)});
    table_->description += method.empty() ? std::string_view("*") : method;
    table_->description += ' ';
    table_->description += pattern;
    table_->description += '\n';
    const std::string listed = ", " + table_->all_methods + ',';
    if (!method.empty() && listed.find(", " + std::string(method) + ',') == std::string::npos) {
        table_->all_methods = std::string(method) + ", " + table_->all_methods;
    }
}

void router::add_middleware(unique_function<handler(handler)> m) {
    middleware_->push_back(std::move(m));
}

void router::set_not_found(handler h) {
    refuse_when_served("not_found");
    table_->not_found = std::move(h);
}

std::string router::describe() const {
    return table_->description;
}

router::operator handler() const {
    handler h(std::make_shared<matcher>(table_));
    for (auto m = middleware_->rbegin(); m != middleware_->rend(); ++m) h = (*m)(std::move(h));
    return h;
}

}  // namespace coracle::http
