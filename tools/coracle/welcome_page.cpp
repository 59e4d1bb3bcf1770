#include "welcome.hpp"

namespace coracle::tool {
namespace {

constexpr std::string_view page = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Coracle</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'
 viewBox='0 0 32 32'><path d='M3 14h26c0 8-6 12-13 12S3 22 3 14z' fill='%230f7c86'/></svg>">
<style>
:root {
  --page: #f5f3ee; --card: #fffdf9; --ink: #1d2a30; --soft: #5c6a70; --line: #e2ddd2;
  --sea: #0f7c86; --sea-soft: #0f7c8622; --wood: #a5673a; --wood-dark: #7d4a26; --warn: #b3402f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f171b; --card: #172228; --ink: #e6edee; --soft: #93a4ab; --line: #26343b;
    --sea: #4cc3cc; --sea-soft: #4cc3cc26; --wood: #c98a5a; --wood-dark: #9a6238; --warn: #f08a78;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
main { max-width: 58rem; margin: 0 auto; padding: 3rem 1.25rem 2rem; }
header { display: flex; gap: 2rem; align-items: center; }
header svg { flex: none; width: 8.5rem; height: auto; overflow: visible; }
h1 { margin: 0; font-size: 2.6rem; line-height: 1.1; letter-spacing: -0.02em; }
.lead { margin: .5rem 0 0; font-size: 1.15rem; color: var(--soft); }
.text { max-width: 44rem; margin: 1.6rem 0 2rem; }
h2 { margin: 2.2rem 0 .8rem; font-size: 1rem; font-weight: 600; }
.figures { display: grid; gap: .8rem; grid-template-columns: repeat(4, 1fr); }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: .8rem;
  padding: .9rem 1.1rem; min-width: 0;
}
.name { color: var(--soft); font-size: .85rem; }
.value {
  font-size: 1.65rem; font-weight: 600; line-height: 1.25; font-variant-numeric: tabular-nums;
  white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
}
.rate { grid-column: span 4; display: flex; gap: 1.5rem; align-items: stretch; }
.rate .now { flex: none; width: 11rem; }
.rate .value { font-size: 2.6rem; color: var(--sea); }
.chart { position: relative; flex: 1; min-width: 0; min-height: 6rem; }
.chart svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.chart { border-bottom: 1px solid var(--line); }
.area { fill: var(--sea-soft); }
.curve { fill: none; stroke: var(--sea); stroke-width: 2; stroke-linejoin: round;
         vector-effect: non-scaling-stroke; }
.state { display: inline-flex; align-items: center; gap: .45rem; font-weight: 400;
         font-size: .85rem; color: var(--soft); margin-left: .7rem; }
.dot { width: .55rem; height: .55rem; border-radius: 50%; background: var(--sea); }
.lost .dot { background: var(--warn); }
.lost { color: var(--warn); }
.try { display: grid; gap: .8rem; grid-template-columns: 1fr 1fr; }
.try .name { margin-bottom: .45rem; }
code { font: .9rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
pre { margin: 0; overflow-x: auto; }
footer { margin-top: 2.4rem; padding-top: 1rem; border-top: 1px solid var(--line);
         color: var(--soft); font-size: .85rem; }
a { color: var(--sea); }
@media (max-width: 44rem) {
  main { padding-top: 1.6rem; }
  header { gap: 1.1rem; }
  header svg { width: 5.2rem; }
  h1 { font-size: 2rem; }
  .lead { font-size: 1rem; margin-top: .25rem; }
  .figures { grid-template-columns: 1fr 1fr; }
  .rate { grid-column: span 2; flex-direction: column; gap: .4rem; }
  .rate .now { width: auto; }
  .rate .value { font-size: 2.2rem; }
  .try { grid-template-columns: 1fr; }
  .card { padding: .8rem .9rem; }
  .value { font-size: 1.4rem; }
}
@media (prefers-reduced-motion: no-preference) {
  .boat { animation: bob 5s ease-in-out infinite; transform-origin: 80px 70px; }
  @keyframes bob { 50% { transform: translateY(2.5px) rotate(-1.6deg); } }
}
</style>
</head>
<body>
<main>
<header>
<svg viewBox="0 0 160 120" role="img" aria-label="A coracle, a small round boat, on the water">
  <g class="boat">
    <path d="M112 10 88 66" stroke="var(--wood-dark)" stroke-width="4.5" stroke-linecap="round"/>
    <path d="M117 2c6 2 6 12 0 19s-8 1-8-4 3-17 8-15z" fill="var(--wood-dark)"/>
    <path d="M20 56c2 34 26 46 60 46s58-12 60-46z" fill="var(--wood)"/>
    <path d="M42 60c4 24 13 36 22 40M118 60c-4 24-13 36-22 40M80 60v42M25 74h110M36 89h88"
          fill="none" stroke="var(--wood-dark)" stroke-width="2" opacity=".55"/>
    <rect x="14" y="50" width="132" height="10" rx="5" fill="var(--wood-dark)"/>
  </g>
  <path d="M0 92q10-8 20 0t20 0 20 0 20 0 20 0 20 0 20 0 20 0v28H0z" fill="var(--page)"/>
  <path d="M0 92q10-8 20 0t20 0 20 0 20 0 20 0 20 0 20 0 20 0M24 105q8-6 16 0t16 0 16 0 16 0
           16 0 16 0 16 0" fill="none" stroke="var(--sea)" stroke-width="3.5"
        stroke-linecap="round"/>
</svg>
<div>
  <h1>Coracle</h1>
  <p class="lead">HTTP services and clients as coroutines, in C++23.</p>
</div>
</header>

<p class="text">Coracle is a library for writing network services and clients, and a command-line
program built on it. A coracle is a small, light boat made for one person: easy to pick up, hard to
sink. The program itself served this page, with its own HTTP server; below you see the live counters
of that server.</p>

<h2>This server <span class="state" id="state"><span class="dot"></span><span id="state-text"
>connecting</span></span></h2>
<section class="figures" aria-label="Live figures">
  <div class="card rate">
    <div class="now"><div class="name">Requests per second</div>
      <div class="value" id="rate">–</div><div class="name" id="peak">measuring</div></div>
    <div class="chart"><svg viewBox="0 0 600 100" preserveAspectRatio="none" aria-hidden="true">
      <path class="area" id="area"/><path class="curve" id="curve"/></svg></div>
  </div>
  <div class="card"><div class="name">Requests</div><div class="value" id="requests">–</div></div>
  <div class="card"><div class="name">Connections open</div><div class="value" id="open">–</div></div>
  <div class="card"><div class="name">Accepted</div><div class="value" id="accepted">–</div></div>
  <div class="card"><div class="name">Errors</div><div class="value" id="errors">–</div></div>
  <div class="card"><div class="name">Event loops</div><div class="value" id="loops">–</div></div>
  <div class="card"><div class="name">Backend</div><div class="value" id="backend">–</div></div>
  <div class="card"><div class="name">Uptime</div><div class="value" id="uptime">–</div></div>
  <div class="card"><div class="name">Version</div><div class="value" id="version">–</div></div>
</section>

<h2>Try it</h2>
<section class="try">
  <div class="card"><div class="name">Say hello, and watch the counters</div>
    <pre><code>curl <span class="origin">http://127.0.0.1:8080</span>/hello</code></pre></div>
  <div class="card"><div class="name">Serve the files of a directory</div>
    <pre><code>coracle serve public</code></pre></div>
  <div class="card"><div class="name">All options</div>
    <pre><code>coracle serve --help</code></pre></div>
  <div class="card"><div class="name">The figures of this page, as JSON</div>
    <pre><code>curl <span class="origin">http://127.0.0.1:8080</span>/stats.json</code></pre></div>
</section>

<footer>This page requests its figures once a second, so it counts itself. It loads nothing from
other servers.</footer>
</main>
<script>
"use strict";
const byId = id => document.getElementById(id);
const show = (id, text) => { byId(id).textContent = text; };
const grouped = new Intl.NumberFormat("en-GB");
const compact = new Intl.NumberFormat("en-GB", {notation: "compact", maximumFractionDigits: 1});
const number = n => n < 1e6 ? grouped.format(n) : compact.format(n);
const samples = 60;
const rates = [];
let before = null;

for (const place of document.querySelectorAll(".origin")) place.textContent = location.origin;

function span(ms) {
  const s = Math.floor(ms / 1000), pad = n => String(n).padStart(2, "0");
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + ":" + pad(s % 60) + " min";
  if (s < 86400) return Math.floor(s / 3600) + ":" + pad(Math.floor(s / 60) % 60) + " h";
  return Math.floor(s / 86400) + " d " + Math.floor(s / 3600) % 24 + " h";
}

function draw() {
  const top = Math.max(5, ...rates) * 1.1;
  const x = i => ((samples - rates.length + i) / (samples - 1) * 600).toFixed(1);
  const y = r => (99 - r / top * 98).toFixed(1);
  const line = rates.map((r, i) => x(i) + " " + y(r)).join("L");
  byId("curve").setAttribute("d", "M" + line);
  byId("area").setAttribute("d", "M" + x(0) + " 100L" + line + "L600 100Z");
}

function update(now) {
  if (before !== null && now.uptime_ms > before.uptime_ms) {
    const rate = (now.requests - before.requests) * 1000 / (now.uptime_ms - before.uptime_ms);
    rates.push(rate);
    if (rates.length > samples) rates.shift();
    show("rate", number(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)));
    show("peak", "peak " + number(Math.round(Math.max(...rates))));
    draw();
  }
  before = now;
  show("requests", number(now.requests));
  show("open", number(now.connections_open));
  show("accepted", number(now.connections_accepted));
  show("errors", number(now.responses_4xx + now.responses_5xx));
  show("loops", now.loops);
  show("backend", now.backend);
  show("uptime", span(now.uptime_ms));
  show("version", now.version);
}

function state(good, text) {
  byId("state").classList.toggle("lost", !good);
  show("state-text", text);
}

async function poll() {
  try {
    const response = await fetch("stats.json", {cache: "no-store"});
    if (!response.ok) throw new Error(response.status);
    update(await response.json());
    state(true, "live");
  } catch (e) {
    before = null;
    state(false, "not reachable, trying again");
  }
  setTimeout(poll, 1000);
}
poll();
</script>
</body>
</html>
)html";

}  // namespace

std::string_view welcome_page() noexcept {
    return page;
}

}  // namespace coracle::tool
