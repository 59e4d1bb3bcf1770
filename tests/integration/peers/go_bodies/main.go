// Go's mime/multipart and net/http against our server: go_bodies UPLOAD_URL EVENTS_URL
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"
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

var client = &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{Proxy: nil}}

// What the server says of a form that is written while it is sent, so in chunks.
func upload(to string, write func(*multipart.Writer)) (int, string) {
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	go func() {
		write(form)
		must(form.Close())
		writer.Close()
	}()
	response, err := client.Post(to+"/upload", form.FormDataContentType(), reader)
	must(err)
	defer response.Body.Close()
	told, err := io.ReadAll(response.Body)
	must(err)
	return response.StatusCode, string(told)
}

func uploads(to string) {
	large := bytes.Repeat([]byte("\r\n--coracle\r\n"), 100_000)
	status, told := upload(to, func(form *multipart.Writer) {
		must(form.WriteField("note", "not a file"))
		for _, name := range []string{"go.bin", "go \\ \"two\".txt", "go.bin"} {
			part, err := form.CreateFormFile("file", name)
			must(err)
			_, err = part.Write(large)
			must(err)
		}
		part, err := form.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {"form-data; name=file; filename*=UTF-8''caf%C3%A9.txt"},
			"Content-Type":        {"text/plain"}})
		must(err)
		_, err = part.Write([]byte("x"))
		must(err)
	})
	check(status == 201 && strings.Count(told, ": 1300000 bytes\n") == 3, "%d %s", status, told)
	for _, name := range []string{"/go.bin:", "/go-1.bin:", "/café.txt: 1 bytes\n"} {
		check(strings.Contains(told, name), "%s is missing in %s", name, told)
	}
	status, told = upload(to, func(form *multipart.Writer) {})
	check(status == 201 && told == "", "an empty form: %d %s", status, told)
}

func events(from string) {
	response, err := client.Get(from + "/events")
	must(err)
	defer response.Body.Close()
	check(response.Header.Get("Content-Type") == "text/event-stream", "%v", response.Header)
	lines := bufio.NewScanner(response.Body)
	next := func() string {
		check(lines.Scan(), "the stream ended: %v", lines.Err())
		return lines.Text()
	}
	check(next() == "retry: 1000" && next() == "", "retry")
	// The place of a new client, which is counted as a reader by then.
	check(next() == "id: 0" && next() == "", "its place")
	said, err := client.PostForm(from+"/say", url.Values{"text": {"a & b=c\n+é"}})
	must(err)
	said.Body.Close()
	check(next() == "id: 1", "id")
	check(next() == "event: said" && next() == "data: a & b=c" && next() == "data: +é", "said")
}

func main() {
	uploads(os.Args[1])
	events(os.Args[2])
}
