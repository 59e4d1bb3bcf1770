// Server-sent events: what one visitor says, all see: events [ADDRESS] [LOOPS]
//
//   curl -N http://127.0.0.1:8080/events
//   curl -d text=Ahoy http://127.0.0.1:8080/say

#include <coracle/http/events.hpp>
#include <coracle/http/form.hpp>
#include <coracle/http/server.hpp>

#include <cstdlib>

using namespace coracle;

static constexpr const char* page = R"(<!doctype html>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Events</title>
<style>
  :root { color-scheme: light dark; font: 1.1rem/1.6 system-ui, sans-serif }
  main { max-width: 32rem; margin: 4rem auto; padding: 0 1rem }
  form { display: flex; gap: .5rem }
  input { flex: 1 } input, button { font: inherit; padding: .4rem .6rem }
  ul { list-style: none; padding: 0 } li { padding: .3rem 0; border-bottom: 1px solid #8884 }
  li { white-space: pre-line; overflow-wrap: anywhere }
</style>
<main>
  <h1>Events</h1>
  <form id="form"><input name="text" placeholder="Say something" required autofocus>
    <button>Send</button></form>
  <p id="state">connecting</p>
  <ul id="list"></ul>
</main>
<script>
  const events = new EventSource('/events');
  events.onopen = () => state.textContent = 'connected';
  events.onerror = () => state.textContent = 'connecting again';
  events.addEventListener('said', e => {
    const item = document.createElement('li');
    item.textContent = e.data;
    list.prepend(item);
  });
  form.onsubmit = e => {
    e.preventDefault();
    fetch('/say', {method: 'POST', body: new URLSearchParams(new FormData(form))});
    form.reset();
  };
</script>
)";

int main(int argc, char** argv) {
    http::event_topic topic;
    http::router routes;
    routes.get("/", [](http::request&) { return http::html(page); });
    routes.get("/events", [&](http::request& req) {
        auto send = [&topic](http::event_sink& out) -> task<> { co_await topic.send_to(out); };
        return http::events(req, send, {.retry = std::chrono::seconds(1)});
    });
    routes.post("/say", [&](http::request& req) -> task<http::response> {
        const http::form form = co_await http::read_form(req);
        const auto text = form.get("text");
        if (!text) throw http::status_error(http::status::bad_request, "no text\n");
        topic.publish(*text, "said");
        co_return http::status::no_content;
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
