// What Go's ServeMux costs for the table that `bench_router --table` prints, given on standard input:
//
//	bench_router --table | go run ./bench/peers/servemux
//
// Prints nanoseconds for a request that is routed to a handler that does nothing; its path is made
// canonical and its parameters are set by the mux, as in a server.
package main

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

type nowhere struct{}

func (nowhere) Header() http.Header         { return nil }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             { panic("a path found no route") }

func main() {
	mux := http.NewServeMux()
	var requests []*http.Request
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		kind, text, _ := strings.Cut(lines.Text(), " ")
		if kind == "route" {
			mux.HandleFunc("GET "+text, func(http.ResponseWriter, *http.Request) {})
		} else {
			requests = append(requests, &http.Request{
				Method: "GET", Host: "localhost", RequestURI: text, URL: &url.URL{Path: text}})
		}
	}
	best := time.Duration(1 << 62)
	for round := 0; round < 30; round++ {
		begin := time.Now()
		for _, r := range requests {
			mux.ServeHTTP(nowhere{}, r)
		}
		if took := time.Since(begin) / time.Duration(len(requests)); took < best {
			best = took
		}
	}
	fmt.Printf("route_with_parameters:go_servemux %d ns, best of 30 rounds\n", best.Nanoseconds())
}
