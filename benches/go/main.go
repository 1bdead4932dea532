// What the same takes with Go's context package: a table in Markdown, as the benchmarks beside it print.
//
// Measured as they are: many rounds, and the fastest counts. A pend is a switch to another goroutine and back, because a
// goroutine that nobody wakes cannot be polled again.
package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

const long = time.Minute

var sink int

// answerer waits for a call and answers it: what a pend waits for.
type answerer struct {
	call, answer chan int
}

func newAnswerer() *answerer {
	a := &answerer{make(chan int), make(chan int)}
	go func() {
		for value := range a.call {
			a.answer <- value
		}
	}()
	return a
}

func (a *answerer) pend(ctx context.Context) error {
	a.call <- 1
	select {
	case value := <-a.answer:
		sink += value
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// nested is a chain of functions, each with a deadline of its own.
func nested(ctx context.Context, depth int, body func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	if depth > 1 {
		return nested(ctx, depth-1, body)
	}
	return body(ctx)
}

// work is ready at once; it asks once whether it may, as a function with a deadline does.
func work(ctx context.Context) error {
	sink++
	return ctx.Err()
}

// known is work whose deadline came in with the request: it makes none of its own.
func known(ctx context.Context, body func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return body(ctx)
}

// fastest gives nanoseconds and heap allocations an operation.
func fastest(rounds, operations int, operation func()) (float64, float64) {
	best := time.Duration(1 << 62)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for round := 0; round < rounds; round++ {
		start := time.Now()
		for i := 0; i < operations; i++ {
			operation()
		}
		if took := time.Since(start); took < best {
			best = took
		}
	}
	runtime.ReadMemStats(&after)
	allocations := float64(after.Mallocs-before.Mallocs) / float64(rounds*operations)
	return float64(best.Nanoseconds()) / float64(operations), allocations
}

func row(name string, parts int, operation func()) {
	nanos, allocations := fastest(200, 2000/parts, operation)
	fmt.Printf("| %s | %.0f ns | %.0f |\n", name, nanos/float64(parts), allocations/float64(parts))
}

// cancelled starts so many goroutines that wait below one request, and cancels it.
func cancelled(tasks int) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	request, cancel := context.WithCancel(context.Background())
	var started, ended sync.WaitGroup
	started.Add(tasks)
	ended.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			ctx, cancel := context.WithCancel(request)
			defer cancel()
			started.Done()
			<-ctx.Done()
			ended.Done()
		}()
	}
	started.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	begun := time.Now()
	cancel()
	ended.Wait()
	each := float64(time.Since(begun).Nanoseconds()) / float64(tasks)
	bytes := (after.HeapAlloc + after.StackInuse - before.HeapAlloc - before.StackInuse) / uint64(tasks)
	fmt.Printf("\n| goroutines that wait, each | tasks | cancelled | bytes |\n|---|---:|---:|---:|\n")
	fmt.Printf("| waiting below one request | %d | %.0f ns | %d |\n", tasks, each, bytes)
}

func main() {
	// As the runtime of the others: one thread.
	runtime.GOMAXPROCS(1)
	request, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	background := context.Background()
	answerer := newAnswerer()

	fmt.Printf("%s, GOMAXPROCS=1\n\n| Go's `context` | each | allocations |\n|---|---:|---:|\n", runtime.Version())
	row("outermost, ready", 1, func() { _ = nested(background, 1, work) })
	row("outermost, one pend", 1, func() { _ = nested(background, 1, answerer.pend) })
	row("a pend alone", 1, func() { _ = answerer.pend(background) })
	row("deadline already known, ready", 1, func() { _ = known(request, work) })
	row("deadline already known, one pend", 1, func() { _ = known(request, answerer.pend) })
	row("eight nested, ready", 1, func() { _ = nested(background, 8, work) })
	row("eight nested, one pend", 1, func() { _ = nested(background, 8, answerer.pend) })
	row("ten children in turn that pend once, each", 10, func() {
		ctx, cancel := context.WithTimeout(background, long)
		for i := 0; i < 10; i++ {
			_ = nested(ctx, 1, answerer.pend)
		}
		cancel()
	})
	cancelled(100_000)
}
