#include "mailbox_routes.hpp"

namespace coracle::tool {
namespace {

constexpr std::string_view page = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Mail</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'
 viewBox='0 0 32 32'><rect x='3' y='7' width='26' height='19' rx='3' fill='%230f7c86'/><path
 d='M5 10l11 8 11-8' fill='none' stroke='white' stroke-width='2.5'/></svg>">
<style>
:root {
  --page: #f5f3ee; --card: #fffdf9; --ink: #1d2a30; --soft: #5c6a70; --line: #e2ddd2;
  --sea: #0f7c86; --sea-soft: #0f7c861a; --warn: #b3402f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f171b; --card: #172228; --ink: #e6edee; --soft: #93a4ab; --line: #26343b;
    --sea: #4cc3cc; --sea-soft: #4cc3cc26; --warn: #f08a78;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0; height: 100vh; height: 100dvh; display: flex; flex-direction: column;
  background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
button, input { font: inherit; color: inherit; }
button {
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .35rem .8rem; cursor: pointer;
}
button:hover { border-color: var(--sea); }
button.danger { color: var(--warn); }
:focus-visible { outline: 2px solid var(--sea); outline-offset: 1px; }
header {
  display: flex; gap: .8rem; align-items: center; padding: .7rem 1rem;
  border-bottom: 1px solid var(--line);
}
h1 { font-size: 1.15rem; margin: 0; }
.state { display: inline-flex; align-items: center; gap: .4rem; color: var(--soft);
         font-size: .85rem; white-space: nowrap; }
.dot { width: .55rem; height: .55rem; border-radius: 50%; background: var(--sea); }
.lost .dot { background: var(--warn); }
#search {
  flex: 1; min-width: 5rem; max-width: 28rem; margin-left: auto; padding: .35rem .8rem;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
}
main { flex: 1; min-height: 0; display: grid; grid-template-columns: minmax(17rem, 26rem) 1fr; }
#list { overflow-y: auto; border-right: 1px solid var(--line); margin: 0; padding: 0;
        list-style: none; }
#list a {
  display: block; padding: .6rem 1rem; border-bottom: 1px solid var(--line);
  color: inherit; text-decoration: none;
}
#list a:hover { background: var(--sea-soft); }
#list a[aria-current] { background: var(--sea-soft); box-shadow: inset 3px 0 var(--sea); }
.row { display: flex; gap: .8rem; justify-content: space-between; }
.row span:first-child, .subject { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.row span:last-child { flex: none; }
.small { color: var(--soft); font-size: .85rem; }
.unread .subject { font-weight: 600; }
#mail { min-width: 0; min-height: 0; display: flex; flex-direction: column; }
#head { padding: .9rem 1.2rem 0; overflow-y: auto; max-height: 45%; flex: none; }
#head h2 { margin: 0 0 .5rem; font-size: 1.25rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem .9rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
#files { display: flex; flex-wrap: wrap; gap: .5rem; margin: .7rem 0 0; padding: 0;
         list-style: none; }
#files a {
  display: block; padding: .25rem .7rem; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--card); color: var(--sea); text-decoration: none; overflow-wrap: anywhere;
}
nav { display: flex; gap: .3rem; padding: .7rem 1.2rem; align-items: center; flex-wrap: wrap; }
nav [role=tab] { border-color: transparent; background: none; }
nav [role=tab][aria-selected=true] { background: var(--card); border-color: var(--line);
                                     color: var(--sea); font-weight: 600; }
nav .space { flex: 1; }
nav a { color: var(--sea); }
#view { flex: 1; min-height: 0; margin: 0 1.2rem 1.2rem; background: var(--card);
        border: 1px solid var(--line); border-radius: .7rem; overflow: hidden; display: flex; }
#view pre { margin: 0; padding: 1rem; overflow: auto; flex: 1; white-space: pre-wrap;
            overflow-wrap: anywhere; font: .9rem/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
