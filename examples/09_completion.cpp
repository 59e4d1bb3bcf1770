// A streaming response in the style of OpenAI's API: completion [ADDRESS] [LOOPS]
//
//   curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"stream": true, "messages": []}'

#include <coracle/http/events.hpp>
#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>

#include <cstdlib>

using namespace coracle;

// A chunk as JSON; `delta` is an object, `finish` a string in quotes or null.
static std::string chunk(std::int64_t created, std::string_view delta, std::string_view finish) {
    std::string json = R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":)";
    json.append(std::to_string(created)).append(R"(,"model":"boat-1","choices":[{"index":0,)");
    json.append(R"("delta":)").append(delta).append(R"(,"finish_reason":)").append(finish);
    return json.append("}]}");
}

static task<> complete(http::event_sink& out) {
    constexpr const char* tokens[] = {"A", " coracle", " is", " a", " small", " boat", "."};
    const std::int64_t created = loop::current()->unix_time();
    std::string json = chunk(created, R"({"role":"assistant","content":""})", "null");
    co_await out.send(json);
    for (const char* token : tokens) {
        co_await sleep_for(std::chrono::milliseconds(50));  // a model thinks
        json = chunk(created, "{\"content\":\"" + std::string(token) + "\"}", "null");
        co_await out.send(json);
    }
    json = chunk(created, "{}", R"("stop")");
    co_await out.send(json);
    co_await out.send("[DONE]");
}

int main(int argc, char** argv) {
    http::router routes;
    routes.post("/v1/chat/completions", [](http::request& req) -> task<http::response> {
        const std::string question = co_await req.body().text();
        if (!question.starts_with('{')) throw http::status_error(http::status::bad_request);
        co_return http::events(req, complete);
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
