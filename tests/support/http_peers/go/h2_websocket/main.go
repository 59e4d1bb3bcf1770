// golang.org/x/net as a peer of our WebSocket over HTTP/2 (RFC 8441):
//
//	h2_websocket client URL [AUTHORITY]          expects an echo of what it sends; URL: http or https
//	h2_websocket server PORT [CERTIFICATE KEY]   echoes
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"golang.org/x/net/http2"
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

// Both directions of a stream.
type stream struct {
	io.Reader
	io.Writer
}

// Sends what is written at once.
type flushing struct {
	http.ResponseWriter
}

func (f flushing) Write(data []byte) (int, error) {
	n, err := f.ResponseWriter.Write(data)
	f.ResponseWriter.(http.Flusher).Flush()
	return n, err
}

// Without an authority: in clear, where the server is known to speak HTTP/2.
func transport(arguments []string) *http2.Transport {
	if len(arguments) == 0 {
		dial := func(who context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(who, network, address)
		}
		return &http2.Transport{AllowHTTP: true, DialTLSContext: dial}
	}
	pem, err := os.ReadFile(arguments[0])
	must(err)
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(pem), "no certificate in %s", arguments[0])
	return &http2.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
}

func connect(who context.Context, to *http2.Transport, url string) stream {
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(who, "CONNECT", url, reader)
	must(err)
	request.Header.Set(":protocol", "websocket")
	request.Header.Set("sec-websocket-version", "13")
	response, err := to.RoundTrip(request)
	must(err)
	check(response.StatusCode == 200, "%s", response.Status)
	return stream{response.Body, writer}
}

func talk(number int, on stream) {
	for _, size := range []int{0, 1, 125, 126, 65535, 65536, 900000} {
		for _, code := range []ws.OpCode{ws.OpText, ws.OpBinary} {
			sent := bytes.Repeat([]byte(fmt.Sprintf("boat %03d ", number)), size/9+1)[:size]
			must(wsutil.WriteClientMessage(on, code, sent))
			back, got, err := wsutil.ReadServerData(on)
			must(err)
			check(got == code && bytes.Equal(back, sent), "an echo of %d bytes", size)
		}
	}
	must(wsutil.WriteClientMessage(on, ws.OpClose, ws.NewCloseFrameBody(4001, "done")))
	_, _, err := wsutil.ReadServerData(on)
	var closed wsutil.ClosedError
	check(errors.As(err, &closed) && closed.Code == 4001, "the end: %v", err)
}

// Ten sockets at once on one connection.
func client(url string, over *http2.Transport) {
	who, stop := context.WithTimeout(context.Background(), 60*time.Second)
	defer stop()
	var all sync.WaitGroup
	for i := 0; i != 10; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			talk(i, connect(who, over, url))
		}()
	}
	all.Wait()
}

func echo(out http.ResponseWriter, request *http.Request) {
	if request.Method != "CONNECT" || request.Header.Get(":protocol") != "websocket" {
		http.Error(out, "no WebSocket", http.StatusBadRequest)
		return
	}
	out.WriteHeader(http.StatusOK)
	out.(http.Flusher).Flush()
	on := stream{request.Body, flushing{out}}
	for {
		message, code, err := wsutil.ReadClientData(on)
		if err != nil || wsutil.WriteServerMessage(on, code, message) != nil {
			return
		}
	}
}

func serve(port string, certificate []string) {
	check(os.Getenv("GODEBUG") == "http2xconnect=1", "Go wants GODEBUG=http2xconnect=1 for RFC 8441")
	handler := http.HandlerFunc(echo)
	if len(certificate) != 0 {
		server := http.Server{Addr: "127.0.0.1:" + port, Handler: handler}
		must(http2.ConfigureServer(&server, nil))
		must(server.ListenAndServeTLS(certificate[0], certificate[1]))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	must(err)
	var server http2.Server
	for {
		accepted, err := listener.Accept()
		must(err)
		go server.ServeConn(accepted, &http2.ServeConnOpts{Handler: handler})
	}
}

func main() {
	if os.Args[1] == "client" {
		client(os.Args[2], transport(os.Args[3:]))
		return
	}
	serve(os.Args[2], os.Args[3:])
}
