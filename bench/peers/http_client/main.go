// Go's net/http as a client, with a Transport that keeps all connections, on one core:
//
//	http_client URL COUNT CONCURRENCY [CAFILE]
//
// It ends with the same line as bench/support/spent.hpp.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

const poolConnections = 100

func argument(index int) string {
	if index < len(os.Args) {
		return os.Args[index]
	}
	return ""
}

func fail(why interface{}) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}

func smaller(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func transport(concurrency int) *http.Transport {
	connections := smaller(concurrency, poolConnections)
	made := &http.Transport{
		MaxIdleConns:        connections,
		MaxIdleConnsPerHost: connections,
		MaxConnsPerHost:     connections,
		DisableCompression:  true,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
		TLSClientConfig:     &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)},
	}
	if path := argument(4); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			fail(err)
		}
		made.TLSClientConfig.RootCAs = x509.NewCertPool()
		made.TLSClientConfig.RootCAs.AppendCertsFromPEM(text)
	}
	return made
}

func get(client *http.Client, url string) bool {
	response, err := client.Get(url)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == 200
}

func main() {
	count, _ := strconv.Atoi(argument(2))
	concurrency, _ := strconv.Atoi(argument(3))
	if count <= 0 || concurrency <= 0 {
		fail("usage: http_client URL COUNT CONCURRENCY [CAFILE]")
	}
	runtime.GOMAXPROCS(1)
	client := &http.Client{Transport: transport(concurrency)}
	var started, ok, otherwise atomic.Int64
	var all sync.WaitGroup
	for i := 0; i < smaller(count, concurrency); i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for started.Add(1) <= int64(count) {
				if get(client, argument(1)) {
					ok.Add(1)
				} else {
					otherwise.Add(1)
				}
			}
		}()
	}
	all.Wait()
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	each := func(t syscall.Timeval) float64 {
		return (float64(t.Sec)*1e6 + float64(t.Usec)) / float64(count)
	}
	fmt.Printf("%d of %d ended with 200, %d otherwise, user %.3f us, system %.3f us, "+
		"peak %d KiB\n", ok.Load(), count, otherwise.Load(), each(used.Utime), each(used.Stime),
		used.Maxrss)
	if ok.Load() != int64(count) {
		os.Exit(1)
	}
}
