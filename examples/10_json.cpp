// A REST service with JSON and validation, that keeps orders in memory: json [ADDRESS] [LOOPS]

#define JSON_DIAGNOSTICS 1  // errors name the path of the value

#include <coracle/http/extract.hpp>
#include <coracle/http/nlohmann.hpp>
#include <coracle/http/problem.hpp>
#include <coracle/http/server.hpp>

#include <cstdlib>
#include <map>
#include <mutex>

using namespace coracle;

struct order {
    std::string boat;
    int days = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, boat, days)

// The faults come back as 422, all at once.
static void validate(const order& o, http::faults& found) {
    found.require(!o.boat.empty(), "boat", "must not be empty");
    found.require(o.days >= 1 && o.days <= 14, "days", "must be between 1 and 14");
}

struct ledger {
    std::mutex lock;  // the loops share it
    std::map<int, order> orders;
    int last = 0;
};

int main(int argc, char** argv) {
    ledger all;
    http::router routes;

    using days = http::query<"days", std::optional<int>>;
    routes.get("/orders", [&all](days wanted) {
        std::map<std::string, order> found;
        const std::lock_guard guard(all.lock);
        for (const auto& [id, o] : all.orders) {
            if (wanted->value_or(o.days) == o.days) found.emplace(std::to_string(id), o);
        }
        return http::json(found);
    });
    routes.get("/orders/{id}", [&all](http::path<"id", int> id) -> http::response {
        const std::lock_guard guard(all.lock);
        const auto found = all.orders.find(*id);
        if (found == all.orders.end()) return http::problem(http::status::not_found, "no order");
        return http::json(found->second);
    });
    routes.post("/orders", [&all](http::json<order> o) {
        const std::lock_guard guard(all.lock);
        const int id = ++all.last;
        all.orders.emplace(id, *o);
        http::response created = http::json(*o, http::status::created);
        return std::move(created.set("Location", "/orders/" + std::to_string(id)));
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
