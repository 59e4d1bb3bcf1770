// Uploads that go to disk as they arrive, with a page that shows how far they are:
// upload [DIRECTORY] [ADDRESS] [LOOPS]
//
//   curl -F file=@big.iso http://127.0.0.1:8080/upload

#include <coracle/http/multipart.hpp>
#include <coracle/http/server.hpp>

#include <cstdlib>

using namespace coracle;

static constexpr const char* page = R"(<!doctype html>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Upload</title>
<style>
  :root { color-scheme: light dark; font: 1.1rem/1.6 system-ui, sans-serif }
  form { max-width: 32rem; margin: 4rem auto; padding: 0 1rem; display: grid; gap: 1rem }
  progress { width: 100%; height: 1.2rem }
  button { font: inherit; padding: .4rem 1rem; justify-self: start }
  output { white-space: pre-line }
</style>
<form id="form">
  <h1>Upload</h1>
  <input type="file" name="file" multiple required>
  <button>Send</button>
  <progress id="bar" max="1" value="0"></progress>
  <output id="told"></output>
</form>
<script>
  form.onsubmit = event => {
    event.preventDefault();
    const request = new XMLHttpRequest();
    request.upload.onprogress = e => {
      bar.value = e.loaded / e.total;
      told.value = Math.round(100 * bar.value) + ' %';
    };
    request.onload = () => told.value = request.responseText;
    request.onerror = () => told.value = 'The server is gone.';
    request.open('POST', '/upload');
    request.send(new FormData(form));
  };
</script>
)";

int main(int argc, char** argv) {
    const std::string directory = argc > 1 ? argv[1] : ".";
    http::router routes;
    routes.get("/", [](http::request&) { return http::html(page); });
    routes.post("/upload", [&](http::request& req) -> task<http::response> {
        std::string told;
        http::multipart_reader parts(req);
        while (auto* part = co_await parts.next()) {
            if (!part->filename()) continue;
            const auto file = co_await part->save_in(directory, http::file_naming::as_sent);
            told += file.path + ": " + std::to_string(file.size) + " bytes\n";
        }
        co_return http::response(http::status::created, told);
    });

    http::server_options options;
    if (argc > 2) options.listen = argv[2];
    if (argc > 3) options.loops = static_cast<unsigned>(std::atoi(argv[3]));
    http::serve(routes, options);
}
