// WebSocket on npm's ws: "/" echoes, and what comes on "/all" goes to every connection of "/all".
//
//   main.js 127.0.0.1:PORT
'use strict';
const http = require('http');
const WebSocket = require(process.env.WS_MODULE || 'ws');

const Server = WebSocket.WebSocketServer || WebSocket.Server;
const [host, port] = process.argv[2].split(':');
const server = http.createServer();
const all = new Set();

new Server({ server, perMessageDeflate: { threshold: 0 }, maxPayload: 1 << 26 }).on('connection', (ws, request) => {
  const ofAll = request.url === '/all';
  if (ofAll) all.add(ws);
  ws.on('error', () => {});
  ws.on('close', () => all.delete(ws));
  ws.on('message', (data, binary) => {
    if (!ofAll) return ws.send(data, { binary });
    for (const one of all) one.send(data, { binary });
  });
});
server.listen({ host, port: Number(port), backlog: 16384 }, () => {
  console.log(`listening on http://${host}:${server.address().port}`);
});
