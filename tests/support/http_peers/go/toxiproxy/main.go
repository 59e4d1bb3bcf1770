// toxiproxy, whose API listens on a port that the system chooses, which it prints.
package main

import (
	"fmt"
	"log"
	"net"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Its server takes a port and tells none.
func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func waitUntilItListens(address string) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	log.Fatal("toxiproxy does not listen on " + address)
}

func main() {
	metrics := toxiproxy.NewMetricsContainer(prometheus.NewRegistry())
	server := toxiproxy.NewServer(metrics, zerolog.Nop())
	port := freePort()
	go server.Listen("127.0.0.1", port)
	waitUntilItListens("127.0.0.1:" + port)
	fmt.Printf("listening on http://127.0.0.1:%s\n", port)
	select {}
}
