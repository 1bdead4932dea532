// The gRPC peer in Go: serves peer.proto and makes calls on demand.
//
// Prints one JSON object a line: first {"event": "listening", "port": …}, then "begin" and "end" for each call it
// serves and "answer" for each it makes. A line on its input is a call to make. It ends when its input does, so that it
// cannot outlive whoever started it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	wire "peer/wire"
)

type line map[string]interface{}

var output sync.Mutex

func say(what line) {
	text, err := json.Marshal(what)
	if err != nil {
		log.Fatal(err)
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

func since(start time.Time) float64 {
	return float64(time.Since(start).Microseconds()/100) / 10
}

var (
	opening sync.Mutex
	open    = map[string]wire.PeerClient{}
)

func stub(target string) wire.PeerClient {
	opening.Lock()
	defer opening.Unlock()
	if _, ok := open[target]; !ok {
		connection, err := grpc.Dial(target, grpc.WithInsecure())
		if err != nil {
			log.Fatal(err)
		}
		open[target] = wire.NewPeerClient(connection)
	}
	return open[target]
}

func leftMs(ctx context.Context) int64 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return -1
	}
	return time.Until(deadline).Milliseconds()
}

func begin(ctx context.Context, id string) (int64, func(bool)) {
	start, left := time.Now(), leftMs(ctx)
	say(line{"event": "begin", "id": id, "left_ms": left})
	return left, func(done bool) {
		say(line{"event": "end", "id": id, "done": done, "after_ms": since(start)})
	}
}

// Whether the work came to its end.
func work(ctx context.Context, ms uint32) bool {
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

type peer struct{}

func (peer) Call(ctx context.Context, ask *wire.Ask) (told *wire.Told, err error) {
	left, end := begin(ctx, ask.Id)
	done := false
	defer func() { end(done) }()
	if !work(ctx, ask.WorkMs) {
		return nil, ctx.Err()
	}
	if ask.FailWith != 0 {
		done = true
		return nil, status.Error(codes.Code(ask.FailWith), "as asked")
	}
	told = &wire.Told{By: "go", LeftMs: left}
	if ask.Next != "" {
		// The context hands on its deadline and its cancel.
		told.Next, err = stub(ask.Next).Call(ctx, &wire.Ask{Id: ask.Id, WorkMs: ask.NextWorkMs})
		if err != nil {
			return nil, err
		}
	}
	done = true
	return told, nil
}

func (peer) Items(ask *wire.Ask, stream wire.Peer_ItemsServer) error {
	left, end := begin(stream.Context(), ask.Id)
	done := false
	defer func() { end(done) }()
	for item := uint32(0); item < ask.Items; item++ {
		if !work(stream.Context(), ask.WorkMs) {
			return stream.Context().Err()
		}
		if err := stream.Send(&wire.Told{By: "go", LeftMs: left, Item: item}); err != nil {
			return err
		}
	}
	done = true
	return nil
}

type command struct {
	Id         string `json:"id"`
	Target     string `json:"target"`
	WorkMs     uint32 `json:"work_ms"`
	Items      uint32 `json:"items"`
	Next       string `json:"next"`
	NextWorkMs uint32 `json:"next_work_ms"`
	FailWith   uint32 `json:"fail_with"`
	DeadlineMs *int64 `json:"deadline_ms"`
	CancelMs   *int64 `json:"cancel_ms"`
}

func toldLine(told *wire.Told) line {
	if told == nil {
		return nil
	}
	return line{"by": told.By, "left_ms": told.LeftMs, "next": toldLine(told.Next)}
}

func ask(c command) {
	ctx, cancel := context.WithCancel(context.Background())
	if c.DeadlineMs != nil {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*c.DeadlineMs)*time.Millisecond)
	}
	defer cancel()
	if c.CancelMs != nil {
		time.AfterFunc(time.Duration(*c.CancelMs)*time.Millisecond, cancel)
	}
	message := &wire.Ask{Id: c.Id, WorkMs: c.WorkMs, Items: c.Items, Next: c.Next, NextWorkMs: c.NextWorkMs, FailWith: c.FailWith}
	start := time.Now()
	var told *wire.Told
	var err error
	received := 0
	if c.Items > 0 {
		var stream wire.Peer_ItemsClient
		stream, err = stub(c.Target).Items(ctx, message)
		for err == nil {
			if _, err = stream.Recv(); err == nil {
				received++
			}
		}
		if err == io.EOF {
			err = nil
		}
	} else {
		told, err = stub(c.Target).Call(ctx, message)
	}
	ended := status.Convert(err)
	say(line{
		"event": "answer", "id": c.Id, "code": ended.Code(), "text": ended.Message(),
		"told": toldLine(told), "items": received, "after_ms": since(start),
	})
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	wire.RegisterPeerServer(server, peer{})
	go func() { log.Fatal(server.Serve(listener)) }()
	say(line{"event": "listening", "port": listener.Addr().(*net.TCPAddr).Port})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			log.Fatal(err)
		}
		go ask(c)
	}
}