#view iframe { flex: 1; border: 0; background: #fff; color-scheme: light; }
.empty { margin: auto; padding: 2rem; text-align: center; color: var(--soft); max-width: 34rem; }
code { font: .9em ui-monospace, "DejaVu Sans Mono", monospace; color: var(--ink); }
#back { display: none; }
@media (max-width: 45rem) {
  main { grid-template-columns: 1fr; }
  #list { border-right: 0; }
  #mail { display: none; }
  .reading #list { display: none; }
  .reading #mail { display: flex; }
  .reading #back { display: inline-block; }
  .reading h1, .reading #search, .reading #clear { display: none; }
  header { flex-wrap: wrap; }
  #head, nav { padding-left: .9rem; padding-right: .9rem; }
  #view { margin: 0 .6rem .6rem; }
}
</style>
</head>
<body>
<header>
  <button id="back">&larr; All</button>
  <h1>Mail</h1>
  <span class="state" id="state" role="status"><span class="dot"></span><span>connecting</span></span>
  <input id="search" type="search" placeholder="Search" aria-label="Search" autocomplete="off">
  <button id="clear" class="danger">Delete all</button>
</header>
<main>
  <ul id="list" aria-label="Mails"></ul>
  <section id="mail" aria-label="Mail">
    <p class="empty" id="none"></p>
    <div id="head" hidden></div>
    <nav id="tabs" hidden role="tablist"></nav>
    <div id="view" hidden role="tabpanel"></div>
  </section>
</main>
<script>
'use strict';
const at = id => document.getElementById(id);
const api = '/api/messages';
let loading = false, again = false;
let mails = [], chosen = null, details = null, tab = null, seen = new Set();

function make(name, text, properties) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  return Object.assign(node, properties);
}
function size(n) {
  return n < 1024 ? n + ' B' : n < 1048576 ? (n / 1024).toFixed(1) + ' KiB'
       : (n / 1048576).toFixed(1) + ' MiB';
}
function when(seconds) {
  const then = new Date(seconds * 1000), today = new Date().toDateString() === then.toDateString();
  return today ? then.toLocaleTimeString([], {hour: '2-digit', minute: '2-digit'})
               : then.toLocaleDateString();
}
function state(text, lost) {
  at('state').lastChild.textContent = text;
  at('state').className = lost ? 'state lost' : 'state';
}

function showList() {
  const rows = mails.map(m => {
    const link = make('a', undefined, {href: '#' + m.number});
    link.className = seen.has(m.number) ? '' : 'unread';
    if (m.number === chosen) link.setAttribute('aria-current', 'true');
    const first = make('div', undefined, {className: 'row'});
    first.append(make('span', m.from || '(no sender)'),
                 make('span', when(m.time), {className: 'small'}));
    const last = make('div', undefined, {className: 'row small'});
    const files = m.attachments ? ', ' + m.attachments + (m.attachments === 1 ? ' file' : ' files')
                                : '';
    last.append(make('span', 'to ' + m.to), make('span', size(m.size) + files));
    link.append(first, make('div', m.subject || '(no subject)', {className: 'subject'}), last);
    const row = make('li');
    row.append(link);
    return row;
  });
  at('list').replaceChildren(...rows);
  const said = at('search').value ? 'Nothing is found.'
             : mails.length ? 'Choose a mail.' : 'No mail yet. It appears here when it comes.';
  if (details === null) at('none').textContent = said;
}
// One request at a time, and one more for all that happened meanwhile.
async function load() {
  if (loading) { again = true; return; }
  loading = true;
  try {
    do {
      again = false;
      const query = at('search').value.trim();
      const r = await fetch(api + (query ? '?q=' + encodeURIComponent(query) : ''));
      if (!r.ok) break;
      const all = await r.json();
      mails = all.messages;
      document.title = all.count ? 'Mail (' + all.count + ')' : 'Mail';
      showList();
    } while (again);
  } catch {
    // The stream of events says so, and loads when it is there again.
  } finally {
    loading = false;
  }
}

