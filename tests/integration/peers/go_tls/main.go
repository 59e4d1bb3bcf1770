// Requests over TLS 1.2 and 1.3, each on two connections: go_tls URL AUTHORITIES [CERTIFICATE KEY]
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func get(transport *http.Transport, url string) {
	response, err := (&http.Client{Transport: transport}).Get(url)
	fail(err)
	_, err = io.ReadAll(response.Body)
	fail(err)
	fail(response.Body.Close())
	if response.StatusCode != 200 {
		fail(fmt.Errorf("%s", response.Status))
	}
	how := "fresh"
	if response.TLS.DidResume {
		how = "resumed"
	}
	version := "TLS 1.2"
	if response.TLS.Version == tls.VersionTLS13 {
		version = "TLS 1.3"
	}
	fmt.Println(version, how)
	transport.CloseIdleConnections()
}

func main() {
	authorities, err := os.ReadFile(os.Args[2])
	fail(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorities)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		settings := &tls.Config{RootCAs: pool, MinVersion: version, MaxVersion: version,
			ClientSessionCache: tls.NewLRUClientSessionCache(4)}
		if len(os.Args) > 4 {
			certificate, err := tls.LoadX509KeyPair(os.Args[3], os.Args[4])
			fail(err)
			settings.Certificates = []tls.Certificate{certificate}
		}
		transport := &http.Transport{TLSClientConfig: settings}
		get(transport, os.Args[1])
		get(transport, os.Args[1])
	}
}
