module coracle.test/go_client

go 1.19
