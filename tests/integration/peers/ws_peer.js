// npm's ws as a peer of our WebSocket:
//
//   ws_peer.js client URL [AUTHORITY]          expects an echo of what it sends, compressed and not
//   ws_peer.js server PORT [CERTIFICATE KEY]   echoes
'use strict';
const fs = require('fs');
const http = require('http');
const https = require('https');
const WebSocket = require(process.env.WS_MODULE || 'ws');

const Server = WebSocket.WebSocketServer || WebSocket.Server;
const sizes = [0, 1, 125, 126, 65535, 65536, 900000];

function fail(why) {
  console.error(String(why));
  process.exit(1);
}

function talk(url, options) {
  return new Promise((done) => {
    const ws = new WebSocket(url, options);
    const sent = [];
    for (const size of sizes) {
      const bytes = Buffer.alloc(size, 'boat ');
      sent.push([bytes, true], [bytes, false]);
    }
    let next = 0;
    const send = () => ws.send(sent[next][0], { binary: sent[next][1] });
    ws.on('error', fail);
    ws.on('open', send);
    ws.on('message', (data, binary) => {
      const [bytes, wanted] = sent[next];
      if (binary !== wanted || !bytes.equals(data)) fail(`an echo of ${bytes.length} bytes`);
      if (++next < sent.length) return send();
      ws.ping('now');
    });
    ws.on('pong', () => ws.close(4001, 'done'));
    ws.on('close', (code) => (code === 4001 ? done() : fail(`closed with ${code}`)));
  });
}

function serve(port, certificate, key) {
  const files = certificate && { cert: fs.readFileSync(certificate), key: fs.readFileSync(key) };
  const server = files ? https.createServer(files) : http.createServer();
  const all = new Server({ server, perMessageDeflate: true, maxPayload: 1 << 24 });
  all.on('connection', (ws) => {
    ws.on('error', () => {});
    ws.on('message', (data, binary) => ws.send(data, { binary }));
  });
  server.listen(port, '127.0.0.1');
}

async function main([side, target, ...files]) {
  if (side === 'server') return serve(Number(target), ...files);
  const ca = files.length ? fs.readFileSync(files[0]) : undefined;
  for (const perMessageDeflate of [false, true]) await talk(target, { ca, perMessageDeflate, maxPayload: 1 << 24 });
}

main(process.argv.slice(2)).catch(fail);
