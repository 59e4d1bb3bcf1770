// Go's net/http as a server of our client's HTTP/2, over TLS: go_h2_server PORT FOLDER CERTIFICATE KEY
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func count(out http.ResponseWriter, request *http.Request) {
	n, err := io.Copy(io.Discard, request.Body)
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(out, n)
}

func main() {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(os.Args[2])))
	mux.HandleFunc("/count", count)
	server := http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: mux}
	fmt.Println(server.ListenAndServeTLS(os.Args[3], os.Args[4]))
	os.Exit(1)
}
