// go-httpbin on a port that the system chooses, which it prints.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	app := httpbin.New(
		httpbin.WithMaxBodySize(64<<20),
		httpbin.WithMaxDuration(60*time.Second),
	)
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, app))
}
