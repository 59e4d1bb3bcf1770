// Go's net/http as a client of our HTTP/2: go_h2 URL AUTHORITY
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
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

func newClient(authority string) *http.Client {
	pem, err := os.ReadFile(authority)
	must(err)
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(pem), "no certificate in %s", authority)
	return &http.Client{
		Timeout: 60 * time.Second,
		Transport: &http.Transport{
			ForceAttemptHTTP2: true,
			TLSClientConfig:   &tls.Config{RootCAs: roots},
		},
	}
}

func body(response *http.Response, err error) []byte {
	must(err)
	defer response.Body.Close()
	check(response.Proto == "HTTP/2.0" && response.StatusCode == 200, "%s %s", response.Proto, response.Status)
	body, err := io.ReadAll(response.Body)
	must(err)
	return body
}

func manyAtOnce(client *http.Client, url string) {
	var all sync.WaitGroup
	for i := 0; i < 100; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			sent := bytes.Repeat([]byte{byte(i)}, 1000*i)
			got := body(client.Post(url+"/echo", "", bytes.NewReader(sent)))
			check(bytes.Equal(got, sent), "the echo of %d bytes differs", len(sent))
		}(i)
	}
	all.Wait()
}

func cancellation(client *http.Client, url string) {
	for i := 0; i < 20; i++ {
		who, stop := context.WithCancel(context.Background())
		request, err := http.NewRequestWithContext(who, "GET", url+"/zeros?bytes=1000000000", nil)
		must(err)
		response, err := client.Do(request)
		must(err)
		_, err = io.CopyN(io.Discard, response.Body, 10000)
		must(err)
		stop()
		response.Body.Close()
	}
}

func main() {
	url := os.Args[1]
	client := newClient(os.Args[2])
	check(string(body(client.Get(url+"/version"))) == "HTTP/2", "the version")
	manyAtOnce(client, url)
	cancellation(client, url)
	check(len(body(client.Get(url+"/zeros?bytes=5000000"))) == 5000000, "a download")
}