function close() {
  chosen = details = tab = null;
  for (const id of ['head', 'tabs', 'view']) at(id).hidden = true;
  at('none').hidden = false;
  document.body.classList.remove('reading');
  showList();
}
async function open(number) {
  const r = await fetch(api + '/' + number);
  if (location.hash !== '#' + number) return;
  if (!r.ok) { location.hash = ''; return; }
  details = await r.json();
  chosen = number;
  seen.add(number);
  document.body.classList.add('reading');
  at('none').hidden = true;
  for (const id of ['head', 'tabs', 'view']) at(id).hidden = false;
  showHead();
  show(details.html ? 'html' : details.text ? 'text' : 'source');
  showList();
}
function showHead() {
  const d = details, rows = make('dl');
  const row = (name, value) => { if (value) rows.append(make('dt', name), make('dd', value)); };
  row('From', d.from); row('To', d.to); row('Cc', d.cc); row('Reply to', d.reply_to);
  row('Date', d.date);
  row('Envelope', '<' + d.sender + '> to ' + d.recipients.join(', ') +
                  (d.secure ? ', over TLS' : '') + (d.user ? ', user ' + d.user : ''));
  const files = make('ul', undefined, {id: 'files'});
  for (const f of d.attachments) {
    const item = make('li'), name = f.name || f.type;
    item.append(make('a', name + ' (' + size(f.size) + ')',
                     {href: api + '/' + d.number + '/parts/' + f.index}));
    files.append(item);
  }
  at('head').replaceChildren(make('h2', d.subject || '(no subject)'), rows, files);
}
function showTabs() {
  const tabs = [['html', 'HTML', details.html], ['text', 'Text', details.text],
                ['source', 'Source', true]].filter(t => t[2]).map(([name, text]) => {
    const button = make('button', text, {onclick: () => show(name)});
    button.setAttribute('role', 'tab');
    button.setAttribute('aria-selected', name === tab);
    button.dataset.tab = name;
    return button;
  });
  const download = make('a', 'Download', {href: api + '/' + chosen + '/source?download=1'});
  const remove = make('button', 'Delete', {id: 'delete', className: 'danger'});
  remove.onclick = () => fetch(api + '/' + chosen, {method: 'DELETE'});
  at('tabs').replaceChildren(...tabs, make('span', '', {className: 'space'}), download, remove);
}
async function show(name) {
  tab = name;
  showTabs();
  if (name === 'html') {
    const frame = make('iframe', undefined, {title: 'The mail'});
    frame.setAttribute('sandbox', 'allow-popups allow-popups-to-escape-sandbox');
    frame.src = api + '/' + chosen + '/html';
    at('view').replaceChildren(frame);
    return;
  }
  const of = chosen, r = await fetch(api + '/' + of + '/' + name), bytes = await r.arrayBuffer();
  if (of !== chosen || tab !== name) return;
  const charset = /charset=([\w-]+)/.exec(r.headers.get('Content-Type') || '');
  let decoder = new TextDecoder();
  try { decoder = new TextDecoder(charset[1]); } catch { }
  at('view').replaceChildren(make('pre', decoder.decode(bytes)));
}

function follow() {
  const number = Number(location.hash.slice(1));
  if (number) open(number); else close();
}
window.onhashchange = follow;
at('back').onclick = () => { location.hash = ''; };
at('search').oninput = load;
at('clear').onclick = () => {
  if (confirm('Delete all mails?')) fetch(api, {method: 'DELETE'});
};
const events = new EventSource('/api/events');
events.onopen = () => { state('live'); load(); };
events.onerror = () => state('not connected', true);
events.addEventListener('mail', load);
events.addEventListener('removed', e => {
  if (Number(e.data) === chosen) location.hash = '';
  load();
});
events.addEventListener('cleared', () => { location.hash = ''; load(); });
follow();
</script>
</body>
</html>
)html";

}  // namespace

std::string_view mailbox_html() noexcept {
    return page;
}

}  // namespace coracle::tool
