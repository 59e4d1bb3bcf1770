// Go's net/http as a client of our server: go_client HELLO_URL STREAM_URL
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"time"
)

func check(condition bool, format string, arguments ...any) {
	if !condition {
		fmt.Printf(format+"\n", arguments...)
		os.Exit(1)
	}
}

func must(err error) {
	check(err == nil, "%v", err)
}

func newClient() *http.Client {
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			Proxy:                 nil,
			MaxIdleConnsPerHost:   8,
			ExpectContinueTimeout: 20 * time.Second,
		},
	}
}

func keepAlive(url string) {
	client := newClient()
	fresh := 0
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			fresh++
		}
	}}
	for i := 0; i < 200; i++ {
		context := httptrace.WithClientTrace(context.Background(), trace)
		request, err := http.NewRequestWithContext(context, "GET", url+"/", nil)
		must(err)
		response, err := client.Do(request)
		must(err)
		body, err := io.ReadAll(response.Body)
		must(err)
		response.Body.Close()
		check(string(body) == "Hello, World!\n", "hello: %q", body)
	}
	check(fresh == 1, "%d connections for requests one after another", fresh)
}

func manyAtOnce(url string) {
	client := newClient()
	var all sync.WaitGroup
	for i := 0; i < 16; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 100; i++ {
				response, err := client.Get(url + "/")
				must(err)
				_, err = io.Copy(io.Discard, response.Body)
				must(err)
				response.Body.Close()
				check(response.StatusCode == 200, "status %d", response.StatusCode)
			}
		}()
	}
	all.Wait()
}

// Sends `body` to /echo and wants it back.
func echo(client *http.Client, url string, body []byte, chunked bool, header ...string) {
	request, err := http.NewRequest("POST", url+"/echo", bytes.NewReader(body))
	must(err)
	if chunked {
		request.Body = io.NopCloser(bytes.NewReader(body))
		request.ContentLength = -1
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	must(err)
	back, err := io.ReadAll(response.Body)
	must(err)
	response.Body.Close()
	check(sha256.Sum256(back) == sha256.Sum256(body), "the echo of %d bytes is %d bytes", len(body),
		len(back))
}

func bodies(url string) {
	client := newClient()
	body := bytes.Repeat([]byte("a boat for one, "), 1<<17)
	echo(client, url, body, false)
	echo(client, url, body, true)
	echo(client, url, body, false, "Expect", "100-continue")
	echo(client, url, nil, false)
}

// A client that announces trailers is served, and its connection serves on.
func trailers(url string) {
	client := newClient()
	request, err := http.NewRequest("POST", url+"/echo", io.NopCloser(strings.NewReader("cargo")))
	must(err)
	request.ContentLength = -1
	request.Trailer = http.Header{"X-Checksum": []string{"42"}}
	response, err := client.Do(request)
	must(err)
	back, err := io.ReadAll(response.Body)
	must(err)
	response.Body.Close()
	check(string(back) == "cargo" && len(response.Trailer) == 0, "%q %v", back, response.Trailer)
	echo(client, url, []byte("again"), false)
}

// Goes away in the middle of a response, and in the middle of a request.
func cancellation(url string) {
	client := newClient()
	for i := 0; i < 20; i++ {
		context, cancel := context.WithCancel(context.Background())
		request, err := http.NewRequestWithContext(context, "GET",
			url+"/count?to=1000000&pause=1", nil)
		must(err)
		response, err := client.Do(request)
		must(err)
		_, err = io.ReadFull(response.Body, make([]byte, 4))
		must(err)
		cancel()
		_, err = io.ReadAll(response.Body)
		check(err != nil, "a cancelled response has an end")
		response.Body.Close()
	}
	for i := 0; i < 20; i++ {
		context, cancel := context.WithCancel(context.Background())
		reader, writer := io.Pipe()
		request, err := http.NewRequestWithContext(context, "POST", url+"/echo", reader)
		must(err)
		go writer.Write([]byte("half of it"))
		response, err := client.Do(request)
		must(err)
		_, err = io.ReadFull(response.Body, make([]byte, 10))
		must(err)
		cancel()
		writer.Close()
		response.Body.Close()
	}
	echo(client, url, []byte("still there"), false)
}

func main() {
	keepAlive(os.Args[1])
	manyAtOnce(os.Args[1])
	bodies(os.Args[2])
	trailers(os.Args[2])
	cancellation(os.Args[2])
}
