"""The gRPC peer in Python: serves peer.proto and makes calls on demand.

Prints one JSON object a line: first {"event": "listening", "port": …}, then "begin" and "end" for each call it serves
and "answer" for each it makes. A line on its input is a call to make. It ends when its input does, so that it cannot
outlive whoever started it.
"""

import json
import os
import sys
import threading
import time
from concurrent import futures

import grpc

messages, services = grpc.protos_and_services("peer.proto")
output = threading.Lock()


def say(**line):
    with output:
        print(json.dumps(line), flush=True)


def since(start):
    return round((time.monotonic() - start) * 1000, 1)


def left_ms(context):
    left = context.time_remaining()
    # Without a deadline the library answers with one far away.
    return -1 if left is None or left > 365 * 24 * 3600 else int(left * 1000)


class Channels:
    def __init__(self):
        self.lock = threading.Lock()
        self.open = {}

    def stub(self, target):
        with self.lock:
            if target not in self.open:
                self.open[target] = services.PeerStub(grpc.insecure_channel(target))
            return self.open[target]


channels = Channels()


class Peer(services.PeerServicer):
    def begin(self, ask, context):
        call = Served(ask.id, context)
        say(event="begin", id=ask.id, left_ms=call.left)
        return call

    def Call(self, ask, context):
        with self.begin(ask, context) as call:
            if call.gone.wait(ask.work_ms / 1000):
                return messages.Told()
            if ask.fail_with:
                code = next(code for code in grpc.StatusCode if code.value[0] == ask.fail_with)
                call.done = True
                context.abort(code, "as asked")
            told = messages.Told(by="python", left_ms=call.left)
            if ask.next:
                further = messages.Ask(id=ask.id, work_ms=ask.next_work_ms)
                # This library hands on neither: the deadline and the cancel are the server's to pass.
                timeout = None if call.left < 0 else context.time_remaining()
                asked = channels.stub(ask.next).Call.future(further, timeout=timeout)
                context.add_callback(asked.cancel)
                try:
                    told.next.CopyFrom(asked.result())
                except grpc.RpcError as error:
                    context.abort(error.code(), error.details())
            call.done = True
            return told

    def Items(self, ask, context):
        with self.begin(ask, context) as call:
            for item in range(ask.items):
                if call.gone.wait(ask.work_ms / 1000):
                    return
                yield messages.Told(by="python", left_ms=call.left, item=item)
            call.done = True


class Served:
    def __init__(self, id, context):
        self.id = id
        self.left = left_ms(context)
        self.start = time.monotonic()
        self.gone = threading.Event()
        self.done = False
        if not context.add_callback(self.gone.set):
            self.gone.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        say(event="end", id=self.id, done=self.done, after_ms=since(self.start))


def ask(command):
    stub = channels.stub(command["target"])
    message = messages.Ask(
        id=command["id"],
        work_ms=command["work_ms"],
        items=command["items"],
        next=command["next"],
        next_work_ms=command["next_work_ms"],
        fail_with=command["fail_with"],
    )
    timeout = None if command["deadline_ms"] is None else command["deadline_ms"] / 1000
    answer = {"event": "answer", "id": command["id"], "code": 0, "text": "", "told": None, "items": 0}
    start = time.monotonic()
    streams = command["items"] > 0
    method = stub.Items if streams else stub.Call.future
    call = method(message, timeout=timeout)
    if command["cancel_ms"] is not None:
        threading.Timer(command["cancel_ms"] / 1000, call.cancel).start()
    try:
        if streams:
            for _ in call:
                answer["items"] += 1
        else:
            answer["told"] = told(call.result())
    except grpc.FutureCancelledError:
        answer.update(code=1, text="cancelled here")
    except grpc.RpcError as error:
        answer.update(code=error.code().value[0], text=error.details())
    answer["after_ms"] = since(start)
    say(**answer)


def told(message):
    further = told(message.next) if message.HasField("next") else None
    return {"by": message.by, "left_ms": message.left_ms, "next": further}


server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
services.add_PeerServicer_to_server(Peer(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
say(event="listening", port=port)
for line in sys.stdin:
    threading.Thread(target=ask, args=(json.loads(line),)).start()
# Nothing is left to be said, and calls under way are nobody's any more.
os._exit(0)
