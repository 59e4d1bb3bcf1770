// The chat of several nodes, which share rooms, presence and history through Redis:
// shared_chat ADDRESS LOOPS NAME REDIS_URL
//
// examples/two_nodes/run.py starts Redis, two nodes and HAProxy before them.

#include <coracle/http/extract.hpp>
#include <coracle/http/server.hpp>
#include <coracle/redis/client.hpp>
#include <coracle/redis/topic_bus.hpp>
#include <coracle/websocket/route.hpp>
#include <coracle/websocket/topics.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

using namespace coracle;

static constexpr const char* page = R"(<!doctype html>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Chat</title>
<style>
  :root { color-scheme: light dark; font: 1.1rem/1.6 system-ui, sans-serif }
  main { max-width: 36rem; margin: 3rem auto; padding: 0 1rem }
  form { display: flex; gap: .5rem }
  input { flex: 1; min-width: 0 } input, button { font: inherit; padding: .4rem .6rem }
  ul { list-style: none; padding: 0 } li { padding: .3rem 0; border-bottom: 1px solid #8884 }
  li { overflow-wrap: anywhere } small { opacity: .7 }
</style>
<main>
  <h1 id="room"></h1>
  <form id="form"><input id="text" placeholder="Say something" required autofocus>
    <button>Send</button></form>
  <p><small><span id="state">connecting</span> <span id="node"></span></small></p>
  <ul id="list"></ul>
</main>
<script>
  const name = decodeURIComponent(location.hash.slice(1)) || 'harbour';
  const scheme = location.protocol === 'https:' ? 'wss://' : 'ws://';
  let ws;
  room.textContent = name;
  onhashchange = () => location.reload();
  function connect() {
    ws = new WebSocket(scheme + location.host + '/rooms/' + encodeURIComponent(name));
    ws.onopen = () => { list.replaceChildren(); state.textContent = 'connected'; };
    ws.onclose = () => { state.textContent = 'connecting again'; setTimeout(connect, 1000); };
    ws.onmessage = e => {
      const rest = e.data.slice(1);
      if (e.data[0] === '@') { node.textContent = 'by way of ' + rest; return; }
      if (e.data[0] === '#') { state.textContent = rest + ' here'; return; }
      if (e.data[0] === '=') { put_before(rest.split('\n')); return; }
      put(rest);
    };
  }
  function put(line) {
    const item = document.createElement('li');
    item.textContent = line;
    list.prepend(item);
  }
  // Shows the lines of before, and behind them those that came meanwhile and are not among them:
  // one that was said again just then is shown once.
  function put_before(lines) {
    const come = [...list.children].reverse().map(item => item.textContent);
    const all = [...lines, ...come.filter(line => !lines.includes(line))];
    list.replaceChildren();
    all.forEach(put);
  }
  form.onsubmit = e => {
    e.preventDefault();
    if (ws.readyState === WebSocket.OPEN) { ws.send(text.value); form.reset(); }
  };
  connect();
</script>
)";

/// A room is the name of a topic, in which points separate.
static bool is_room(std::string_view name) {
    const auto is_plain = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_';
    };
    return !name.empty() && name.size() < 64 && std::ranges::all_of(name, is_plain);
}

/// The last lines of each room, and how many are there on each node: one list and one hash. What a
/// node that ends without a word has noted stands until it has a visitor again, or for a day.
class shared_room {
public:
    shared_room(redis::client& store, std::string node, std::string room)
        : store_(store), node_(std::move(node)), said_("chat:{" + room + "}:said"),
          here_("chat:{" + room + "}:here") {}

    task<> add(const std::string& line) {
        co_await store_.command("RPUSH", said_, line);
        co_await store_.command("LTRIM", said_, "-20", "-1");
    }
    /// Gives the lines, with a line end between them.
    task<std::string> history() {
        const redis::reply lines = co_await store_.command("LRANGE", said_, "-20", "-1");
        std::string all;
        for (const redis::reply& line : lines.elements()) all.append(line.text()).append("\n");
        if (!all.empty()) all.pop_back();
        co_return all;
    }

    /// Notes how many are here on this node, and gives how many there are on all.
    task<std::int64_t> note_presence(std::size_t on_this_node) {
        const std::string count = std::to_string(on_this_node);
        co_await store_.command("HSET", here_, node_, count);
        co_await store_.command("EXPIRE", here_, "86400");
        const redis::reply all = co_await store_.command("HVALS", here_);
        std::int64_t sum = 0;
        for (const redis::reply& n : all.elements())
            sum += std::atoll(std::string(n.text()).c_str());
        co_return sum;
    }

private:
    redis::client& store_;
    std::string node_;
    std::string said_;
    std::string here_;
};

int main(int argc, char** argv) {
    if (argc < 5) {
        std::cerr << "usage: shared_chat ADDRESS LOOPS NAME REDIS_URL\n";
        return 2;
    }
    const std::string node = argv[3];
    const std::string url = argv[4];
    redis::client store(url);
    redis::topic_bus_options carried;
    carried.on_gap = [&node](const redis::topic_gap& g) {
        std::cerr << node + ": lines of others may be missing: " + g.why.message() + '\n';
    };
    const auto bus = std::make_shared<redis::topic_bus>(url, carried);
    websocket::topics topics({}, bus);

    const auto tell_presence = [&](shared_room& here, const std::string& topic) -> task<> {
        // Without Redis the chat goes on among those on this node.
        auto counting = here.note_presence(topics.presence(topic));
        const auto count = co_await as_result(std::move(counting));
        if (count) topics.publish(topic, '#' + std::to_string(*count));
    };
    const auto visit = [&](websocket::connection& ws, http::path<"room"> room) -> task<> {
        if (!is_room(*room)) {
            co_await ws.close(websocket::close_code::policy_violation, "no such room");
            co_return;
        }
        const std::string name(*room);
        const std::string topic = "room." + name;
        shared_room here(store, node, name);
        co_await ws.send('@' + node);
        {
            // Before the history is read. A line that is just being kept may be in neither.
            const auto membership = topics.subscribe(ws, topic);
            auto asking = here.history();
            const auto before = co_await as_result(std::move(asking));
            if (before && !before->empty()) co_await ws.send('=' + *before);
            co_await tell_presence(here, topic);
            for (;;) {
                // Tells the others of a connection that was lost, too.
                const auto message = co_await as_result(ws.receive());
                if (!message || !*message) break;
                if (!(*message)->is_text()) {
                    co_await ws.close(websocket::close_code::unsupported_data, "text is wanted");
                    break;
                }
                std::string line = (*message)->str();
                std::ranges::replace(line, '\n', ' ');
                topics.publish(topic, ':' + line);
                auto keeping = here.add(line);
                static_cast<void>(co_await as_result(std::move(keeping)));
            }
        }
        co_await tell_presence(here, topic);
    };

    websocket::route_options chat;
    chat.limits.message = 4096;
    http::router routes;
    routes.get("/", [](http::request&) { return http::html(page); });
    routes.get("/readyz", [&bus](http::request&) {
        return http::response(bus->is_connected() ? http::status::ok
                                                  : http::status::service_unavailable);
    });
    websocket::route(routes, "/rooms/{room}", chat, visit);

    http::server_options options;
    options.listen = argv[1];
    options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
