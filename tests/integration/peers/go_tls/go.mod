module coracle.test/go_tls

go 1.19
