module coracle.test/go_h2

go 1.19
