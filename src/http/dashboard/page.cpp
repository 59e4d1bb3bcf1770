#include "http/dashboard/page.hpp"

#include <coracle/base/html.hpp>

namespace coracle::http::detail {
namespace {

constexpr std::string_view head = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<style>
:root {
  --page: #f4f6f8; --card: #fff; --text: #16202b; --soft: #5b6b7b; --line: #e2e8ee;
  --blue: #1769d2; --teal: #0c8f7f; --amber: #b36b00; --red: #c93636; --fill: #1769d21a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e141a; --card: #172029; --text: #e6edf3; --soft: #93a4b4; --line: #26323e;
    --blue: #6cb0ff; --teal: #4fd1bd; --amber: #f0b45c; --red: #ff8080; --fill: #6cb0ff22;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 20px 16px 40px; display: grid; gap: 14px;
  grid-template-columns: repeat(12, minmax(0, 1fr)); }
header { grid-column: 1 / -1; display: flex; align-items: baseline; gap: 12px; flex-wrap: wrap; }
h1 { font-size: 22px; margin: 0; }
h2 { font-size: 13px; margin: 0 0 10px; color: var(--soft); font-weight: 600; }
#state { font-size: 13px; color: var(--soft); }
#state::before { content: ""; display: inline-block; width: 8px; height: 8px; border-radius: 50%;
  margin-right: 6px; background: var(--amber); }
#state.live::before { background: var(--teal); }
#state.lost::before { background: var(--red); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 14px 16px; grid-column: span 6; min-width: 0; }
.wide { grid-column: 1 / -1; }
.figures { grid-column: 1 / -1; display: grid; gap: 14px;
  grid-template-columns: repeat(6, minmax(0, 1fr)); }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 12px 14px; }
.figure b { display: block; font-size: 24px; font-weight: 650; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.figure span { font-size: 12px; color: var(--soft); }
svg { display: block; width: 100%; height: 150px; }
.legend { display: flex; gap: 14px; font-size: 12px; color: var(--soft); margin-top: 6px; }
.legend i { display: inline-block; width: 10px; height: 3px; border-radius: 2px; margin: 0 5px 3px 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); padding: 4px 8px; font-size: 12px; }
td { text-align: right; padding: 5px 8px; border-top: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td:first-child { overflow: hidden; text-overflow: ellipsis; max-width: 260px;
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 12.5px; }
.bar { height: 8px; border-radius: 4px; background: var(--line); overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--blue); }
.loop { display: grid; grid-template-columns: 60px 1fr 54px; gap: 10px; align-items: center;
  font-size: 13px; padding: 4px 0; }
.loop span:last-child { text-align: right; font-variant-numeric: tabular-nums; }
.message { border-top: 1px solid var(--line); padding: 7px 0; font-size: 13px;
  overflow-wrap: anywhere; }
.message b { color: var(--red); font-weight: 600; margin-right: 8px; }
.message.warning b { color: var(--amber); }
.none { color: var(--soft); font-size: 13px; }
.bad { color: var(--red); }
pre { margin: 8px 0 0; font: 12px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace;
  overflow-x: auto; max-height: 420px; }
summary { cursor: pointer; font-size: 13px; color: var(--soft); font-weight: 600; }
@media (max-width: 760px) {
  section { grid-column: 1 / -1; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; }
  main { gap: 10px; padding: 14px 12px 30px; }
}
</style>
)html";

constexpr std::string_view content = R"html(
<div class="figures">
  <div class="figure"><b id="rate">–</b><span>requests a second</span></div>
  <div class="figure"><b id="p50">–</b><span>median, ms</span></div>
  <div class="figure"><b id="p99">–</b><span>99 of 100 below, ms</span></div>
  <div class="figure"><b id="open">–</b><span>connections</span></div>
  <div class="figure"><b id="flight">–</b><span>in flight</span></div>
  <div class="figure"><b id="failed">–</b><span>5xx so far</span></div>
</div>
<section><h2>Requests a second</h2><svg id="rates" viewBox="0 0 480 150" preserveAspectRatio="none"></svg>
  <div class="legend"><span><i style="background:var(--blue)"></i>all</span>
  <span><i style="background:var(--red)"></i>5xx</span><span id="ratetop"></span></div></section>
<section><h2>Latency, ms</h2><svg id="times" viewBox="0 0 480 150" preserveAspectRatio="none"></svg>
  <div class="legend"><span><i style="background:var(--teal)"></i>50%</span>
  <span><i style="background:var(--blue)"></i>90%</span>
  <span><i style="background:var(--amber)"></i>99%</span><span id="timetop"></span></div></section>
<section class="wide"><h2>Routes, slowest first</h2><div class="scroll"><table>
  <thead><tr><th>route<th>requests<th>a second<th>mean ms<th>longest ms<th>5xx</thead>
  <tbody id="routes"></tbody></table></div></section>
<section><h2>Loops</h2><div id="loops"></div></section>
<section><h2>Limits that clients ran into</h2><div id="limits"></div></section>
<section class="wide"><h2>Warnings and errors</h2><div id="messages"></div></section>
<section class="wide"><details id="tasks"><summary>Tasks, each below the one that started it</summary>
  <pre id="tree"></pre></details></section>
