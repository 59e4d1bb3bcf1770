// A server of github.com/emersion/go-smtp that keeps what it gets: go_smtp [-lmtp] [-cert FILE -key
// FILE [-tls]]. It says its address on the first line of standard output, and writes a line of JSON
// for each mail. With a certificate it wants joe's password (PLAIN).
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

var output = struct {
	sync.Mutex
	*bufio.Writer
}{Writer: bufio.NewWriter(os.Stdout)}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func say(line []byte) {
	output.Lock()
	defer output.Unlock()
	output.Write(append(line, '\n'))
	must(output.Flush())
}

type mail struct {
	From       string
	Body       string
	UTF8       bool
	RequireTLS bool
	To         []string
	Notify     []string
	Data       []byte
	Secure     bool
	User       string
}

type session struct {
	mail
	secure bool
	user   string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(identity, user, password string) error {
		if user != "joe" || password != "s@cret:1" {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Reset() { s.mail = mail{} }

func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, o *smtp.MailOptions) error {
	s.mail = mail{From: from, Body: string(o.Body), UTF8: o.UTF8, RequireTLS: o.RequireTLS}
	return nil
}

func (s *session) Rcpt(to string, o *smtp.RcptOptions) error {
	s.To = append(s.To, to)
	for _, n := range o.Notify {
		s.Notify = append(s.Notify, string(n))
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mail.Data, s.Secure, s.User = data, s.secure, s.user
	line, err := json.Marshal(s.mail)
	if err != nil {
		return err
	}
	say(line)
	return nil
}

func main() {
	lmtp := flag.Bool("lmtp", false, "LMTP")
	certificate := flag.String("cert", "", "certificate, PEM")
	key := flag.String("key", "", "its key, PEM")
	implicit := flag.Bool("tls", false, "TLS from the first byte")
	flag.Parse()
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		_, secure := c.TLSConnectionState()
		return &session{secure: secure}, nil
	}))
	server.Domain = "go.test"
	server.LMTP = *lmtp
	server.EnableSMTPUTF8 = true
	server.EnableREQUIRETLS = true
	server.EnableBINARYMIME = true
	server.EnableDSN = true
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	address := listener.Addr().String()
	if *certificate != "" {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		must(err)
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}}
		if *implicit {
			listener = tls.NewListener(listener, server.TLSConfig)
		}
	}
	say([]byte(address))
	must(server.Serve(listener))
}
