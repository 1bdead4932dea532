// The gRPC peer in Node: serves peer.proto and makes calls on demand.
//
// Prints one JSON object a line: first {"event": "listening", "port": …}, then "begin" and "end" for each call it
// serves and "answer" for each it makes. A line on its input is a call to make. It ends when its input does, so that it
// cannot outlive whoever started it.
'use strict';

const path = require('path');
const readline = require('readline');
const { createRequire } = require('module');

// The libraries are not beside this file.
const installed = createRequire(path.join(process.env.PEERS_HOME, 'node', 'package.json'));
const grpc = installed('@grpc/grpc-js');
const definition = installed('@grpc/proto-loader').loadSync(path.join(__dirname, 'peer.proto'), {
  keepCase: true,
  longs: Number,
});
const { Peer } = grpc.loadPackageDefinition(definition).peer;

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const since = (start) => Math.round((performance.now() - start) * 10) / 10;

const stubs = new Map();
function stub(target) {
  if (!stubs.has(target)) stubs.set(target, new Peer(target, grpc.credentials.createInsecure()));
  return stubs.get(target);
}

function leftMs(call) {
  const deadline = call.getDeadline();
  const at = deadline instanceof Date ? deadline.getTime() : deadline;
  return Number.isFinite(at) ? at - Date.now() : -1;
}

function begin(call) {
  const { id } = call.request;
  const start = performance.now();
  const left = leftMs(call);
  say({ event: 'begin', id, left_ms: left });
  let open = true;
  const end = (done) => {
    if (open) say({ event: 'end', id, done, after_ms: since(start) });
    const first = open;
    open = false;
    return first;
  };
  return { left, end };
}

function serveCall(call, answer) {
  const { left, end } = begin(call);
  const ask = call.request;
  const work = setTimeout(() => {
    if (ask.fail_with) {
      end(true);
      answer({ code: ask.fail_with, details: 'as asked' });
      return;
    }
    const told = { by: 'node', left_ms: left };
    if (!ask.next) {
      end(true);
      answer(null, told);
      return;
    }
    // A parent call hands on its deadline and its cancel.
    const further = { id: ask.id, work_ms: ask.next_work_ms };
    stub(ask.next).Call(further, { parent: call }, (error, next) => {
      end(!error);
      if (error) answer({ code: error.code, details: error.details });
      else answer(null, { ...told, next });
    });
  }, ask.work_ms || 0);
  call.on('cancelled', () => {
    clearTimeout(work);
    end(false);
  });
}

function serveItems(call) {
  const { left, end } = begin(call);
  const ask = call.request;
  let item = 0;
  const work = setInterval(() => {
    call.write({ by: 'node', left_ms: left, item });
    item += 1;
    if (item === ask.items) {
      clearInterval(work);
      end(true);
      call.end();
    }
  }, ask.work_ms || 0);
  call.on('cancelled', () => {
    clearInterval(work);
    end(false);
  });
}

function told(message) {
  if (!message) return null;
  return { by: message.by || '', left_ms: message.left_ms || 0, next: told(message.next) };
}

function ask(command) {
  const { id, work_ms, items, next, next_work_ms, fail_with } = command;
  const message = { id, work_ms, items, next, next_work_ms, fail_with };
  const options = command.deadline_ms === null ? {} : { deadline: Date.now() + command.deadline_ms };
  const start = performance.now();
  let received = 0;
  const finish = (error, value) =>
    say({
      event: 'answer',
      id,
      code: error ? error.code : 0,
      text: error ? error.details : '',
      told: told(value),
      items: received,
      after_ms: since(start),
    });
  let call;
  if (items > 0) {
    call = stub(command.target).Items(message, options);
    call.on('data', () => {
      received += 1;
    });
    call.on('error', (error) => finish(error));
    call.on('end', () => {});
    call.on('status', (status) => {
      if (status.code === grpc.status.OK) finish(null);
    });
  } else {
    call = stub(command.target).Call(message, options, finish);
  }
  if (command.cancel_ms !== null) setTimeout(() => call.cancel(), command.cancel_ms);
}

const server = new grpc.Server();
server.addService(Peer.service, { Call: serveCall, Items: serveItems });
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  say({ event: 'listening', port });
  const input = readline.createInterface({ input: process.stdin });
  input.on('line', (line) => ask(JSON.parse(line)));
  input.on('close', () => process.exit(0));
});
