// A chat with rooms, who is there, and what was said before: chat [ADDRESS] [LOOPS]
//
// Open http://127.0.0.1:8080/#harbour in two windows.

#include <coracle/http/extract.hpp>
#include <coracle/http/server.hpp>
#include <coracle/websocket/route.hpp>
#include <coracle/websocket/topics.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

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
  <p><small id="state">connecting</small></p>
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
    const seen = new Set();
    ws.onopen = () => { list.replaceChildren(); state.textContent = 'connected'; };
    ws.onclose = () => { state.textContent = 'connecting again'; setTimeout(connect, 1000); };
    ws.onmessage = e => {
      const rest = e.data.slice(1);
      if (e.data[0] === '#') { state.textContent = rest + ' here'; return; }
      for (const line of rest.split('\n')) put(line, seen);
    };
  }
  // A line has a number: one that is said just when we come is in the history, too.
  function put(line, seen) {
    const number = parseInt(line);
    if (seen.has(number)) return;
    seen.add(number);
    const item = document.createElement('li');
    item.textContent = line.slice(line.indexOf(' ') + 1);
    list.prepend(item);
  }
  form.onsubmit = e => {
    e.preventDefault();
    if (ws.readyState === WebSocket.OPEN) { ws.send(text.value); form.reset(); }
  };
  connect();
</script>
)";

/// The last lines of each of a thousand rooms, for those who come later. Used by every loop.
class history {
public:
    /// Gives the line with its number in front.
    std::string add(std::string_view room, std::string_view line) {
        const std::lock_guard lock(mutex_);
        std::string numbered = std::to_string(next_++) + ' ' + std::string(line);
        if (rooms_.size() == 1000 && !rooms_.contains(room)) return numbered;
        auto& lines = rooms_[std::string(room)];
        lines.push_back(numbered);
        if (lines.size() > 20) lines.pop_front();
        return numbered;
    }
    /// The lines, with a line end between them; empty where there are none.
    std::string of(std::string_view room) const {
        const std::lock_guard lock(mutex_);
        std::string all;
        const auto at = rooms_.find(room);
        if (at == rooms_.end()) return all;
        for (const std::string& line : at->second) all += (all.empty() ? "" : "\n") + line;
        return all;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::deque<std::string>, std::less<>> rooms_;
    std::size_t next_ = 0;
};

/// A room is the name of a topic, in which points separate.
static bool is_room(std::string_view name) {
    const auto is_plain = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_';
    };
    return !name.empty() && name.size() < 64 && std::ranges::all_of(name, is_plain);
}

int main(int argc, char** argv) {
    websocket::topics topics;
    history said;

    const auto visit = [&](websocket::connection& ws, http::path<"room"> room) -> task<> {
        if (!is_room(*room)) {
            co_await ws.close(websocket::close_code::policy_violation, "no such room");
            co_return;
        }
        const std::string topic = "room." + std::string(*room);
        const auto tell_presence = [&] {
            topics.publish(topic, '#' + std::to_string(topics.presence(topic)));
        };
        {
            // Before the history is read, so that no line is in neither.
            const auto membership = topics.subscribe(ws, topic);
            tell_presence();
            const std::string before = said.of(*room);
            if (!before.empty()) co_await ws.send('=' + before);
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
                topics.publish(topic, ':' + said.add(*room, line));
            }
        }
        tell_presence();
    };

    websocket::route_options chat;
    chat.limits.message = 4096;
    http::router routes;
    routes.get("/", [](http::request&) { return http::html(page); });
    websocket::route(routes, "/rooms/{room}", chat, visit);

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
