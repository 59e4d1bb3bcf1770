// nhooyr.io/websocket of Go as a peer of our WebSocket:
//
//	go_websocket client URL [AUTHORITY]          expects an echo of what it sends, compressed and not
//	go_websocket server PORT [CERTIFICATE KEY]   echoes
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	"nhooyr.io/websocket"
)

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func check(condition bool, what string) {
	if !condition {
		fmt.Println(what)
		os.Exit(1)
	}
}

func httpClient(arguments []string) *http.Client {
	if len(arguments) == 0 {
		return http.DefaultClient
	}
	pem, err := os.ReadFile(arguments[0])
	must(err)
	roots := x509.NewCertPool()
	check(roots.AppendCertsFromPEM(pem), "no certificate")
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

func talk(url string, client *http.Client, mode websocket.CompressionMode) {
	who, stop := context.WithTimeout(context.Background(), 60*time.Second)
	defer stop()
	ws, _, err := websocket.Dial(who, url, &websocket.DialOptions{HTTPClient: client, CompressionMode: mode})
	must(err)
	ws.SetReadLimit(1 << 24)
	for _, size := range []int{0, 1, 125, 126, 65535, 65536, 900000} {
		for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
			sent := bytes.Repeat([]byte("boat "), size/5+1)[:size]
			must(ws.Write(who, kind, sent))
			got, back, err := ws.Read(who)
			must(err)
			check(got == kind && bytes.Equal(back, sent), fmt.Sprintf("an echo of %d bytes", size))
		}
	}
	reading := ws.CloseRead(who)
	must(ws.Ping(reading))
	must(ws.Close(websocket.StatusNormalClosure, "bye"))
}

func echo(out http.ResponseWriter, request *http.Request) {
	ws, err := websocket.Accept(out, request, nil)
	if err != nil {
		return
	}
	ws.SetReadLimit(1 << 24)
	for {
		kind, message, err := ws.Read(request.Context())
		if err != nil {
			return
		}
		if ws.Write(request.Context(), kind, message) != nil {
			return
		}
	}
}

func main() {
	if os.Args[1] == "client" {
		client := httpClient(os.Args[3:])
		modes := []websocket.CompressionMode{websocket.CompressionDisabled, websocket.CompressionNoContextTakeover,
			websocket.CompressionContextTakeover}
		for _, mode := range modes {
			talk(os.Args[2], client, mode)
		}
		return
	}
	server := http.Server{Addr: "127.0.0.1:" + os.Args[2], Handler: http.HandlerFunc(echo)}
	if len(os.Args) > 3 {
		// An upgrade is of HTTP/1.1.
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		must(server.ListenAndServeTLS(os.Args[3], os.Args[4]))
	}
	must(server.ListenAndServe())
}