</main>
)html";

constexpr std::string_view script = R"html(
const $ = id => document.getElementById(id);
const kept = 120, history = [];
const number = n => n >= 1e6 ? (n / 1e6).toFixed(2) + "M" : n >= 1e4 ? (n / 1e3).toFixed(1) + "k"
  : String(Math.round(n));
const ms = n => n < 0 ? "–" : n < 0.01 ? "<0.01" : n < 10 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : String(Math.round(n));
function node(tag, text, name) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
}
function draw(svg, lines, top) {
  const width = 480, height = 150, paths = [], shown = Math.max(30, history.length);
  for (const line of [0.25, 0.5, 0.75]) {
    paths.push(`<path d="M0 ${height * line}H${width}" stroke="var(--line)" vector-effect="non-scaling-stroke"/>`);
  }
  for (const { colour, values, fill } of lines) {
    let d = "", open = false;
    values.forEach((v, i) => {
      if (v < 0) { open = false; return; }
      const x = width * (shown - values.length + i) / (shown - 1), y = height - 4 - (height - 12) * v / top;
      d += (open ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1);
      open = true;
    });
    if (fill && d) {
      const from = width * (shown - values.length) / (shown - 1);
      paths.push(`<path d="${d}L${width} ${height}L${from.toFixed(1)} ${height}Z" fill="var(--fill)"/>`);
    }
    paths.push(`<path d="${d}" fill="none" stroke="${colour}" stroke-width="2" stroke-linejoin="round" vector-effect="non-scaling-stroke"/>`);
  }
  svg.innerHTML = paths.join("");
}
function show(s) {
  history.push(s);
  if (history.length > kept) history.shift();
  $("rate").textContent = number(s.rate);
  $("p50").textContent = ms(s.p50);
  $("p99").textContent = ms(s.p99);
  $("open").textContent = number(s.open);
  $("flight").textContent = number(s.in_flight);
  $("failed").textContent = number(s.classes[5]);
  $("failed").className = s.classes[5] ? "bad" : "";
  const rate = Math.max(1, ...history.map(h => h.rate));
  const time = Math.max(0.1, ...history.map(h => h.p99));
  $("ratetop").textContent = "highest " + number(rate);
  $("timetop").textContent = "highest " + ms(time);
  draw($("rates"), [{ colour: "var(--blue)", values: history.map(h => h.rate), fill: true },
    { colour: "var(--red)", values: history.map(h => h.failing) }], rate);
  draw($("times"), [{ colour: "var(--amber)", values: history.map(h => h.p99) },
    { colour: "var(--blue)", values: history.map(h => h.p90) },
    { colour: "var(--teal)", values: history.map(h => h.p50) }], time);
  $("routes").replaceChildren(...s.routes.map(r => {
    const row = node("tr");
    row.append(node("td", r.route), node("td", number(r.requests)), node("td", number(r.rate)),
      node("td", ms(r.mean)), node("td", ms(r.longest)), node("td", number(r.errors), r.errors ? "bad" : ""));
    return row;
  }));
  $("loops").replaceChildren(...s.loops.map(l => {
    const row = node("div", undefined, "loop"), bar = node("span", undefined, "bar"), fill = node("i");
    fill.style.width = Math.min(100, l.busy * 100).toFixed(1) + "%";
    bar.append(fill);
    row.append(node("span", "loop " + l.index), bar, node("span", (l.busy * 100).toFixed(0) + "%"));
    row.title = number(l.turns) + " turns a second";
    return row;
  }));
  const limits = Object.entries(s.limits).map(([name, n]) => {
    const row = node("div", undefined, "loop");
    row.style.gridTemplateColumns = "1fr auto";
    row.append(node("span", name), node("span", number(n)));
    return row;
  });
  $("limits").replaceChildren(...(limits.length ? limits : [node("span", "none so far", "none")]));
  const messages = s.messages.map(m => {
    const row = node("div", undefined, "message " + m.level);
    row.append(node("b", m.level + (m.count > 1 ? " ×" + number(m.count) : "")), m.text);
    return row;
  });
  $("messages").replaceChildren(...(messages.length ? messages : [node("span", "none so far", "none")]));
  document.body.dataset.total = s.total;
}
const source = new EventSource(path + "/events");
source.onmessage = e => { $("state").className = "live"; $("state").textContent = "live"; show(JSON.parse(e.data)); };
source.onerror = () => { $("state").className = "lost"; $("state").textContent = "no connection"; };
async function tree() {
  if (!$("tasks").open) return;
  try { $("tree").textContent = await (await fetch(path + "/tasks")).text(); } catch { }
  setTimeout(tree, 2000);
}
$("tasks").addEventListener("toggle", tree);
)html";

}  // namespace

std::string dashboard_page(std::string_view title) {
    const std::string name = html_escape(title);
    std::string out(head);
    out.append("<title>").append(name).append("</title>\n<main>\n<header><h1>").append(name);
    out.append("</h1><span id=\"state\">connecting</span></header>").append(content);
    // A group of routes, or a proxy, may have put something before the path.
    out.append("<script>\nconst path = location.pathname.replace(/\\/+$/, \"\");").append(script);
    out.append("</script>\n</html>\n");
    return out;
}

}  // namespace coracle::http::detail
