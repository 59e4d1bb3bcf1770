// expect: #include <coracle/http/launch.hpp>
#include <coracle/http/client.hpp>
#ifdef CORACLE_CONTROL
#include <coracle/http/launch.hpp>
#endif

using namespace coracle;

void request(http::client& client) {
    auto page = client.get("http://localhost/").launch();
}
