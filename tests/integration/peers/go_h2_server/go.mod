module coracle/tests/go_h2_server

go 1.19
