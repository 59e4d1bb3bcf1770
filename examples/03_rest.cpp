// A small REST service that keeps boats in memory: rest [ADDRESS] [LOOPS]

#include <coracle/http/server.hpp>

#include <cstdlib>
#include <map>
#include <mutex>

using namespace coracle;

struct harbour {
    std::mutex lock;  // the loops share it
    std::map<int, std::string> boats;
};

static std::string& find(harbour& h, http::request& req) {
    const auto found = h.boats.find(req.param<int>("id"));
    if (found == h.boats.end()) throw http::status_error(http::status::not_found, "no such boat\n");
    return found->second;
}

int main(int argc, char** argv) {
    harbour h;
    http::router routes;
    routes.get("/boats", [&h](http::request& req) {
        const std::string prefix = req.query("prefix").value_or("");
        std::string list;
        const std::lock_guard guard(h.lock);
        for (const auto& [id, name] : h.boats) {
            if (name.starts_with(prefix)) list += std::to_string(id) + ' ' + name + '\n';
        }
        return list;
    });
    routes.get("/boats/{id}", [&h](http::request& req) {
        const std::lock_guard guard(h.lock);
        return find(h, req) + '\n';
    });
    routes.put("/boats/{id}", [&h](http::request& req) -> task<http::response> {
        std::string name = co_await req.body().text();
        if (name.empty()) throw http::status_error(http::status::bad_request, "no name\n");
        const std::lock_guard guard(h.lock);
        const auto done = h.boats.insert_or_assign(req.param<int>("id"), name);
        co_return done.second ? http::status::created : http::status::no_content;
    });
    routes.post("/boats/{id}", [&h](http::request& req) -> task<http::response> {
        const std::string more = co_await req.body().text();
        const std::lock_guard guard(h.lock);
        co_return (find(h, req) += more) + '\n';
    });
    routes.del("/boats/{id}", [&h](http::request& req) {
        const std::lock_guard guard(h.lock);
        h.boats.erase(req.param<int>("id"));
        return http::status::no_content;
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
